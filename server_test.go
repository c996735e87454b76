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
