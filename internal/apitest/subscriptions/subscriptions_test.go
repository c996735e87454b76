package subscriptions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestASubscriberIsToldEverythingThatHappens(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(4, 0)
	ada, bob, rev := l.Labellers[0], l.Labellers[1], l.Reviewer()
	first := l.Claimed(ada, 1)[0]

	mine, others := l.Listens(ada, nil), l.Listens(bob, nil)
	snapshot := mine.Snapshot()
	assert.Equal(t, l.ID, snapshot.Str("project.id"))
	assert.Equal(t, "3 1 0 0", apitest.CountsOf(snapshot, "queue.counts"))
	assert.InDelta(t, 3, snapshot.At("queue.queued"), 0)
	assert.InDelta(t, 1_000, snapshot.At("queue.size"), 0)
	assert.Equal(t, false, snapshot.At("queue.paused"))
	assert.Equal(t, snapshot.Str("cursor"), snapshot.Str("queue.cursor"))
	assert.Equal(t, []apitest.Held{first}, apitest.HeldOf(snapshot, "claims"))
	assert.Len(t, snapshot.List("statistics"), 3, "of each team")
	his := others.Snapshot()
	assert.Empty(t, his.List("claims"))
	assert.NotContains(t, his.Body, first.Token)
	assert.Equal(t, snapshot.Str("cursor"), his.Str("cursor"), "cursors are the same for all members")

	told := func(typ string, want apitest.Vars) *apitest.Answer {
		t.Helper()
		m, also := mine.Event(typ), others.Event(typ)
		for path, value := range want {
			if text, is := value.(string); is && path == "counts" {
				assert.Equal(t, text, apitest.CountsOf(m, "counts"), "%s: %s", typ, m.Body)
				continue
			}
			assert.Equal(t, value, m.At(path), "%s %s: %s", typ, path, m.Body)
		}
		same := strings.NewReplacer(first.Token, "", fmt.Sprintf("%q", m.At("item.claim.token")), "null", fmt.Sprintf("%q", also.At("item.claim.token")), "null")
		assert.JSONEq(t, same.Replace(m.Body), same.Replace(also.Body), "all are told the same, but for tokens")
		if m.At("item.claim.user.id") != bob.ID {
			assert.Nil(t, also.At("item.claim.token"))
		}
		return m
	}
	item := func(id string, more ...apitest.Vars) apitest.Vars {
		want := apitest.Vars{"item.id": id, "item.name": nameOf(l, id)}
		for _, v := range more {
			for path, value := range v {
				want[path] = value
			}
		}
		return want
	}
	byAda := apitest.Vars{"user.id": ada.ID, "user.name": "Somebody", "team.id": l.Team, "team.name": "Labellers", "author": nil}

	second := l.Claimed(ada, 1)[0]
	m := told("CLAIMED", item(second.ID, byAda, apitest.Vars{"status": "CLAIMED", "counts": "2 2 0 0", "queued": 2.0, "item.status": "CLAIMED", "item.claim.user.id": ada.ID}))
	assert.Equal(t, second.Token, m.Str("item.claim.token"), "whose claim it is")
	l.Rewrites(second.ID, apitest.NearlyOver)
	ada.Mutate("extendClaim", "item { id }", second.Input())
	told("EXTENDED", item(second.ID, byAda, apitest.Vars{"status": "CLAIMED", "counts": "2 2 0 0"}))
	effort := l.Finished(ada, first, apitest.Vars{"categoryId": l.Categories[2], "subcategoryId": l.Subcategories[1], "keywords": []string{"k"}})
	told("FINISHED", item(first.ID, byAda, apitest.Vars{"status": "FINISHED", "counts": "2 1 1 0", "item.status": "FINISHED", "item.category.name": "Swan", "item.subcategory.name": "Tame", "item.keywords": []any{"k"}, "item.claim": nil}))
	ada.Mutate("releaseProjectItem", "item { id }", second.Input())
	told("RELEASED", item(second.ID, byAda, apitest.Vars{"status": "NEW", "counts": "3 0 1 0", "queued": 3.0}))
	third := l.Claimed(ada, 1)[0]
	told("CLAIMED", nil)
	ada.Mutate("skipProjectItem", "item { id }", third.Input(apitest.Vars{"reason": "TO_OTHERS"}))
	told("DEFERRED", item(third.ID, byAda, apitest.Vars{"status": "NEW", "counts": "3 0 1 0"}))
	fourth := l.Claimed(bob, 1)[0]
	told("CLAIMED", apitest.Vars{"user.id": bob.ID})
	bob.Mutate("skipProjectItem", "item { id }", fourth.Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	told("SKIPPED", item(fourth.ID, apitest.Vars{"user.id": bob.ID, "status": "SKIPPED", "counts": "2 0 1 1", "item.status": "SKIPPED"}))
	rev.Mutate("reviewEffort", "item { id }", apitest.Vars{"effortId": effort, "verdict": "INCORRECT"})
	told("REVIEWED", item(first.ID, apitest.Vars{"user.id": rev.ID, "author.id": ada.ID, "status": "NEW", "counts": "3 0 0 1", "team.type": "REVIEWER"}))
	again := l.Claimed(ada, 1)[0]
	require.Equal(t, first.ID, again.ID)
	told("CLAIMED", nil)
	effort = l.Finished(ada, again)
	told("FINISHED", apitest.Vars{"counts": "2 0 1 1"})
	a := ada.Mutate("undoFinish", "item { claim { token } }", apitest.Vars{"effortId": effort})
	m = told("UNDONE", item(first.ID, byAda, apitest.Vars{"status": "CLAIMED", "counts": "2 1 0 1", "item.status": "CLAIMED"}))
	assert.Equal(t, a.Str("result.item.claim.token"), m.Str("item.claim.token"))
	l.Expires(first.ID)
	told("EXPIRED", item(first.ID, apitest.Vars{"status": "NEW", "counts": "3 0 0 1", "user.id": ada.ID}))
	assert.Contains(t, l.Server.Metrics(), "\ntaggie_item_transitions_total{cause=\"EXPIRED\"} 1\n")

	byManager := apitest.Vars{"user.id": l.Client.ID, "item": nil, "status": nil, "counts": "3 0 0 1"}
	l.Mutate("pauseProject", "project { id }", apitest.Vars{"projectId": l.ID})
	told("PAUSED", byManager)
	l.Mutate("resumeProject", "project { id }", apitest.Vars{"projectId": l.ID})
	told("RESUMED", byManager)
	l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "queueSize": 2})
	told("RESIZED", byManager)
	l.Mutate("addProjectCategories", "project { id }", apitest.Vars{"projectId": l.ID, "categories": []string{"Newt"}})
	told("CATEGORIES_CHANGED", byManager)
	l.Mutate("updateGuidelines", "guidelines { version }", apitest.Vars{"projectId": l.ID, "text": "# How to label"})
	told("GUIDELINES_CHANGED", byManager)
	l.Mutate("updateGuidelines", "guidelines { version }", apitest.Vars{"projectId": l.ID, "text": "# How to label"}) // nothing changes
	l.During(func() { l.Imports(`{"externalId":"new","name":"another"}`) })
	told("IMPORTED", apitest.Vars{"user.id": l.Client.ID, "counts": "4 0 0 1"})
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": l.Team, "userId": s.User("new@example.com").ID})
	told("MEMBERS", apitest.Vars{"team.id": l.Team, "counts": "4 0 0 1"})
}

