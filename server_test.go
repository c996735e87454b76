package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSigningUpShowsTheUsersOwnFieldsAtOnce(t *testing.T) {
	s := newServer(t)
	a := s.as("ada@example.com").must(`mutation {
		createUser(input: {name: "Ada", email: "ada@example.com"}) { user { name email } }
		createNote(input: {title: "first", content: "note"}) { note { title owner { name } } }
	}`, nil)
	assert.Equal(t, "ada@example.com", a.str("createUser.user.email"))
	assert.Equal(t, "Ada", a.str("createNote.note.owner.name"))
}

func TestContentIsReadOnlyWhenItIsShown(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	id := ada.must(`mutation { createNote(input: {title: "t", content: "long"}) { note { id } } }`, nil).str("createNote.note.id")
	ada.must(`mutation($id: ID!) { updateNote(input: {noteId: $id, content: "longer"}) { note { id } } }`, vars{"id": id})

	s.faults.Recorder().Reset()
	ada.must(`query($id: ID!) { note(id: $id) { title latestVersion { number } } viewer { notes { nodes { title } } } }`, vars{"id": id})
	for _, call := range s.faults.Recorder().Calls() {
		if !strings.Contains(string(call.Body), "PROFILE") && !strings.Contains(string(call.Body), "LOCATOR") {
			assert.Contains(t, string(call.Body), "ProjectionExpression")
		}
	}
	for _, query := range []string{
		`query($id: ID!) { note(id: $id) { content latestVersion { content } } }`,
		`query($id: ID!) { note(id: $id) { ...f latestVersion { ... on Version { content } } } } fragment f on Note { content }`,
		`query($id: ID!) { note: node(id: $id) { ... on Note { content latestVersion { content } } } }`,
	} {
		a := ada.must(query, vars{"id": id})
		assert.Equal(t, "longer", a.str("note.content"))
		assert.Equal(t, "long", a.str("note.latestVersion.content"))
	}
}

func TestOneFaultTakesNoOtherResultsWithIt(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	a := ada.do(`mutation {
		a: createNote(input: {title: "first", content: "c"}) { note { title } }
		b: createNote(input: {title: "", content: "c"}) { note { title } }
		c: createNote(input: {title: "third", content: "c"}) { note { title } }
	}`, nil)
	a.fails("INVALID_INPUT", "input.title")
	assert.Equal(t, "first", a.str("a.note.title"))
	assert.Nil(t, a.at("b"))
	assert.Equal(t, "third", a.str("c.note.title"))

	a = ada.do(`query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, vars{"ids": []string{ada.id, "frob"}})
	a.fails("INVALID_INPUT", "ids.1")
	assert.Len(t, a.list("nodes"), 2)
	assert.Nil(t, a.list("nodes")[1])
}

func TestAListIsReadOnceHoweverOftenItsUserIsMet(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	for range 5 {
		ada.must(`mutation { createNote(input: {title: "t", content: "c", tags: ["x"]}) { note { id } } }`, nil)
	}
	a := ada.must(`{ viewer { notes(first: 5) { nodes { owner { notes(first: 3) { nodes { title } } tags { nodes { value } } } } } } }`, nil)
	assert.Equal(t, map[string]int{"Query": 3}, a.Extensions.Dynamo.Operations, "the notes, the three of them once, the tags once")
}

func TestLiteralsThatAreNoNumbersEndNothing(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	ada.must(`mutation { createNote(input: {title: "t", content: "c", tags: ["x"]}) { note { id } } }`, nil)
	for _, field := range []string{
		`versions(after: 99999999999999999999) { nodes { id } }`, `versions(after: 1e999) { nodes { id } }`,
		`tags { notes(after: 1e999) { nodes { id } } }`, `accessList(after: -99999999999999999999) { nodes { id } }`,
	} {
		a := ada.do(`{ viewer { notes(first: 1) { nodes { `+field+` } } } }`, nil)
		if assert.Len(t, a.Errors, 1, a.body) {
			assert.NotEqual(t, "INTERNAL", a.Errors[0].Extensions.Code, a.body)
		}
	}
	ada.must(`{ viewer { name } }`, nil)
}
