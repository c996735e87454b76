package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/queue"
)

func TestTheSizeOfAQueue(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.works()
	l := s.labelled(40, 0)
	const shown = `queue { queued size paused counts { total new claimed finished skipped remaining } }`
	queued := func(size, queued int) {
		t.Helper()
		l.becomesSo(l.client, shown, func(p *answer) bool {
			return p.at("queue.size") == float64(size) && p.at("queue.queued") == float64(queued)
		})
	}
	queued(1_000, 40)
	a := l.mutate("setProjectQueueSize", "project { id queue { size } }", vars{"projectId": l.id, "size": 7})
	require.Empty(t, a.Errors, "%s", a.body)
	assert.InDelta(t, 7, a.at("result.project.queue.size"), 0)
	queued(7, 7)
	var have []held
	for len(have) < 40 { // what does not fit into it is handed out too
		some := l.claimedUpTo(l.labellers[0], 40)
		require.NotEmpty(t, some)
		have = append(have, some...)
	}
	for _, h := range have {
		l.labellers[0].mutate("releaseProjectItem", "item { id }", h.input())
	}
	l.counts("40 0 0 0")
	queued(7, 7)
	l.mutate("setProjectQueueSize", "project { id }", vars{"projectId": l.id, "size": 10_000})
	queued(10_000, 40)
	l.mutate("setProjectQueueSize", "project { id }", vars{"projectId": l.id, "size": 1})
	queued(1, 1)
	l.mutate("setProjectQueueSize", "project { id }", vars{"projectId": l.id, "size": nil})
	queued(1_000, 40)
	for _, size := range []int{0, -1, 10_001} {
		l.mutate("setProjectQueueSize", "project { id }", vars{"projectId": l.id, "size": size}).fails(invalid, "input.size")
	}
	l.labellers[0].mutate("setProjectQueueSize", "project { id }", vars{"projectId": l.id, "size": 5}).fails("FORBIDDEN", "")
	queued(1_000, 40)
}

func TestAQueueIsRebuilt(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.works()
	l := s.labelled(10, 0)
	ada := l.labellers[0]
	have := l.claimed(ada, 4)
	l.finished(ada, have[0])
	ada.mutate("skipProjectItem", "item { id }", have[1].input(vars{"reason": "FOR_NOBODY"}))
	l.counts("6 2 1 1")
	before := l.must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, vars{"p": l.id}).str("project.queue.cursor")

	began := make(chan *answer, 1)
	go func() {
		began <- l.mutate("rebuildProjectQueue", "project { id } problem { __typename ... on Problem { message } }", vars{"projectId": l.id})
	}()
	require.Eventually(t, func() bool {
		a := l.do(`query($p: ID!) { project(id: $p) { queue { queued } } }`, vars{"p": l.id})
		return len(a.Errors) == 1 && a.Errors[0].Extensions.Code == "UNAVAILABLE" && a.Errors[0].Extensions.Retryable
	}, patience, 20*time.Millisecond)
	l.labellers[1].do(claimItems, vars{"in": vars{"projectId": l.id}}).fails("UNAVAILABLE", "") // meanwhile nothing is handed out
	a := l.mutate("rebuildProjectQueue", "project { id } problem { __typename ... on Problem { message } }", vars{"projectId": l.id})
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Equal(t, "RebuildUnderWay", a.str("result.problem.__typename"))
	assert.Nil(t, a.at("result.project"))
	l.labellers[1].mutate("rebuildProjectQueue", "project { id }", vars{"projectId": l.id}).fails("FORBIDDEN", "")
	l.finished(ada, have[2]) // but who has items can go on
	done := <-began
	require.Empty(t, done.Errors, "%s", done.body)
	assert.Equal(t, l.id, done.str("result.project.id"))
	assert.Nil(t, done.at("result.problem"))
	l.counts("6 1 2 1")
	after := l.must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, vars{"p": l.id}).str("project.queue.cursor")
	assert.NotEqual(t, globalKey(t, before)[2], globalKey(t, after)[2], "its events are of another epoch")
	l.becomesSo(l.client, `queue { queued }`, func(p *answer) bool { return p.at("queue.queued") == 6.0 })
	l.finished(ada, have[3])
	assert.Len(t, l.claimedUpTo(l.labellers[1], 50), 6)
	l.counts("0 6 3 1")
}

