package users

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/user"
)

// erased has servers work for which more and more time has passed since a user was deleted, until the user is gone. Two work at once.
func erased(s *apitest.Server, id string) {
	s.T.Helper()
	key := users.ProfileKey(user.ID(apitest.GlobalKey(s.T, id)[1]))
	gone := func() bool {
		there, err := s.DB.Get(s.T.Context(), dynamo.NotesTable, key, func(dynamo.Item) error { return nil })
		require.NoError(s.T, err)
		return !there
	}
	for later, after := domain.UndoDeletion+time.Hour, 0; after < 2; later += time.Hour { // what follows from the erasure ends behind it
		if gone() {
			after++
		}
		require.Less(s.T, later, 2*domain.UndoDeletion, "the user is not erased")
		one, other := s.Later(later), s.Later(later+time.Minute)
		one.During(func() {
			other.During(func() {
				due := func() bool {
					any, err := dynamo.Tasks{DB: other.DB}.AnyUntil(s.T.Context(), other.DB.Now())
					require.NoError(s.T, err)
					return any
				}
				require.Eventually(s.T, func() bool { return after == 0 && gone() || !due() }, 4*apitest.Patience, 20*time.Millisecond)
			})
		})
		require.NoError(s.T, one.App.Following.Relay(s.T.Context()))
		for _, logs := range []*apitest.LockedBuffer{one.Logs, other.Logs} {
			require.NotContains(s.T, logs.String(), "level=ERROR")
		}
	}
}

func TestAnErasedUserLeavesNothing(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t, apitest.Within(5*time.Second)) // each pass over traces waits for as long
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(5, func(_ int, in apitest.Vars) { in["tags"] = []string{"work", "home"} })
	ada.Mutate("updateNote", "note { id }", apitest.Vars{"noteId": notes[0], "title": "second"})
	ada.Share(notes[:2], bob)
	ada.Mutate("deleteNote", "deletedNoteId", apitest.Vars{"noteId": notes[4]})
	theirs := bob.Notes(2)
	bob.Share(theirs[:1], ada)
	space := ada.Space("Films")
	weaver := space.Set("Person", "weaver", apitest.Vars{"name": "Weaver"})
	space.Set("Film", "alien", apitest.Vars{"title": "Alien"}, apitest.Under("stars", weaver))
	lent := bob.Space("Secret")
	lent.Member(ada, "WRITER")
	ada.Mutate("blockUser", "user { id }", apitest.Vars{"userId": bob.ID})
	bob.Mutate("blockUser", "user { id }", apitest.Vars{"userId": ada.ID})
	ada.Project("Birds")
	mine := ada.Uploads(apitest.Staves(t, 1), apitest.Vars{"name": "b.png"})
	ada.Requests(apitest.Staves(t, 3), nil)
	opus := ada.Score("Opus", []string{"slow"}, mine)
	ada.Snapshot(opus, "first")
	his := bob.Uploads(apitest.Staves(t, 4), nil)
	bob.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": bob.Score("His", nil, his), "access": "PUBLIC"}})
	ada.Tags(mine, apitest.Vars{"value": "Violin", "visibility": "PUBLIC"})
	ada.Tags(his, apitest.Vars{"value": "mine", "visibility": "PUBLIC"})
	ada.Mutate("createArchive", "archive { id }", apitest.Vars{})

	ada.Mutate("deleteUser", deleted, apitest.Vars{})
	erased(s, ada.ID)

	id := apitest.GlobalKey(t, ada.ID)[1]
	for key := range dynamotest.RowsOf(t, s.DB, dynamo.NotesTable) {
		assert.NotContains(t, key.PK, "USER#"+id)
		assert.NotEqual(t, "BLOCKED#"+id, key.SK)
	}
	others := "redis taggie:note:event" // what is remembered there of shares with others is theirs
	for _, found := range s.Mentions(id, "ada@example.com") {
		if !strings.HasPrefix(found, others) || strings.Contains(found, "{"+id+"}") {
			t.Error(found)
		}
	}
	assert.Len(t, bob.Must(`{ viewer { notes { nodes { id } } blockedUsers { nodes { user { id } } } } }`, nil).List("viewer.notes.nodes"), 2)
	assert.Empty(t, bob.Must(`query($s: ID!) { scope(id: $s) { members { nodes { id } } } }`, apitest.Vars{"s": lent.Scope}).List("scope.members.nodes")[1:])

	again := s.User("ada@example.com")
	assert.NotEqual(t, ada.ID, again.ID, "address and identity can sign up again")
	assert.Empty(t, again.Must(`{ viewer { notes { nodes { id } } } }`, nil).List("viewer.notes.nodes"))
}
