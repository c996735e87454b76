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
	"github.com/taggie/taggie/internal/user"
)

// erased has servers work for which more and more time has passed, from some on, until a user is gone who was deleted. Two work at once.
func erased(s *apitest.Server, id string, from time.Duration) {
	s.T.Helper()
	key := users.ProfileKey(user.ID(apitest.GlobalKey(s.T, id)[1]))
	gone := func() bool {
		there, err := s.DB.Get(s.T.Context(), dynamo.NotesTable, key, func(dynamo.Item) error { return nil })
		require.NoError(s.T, err)
		return !there
	}
	for later, after := from, 0; after < 2; later += time.Hour { // what follows from the erasure ends behind it
		if gone() {
			after++
		}
		at, err := users.Store{DB: s.DB}.FindProgress(s.T.Context(), user.ID(apitest.GlobalKey(s.T, id)[1]))
		require.NoError(s.T, err)
		require.Less(s.T, later, from+2*day, "the user is not erased: %+v", at)
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

const day = 24 * time.Hour

// works has a user be in a project of somebody else, by an invitation: the user finishes and reviews items, and invites others.
func works(l apitest.Crew, ada *apitest.Client) {
	l.T.Helper()
	invited := l.Mutate("createProjectInvitation", "invitation { token }", apitest.Vars{"teamId": l.Team})
	ada.Mutate("acceptProjectInvitation", "project { id }", apitest.Vars{"token": invited.Str("result.invitation.token")})
	l.Finished(ada, l.Claimed(ada, 1)[0], nil)
	theirs := l.Finished(l.Labellers[0], l.Claimed(l.Labellers[0], 1)[0], nil)
	chiefs := l.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": l.ID, "name": "Chiefs", "type": "MANAGER"}).Str("result.team.id")
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": chiefs, "userId": ada.ID})
	ada.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": theirs, "verdict": "CORRECT"})
	require.Empty(l.T, ada.Mutate("createProjectInvitation", "invitation { token }", apitest.Vars{"teamId": l.Team}).Errors)
	l.Counts("4 0 2 0")
}

func TestAnErasedUserLeavesNothing(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t, apitest.Within(5*time.Second)) // each pass over traces waits for as long
	s.Works()
	crew := s.Labelled(6, 0)
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
	for keeper, score := range map[*apitest.Client]string{ada: bob.Score("His", nil, his), bob: ada.Score("Hers", nil, mine)} {
		owner := map[*apitest.Client]*apitest.Client{ada: bob, bob: ada}[keeper]
		owner.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": score, "access": "PUBLIC"}})
		require.Empty(t, keeper.Mutate("keepScore", "score { id }", apitest.Vars{"scoreId": score}).Errors)
	}
	works(crew, ada)
	ada.Tags(mine, apitest.Vars{"value": "Violin", "visibility": "PUBLIC"})
	ada.Tags(his, apitest.Vars{"value": "mine", "visibility": "PUBLIC"})
	ada.Mutate("createArchive", "archive { id }", apitest.Vars{})
	s.During(func() {
		require.Eventually(t, func() bool {
			return strings.Contains(ada.Must(`{ viewer { archives { nodes { state } } } }`, nil).Body, "DONE")
		}, apitest.Patience, 20*time.Millisecond)
	})

	for range 2 { // what follows from the first deletion goes, too
		ada = again(ada, "ada@example.com")
		require.Equal(t, "DELETED", ada.Mutate("deleteUser", deleted, apitest.Vars{}).At("result.deleted.state"))
		ada = again(ada, "ada@example.com")
		require.Equal(t, ada.ID, ada.Mutate("undoDeleteUser", back, apitest.Vars{}).At("result.user.id"))
	}
	ada.Mutate("deleteUser", deleted, apitest.Vars{})
	ada = again(ada, "ada@example.com")
	require.Equal(t, "PURGING", ada.Mutate("purgeDeletedUser", deletedOnly, apitest.Vars{}).At("result.deleted.state"))
	ada.Mutate("undoDeleteUser", back, apitest.Vars{}).Fails("CONFLICT", "")
	const signUp = `mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`
	refused := ada.Do(signUp, nil)
	refused.Fails("USER_DELETED", "")
	assert.Contains(t, refused.Body, `"undoUntil":null`)
	erased(s, ada.ID, time.Hour)

	id := apitest.GlobalKey(t, ada.ID)[1]
	for key := range dynamotest.RowsOf(t, s.DB, dynamo.NotesTable) {
		assert.NotContains(t, key.PK, "USER#"+id)
		assert.NotEqual(t, "BLOCKED#"+id, key.SK)
	}
	for _, found := range s.Mentions(id, "ada@example.com") {
		switch {
		case strings.HasPrefix(found, "notes REVOCATIONS#"): // for a day
		case strings.Contains(found, "{"+id+"}"), !strings.HasPrefix(found, "redis taggie:note:event:") && !strings.HasPrefix(found, "redis taggie:score:event:"):
			t.Error(found) // what is remembered of events of others is theirs, for an hour
		}
	}
	crew.Counts("4 0 2 0")
	assert.Empty(t, bob.Must(`{ viewer { keptScores(first: 5) { edges { keptAt } } } }`, nil).List("viewer.keptScores.edges"))
	assert.Len(t, bob.Must(`{ viewer { notes { nodes { id } } blockedUsers { nodes { user { id } } } } }`, nil).List("viewer.notes.nodes"), 2)
	assert.Empty(t, bob.Must(`query($s: ID!) { scope(id: $s) { members { nodes { id } } } }`, apitest.Vars{"s": lent.Scope}).List("scope.members.nodes")[1:])

	again := s.User("ada@example.com")
	assert.NotEqual(t, ada.ID, again.ID, "address and identity can sign up again")
	assert.Empty(t, again.Must(`{ viewer { notes { nodes { id } } } }`, nil).List("viewer.notes.nodes"))
}
