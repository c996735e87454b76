package main

import (
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
