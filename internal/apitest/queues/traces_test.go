package queues

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
)

// erasesTraces erases what others' rows say about a user, as the erasure of a user does, without its rests.
func erasesTraces(s *apitest.Server, who *apitest.Client) {
	s.T.Helper()
	notes, lists, work := s.App.Traces.Notes, s.App.Traces.Lists, s.App.Traces.Work
	notes.Settle, lists.Settle, work.Settle = 0, 0, 0
	id := user.ID(apitest.GlobalKey(s.T, who.ID)[1])
	erasingUser(s, id)
	for _, traces := range []user.TraceEraser{notes, lists, work} {
		require.Eventually(s.T, func() bool { // messages on their way are met until the queue has followed them
			for position, calls := "", 0; calls < 100; calls++ {
				next, err := traces.EraseTraces(s.T.Context(), id, position)
				if _, later := errors.AsType[*user.Later](err); !later {
					require.NoError(s.T, err)
				}
				if position = next; next == "" {
					return true
				}
			}
			return false
		}, apitest.Patience, 20*time.Millisecond)
	}
}

// erasingUser has a user be erased from now on, if that is not so already.
func erasingUser(s *apitest.Server, id user.ID) {
	s.T.Helper()
	db := users.Store{DB: s.DB}
	before, errs := db.UsersByID(s.T.Context(), []user.ID{id})
	if errs != nil && fault.Is(errs[0], fault.NotFound) {
		return
	}
	require.NoError(s.T, errors.Join(errs...))
	after := before[0]
	after.Version, after.Deletion = after.Version+1, domain.Deletion{State: domain.Erasing, By: id, At: s.DB.Now(), UndoUntil: s.DB.Now()}
	require.NoError(s.T, db.PutDeletion(s.T.Context(), before[0], after, nil, idempotency.Key{}))
}

// tracesOf returns where a user is named, but for the user's own rows, memberships, and what ends by itself.
func tracesOf(s *apitest.Server, who *apitest.Client, email string) []string {
	s.T.Helper()
	id := apitest.GlobalKey(s.T, who.ID)[1]
	own := []string{
		"notes " + keys.UserPK(id) + " ", "notes EMAIL#", "notes SUBJECT#", "notes " + keys.IdempotencyPK(id) + " ", // who deletes the user removes these
		"relationship_entries taggie:User:" + id + " ", "redis taggie:note:events:{" + id + "}", "redis taggie:note:event:{" + id + "}",
		"redis taggie:note:event:", "redis taggie:score:event:", // an hour
		"redis taggie:budget:", "notes REVOCATIONS#", // a day
	}
	return slices.DeleteFunc(s.Mentions(id, email), func(where string) bool {
		return slices.ContainsFunc(own, func(begin string) bool { return strings.HasPrefix(where, begin) }) ||
			strings.HasPrefix(where, "relationship_entries") && strings.Contains(where, " member:0000000000000000:User:"+id)
	})
}

// foundByTwo is what a project shows of what two people did in it.
const foundByTwo = `members(first: 20) { nodes { user { id } } }
	teams { id statistics { finished incorrect users { user { id } finished incorrect } } }
	queue { counts { total new claimed finished skipped remaining } }
	toReviewCount
	items(first: 50) { nodes { id status claim { user { id } } returnedTo { id }
		efforts(first: 10) { nodes { id user { id name } review { verdict by { id name } } } } } }`

// Changes stay in the history of a project after the erasure of who made them, and of whom they concern, and name nobody then.
func TestTheHistoryNamesNoErasedUser(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.User("ada.erased@example.com").Project("Birds")
	grace := s.User("grace.erased@example.com")
	managers := l.Must(`query($p: ID!) { project(id: $p) { viewerMember { team { id } } } }`, apitest.Vars{"p": l.ID}).Str("project.viewerMember.team.id")
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": managers, "userId": grace.ID})
	grace.Mutate("updateProject", "project { version }", apitest.Vars{"projectId": l.ID, "name": "Owls"})
	changes := func() *apitest.Answer {
		return l.Must(`query($p: ID!) { project(id: $p) { history(first: 2) { nodes { type by { id } member { id } fields { before after } } } } }`, apitest.Vars{"p": l.ID})
	}
	require.Contains(t, changes().Body, grace.ID)
	erasesTraces(s, grace)
	after := changes()
	for n, want := range []struct{ typ, by any }{{"PROJECT_UPDATED", nil}, {"MEMBER_ADDED", l.Client.ID}} {
		change := &apitest.Answer{T: t, Body: after.Body, Data: after.List("project.history.nodes")[n].(map[string]any)}
		assert.Equal(t, want.typ, change.At("type"))
		assert.Nil(t, change.At("member"))
		if want.by == nil {
			assert.Nil(t, change.At("by"))
		} else {
			assert.Equal(t, want.by, change.At("by.id"))
		}
	}
	stored, err := projects.Store{DB: s.DB}.ListHistory(t.Context(), l.Key(), page.Window{Limit: 2})
	require.NoError(t, err)
	assert.Equal(t, []user.ID{user.Erased, user.Erased}, []user.ID{stored.Items[0].By, stored.Items[1].Member})
	assert.Empty(t, tracesOf(s, grace, "grace.erased@example.com"))
}

