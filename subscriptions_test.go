package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASubscriberIsToldEverythingThatHappens(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(4, 0)
	ada, bob, rev := l.labellers[0], l.labellers[1], l.reviewer()
	first := l.claimed(ada, 1)[0]

	mine, others := l.listens(ada, nil), l.listens(bob, nil)
	snapshot := mine.snapshot()
	assert.Equal(t, l.id, snapshot.str("project.id"))
	assert.Equal(t, "3 1 0 0", countsOf(snapshot, "queue.counts"))
	assert.InDelta(t, 3, snapshot.at("queue.queued"), 0)
	assert.InDelta(t, 1_000, snapshot.at("queue.size"), 0)
	assert.Equal(t, false, snapshot.at("queue.paused"))
	assert.Equal(t, snapshot.str("cursor"), snapshot.str("queue.cursor"))
	assert.Equal(t, []held{first}, heldOf(snapshot, "claims"))
	assert.Len(t, snapshot.list("statistics"), 3, "of each team")
	his := others.snapshot()
	assert.Empty(t, his.list("claims"))
	assert.NotContains(t, his.body, first.token)
	assert.Equal(t, snapshot.str("cursor"), his.str("cursor"), "cursors are the same for all members")

	told := func(typ string, want vars) *answer {
		t.Helper()
		m, also := mine.event(typ), others.event(typ)
		for path, value := range want {
			if text, is := value.(string); is && path == "counts" {
				assert.Equal(t, text, countsOf(m, "counts"), "%s: %s", typ, m.body)
				continue
			}
			assert.Equal(t, value, m.at(path), "%s %s: %s", typ, path, m.body)
		}
		same := strings.NewReplacer(first.token, "", fmt.Sprintf("%q", m.at("item.claim.token")), "null", fmt.Sprintf("%q", also.at("item.claim.token")), "null")
		assert.JSONEq(t, same.Replace(m.body), same.Replace(also.body), "all are told the same, but for tokens")
		if m.at("item.claim.user.id") != bob.id {
			assert.Nil(t, also.at("item.claim.token"))
		}
		return m
	}
	item := func(id string, more ...vars) vars {
		want := vars{"item.id": id, "item.name": l.nameOf(id)}
		for _, v := range more {
			for path, value := range v {
				want[path] = value
			}
		}
		return want
	}
	byAda := vars{"user.id": ada.id, "user.name": "Somebody", "team.id": l.team, "team.name": "Labellers", "author": nil}

	second := l.claimed(ada, 1)[0]
	m := told("CLAIMED", item(second.id, byAda, vars{"status": "CLAIMED", "counts": "2 2 0 0", "queued": 2.0, "item.status": "CLAIMED", "item.claim.user.id": ada.id}))
	assert.Equal(t, second.token, m.str("item.claim.token"), "whose claim it is")
	l.rewrites(second.id, nearlyOver)
	ada.mutate("extendClaim", "item { id }", second.input())
	told("EXTENDED", item(second.id, byAda, vars{"status": "CLAIMED", "counts": "2 2 0 0"}))
	effort := l.finished(ada, first, vars{"categoryId": l.categories[2], "subcategoryId": l.subcategories[1], "keywords": []string{"k"}})
	told("FINISHED", item(first.id, byAda, vars{"status": "FINISHED", "counts": "2 1 1 0", "item.status": "FINISHED", "item.category.name": "Swan", "item.subcategory.name": "Tame", "item.keywords": []any{"k"}, "item.claim": nil}))
	ada.mutate("releaseProjectItem", "item { id }", second.input())
	told("RELEASED", item(second.id, byAda, vars{"status": "NEW", "counts": "3 0 1 0", "queued": 3.0}))
	third := l.claimed(ada, 1)[0]
	told("CLAIMED", nil)
	ada.mutate("skipProjectItem", "item { id }", third.input(vars{"reason": "TO_OTHERS"}))
	told("DEFERRED", item(third.id, byAda, vars{"status": "NEW", "counts": "3 0 1 0"}))
	fourth := l.claimed(bob, 1)[0]
	told("CLAIMED", vars{"user.id": bob.id})
	bob.mutate("skipProjectItem", "item { id }", fourth.input(vars{"reason": "FOR_NOBODY"}))
	told("SKIPPED", item(fourth.id, vars{"user.id": bob.id, "status": "SKIPPED", "counts": "2 0 1 1", "item.status": "SKIPPED"}))
	rev.mutate("reviewEffort", "item { id }", vars{"effortId": effort, "verdict": "INCORRECT"})
	told("REVIEWED", item(first.id, vars{"user.id": rev.id, "author.id": ada.id, "status": "NEW", "counts": "3 0 0 1", "team.type": "REVIEWER"}))
	again := l.claimed(ada, 1)[0]
	require.Equal(t, first.id, again.id)
	told("CLAIMED", nil)
	effort = l.finished(ada, again)
	told("FINISHED", vars{"counts": "2 0 1 1"})
	a := ada.mutate("undoFinish", "item { claim { token } }", vars{"effortId": effort})
	m = told("UNDONE", item(first.id, byAda, vars{"status": "CLAIMED", "counts": "2 1 0 1", "item.status": "CLAIMED"}))
	assert.Equal(t, a.str("result.item.claim.token"), m.str("item.claim.token"))
	l.expires(first.id)
	told("EXPIRED", item(first.id, vars{"status": "NEW", "counts": "3 0 0 1", "user.id": ada.id}))

	byManager := vars{"user.id": l.client.id, "item": nil, "status": nil, "counts": "3 0 0 1"}
	l.mutate("pauseProject", "project { id }", vars{"projectId": l.id})
	told("PAUSED", byManager)
	l.mutate("resumeProject", "project { id }", vars{"projectId": l.id})
	told("RESUMED", byManager)
	l.mutate("setProjectQueueSize", "project { id }", vars{"projectId": l.id, "size": 2})
	told("RESIZED", byManager)
	l.during(func() { l.imports(`{"externalId":"new","name":"another"}`) })
	told("IMPORTED", vars{"user.id": l.client.id, "counts": "4 0 0 1"})
	l.mutate("putProjectMember", "member { type }", vars{"teamId": l.team, "userId": s.user("new@example.com").id})
	told("MEMBERS", vars{"team.id": l.team, "counts": "4 0 0 1"})
}

