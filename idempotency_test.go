package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

// repeated is a mutation that is sent more than once.
type repeated struct {
	// prepare makes what the mutation needs, anew for each round, and returns who sends it and its input.
	prepare   func(ada, bob *client, round int) (who *client, input vars)
	selection string
	other     vars   // what makes the input another one
	more      bool   // it takes more transactions than the one that counts
	made      string // what the state shows once more afterwards, where answers would not tell
	each      bool   // its key is that of each of its parts, and not used up by the whole
}

// onNote prepares a mutation of ada about a new note.
func onNote(input vars) func(ada, bob *client, round int) (*client, vars) {
	return func(ada, _ *client, _ int) (*client, vars) {
		merged := maps.Clone(input)
		merged["noteId"] = ada.notes(1, func(_ int, create vars) { create["tags"] = []string{"old"} })[0]
		return ada, merged
	}
}

// noteMutations are those of the mutations that are about users and notes.
var noteMutations = map[string]repeated{
	"createUser": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			email := uuid.NewString() + "@example.com"
			return ada.as(email), vars{"name": "New", "email": email}
		},
		selection: "user { id name email version createdAt } problem { __typename }",
		other:     vars{"name": "Other"},
	},
	"updateUser": {
		prepare: func(ada, _ *client, round int) (*client, vars) {
			version := ada.must("{ viewer { version } }", nil).at("viewer.version")
			return ada, vars{"name": fmt.Sprintf("Ada %d", round), "email": uuid.NewString() + "@example.com", "expectedVersion": version}
		},
		selection: "user { name email version updatedAt } problem { __typename }",
		other:     vars{"name": "Other"},
	},
	"createNote": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			return ada, vars{"title": "new", "content": "new", "deadline": "2027-01-01T00:00:00Z", "tags": []string{"a", "b"}}
		},
		selection: "note { ...whole }",
		other:     vars{"title": "other"},
	},
	"updateNote": {
		prepare: onNote(vars{"title": "second"}), selection: "note { ...whole } problem { __typename }", other: vars{"title": "other"},
	},
	"changeNoteDeadline": {
		prepare:   onNote(vars{"deadline": "2027-02-01T00:00:00Z", "expectedVersion": 1}),
		selection: "note { ...whole } problem { __typename }", other: vars{"deadline": nil},
	},
	"deleteNote": {
		prepare: onNote(vars{"expectedVersion": 1}), selection: "deletedNote { noteId deletedAt undoUntil } problem { __typename }", other: vars{"expectedVersion": 2},
	},
	"undeleteNote": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			notes := ada.notes(2)
			ada.all("deleteNote", "deletedNote { noteId }", []vars{{"noteId": notes[0]}})
			return ada, vars{"noteId": notes[0]}
		},
		selection: "note { ...whole }",
		other:     vars{"noteId": "Tm90ZQAx"}, // some other note
	},
	"restoreVersion": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			note := ada.notes(1)[0]
			a := ada.must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "second"}) { note { latestVersion { id } } } }`, vars{"id": note})
			return ada, vars{"versionId": a.str("updateNote.note.latestVersion.id"), "expectedVersion": 2}
		},
		selection: "note { ...whole } problem { __typename }",
		other:     vars{"expectedVersion": 3},
	},
	"addNoteTags": {
		prepare: onNote(vars{"tags": []string{"new"}}), selection: "note { ...whole } problem { __typename }", other: vars{"tags": []string{"other"}},
	},
	"removeNoteTags": {
		prepare: onNote(vars{"tags": []string{"old"}}), selection: "note { ...whole }", other: vars{"tags": []string{"other"}},
	},
	"shareNote": {
		prepare: func(ada, bob *client, _ int) (*client, vars) {
			return ada, vars{"noteId": ada.notes(1)[0], "userId": bob.id, "permission": "VIEW"}
		},
		selection: "note { id } accessEdge { cursor permission sharedAt node { id } } problem { __typename }",
		other:     vars{"permission": "EDIT"},
	},
	"unshareNote": {
		prepare: func(ada, bob *client, _ int) (*client, vars) {
			note := ada.notes(1)[0]
			ada.share([]string{note}, bob)
			return bob, vars{"noteId": note, "userId": bob.id}
		},
		selection: "note { id } user { id }",
		other:     vars{"noteId": "Tm90ZQAx"},
	},
}

// mutate sends the mutation and returns its answer.
func (c *client) mutate(name, selection string, input vars) *answer {
	c.t.Helper()
	query := fmt.Sprintf("mutation($input: %s%sInput!) { result: %s(input: $input) { %s } }", strings.ToUpper(name[:1]), name[1:], name, selection)
	if strings.Contains(selection, "...whole") {
		query += whole
	}
	return c.do(query, vars{"input": input})
}

// state is everything that the user can see.
func (c *client) state() string {
	c.t.Helper()
	return c.must(`{ viewer { id name email version updatedAt notes(first: 20) { nodes { ...whole } } sharedNotes(first: 20) { edges { permission sharedAt node { ...whole } } }
		noteChanges(first: 20) { nodes { ... on Note { id updatedAt } ... on DeletedNote { deleted: noteId deletedAt } } } } }`+whole, nil).data() + c.scopesState() + c.projectsState() + c.scoresState()
}

func TestEachMutationWithAKeyHappensOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	schema := s.as("nobody@example.com").must(`{ __schema { mutationType { fields { name args { type { ofType { inputFields { name } } } } } } } }`, nil)
	mutations := maps.Clone(noteMutations)
	maps.Copy(mutations, entityMutations)
	maps.Copy(mutations, queueMutations)
	maps.Copy(mutations, scoreMutations)
	var known []string
	for _, field := range schema.list("__schema.mutationType.fields") {
		f := &answer{t: t, body: schema.body, Data: field.(map[string]any)}
		known = append(known, f.str("name"))
		assert.Contains(t, fmt.Sprint(f.list("args")), "idempotencyKey", f.str("name"))
	}
	assert.ElementsMatch(t, known, slices.Concat(slices.Collect(maps.Keys(mutations)), repeatable), "each mutation of the schema has an entry in this test")

	committed := func() int {
		return s.faults.Recorder().Count(transactions, func(c *faultinject.Call) bool { return c.Status == 200 })
	}
	// New ones for each, so that their lists stay short, and with addresses of this run only: the limit of tried addresses is
	// kept in Redis, which outlives the tables.
	people := func() *client { return s.user(uuid.NewString() + "@example.com") }
	for round, name := range slices.Sorted(maps.Keys(mutations)) {
		m := mutations[name]
		t.Run(name, func(t *testing.T) {
			who, input := m.prepare(people(), people(), round)
			input["idempotencyKey"] = "key of " + name
			before := who.state()
			s.faults.Recorder().Reset()
			first := who.mutate(name, m.selection, input)
			require.Empty(t, first.Errors, "%s", first.body)
			require.Nil(t, first.at("result.problem"), "%s", first.body)
			once := committed()
			assert.True(t, once == 1 || m.more, "%d transactions", once)
			after := who.state()
			assert.NotEqual(t, before, after, "it has an effect")

			s.faults.Recorder().Reset()
			assert.Equal(t, first.data(), who.mutate(name, m.selection, input).data(), "the answer is the first one's")
			assert.Zero(t, committed())
			assert.Equal(t, after, who.state())

			other := maps.Clone(input)
			maps.Copy(other, m.other)
			if m.each { // of the finishes, this one with other words
				other["finishes"] = []vars{changed(input["finishes"].([]vars)[0], vars{"keywords": []string{"other"}})}
			}
			who.mutate(name, m.selection, other).fails("CONFLICT", "input.idempotencyKey")
			if name != "createUser" && !m.each { // its key belongs to the identity, which has no other mutations
				who.mutate("createNote", "note { id }", vars{"title": "t", "content": "c", "idempotencyKey": input["idempotencyKey"]}).fails("CONFLICT", "input.idempotencyKey")
			}
			assert.Equal(t, after, who.state())
		})
		t.Run(name+" at once", func(t *testing.T) {
			who, input := m.prepare(people(), people(), 100+round)
			input["idempotencyKey"] = "another key of " + name
			s.faults.Recorder().Reset()
			const senders = 20
			answers := make([]*answer, senders)
			start := make(chan struct{})
			var group sync.WaitGroup
			for i := range senders {
				group.Go(func() {
					<-start
					answers[i] = who.mutate(name, m.selection, input)
				})
			}
			close(start)
			group.Wait()
			for _, a := range answers {
				require.Empty(t, a.Errors, "%s", a.body)
				require.Nil(t, a.at("result.problem"), "%s", a.body)
				assert.Equal(t, answers[0].data(), a.data())
			}
			assert.True(t, committed() == 1 || m.more, "%d transactions", committed())
			if m.made != "" {
				assert.Equal(t, 1, strings.Count(who.state(), m.made))
			}
		})
	}
}

// changed returns an input with what is different.
func changed(input, change vars) vars {
	merged := maps.Clone(input)
	maps.Copy(merged, change)
	return merged
}

func TestAKeyBelongsToItsUser(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	input := vars{"title": "t", "content": "c", "idempotencyKey": "shared"}
	first, second := ada.mutate("createNote", "note { id owner { id } }", input), bob.mutate("createNote", "note { id owner { id } }", input)
	assert.Equal(t, ada.id, first.str("result.note.owner.id"))
	assert.Equal(t, bob.id, second.str("result.note.owner.id"))

	note := first.at("result.note.id")
	ada.mutate("deleteNote", "deletedNote { noteId }", vars{"noteId": note})
	assert.Equal(t, `{"result":{"note":null}}`, ada.mutate("createNote", "note { id }", input).data(), "what was created is gone meanwhile")

	failed := vars{"noteId": note, "title": "x", "idempotencyKey": "retried"}
	ada.mutate("updateNote", "note { id }", failed).fails("NOT_FOUND", "")
	ada.mutate("undeleteNote", "note { id }", vars{"noteId": note})
	assert.Equal(t, "x", ada.mutate("updateNote", "note { title }", failed).str("result.note.title"), "what failed did not use the key up")
}
