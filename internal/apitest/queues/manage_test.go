package queues

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/queue"
)

func TestTheSizeOfAQueue(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(40, 0)
	const shown = `queue { queued size paused counts { total new claimed finished skipped remaining } }`
	queued := func(size, queued int) {
		t.Helper()
		l.BecomesSo(l.Client, shown, func(p *apitest.Answer) bool {
			return p.At("queue.size") == float64(size) && p.At("queue.queued") == float64(queued)
		})
	}
	queued(1_000, 40)
	a := l.Mutate("updateProject", "project { id queue { size } }", apitest.Vars{"projectId": l.ID, "queueSize": 7})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.InDelta(t, 7, a.At("result.project.queue.size"), 0)
	queued(7, 7)
	var have []apitest.Held
	for len(have) < 40 { // what does not fit into it is handed out too
		some := l.ClaimedUpTo(l.Labellers[0], 40)
		require.NotEmpty(t, some)
		have = append(have, some...)
	}
	for _, h := range have {
		l.Labellers[0].Mutate("releaseProjectItem", "item { id }", h.Input())
	}
	l.Counts("40 0 0 0")
	queued(7, 7)
	l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "queueSize": 10_000})
	queued(10_000, 40)
	l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "queueSize": 1})
	queued(1, 1)
	l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "queueSize": 0})
	queued(1_000, 40)
	for _, size := range []int{-1, 10_001} {
		l.Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "queueSize": size}).Fails(apitest.Invalid, "input.queueSize")
	}
	l.Labellers[0].Mutate("updateProject", "project { id }", apitest.Vars{"projectId": l.ID, "queueSize": 5}).Fails("FORBIDDEN", "")
	queued(1_000, 40)
}

func TestAQueueIsRebuilt(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(10, 0)
	ada := l.Labellers[0]
	have := l.Claimed(ada, 4)
	l.Finished(ada, have[0])
	ada.Mutate("skipProjectItem", "item { id }", have[1].Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	l.Counts("6 2 1 1")
	before := l.Must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, apitest.Vars{"p": l.ID}).Str("project.queue.cursor")

	began := make(chan *apitest.Answer, 1)
	go func() {
		began <- l.Mutate("rebuildProjectQueue", "project { id } problem { __typename ... on Problem { message } }", apitest.Vars{"projectId": l.ID})
	}()
	require.Eventually(t, func() bool {
		a := l.Do(`query($p: ID!) { project(id: $p) { queue { queued } } }`, apitest.Vars{"p": l.ID})
		return len(a.Errors) == 1 && a.Errors[0].Extensions.Code == "UNAVAILABLE" && a.Errors[0].Extensions.Retryable
	}, apitest.Patience, 20*time.Millisecond)
	l.Labellers[1].Do(apitest.ClaimItems, apitest.Vars{"in": apitest.Vars{"projectId": l.ID}}).Fails("UNAVAILABLE", "") // meanwhile nothing is handed out
	a := l.Mutate("rebuildProjectQueue", "project { id } problem { __typename ... on Problem { message } }", apitest.Vars{"projectId": l.ID})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, "RebuildUnderWay", a.Str("result.problem.__typename"))
	assert.Nil(t, a.At("result.project"))
	l.Labellers[1].Mutate("rebuildProjectQueue", "project { id }", apitest.Vars{"projectId": l.ID}).Fails("FORBIDDEN", "")
	l.Finished(ada, have[2]) // but who has items can go on
	done := <-began
	require.Empty(t, done.Errors, "%s", done.Body)
	assert.Equal(t, l.ID, done.Str("result.project.id"))
	assert.Nil(t, done.At("result.problem"))
	l.Counts("6 1 2 1")
	after := l.Must(`query($p: ID!) { project(id: $p) { queue { cursor } } }`, apitest.Vars{"p": l.ID}).Str("project.queue.cursor")
	assert.NotEqual(t, apitest.GlobalKey(t, before)[2], apitest.GlobalKey(t, after)[2], "its events are of another epoch")
	l.BecomesSo(l.Client, `queue { queued }`, func(p *apitest.Answer) bool { return p.At("queue.queued") == 6.0 })
	l.Finished(ada, have[3])
	assert.Len(t, l.ClaimedUpTo(l.Labellers[1], 50), 6)
	l.Counts("0 6 3 1")
}