// nameOf is the name of an item.
func (l crew) nameOf(id string) string {
	l.t.Helper()
	return l.must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { name } } }`, vars{"i": id}).str("node.name")
}

func TestASubscriberGoesOnWhereItWasCutOff(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(6, 0)
	ada := l.labellers[0]
	whole := l.listens(l.labellers[1], nil)
	cursors := []string{whole.snapshot().str("cursor")}
	for _, h := range l.claimed(ada, 5) {
		l.finished(ada, h)
	}
	var bodies []string
	for range 10 {
		m := whole.message()
		cursors, bodies = append(cursors, m.str("cursor")), append(bodies, m.str("type")+" "+m.str("item.id")+" "+m.str("cursor"))
	}
	assert.Len(t, unique(cursors), 11)
	for i, after := range cursors {
		from := l.listens(l.labellers[i%3], vars{"after": after})
		for _, want := range bodies[i:] {
			m := from.message()
			require.Equal(t, want, m.str("type")+" "+m.str("item.id")+" "+m.str("cursor"), "after the %dth", i)
		}
		from.close()
	}
	// The cursor of the queue is one, too; and the end of the replay is the beginning of what happens now.
	at := l.must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, vars{"p": l.id}).str("project.queue.cursor")
	now := l.listens(l.labellers[2], vars{"after": at})
	l.claimed(ada, 1)
	assert.Equal(t, "1 of 6 left", fmt.Sprint(now.event("CLAIMED").at("counts.claimed"), " of ", 6, " left"))
}

func TestASubscriberChoosesWhatToHear(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(6, 0)
	ada, bob, rev := l.labellers[0], l.labellers[1], l.reviewer()
	finishes := l.listens(bob, vars{"types": []string{"FINISHED", "PAUSED"}})
	adas, bobs := l.listens(ada, vars{"mine": true}), l.listens(bob, vars{"mine": true, "types": []string{"CLAIMED", "FINISHED", "REVIEWED"}})
	for _, one := range []*stream{finishes, adas, bobs} {
		one.snapshot()
	}
	mine, his := l.claimed(ada, 1)[0], l.claimed(bob, 1)[0]
	one, two := l.finished(ada, mine), l.finished(bob, his)
	l.counts("4 0 2 0")
	for _, effort := range []string{one, two} {
		rev.mutate("reviewEffort", "item { id }", vars{"effortId": effort, "verdict": "CORRECT"})
	}
	l.mutate("pauseProject", "project { id }", vars{"projectId": l.id})

	var heard []string
	for range 3 {
		m := finishes.message()
		heard = append(heard, m.str("type"))
	}
	assert.Equal(t, []string{"FINISHED", "FINISHED", "PAUSED"}, heard)
	for _, want := range []string{"CLAIMED", "FINISHED", "REVIEWED"} {
		assert.Equal(t, mine.id, adas.event(want).str("item.id"))
		assert.Equal(t, his.id, bobs.event(want).str("item.id"))
	}
}

func TestWhoMissedEventsIsTold(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.works()
	l := s.labelled(3, 0)
	other := l.client.project("Another")
	ada := l.labellers[0]
	key, at := string(l.key()), globalKey(t, l.must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, vars{"p": l.id}).str("project.queue.cursor"))
	gap := func(reason, after string) {
		t.Helper()
		from := l.listens(ada, vars{"after": after})
		m := from.message()
		require.Equal(t, "ProjectGap", m.at("__typename"), "%s: %s", reason, m.body)
		assert.NotEmpty(t, m.str("message"))
		from.snapshot()
		from.close()
	}
	gap("an epoch that never was", gidOf("ProjectEvent", key, "none", at[3]))
	gap("an entry that never was", gidOf("ProjectEvent", key, at[2], "1-1"))
	gap("an entry of the future", gidOf("ProjectEvent", key, at[2], "99999999999999-0"))
	gap("no entry at all", gidOf("ProjectEvent", key, at[2], "x"))
	gap("an entry like a command", gidOf("ProjectEvent", key, at[2], "$"))
	gap("the beginning", gidOf("ProjectEvent", key, at[2], "0-0"))
	gap("an empty epoch", gidOf("ProjectEvent", key, "-", "-"))

	l.listens(ada, vars{"after": other.must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, vars{"p": other.id}).str("project.queue.cursor")}).refused(invalid, "after")
	for _, after := range []string{"", "x", l.id, gidOf("ProjectEvent", key), gidOf("ProjectEvent", key, at[2], at[3], "more"), strings.Repeat("A", 10_000)} {
		l.listens(ada, vars{"after": after}).refused("GRAPHQL_VALIDATION_FAILED", "")
	}

	// Somebody who listens while the queue is rebuilt.
	live := l.listens(ada, nil)
	before := live.snapshot()
	l.mutate("rebuildProjectQueue", "project { id }", vars{"projectId": l.id})
	m := live.message()
	require.Equal(t, "ProjectGap", m.at("__typename"), "%s", m.body)
	after := live.snapshot()
	assert.NotEqual(t, globalKey(t, before.str("cursor"))[2], globalKey(t, after.str("cursor"))[2], "the epoch")
	l.claimed(ada, 1)
	for live.message().at("type") != "CLAIMED" { // the queue was filled, and so on
	}
	gap("the epoch before", before.str("cursor"))
}

func TestASubscriptionSelectsOneField(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	for _, query := range []string{
		`subscription { onlineCount again: onlineCount }`,
		`subscription { ...F } fragment F on Subscription { onlineCount again: onlineCount }`,
		`subscription { onlineCount @skip(if: true) }`,
	} {
		err := ada.subscribe(query, nil).ended()
		require.ErrorContains(t, err, "GRAPHQL_VALIDATION_FAILED", query)
	}
	ada.subscribe(`subscription { onlineCount onlineCount }`, nil).next() // is one
}