func TestNothingOfAnErasedUserIsLeftWithOthers(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(30, 0)
	ada, bob, rev := l.Labellers[0], l.Labellers[1], l.Reviewer()

	// Ada and Bob finish, review, skip, put off and hold items.
	var efforts []string
	for i, who := range []*apitest.Client{ada, ada, ada, bob, bob} {
		efforts = append(efforts, l.Finished(who, l.Claimed(who, 1)[0], apitest.Vars{"categoryId": l.Categories[i%3]}))
	}
	rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": efforts[0], "verdict": "INCORRECT"})
	rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": efforts[1], "verdict": "CORRECT"})
	bob.Mutate("undoFinish", "item { id }", apitest.Vars{"effortId": efforts[4]})
	have := l.Claimed(ada, 4)
	ada.Mutate("skipProjectItem", "item { id }", have[0].Input(apitest.Vars{"reason": "TO_OTHERS"}))
	ada.Mutate("skipProjectItem", "item { id }", have[1].Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	l.Claimed(bob, 1)
	reviewers := rev.Must(`query($p: ID!) { project(id: $p) { viewerMember { team { id } } } }`, apitest.Vars{"p": l.ID}).Str("project.viewerMember.team.id")
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": reviewers, "userId": ada.ID})
	ada.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": efforts[3], "verdict": "CORRECT"})

	// Ada writes in a note of the reviewer, blocks and is blocked, and changes what the manager owns.
	note := rev.Notes(1)[0]
	rev.Mutate("shareNote", "accessEdge { permission }", apitest.Vars{"noteId": note, "userId": ada.ID, "permission": "EDIT"})
	for n := range 2 {
		a := ada.Mutate("updateNote", "note { id }", apitest.Vars{"noteId": note, "title": fmt.Sprint("by Ada ", n)})
		require.Empty(t, a.Errors, "%s", a.Body)
	}
	rev.Mutate("updateNote", "note { id }", apitest.Vars{"noteId": note, "content": "no longer hers"})
	rev.Mutate("unshareNote", "note { id }", apitest.Vars{"noteId": note, "userId": ada.ID})
	rev.Mutate("blockUser", "user { id }", apitest.Vars{"userId": ada.ID})

	l.Counts("22 4 3 1")
	before := l.BecomesSo(l.Client, foundByTwo, func(*apitest.Answer) bool { return true })
	require.NotEmpty(t, tracesOf(s, ada, "labeller0@example.com"))
	require.NotEmpty(t, tracesOf(s, bob, "labeller1@example.com"))

	events := outbox.Store{DB: s.DB} // which nobody tells here
	waiting, err := events.ListOutbox(t.Context(), time.Now().Add(time.Hour), 1_000)
	require.NoError(t, err)
	require.NoError(t, events.DeleteOutbox(t.Context(), waiting))
	for _, who := range []*apitest.Client{ada, bob} {
		erasesTraces(s, who)
	}
	assert.Empty(t, tracesOf(s, ada, "labeller0@example.com"))
	assert.Empty(t, tracesOf(s, bob, "labeller1@example.com"))

	// Whose efforts are together stay together, and nobody's are joined with another's.
	after := l.BecomesSo(l.Client, foundByTwo, func(*apitest.Answer) bool { return true })
	numbers := func(p *apitest.Answer) (all []string) {
		for _, team := range p.List("teams") {
			team := &apitest.Answer{T: t, Body: p.Body, Data: team.(map[string]any)}
			for _, u := range team.List("statistics.users") {
				u := u.(map[string]any)
				all = append(all, fmt.Sprint(team.Str("id"), u["finished"], u["incorrect"]))
			}
		}
		slices.Sort(all)
		return all
	}
	assert.Equal(t, numbers(before), numbers(after))
	assert.Equal(t, before.At("queue"), after.At("queue"))
	assert.Equal(t, before.At("toReviewCount"), after.At("toReviewCount"))
	for _, item := range after.List("items.nodes") {
		item := &apitest.Answer{T: t, Body: after.Body, Data: item.(map[string]any)}
		for _, e := range item.List("efforts.nodes") {
			assert.Nil(t, e.(map[string]any)["user"], "%s", after.Body)
		}
	}
	assert.Contains(t, after.Body, `"by":{"id":"`+rev.ID, "the reviewer is there still")
	versions := rev.Must(`query($n: ID!) { note(id: $n) { updatedBy { id } version versions(first: 10) { nodes { title author { id } } } } }`, apitest.Vars{"n": note})
	assert.Contains(t, versions.Body, `"author":null`)
	assert.NotContains(t, versions.Body, ada.ID)
	assert.InDelta(t, 4, versions.At("note.version"), 0, "no version is made of it")

	// What is stored says the same as Redis.
	a := l.Mutate("rebuildProjectQueue", "project { id } problem { __typename }", apitest.Vars{"projectId": l.ID})
	require.Nil(t, a.At("result.problem"), "%s", a.Body)
	rebuilt := l.BecomesSo(l.Client, foundByTwo, func(p *apitest.Answer) bool { return slices.Equal(numbers(p), numbers(before)) })
	assert.Equal(t, after.At("teams"), rebuilt.At("teams"))
	l.Counts("22 4 3 1")
	assert.Empty(t, tracesOf(s, ada, "labeller0@example.com"))

	// Each has an own pseudonym in each project.
	db := users.Store{DB: s.DB}
	seen := map[user.ID]bool{}
	for _, who := range []*apitest.Client{ada, bob} {
		for _, p := range []string{string(l.Key()), "another"} {
			as, err := db.PseudonymOf(t.Context(), user.ID(apitest.GlobalKey(t, who.ID)[1]), p)
			require.NoError(t, err)
			seen[as] = true
		}
	}
	assert.Len(t, seen, 4)
}