func TestALostRedisIsNoticed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.works()
	l := s.labelled(5, 0)
	ada := l.labellers[0]
	have := l.claimed(ada, 2)
	l.finished(ada, have[0])
	require.NoError(t, s.app.stores.redis.FlushDB(t.Context()).Err()) // this server's own
	a := l.do(`query($p: ID!) { project(id: $p) { name queue { queued } viewerClaims { id } topKeywords { value } online { seenAt } teams { statistics { finished } } keywordCompletions(prefix: "") } }`, vars{"p": l.id})
	require.NotEmpty(t, a.Errors, "%s", a.body)
	for _, e := range a.Errors {
		assert.Equal(t, "UNAVAILABLE", e.Extensions.Code)
		assert.True(t, e.Extensions.Retryable)
	}
	assert.NotEmpty(t, a.str("project.name"), "the rest is shown")
	require.Eventually(t, func() bool {
		a := l.do(`query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished skipped remaining } } } }`, vars{"p": l.id})
		return len(a.Errors) == 0 && countsOf(a, "project.queue.counts") == "3 1 1 0"
	}, patience, 50*time.Millisecond)
	assert.Equal(t, have[1:], heldOf(ada.must(`query($p: ID!) { project(id: $p) { viewerClaims { id claim { token } } } }`, vars{"p": l.id}), "project.viewerClaims"))
	l.finished(ada, have[1])
	l.statistics(l.team, "2 0", map[string]string{ada.id: "2 0"})
}

const lettersShown = `{ deadLetters { id projectId itemId reason tries at } }`

func TestDeadLetters(t *testing.T) {
	s := newServer(t)
	l := s.labelled(2, 0)
	admin := s.admin("admin@example.com")
	s.poisoned(l, 0)
	s.poisoned(l, 1)
	letters := func() []any { return admin.must(lettersShown, nil).list("deadLetters") }
	o := s.app.queues.relay.Options
	o.Queue = queue.New(s.app.stores.redis, queue.Options{Stuck: 20 * time.Millisecond, Tries: 3})
	ctx, rest := context.WithCancel(t.Context())
	rested := make(chan error, 1)
	go func() { rested <- labelling.NewConsumer(o, s.app.queues.rebuild, "one without patience").Run(ctx) }()
	require.Eventually(t, func() bool { return len(letters()) == 2 }, patience, 20*time.Millisecond)
	rest()
	require.NoError(t, <-rested)
	letter := &answer{t: t, Data: letters()[0].(map[string]any)}
	assert.Equal(t, l.id, letter.str("projectId"))
	assert.Contains(t, l.items, letter.str("itemId"))
	assert.NotEmpty(t, letter.str("reason"))
	assert.NotRegexp(t, innerText, letter.str("reason"))
	assert.InDelta(t, 3, letter.at("tries"), 0)
	assert.WithinDuration(t, time.Now(), letter.time("at"), patience)
	assert.Len(t, admin.must(`{ deadLetters(first: 1) { id } }`, nil).list("deadLetters"), 1)

	id := letter.str("id")
	a := admin.mutate("retryDeadLetter", "id", vars{"id": id})
	assert.Equal(t, `{"result":{"id":"`+id+`"}}`, a.data())
	assert.Len(t, letters(), 1)
	admin.mutate("retryDeadLetter", "id", vars{"id": id}).fails("NOT_FOUND", "")
	other := letters()[0].(map[string]any)["id"].(string)
	a = admin.mutate("dropDeadLetter", "id", vars{"id": other})
	assert.Equal(t, `{"result":{"id":"`+other+`"}}`, a.data())
	admin.mutate("dropDeadLetter", "id", vars{"id": other}).fails("NOT_FOUND", "")
	assert.Empty(t, letters())

	for _, id := range []string{"", "x", "0/", "0/1", "99/1-1", "0/1-x", "-1/1-1", strings.Repeat("9", 10_000), "0/1-1\x00", "0/1-1 ; FLUSHALL"} {
		for _, mutation := range []string{"retryDeadLetter", "dropDeadLetter"} {
			a := admin.mutate(mutation, "id", vars{"id": id})
			require.Len(t, a.Errors, 1, "%s", a.body)
			assert.Contains(t, []string{"NOT_FOUND", invalid}, a.Errors[0].Extensions.Code, "%.50q", id)
			l.mutate(mutation, "id", vars{"id": id}).fails("FORBIDDEN", "")
		}
	}
	for _, first := range []string{"0", "-1", "501"} {
		admin.do(`{ deadLetters(first: `+first+`) { id } }`, nil).fails(invalid, "first")
	}
	l.do(lettersShown, nil).fails("FORBIDDEN", "")
}

// poisoned sends a message about an item that nobody can read.
func (s *testServer) poisoned(l crew, item int) {
	s.t.Helper()
	id := itemKey(s.t, l.items[item])
	require.NoError(s.t, s.app.stores.redis.XAdd(s.t.Context(), &redis.XAddArgs{Stream: "taggie:finished:{0}", Values: []any{
		"id", "never", "project", string(id.Project), "item", id.ID, "body", "{",
	}}).Err())
}
