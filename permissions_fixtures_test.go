package main

import "strings"

// Values that documents may name: $owner, $ownerEmail, $note, $deleted, $version, $tag, $nobody, $stranger, $view,
// $takenEmail, $email (the role's own), $fresh (another text each time), and $it: the object that the way looks for.

// arguments are those of fields that need some, or need them to be of use here.
var arguments = map[string]string{
	"Query.node":        `(id: $it)`,
	"Query.nodes":       `(ids: [$it])`,
	"Query.user":        `(id: $owner)`,
	"Query.userByEmail": `(email: $ownerEmail)`,
	"Query.note":        `(id: $note)`,
	"User.tag":          `(value: "WalkSecret")`,
	"Note.versionAt":    `(number: 1)`,

	"Mutation.createUser":         `(input: {name: "Walker", email: $email})`,
	"Mutation.updateUser":         `(input: {name: $fresh})`,
	"Mutation.createNote":         `(input: {title: $fresh, content: "mine"})`,
	"Mutation.updateNote":         `(input: {noteId: $note, title: $fresh})`,
	"Mutation.changeNoteDeadline": `(input: {noteId: $note, deadline: "2031-02-03T04:05:06Z"})`,
	"Mutation.deleteNote":         `(input: {noteId: $note})`,
	"Mutation.undeleteNote":       `(input: {noteId: $deleted})`,
	"Mutation.restoreVersion":     `(input: {versionId: $version})`,
	"Mutation.addNoteTags":        `(input: {noteId: $note, tags: ["more"]})`,
	"Mutation.removeNoteTags":     `(input: {noteId: $note, tags: ["walksecret"]})`,
	"Mutation.shareNote":          `(input: {noteId: $note, userId: $stranger, permission: VIEW})`,
	"Mutation.unshareNote":        `(input: {noteId: $note, userId: $view})`,
}

// starts are the places from which ways go on, for types that are reached in more than one way or only in special ones.
// Types that are not named here are reached along every field that returns them.
var starts = map[string][]string{
	"User":    {`query user(id: $owner)`, `query viewer`},
	"Note":    {`query note(id: $note)`},
	"Version": {`query note(id: $note) . latestVersion`},
	"Tag":     {`query note(id: $note) . tags`, `query node(id: $tag)`},

	"EmailTaken": {
		`mutation createUser(input: {name: "Walker", email: $takenEmail}) . problem`,
		`mutation updateUser(input: {email: $takenEmail}) . problem`,
	},
	"UserConflict": {`mutation updateUser(input: {name: $fresh, expectedVersion: 99}) . problem`},
	"NoteConflict": {
		`mutation updateNote(input: {noteId: $note, title: $fresh, expectedVersion: 99}) . problem`,
		`mutation changeNoteDeadline(input: {noteId: $note, deadline: null, expectedVersion: 99}) . problem`,
		`mutation deleteNote(input: {noteId: $note, expectedVersion: 99}) . problem`,
		`mutation restoreVersion(input: {versionId: $version, expectedVersion: 99}) . problem`,
	},
	"TooManyTags": {`mutation addNoteTags(input: {noteId: $note, tags: [` + manyTags + `]}) . problem`},
	"UnknownUser": {`mutation shareNote(input: {noteId: $note, userId: $nobody, permission: VIEW}) . problem`},
}

// shownTypes are those with ids, of which the matrix shows each way.
var shownTypes = []string{"User", "Note", "Version", "Tag", "DeletedNote"}

// manyTags are as many as one request may add, and more than the note has room for.
var manyTags = func() string {
	var all []string
	for i := range 40 {
		all = append(all, `"t`+strings.Repeat("i", i)+`"`)
	}
	return strings.Join(all, ", ")
}()

// subjectsOf are the objects whose fields the matrix is about, by the names of their ids. Ways that lead to other objects
// of these types ("another") count for nothing.
var subjectsOf = map[string][]string{
	"User":        {"owner"},
	"Note":        {"note", "deleted"},
	"Version":     {"version"},
	"Tag":         {"tag"},
	"DeletedNote": {"note", "deleted"},
}