func TestALostRedisIsNoticed(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(5, 0)
	ada := l.Labellers[0]
	have := l.Claimed(ada, 2)
	l.Finished(ada, have[0])
	require.NoError(t, s.App.Stores.Redis.FlushDB(t.Context()).Err()) // this server's own
	a := l.Do(`query($p: ID!) { project(id: $p) { name queue { queued } viewerClaims { id } topKeywords { value } online { seenAt } teams { statistics { finished } } keywordCompletions(prefix: "") } }`, apitest.Vars{"p": l.ID})
	require.NotEmpty(t, a.Errors, "%s", a.Body)
	for _, e := range a.Errors {
		assert.Equal(t, "UNAVAILABLE", e.Extensions.Code)
		assert.True(t, e.Extensions.Retryable)
	}
	assert.NotEmpty(t, a.Str("project.name"), "the rest is shown")
	require.Eventually(t, func() bool {
		a := l.Do(`query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished skipped remaining } } } }`, apitest.Vars{"p": l.ID})
		return len(a.Errors) == 0 && apitest.CountsOf(a, "project.queue.counts") == "3 1 1 0"
	}, apitest.Patience, 50*time.Millisecond)
	assert.Equal(t, have[1:], apitest.HeldOf(ada.Must(`query($p: ID!) { project(id: $p) { viewerClaims { id claim { token } } } }`, apitest.Vars{"p": l.ID}), "project.viewerClaims"))
	l.Finished(ada, have[1])
	statistics(l, l.Team, "2 0", map[string]string{ada.ID: "2 0"})
}

const lettersShown = `{ deadLetters { id projectId itemId reason tries at } }`

func TestDeadLetters(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(2, 0)
	admin := s.Admin("admin@example.com")
	poisoned(s, l, 0)
	poisoned(s, l, 1)
	letters := func() []any { return admin.Must(lettersShown, nil).List("deadLetters") }
	o := s.App.Labelling.Relay.Options
	o.Coordinator = queue.New(s.App.Stores.Redis, queue.Options{Stuck: 20 * time.Millisecond, Tries: 3})
	ctx, rest := context.WithCancel(t.Context())
	rested := make(chan error, 1)
	go func() { rested <- labelling.NewConsumer(o, s.App.Labelling.Rebuild, "one without patience").Run(ctx) }()
	require.Eventually(t, func() bool { return len(letters()) == 2 }, apitest.Patience, 20*time.Millisecond)
	rest()
	require.NoError(t, <-rested)
	letter := &apitest.Answer{T: t, Data: letters()[0].(map[string]any)}
	assert.Equal(t, l.ID, letter.Str("projectId"))
	assert.Contains(t, l.Items, letter.Str("itemId"))
	assert.NotEmpty(t, letter.Str("reason"))
	assert.NotRegexp(t, apitest.InnerText, letter.Str("reason"))
	assert.InDelta(t, 3, letter.At("tries"), 0)
	assert.WithinDuration(t, time.Now(), letter.Time("at"), apitest.Patience)
	assert.Len(t, admin.Must(`{ deadLetters(first: 1) { id } }`, nil).List("deadLetters"), 1)

	id := letter.Str("id")
	a := admin.Mutate("retryDeadLetter", "id", apitest.Vars{"id": id})
	assert.Equal(t, `{"result":{"id":"`+id+`"}}`, a.Raw())
	assert.Len(t, letters(), 1)
	admin.Mutate("retryDeadLetter", "id", apitest.Vars{"id": id}).Fails("NOT_FOUND", "")
	other := letters()[0].(map[string]any)["id"].(string)
	a = admin.Mutate("dropDeadLetter", "id", apitest.Vars{"id": other})
	assert.Equal(t, `{"result":{"id":"`+other+`"}}`, a.Raw())
	admin.Mutate("dropDeadLetter", "id", apitest.Vars{"id": other}).Fails("NOT_FOUND", "")
	assert.Empty(t, letters())

	for _, id := range []string{"", "x", "0/", "0/1", "99/1-1", "0/1-x", "-1/1-1", strings.Repeat("9", 10_000), "0/1-1\x00", "0/1-1 ; FLUSHALL"} {
		for _, mutation := range []string{"retryDeadLetter", "dropDeadLetter"} {
			a := admin.Mutate(mutation, "id", apitest.Vars{"id": id})
			require.Len(t, a.Errors, 1, "%s", a.Body)
			assert.Contains(t, []string{"NOT_FOUND", apitest.Invalid}, a.Errors[0].Extensions.Code, "%.50q", id)
			l.Mutate(mutation, "id", apitest.Vars{"id": id}).Fails("FORBIDDEN", "")
		}
	}
	for _, first := range []string{"0", "-1", "501"} {
		admin.Do(`{ deadLetters(first: `+first+`) { id } }`, nil).Fails(apitest.Invalid, "first")
	}
	l.Do(lettersShown, nil).Fails("FORBIDDEN", "")
}

// poisoned sends a message about an item that nobody can read.
func poisoned(s *apitest.Server, l apitest.Crew, item int) {
	s.T.Helper()
	id := apitest.ItemKey(s.T, l.Items[item])
	require.NoError(s.T, s.App.Stores.Redis.XAdd(s.T.Context(), &redis.XAddArgs{Stream: "taggie:finished:{0}", Values: []any{
		"id", "never", "project", string(id.Project), "item", id.ID, "body", "{",
	}}).Err())
}
