package requests

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

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

// repeated is a mutation that is sent more than once.
type repeated struct {
	// prepare makes what the mutation needs, and returns who sends it and its input.
	prepare   func(ada, bob *apitest.Client) (who *apitest.Client, input apitest.Vars)
	selection string
	other     apitest.Vars // what makes the input another one; nil where there is nothing but the key
	more      bool         // it takes more transactions than the one that counts
	made      string       // what the state shows once more afterwards, where answers would not tell
	each      bool         // its key is that of each of its parts, and not used up by the whole
}

// onNote prepares a mutation of ada about a new note.
func onNote(input apitest.Vars) func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
	return func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
		merged := maps.Clone(input)
		merged["noteId"] = ada.Notes(1, func(_ int, create apitest.Vars) { create["tags"] = []string{"old"} })[0]
		return ada, merged
	}
}

// deletingUser prepares a mutation of an administrator about a deleted user.
func deletingUser(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
	gone := ada.User(uuid.NewString() + "@example.com")
	gone.Mutate("deleteUser", "deleted { state }", apitest.Vars{})
	return ada.Admin(uuid.NewString() + "@example.com"), apitest.Vars{"userId": gone.ID}
}

// noteMutations are those of the mutations that are about users and notes.
var noteMutations = map[string]repeated{
	"createUser": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			email := uuid.NewString() + "@example.com"
			return ada.As(email), apitest.Vars{"name": "New", "email": email}
		},
		selection: "user { id name email version createdAt } problem { __typename }",
		other:     apitest.Vars{"name": "Other"},
	},
	"updateUser": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			version := ada.Must("{ viewer { version } }", nil).At("viewer.version")
			return ada, apitest.Vars{"name": "Ada", "email": uuid.NewString() + "@example.com", "expectedVersion": version}
		},
		selection: "user { name email version updatedAt } problem { __typename }",
		other:     apitest.Vars{"name": "Other"},
	},
	"deleteUser": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada.Admin(uuid.NewString() + "@example.com"), apitest.Vars{"userId": ada.User(uuid.NewString() + "@example.com").ID}
		},
		selection: "deleted { userId state undoUntil } problem { __typename }", other: apitest.Vars{"userId": apitest.GIDOf("User", "a")},
	},
	"undoDeleteUser": {
		prepare: deletingUser, selection: "user { id name }", other: apitest.Vars{"userId": apitest.GIDOf("User", "a")},
	},
	"purgeDeletedUser": {
		prepare: deletingUser, selection: "deleted { userId state undoUntil }", other: apitest.Vars{"userId": apitest.GIDOf("User", "a")},
	},
	"createNote": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada, apitest.Vars{"title": "new", "content": "new", "deadline": "2027-01-01T00:00:00Z", "tags": []string{"a", "b"}}
		},
		selection: "note { ...whole }",
		other:     apitest.Vars{"title": "other"},
	},
	"updateNote": {
		prepare: onNote(apitest.Vars{"title": "second"}), selection: "note { ...whole } problem { __typename }", other: apitest.Vars{"title": "other"},
	},
	"changeNoteDeadline": {
		prepare:   onNote(apitest.Vars{"deadline": "2027-02-01T00:00:00Z", "expectedVersion": 1}),
		selection: "note { ...whole } problem { __typename }", other: apitest.Vars{"deadline": nil},
	},
	"deleteNote": {
		prepare: onNote(apitest.Vars{"expectedVersion": 1}), selection: "deletedNote { noteId deletedAt undoUntil } problem { __typename }", other: apitest.Vars{"expectedVersion": 2},
	},
	"undeleteNote": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			notes := ada.Notes(2)
			ada.All("deleteNote", "deletedNote { noteId }", []apitest.Vars{{"noteId": notes[0]}})
			return ada, apitest.Vars{"noteId": notes[0]}
		},
		selection: "note { ...whole }",
		other:     apitest.Vars{"noteId": "Tm90ZQAx"}, // some other note
	},
	"restoreVersion": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			note := ada.Notes(1)[0]
			a := ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "second"}) { note { latestVersion { id } } } }`, apitest.Vars{"id": note})
			return ada, apitest.Vars{"versionId": a.Str("updateNote.note.latestVersion.id"), "expectedVersion": 2}
		},
		selection: "note { ...whole } problem { __typename }",
		other:     apitest.Vars{"expectedVersion": 3},
	},
	"addNoteTags": {
		prepare: onNote(apitest.Vars{"tags": []string{"new"}}), selection: "note { ...whole } problem { __typename }", other: apitest.Vars{"tags": []string{"other"}},
	},
	"removeNoteTags": {
		prepare: onNote(apitest.Vars{"tags": []string{"old"}}), selection: "note { ...whole }", other: apitest.Vars{"tags": []string{"other"}},
	},
	"shareNote": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada, apitest.Vars{"noteId": ada.Notes(1)[0], "userId": bob.ID, "permission": "VIEW"}
		},
		selection: "note { id } accessEdge { cursor permission sharedAt node { id } } problem { __typename }",
		other:     apitest.Vars{"permission": "EDIT"},
	},
	"openSharedNote": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			note := ada.Notes(1)[0]
			ada.Share([]string{note}, bob)
			return bob, apitest.Vars{"noteId": note}
		},
		selection: "note { id } openedAt",
		other:     apitest.Vars{"noteId": "Tm90ZQAx"},
	},
	"unshareNote": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			note := ada.Notes(1)[0]
			ada.Share([]string{note}, bob)
			return bob, apitest.Vars{"noteId": note, "userId": bob.ID}
		},
		selection: "note { id } user { id }",
		other:     apitest.Vars{"noteId": "Tm90ZQAx"},
	},
	"blockUser": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			return bob, apitest.Vars{"userId": ada.ID}
		},
		selection: "user { id }",
		other:     apitest.Vars{"userId": apitest.GIDOf("User", "another")},
	},
	"createArchive": {
		prepare:   func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) { return ada, apitest.Vars{} },
		selection: "archive { id state createdAt }",
	},
	"unblockUser": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			bob.Mutate("blockUser", "more", apitest.Vars{"userId": ada.ID})
			return bob, apitest.Vars{"userId": ada.ID}
		},
		selection: "user { id }",
		other:     apitest.Vars{"userId": apitest.GIDOf("User", "another")},
	},
}

// state is everything that the user can see.
func state(c *apitest.Client) string {
	c.T.Helper()
	return c.Must(`{ viewer { id name email version updatedAt notes(first: 20) { nodes { ...whole } } sharedNotes(first: 20) { edges { permission sharedAt openedAt node { ...whole } } }
		noteChanges(first: 20) { nodes { ... on Note { id updatedAt } ... on DeletedNote { deleted: noteId deletedAt } } } blockedUsers(first: 5) { nodes { user { id } blockedAt } } archives(first: 5) { nodes { id } } } }`+apitest.Whole, nil).Raw() + c.ScopesState() + projectsState(c) + scoresState(c) + deletedUsersState(c)
}

func TestEachMutationWithAKeyHappensOnce(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	schema := s.As("nobody@example.com").Must(`{ __schema { mutationType { fields { name args { type { ofType { inputFields { name } } } } } } } }`, nil)
	mutations := maps.Clone(noteMutations)
	maps.Copy(mutations, entityMutations)
	maps.Copy(mutations, queueMutations)
	maps.Copy(mutations, scoreMutations)
	var known []string
	for _, field := range schema.List("__schema.mutationType.fields") {
		f := &apitest.Answer{T: t, Body: schema.Body, Data: field.(map[string]any)}
		known = append(known, f.Str("name"))
		assert.Contains(t, fmt.Sprint(f.List("args")), "idempotencyKey", f.Str("name"))
	}
	assert.ElementsMatch(t, known, slices.Concat(slices.Collect(maps.Keys(mutations)), repeatable), "each mutation of the schema has an entry in this test")

	committed := func() int {
		return s.Faults.Recorder().Count(apitest.Transactions, func(c *faultinject.Call) bool { return c.Status == 200 })
	}
	// New ones for each, so that their lists stay short, and with addresses of this run only: the limit of tried addresses is
	// kept in Redis, which outlives the tables.
	people := func() *apitest.Client { return s.User(uuid.NewString() + "@example.com") }
	for _, name := range slices.Sorted(maps.Keys(mutations)) {
		m := mutations[name]
		t.Run(name, func(t *testing.T) {
			who, input := m.prepare(people(), people())
			input["idempotencyKey"] = "key of " + name
			before := state(who)
			s.Faults.Recorder().Reset()
			answers := make([]*apitest.Answer, 5)
			start := make(chan struct{})
			var group sync.WaitGroup
			for i := range answers {
				group.Go(func() {
					<-start
					answers[i] = who.Mutate(name, m.selection, input)
				})
			}
			close(start)
			group.Wait()
			for _, a := range answers {
				require.Empty(t, a.Errors, "%s", a.Body)
				require.Nil(t, a.At("result.problem"), "%s", a.Body)
				assert.Equal(t, answers[0].Raw(), a.Raw())
			}
			assert.True(t, committed() == 1 || m.more, "%d transactions", committed())
			after := state(who)
			assert.NotEqual(t, before, after, "it has an effect")
			if m.made != "" {
				assert.Equal(t, 1, strings.Count(after, m.made))
			}

			s.Faults.Recorder().Reset()
			assert.Equal(t, answers[0].Raw(), who.Mutate(name, m.selection, input).Raw(), "the answer is the first one's")
			assert.Zero(t, committed())
			assert.Equal(t, after, state(who))

			other := maps.Clone(input)
			maps.Copy(other, m.other)
			if m.each { // of the finishes, this one with other words
				other["finishes"] = []apitest.Vars{apitest.Changed(input["finishes"].([]apitest.Vars)[0], apitest.Vars{"keywords": []string{"other"}})}
			}
			if m.other != nil || m.each {
				who.Mutate(name, m.selection, other).Fails("CONFLICT", "input.idempotencyKey")
			}
			if name != "createUser" && !m.each { // its key belongs to the identity, which has no other mutations
				who.Mutate("createNote", "note { id }", apitest.Vars{"title": "t", "content": "c", "idempotencyKey": input["idempotencyKey"]}).Fails("CONFLICT", "input.idempotencyKey")
			}
			assert.Equal(t, after, state(who))
		})
	}
}

func TestAKeyBelongsToItsUser(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	input := apitest.Vars{"title": "t", "content": "c", "idempotencyKey": "shared"}
	first, second := ada.Mutate("createNote", "note { id owner { id } }", input), bob.Mutate("createNote", "note { id owner { id } }", input)
	assert.Equal(t, ada.ID, first.Str("result.note.owner.id"))
	assert.Equal(t, bob.ID, second.Str("result.note.owner.id"))

	note := first.At("result.note.id")
	ada.Mutate("deleteNote", "deletedNote { noteId }", apitest.Vars{"noteId": note})
	assert.Equal(t, `{"result":{"note":null}}`, ada.Mutate("createNote", "note { id }", input).Raw(), "what was created is gone meanwhile")

	failed := apitest.Vars{"noteId": note, "title": "x", "idempotencyKey": "retried"}
	ada.Mutate("updateNote", "note { id }", failed).Fails("NOT_FOUND", "")
	ada.Mutate("undeleteNote", "note { id }", apitest.Vars{"noteId": note})
	assert.Equal(t, "x", ada.Mutate("updateNote", "note { title }", failed).Str("result.note.title"), "what failed did not use the key up")
}