// nameOf is the name of an item.
func nameOf(l apitest.Crew, id string) string {
	l.T.Helper()
	return l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { name } } }`, apitest.Vars{"i": id}).Str("node.name")
}

func TestASubscriberGoesOnWhereItWasCutOff(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(6, 0)
	ada := l.Labellers[0]
	whole := l.Listens(l.Labellers[1], nil)
	cursors := []string{whole.Snapshot().Str("cursor")}
	for _, h := range l.Claimed(ada, 5) {
		l.Finished(ada, h)
	}
	var bodies []string
	for range 10 {
		m := whole.Message()
		cursors, bodies = append(cursors, m.Str("cursor")), append(bodies, m.Str("type")+" "+m.Str("item.id")+" "+m.Str("cursor"))
	}
	assert.Len(t, apitest.Unique(cursors), 11)
	for i, after := range cursors {
		from := l.Listens(l.Labellers[i%3], apitest.Vars{"after": after})
		for _, want := range bodies[i:] {
			m := from.Message()
			require.Equal(t, want, m.Str("type")+" "+m.Str("item.id")+" "+m.Str("cursor"), "after the %dth", i)
		}
		from.Close()
	}
	// The cursor of the queue is one, too; and the end of the replay is the beginning of what happens now.
	at := l.Must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, apitest.Vars{"p": l.ID}).Str("project.queue.cursor")
	now := l.Listens(l.Labellers[2], apitest.Vars{"after": at})
	l.Claimed(ada, 1)
	assert.Equal(t, "1 of 6 left", fmt.Sprint(now.Event("CLAIMED").At("counts.claimed"), " of ", 6, " left"))
}

func TestASubscriberChoosesWhatToHear(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(6, 0)
	ada, bob, rev := l.Labellers[0], l.Labellers[1], l.Reviewer()
	finishes := l.Listens(bob, apitest.Vars{"types": []string{"FINISHED", "PAUSED"}})
	adas, bobs := l.Listens(ada, apitest.Vars{"mine": true}), l.Listens(bob, apitest.Vars{"mine": true, "types": []string{"CLAIMED", "FINISHED", "REVIEWED"}})
	for _, one := range []*apitest.Stream{finishes, adas, bobs} {
		one.Snapshot()
	}
	mine, his := l.Claimed(ada, 1)[0], l.Claimed(bob, 1)[0]
	one, two := l.Finished(ada, mine), l.Finished(bob, his)
	l.Counts("4 0 2 0")
	for _, effort := range []string{one, two} {
		rev.Mutate("reviewEffort", "item { id }", apitest.Vars{"effortId": effort, "verdict": "CORRECT"})
	}
	l.Mutate("pauseProject", "project { id }", apitest.Vars{"projectId": l.ID})

	var heard []string
	for range 3 {
		m := finishes.Message()
		heard = append(heard, m.Str("type"))
	}
	assert.Equal(t, []string{"FINISHED", "FINISHED", "PAUSED"}, heard)
	for _, want := range []string{"CLAIMED", "FINISHED", "REVIEWED"} {
		assert.Equal(t, mine.ID, adas.Event(want).Str("item.id"))
		assert.Equal(t, his.ID, bobs.Event(want).Str("item.id"))
	}
}

func TestWhoMissedEventsIsTold(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(3, 0)
	other := l.Client.Project("Another")
	ada := l.Labellers[0]
	key, at := string(l.Key()), apitest.GlobalKey(t, l.Must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, apitest.Vars{"p": l.ID}).Str("project.queue.cursor"))
	gap := func(reason, after string) {
		t.Helper()
		from := l.Listens(ada, apitest.Vars{"after": after})
		m := from.Message()
		require.Equal(t, "ProjectGap", m.At("__typename"), "%s: %s", reason, m.Body)
		assert.NotEmpty(t, m.Str("message"))
		from.Snapshot()
		from.Close()
	}
	gap("an epoch that never was", apitest.GIDOf("ProjectEvent", key, "none", at[3]))
	gap("an entry that never was", apitest.GIDOf("ProjectEvent", key, at[2], "1-1"))
	gap("an entry of the future", apitest.GIDOf("ProjectEvent", key, at[2], "99999999999999-0"))
	gap("no entry at all", apitest.GIDOf("ProjectEvent", key, at[2], "x"))
	gap("an entry like a command", apitest.GIDOf("ProjectEvent", key, at[2], "$"))
	gap("the beginning", apitest.GIDOf("ProjectEvent", key, at[2], "0-0"))
	gap("an empty epoch", apitest.GIDOf("ProjectEvent", key, "-", "-"))

	l.Listens(ada, apitest.Vars{"after": other.Must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, apitest.Vars{"p": other.ID}).Str("project.queue.cursor")}).Refused(apitest.Invalid, "after")
	for _, after := range []string{"", "x", l.ID, apitest.GIDOf("ProjectEvent", key), apitest.GIDOf("ProjectEvent", key, at[2], at[3], "more"), strings.Repeat("A", 10_000)} {
		l.Listens(ada, apitest.Vars{"after": after}).Refused("GRAPHQL_VALIDATION_FAILED", "")
	}

	// Somebody who listens while the queue is rebuilt.
	live := l.Listens(ada, nil)
	before := live.Snapshot()
	l.Mutate("rebuildProjectQueue", "project { id }", apitest.Vars{"projectId": l.ID})
	m := live.Message()
	require.Equal(t, "ProjectGap", m.At("__typename"), "%s", m.Body)
	after := live.Snapshot()
	assert.NotEqual(t, apitest.GlobalKey(t, before.Str("cursor"))[2], apitest.GlobalKey(t, after.Str("cursor"))[2], "the epoch")
	l.Claimed(ada, 1)
	for live.Message().At("type") != "CLAIMED" { // the queue was filled, and so on
	}
	gap("the epoch before", before.Str("cursor"))
}

func TestASubscriptionSelectsOneField(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	for _, query := range []string{
		`subscription { onlineCount again: onlineCount }`,
		`subscription { ...F } fragment F on Subscription { onlineCount again: onlineCount }`,
		`subscription { onlineCount @skip(if: true) }`,
	} {
		err := ada.Subscribe(query, nil).Ended()
		require.ErrorContains(t, err, "GRAPHQL_VALIDATION_FAILED", query)
	}
	ada.Subscribe(`subscription { onlineCount onlineCount }`, nil).Next() // is one
}
