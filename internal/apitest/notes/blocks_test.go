package notes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

const blockShown = "user { id name } noteIds more"

// sharedWith returns how many notes are shared with a user.
func sharedWith(who *apitest.Client) int {
	who.T.Helper()
	return len(who.Must(`{ viewer { sharedNotes(first: 500) { nodes { id } } } }`, nil).List("viewer.sharedNotes.nodes"))
}

// A user blocks another one: shares by that user end, and there are no new ones, nor does that user add the other to anything.
func TestABlockedUserGivesAndAddsNothing(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob, eve := s.User("ada@example.com"), s.User("bob@example.com"), s.User("eve@example.com")
	notes := bob.Notes(130)
	bob.Share(notes, ada, eve)
	space := bob.Space("S")
	team := bob.Must(`mutation { createProject(input: {name: "P", categories: ["c"]}) { project { id teams { id } } } }`, nil)
	project := team.Str("createProject.project.id")
	taggies := bob.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": project, "name": "T", "type": "TAGGIE"}).Str("result.team.id")
	adds := map[string]func(field string, is any) *apitest.Answer{
		"shareNote": func(field string, is any) *apitest.Answer {
			return bob.Mutate("shareNote", "accessEdge { permission } problem { __typename ... on UnknownUser { message field } }", apitest.Vars{"noteId": notes[0], field: is, "permission": "EDIT"})
		},
		"putScopeMember": func(field string, is any) *apitest.Answer {
			return bob.Mutate("putScopeMember", "memberEdge { role } problem { __typename ... on UnknownUser { message field } }", apitest.Vars{"scopeId": space.Scope, field: is, "role": "READER"})
		},
		"putProjectMember": func(field string, is any) *apitest.Answer {
			return bob.Mutate("putProjectMember", "member { type } problem { __typename ... on UnknownUser { message field } }", apitest.Vars{"teamId": taggies, field: is})
		},
	}

	a := ada.Mutate("blockUser", blockShown, apitest.Vars{"userId": bob.ID})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, bob.ID, a.Str("result.user.id"))
	assert.Len(t, a.List("result.noteIds"), 100)
	assert.Equal(t, true, a.At("result.more"))
	a = ada.Mutate("blockUser", blockShown, apitest.Vars{"userId": bob.ID})
	assert.Len(t, a.List("result.noteIds"), 30)
	assert.Equal(t, false, a.At("result.more"))
	assert.Equal(t, []int{0, 130}, []int{sharedWith(ada), sharedWith(eve)})
	for name, add := range adds {
		for field, is := range map[string][2]string{"userId": {ada.ID, apitest.GIDOf("User", "nobody")}, "email": {"ADA@example.com", "nobody@example.com"}} {
			refused, unknown := add(field, is[0]), add(field, is[1])
			assert.Equal(t, "UnknownUser", refused.Str("result.problem.__typename"), name)
			assert.Equal(t, "input."+field, refused.Str("result.problem.field"), name)
			assert.Equal(t, unknown.Data, refused.Data, "%s tells no more than of somebody who is not there", name)
		}
	}
	assert.Zero(t, sharedWith(ada))
	for _, list := range []string{"scopes", "projects"} {
		assert.Empty(t, ada.Must(`{ viewer { `+list+`(first: 5) { nodes { id } } } }`, nil).List("viewer."+list+".nodes"), list)
	}

	// It is between these two, and in this direction.
	ada.Share(ada.Notes(1), bob)
	assert.Equal(t, 1, sharedWith(bob))
	eve.Share(eve.Notes(1), ada)
	assert.Equal(t, 1, sharedWith(ada))

	const list = `query($of: ID!) { user(id: $of) { blockedUsers(first: 10) { edges { cursor node { blockedAt } } nodes { user { id name } } pageInfo { hasNextPage } } } }`
	of := ada.Must(list, apitest.Vars{"of": ada.ID})
	require.Len(t, of.List("user.blockedUsers.nodes"), 1)
	assert.Contains(t, of.Body, bob.ID)
	other := bob.Do(list, apitest.Vars{"of": ada.ID})
	require.Len(t, other.Errors, 1)
	assert.Equal(t, "FORBIDDEN", other.Errors[0].Extensions.Code)

	a = ada.Mutate("unblockUser", "user { id }", apitest.Vars{"userId": bob.ID})
	assert.Equal(t, bob.ID, a.Str("result.user.id"))
	assert.Empty(t, ada.Must(list, apitest.Vars{"of": ada.ID}).List("user.blockedUsers.nodes"))
	assert.Equal(t, 1, sharedWith(ada), "shares that have ended stay so")
	for name, add := range adds {
		a := add("userId", ada.ID)
		assert.Nil(t, a.At("result.problem"), "%s: %s", name, a.Body)
	}
	assert.Equal(t, 2, sharedWith(ada))

	// Who is a member already can be moved by a manager whom they block.
	ada.Mutate("blockUser", blockShown, apitest.Vars{"userId": bob.ID})
	a = bob.Mutate("putScopeMember", "memberEdge { role }", apitest.Vars{"scopeId": space.Scope, "userId": ada.ID, "role": "WRITER"})
	assert.Equal(t, "WRITER", a.Str("result.memberEdge.role"))
}

// A block is killed after each number of writes. Before the first one nothing is so; after it, no share is there that was not before, and the
// same request, with the same key, ends the rest.
func TestBlocksAreKilled(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := bob.Notes(4)
	for writes := range 6 {
		bob.Share(notes, ada)
		in := apitest.Vars{"userId": bob.ID, "idempotencyKey": apitest.Numbered("block", 6)[writes]}
		rule := s.Faults.KillAfter(writes, faultinject.Writes)
		a := ada.Mutate("blockUser", blockShown, in)
		rule.Stop()
		s.Faults.Clear()
		blocked := len(ada.Must(`{ viewer { blockedUsers(first: 5) { nodes { blockedAt } } } }`, nil).List("viewer.blockedUsers.nodes"))
		assert.Equal(t, min(writes, 1), blocked, "%d writes", writes)
		assert.Equal(t, 5-max(writes, 1), sharedWith(ada), "%d writes", writes)
		assert.Equal(t, writes < 5, len(a.Errors) > 0, "%d writes: %s", writes, a.Body)
		a = ada.Mutate("blockUser", blockShown, in)
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Zero(t, sharedWith(ada))
		assert.Len(t, ada.Must(`{ viewer { blockedUsers(first: 5) { nodes { blockedAt } } } }`, nil).List("viewer.blockedUsers.nodes"), 1)
		ada.Mutate("unblockUser", "user { id }", apitest.Vars{"userId": bob.ID})
		bob.Share(notes[:1], ada)
		a = ada.Mutate("blockUser", blockShown, in)
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, 1, sharedWith(ada), "a request that comes late again ends nothing of a user who is not blocked any more")
		assert.Empty(t, a.At("result.noteIds"))
	}
}
