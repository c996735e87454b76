package requests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
)

func TestSigningUpShowsTheUsersOwnFieldsAtOnce(t *testing.T) {
	s := apitest.NewServer(t)
	a := s.As("ada@example.com").Must(`mutation {
		createUser(input: {name: "Ada", email: "ada@example.com"}) { user { name email } }
		createNote(input: {title: "first", content: "note"}) { note { title owner { name } } }
	}`, nil)
	assert.Equal(t, "ada@example.com", a.Str("createUser.user.email"))
	assert.Equal(t, "Ada", a.Str("createNote.note.owner.name"))
}

func TestContentIsReadOnlyWhenItIsShown(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	id := ada.Must(`mutation { createNote(input: {title: "t", content: "long"}) { note { id } } }`, nil).Str("createNote.note.id")
	ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, content: "longer"}) { note { id } } }`, apitest.Vars{"id": id})

	s.Faults.Recorder().Reset()
	ada.Must(`query($id: ID!) { note(id: $id) { title latestVersion { number } } viewer { notes { nodes { title } } } }`, apitest.Vars{"id": id})
	for _, call := range s.Faults.Recorder().Calls() {
		if !strings.Contains(string(call.Body), "PROFILE") && !strings.Contains(string(call.Body), "LOCATOR") {
			assert.Contains(t, string(call.Body), "ProjectionExpression")
		}
	}
	for _, query := range []string{
		`query($id: ID!) { note(id: $id) { content latestVersion { content } } }`,
		`query($id: ID!) { note(id: $id) { ...f latestVersion { ... on Version { content } } } } fragment f on Note { content }`,
		`query($id: ID!) { note: node(id: $id) { ... on Note { content latestVersion { content } } } }`,
	} {
		a := ada.Must(query, apitest.Vars{"id": id})
		assert.Equal(t, "longer", a.Str("note.content"))
		assert.Equal(t, "long", a.Str("note.latestVersion.content"))
	}
}

func TestOneFaultTakesNoOtherResultsWithIt(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	a := ada.Do(`mutation {
		a: createNote(input: {title: "first", content: "c"}) { note { title } }
		b: createNote(input: {title: "", content: "c"}) { note { title } }
		c: createNote(input: {title: "third", content: "c"}) { note { title } }
	}`, nil)
	a.Fails("INVALID_INPUT", "input.title")
	assert.Equal(t, "first", a.Str("a.note.title"))
	assert.Nil(t, a.At("b"))
	assert.Equal(t, "third", a.Str("c.note.title"))

	a = ada.Do(`query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, apitest.Vars{"ids": []string{ada.ID, "frob"}})
	a.Fails("INVALID_INPUT", "ids.1")
	assert.Len(t, a.List("nodes"), 2)
	assert.Nil(t, a.List("nodes")[1])
}

func TestAListIsReadOnceHoweverOftenItsUserIsMet(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	for range 5 {
		ada.Must(`mutation { createNote(input: {title: "t", content: "c", tags: ["x"]}) { note { id } } }`, nil)
	}
	a := ada.Must(`{ viewer { notes(first: 5) { nodes { owner { notes(first: 3) { nodes { title } } tags { nodes { value } } } } } } }`, nil)
	assert.Equal(t, map[string]int{"Query": 3}, a.Extensions.Dynamo.Operations, "the notes, the three of them once, the tags once")
}

func TestLiteralsThatAreNoNumbersEndNothing(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	ada.Must(`mutation { createNote(input: {title: "t", content: "c", tags: ["x"]}) { note { id } } }`, nil)
	for _, field := range []string{
		`versions(after: 99999999999999999999) { nodes { id } }`, `versions(after: 1e999) { nodes { id } }`,
		`tags { notes(after: 1e999) { nodes { id } } }`, `accessList(after: -99999999999999999999) { nodes { id } }`,
	} {
		a := ada.Do(`{ viewer { notes(first: 1) { nodes { `+field+` } } } }`, nil)
		if assert.Len(t, a.Errors, 1, a.Body) {
			assert.NotEqual(t, "INTERNAL", a.Errors[0].Extensions.Code, a.Body)
		}
	}
	ada.Must(`{ viewer { name } }`, nil)
}
