package apitest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
)

// All sends one mutation with many inputs, some in each request, and returns the payloads in the order of the inputs.
func (c *Client) All(mutation, selection string, inputs []Vars) []*Answer {
	c.T.Helper()
	var payloads []*Answer
	inputType := strings.ToUpper(mutation[:1]) + mutation[1:] + "Input!"
	for chunk := range slices.Chunk(inputs, 25) {
		var parameters, fields strings.Builder
		values := Vars{}
		for i, input := range chunk {
			name := fmt.Sprintf("i%d", i)
			fmt.Fprintf(&parameters, " $%s: %s", name, inputType)
			fmt.Fprintf(&fields, " %s: %s(input: $%s) { %s }", name, mutation, name, selection)
			values[name] = input
		}
		a := c.Must("mutation("+parameters.String()+") {"+fields.String()+" }", values)
		for i := range chunk {
			payload, ok := a.At(fmt.Sprintf("i%d", i)).(map[string]any)
			require.True(c.T, ok, "%s", a.Body)
			payloads = append(payloads, &Answer{T: c.T, Body: a.Body, Data: payload})
		}
	}
	return payloads
}

// Notes creates n notes and returns their ids. change may alter each input first.
func (c *Client) Notes(n int, change ...func(i int, input Vars)) []string {
	c.T.Helper()
	inputs := make([]Vars, n)
	for i := range inputs {
		inputs[i] = Vars{"title": fmt.Sprintf("note %03d", i), "content": "content"}
		for _, f := range change {
			f(i, inputs[i])
		}
	}
	ids := make([]string, n)
	for i, a := range c.All("createNote", "note { id }", inputs) {
		ids[i] = a.Str("note.id")
	}
	return ids
}

// Share shares the notes with each of the users.
func (c *Client) Share(notes []string, with ...*Client) {
	c.T.Helper()
	if len(notes) > note.MaxUnopened { // more are allowed with those who open some
		c.Share(notes[:1], with...)
		for _, user := range with {
			user.Mutate("openSharedNote", "openedAt", Vars{"noteId": notes[0]})
		}
	}
	var inputs []Vars
	for _, note := range notes {
		for _, user := range with {
			inputs = append(inputs, Vars{"noteId": note, "userId": user.ID, "permission": "VIEW"})
		}
	}
	c.All("shareNote", "accessEdge { permission }", inputs)
}

// SharedNotes reads notes that are shared with the caller, with everything that a list of notes shows.
const SharedNotes = `query($first: Int = 300) {
	viewer { sharedNotes(first: $first) { edges { permission node {
		title owner { name } tags { value } latestVersion { number title } accessList { edges { permission node { name } } }
	} } } }
}`

// ShareThreeHundred makes 300 notes of five owners, 120 of them with a version, and shares all with the reader and 50 with
// a friend as well.
func ShareThreeHundred(s *Server) (reader *Client) {
	s.T.Helper()
	reader = s.User("reader@example.com")
	friend := s.User("friend@example.com")
	for i := range 5 {
		owner := s.User(fmt.Sprintf("owner%d@example.com", i))
		notes := owner.Notes(60, func(i int, input Vars) { input["tags"] = []string{"work", fmt.Sprintf("tag %d", i)} })
		owner.Share(notes, reader)
		owner.Share(notes[:10], friend)
		var updates []Vars
		for _, id := range notes[:24] {
			updates = append(updates, Vars{"noteId": id, "title": "second"})
		}
		owner.All("updateNote", "note { version }", updates)
	}
	return reader
}

// GlobalKey returns what a global id is made of: type and key.
func GlobalKey(t *testing.T, id string) []string {
	t.Helper()
	parsed, err := gid.Parse(id)
	require.NoError(t, err)
	return append([]string{parsed.Type}, parsed.Key...)
}

// Whole is everything of a note but what others may see differently.
const Whole = `fragment whole on Note { id title content deadline createdAt updatedAt version viewerPermission tags { value } owner { id }
	latestVersion { number title content } versions { nodes { number title content deadline tags { value } note { id } } } accessList { edges { permission node { id } } } }`

// Numbered returns n words that differ by their number.
func Numbered(word string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s %02d", word, i)
	}
	return all
}
