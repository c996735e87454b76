package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
)

// consume consumes until the test is over, or what it returns is called.
func (f *fixture) consume(t *testing.T, name string, handle func(context.Context, labelling.Message) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Consume(ctx, name, handle)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (f *fixture) publish(t *testing.T, id, item string) {
	t.Helper()
	require.NoError(t, f.Publish(t.Context(), labelling.Message{ID: id, Project: f.project, Item: item, Body: []byte("body of " + id + "\x00\xff")}))
}

// backlog waits until there are so many messages, alive and dead.
func (f *fixture) backlog(t *testing.T, waiting, dead int) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, err := f.Backlog(t.Context())
		return err == nil && b.Waiting == waiting && b.Dead == dead
	}, 20*time.Second, 5*time.Millisecond, "%d messages, %d dead", waiting, dead)
}

// inbox remembers what was handled.
type inbox struct {
	mu  sync.Mutex
	got []labelling.Message
}

func (i *inbox) put(m labelling.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = append(i.got, m)
}

func (i *inbox) all() []labelling.Message {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]labelling.Message{}, i.got...)
}

func testMessages(t *testing.T, f *fixture) {
	const items, each = 20, 5
	for n := range each {
		for i := range items {
			f.publish(t, fmt.Sprintf("%d", n), fmt.Sprintf("i%d", i))
		}
	}
	f.backlog(t, items*each, 0)
	var in inbox
	for _, name := range []string{"one", "two"} {
		f.consume(t, name, func(_ context.Context, m labelling.Message) error { in.put(m); return nil })
	}
	f.backlog(t, 0, 0)
	assert.Len(t, in.all(), items*each, "each once")
	f.publish(t, "late", "i0")
	f.backlog(t, 0, 0)
	last := in.all()[items*each]
	assert.Equal(t, labelling.Message{ID: "late", Project: f.project, Item: "i0", Body: []byte("body of late\x00\xff"), Tries: 1}, last)
}

// The oldest message is the one that has been waiting longest, in whichever stream it is.
func testHowLongMessagesWait(t *testing.T, f *fixture) {
	oldest := func() time.Duration {
		b, err := f.Backlog(t.Context())
		require.NoError(t, err)
		return b.Oldest
	}
	assert.Zero(t, oldest(), "nothing waits")
	began := time.Now()
	f.publish(t, "first", "i0")
	require.Eventually(t, func() bool { return oldest() >= 100*time.Millisecond }, 20*time.Second, time.Millisecond)
	for i := range 2 * streams {
		f.publish(t, "behind", fmt.Sprintf("i%d", i))
	}
	assert.GreaterOrEqual(t, oldest(), 100*time.Millisecond, "others are younger")
	assert.LessOrEqual(t, oldest(), time.Since(began)+time.Second, "by the clock of the same Redis")
	f.consume(t, "c", func(context.Context, labelling.Message) error { return nil })
	f.backlog(t, 0, 0)
	assert.Zero(t, oldest())
}

// Each process that ever consumed was one with a name of its own. The embedded Redis, which does not outlive its server, does not tell
// how long it has not heard of one.
func TestConsumersAreForgotten(t *testing.T) {
	f := newFixture(t, serverClient(t))
	names := func() (all []string) {
		for n := range streams {
			consumers, err := f.client.XInfoConsumers(t.Context(), f.finishedKey(n), group).Result()
			if err != nil {
				continue // nobody has consumed from this one yet
			}
			for _, c := range consumers {
				all = append(all, c.Name)
			}
		}
		return all
	}
	works := func(f *fixture, name string) (stop func()) {
		for i := range 20 * streams { // so that each stream has some: who never got a message may not be known
			f.publish(t, "m", fmt.Sprintf("i%d", i))
		}
		stop = f.consume(t, name, func(context.Context, labelling.Message) error { return nil })
		f.backlog(t, 0, 0)
		return stop
	}
	works(f, "old")()
	works(f, "next")()
	assert.Len(t, names(), 2*streams, "who was heard of lately stays")
	works(f.with(Options{Forget: time.Nanosecond}), "new")
	all := names()
	assert.Len(t, all, streams)
	assert.NotContains(t, all, "old")
}

func testMessagesAreSentOnce(t *testing.T, f *fixture) {
	for range 3 {
		f.publish(t, "late", "i1")
	}
	f.publish(t, "late", "i2")
	f.backlog(t, 2, 0)
	// What the stream has lost does not wait.
	for n := range streams {
		require.NoError(t, f.client.Del(t.Context(), f.finishedKey(n)).Err())
	}
	f.backlog(t, 0, 0)
	f.publish(t, "late", "i1")
	f.publish(t, "late", "i2")
	f.backlog(t, 2, 0)

	var in inbox
	handling, handled := make(chan struct{}, 3), make(chan struct{})
	f.consume(t, "one", func(_ context.Context, m labelling.Message) error {
		in.put(m)
		handling <- struct{}{}
		<-handled
		return nil
	})
	<-handling
	f.publish(t, "late", "i1")
	f.publish(t, "late", "i2")
	f.backlog(t, 2, 0)
	close(handled)
	f.backlog(t, 0, 0)
	assert.Len(t, in.all(), 2)
	f.publish(t, "late", "i1") // only who handles it knows whether it was handled before
	f.backlog(t, 0, 0)
	assert.Len(t, in.all(), 3)
	for n := range streams {
		left, err := f.client.Exists(t.Context(), f.sentKey(n)).Result()
		require.NoError(t, err)
		assert.Zero(t, left, "what was handled is forgotten")
	}
}

func testMessagesFail(t *testing.T, f *fixture) {
	f = f.with(Options{Stuck: 20 * time.Millisecond, Tries: 3})
	var in inbox
	var unready atomic.Int32
	f.consume(t, "one", func(_ context.Context, m labelling.Message) error {
		in.put(m)
		switch {
		case m.ID == "twice" && m.Tries < 2:
			return errors.New("not yet")
		case m.ID == "not ready" && unready.Add(1) < 10:
			return fmt.Errorf("apply: %w", labelling.ErrNotReady)
		case m.ID == "panics":
			panic("a bug")
		case m.ID == "never":
			return errors.New("no")
		}
		return nil
	})
	for _, id := range []string{"twice", "not ready", "panics", "never", "fine"} {
		f.publish(t, id, id)
	}
	f.backlog(t, 0, 2)
	tries := map[string]int{}
	for _, m := range in.all() {
		tries[m.ID]++
	}
	assert.Equal(t, map[string]int{"twice": 2, "not ready": 10, "panics": 3, "never": 3, "fine": 1}, tries)

	letters, err := f.DeadLetters(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, letters, 2)
	byID := map[string]labelling.DeadLetter{}
	for _, l := range letters {
		byID[l.Message.ID] = l
	}
	assert.Equal(t, "no", byID["never"].Reason)
	assert.Contains(t, byID["panics"].Reason, "a bug")
	assert.Equal(t, labelling.Message{ID: "never", Project: f.project, Item: "never", Body: []byte("body of never\x00\xff"), Tries: 3}, byID["never"].Message)
	assert.WithinDuration(t, time.Now(), byID["never"].At, time.Minute)
	one, err := f.DeadLetters(t.Context(), 1)
	require.NoError(t, err)
	assert.Len(t, one, 1)

	before := len(in.all())
	require.NoError(t, f.RetryDeadLetter(t.Context(), byID["never"].ID))
	f.backlog(t, 0, 2) // it dies again
	require.Eventually(t, func() bool { return len(in.all()) == before+3 }, 10*time.Second, time.Millisecond)
	assert.ErrorIs(t, f.RetryDeadLetter(t.Context(), byID["never"].ID), labelling.ErrNoDeadLetter, "it has another id now")
	require.NoError(t, f.DropDeadLetter(t.Context(), byID["panics"].ID))
	assert.ErrorIs(t, f.DropDeadLetter(t.Context(), byID["panics"].ID), labelling.ErrNoDeadLetter)
	f.backlog(t, 0, 1)
	for _, id := range []string{"", "1", "8/1-1", "-1/1-1", "0/+", "x/1-1"} {
		assert.ErrorIs(t, f.DropDeadLetter(t.Context(), id), labelling.ErrNoDeadLetter, id)
	}
}

// However many messages of a project wait for its queue, one asks whether it is ready; and however often that is, none dies of it.
func testOneMessageAsks(t *testing.T, f *fixture) {
	const n, times = 400, 8
	f = f.with(Options{Stuck: 20 * time.Millisecond, Lease: 400 * time.Millisecond, Tries: 2})
	for i := range n {
		f.publish(t, "m", fmt.Sprint(i))
	}
	var in inbox
	var mu sync.Mutex
	asked := map[string]int{}
	rounds := func() int {
		mu.Lock()
		defer mu.Unlock()
		all := 0
		for _, times := range asked {
			all += times
		}
		return all
	}
	var ready atomic.Bool
	handle := func(_ context.Context, m labelling.Message) error {
		if !ready.Load() {
			mu.Lock()
			defer mu.Unlock()
			asked[m.Item]++
			return labelling.ErrNotReady
		}
		in.put(m)
		return nil
	}
	for range times { // each takes over what the one before had
		before := rounds()
		stop := f.consume(t, "c", handle)
		require.Eventually(t, func() bool { return rounds() >= before+10*streams }, 20*time.Second, time.Millisecond)
		stop()
	}
	b, err := f.Backlog(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []int{n, 0}, []int{b.Waiting, b.Dead})
	assert.LessOrEqual(t, len(asked), 2*atOnce*streams, "the first ones of a stream ask together, then one of them")
	ready.Store(true)
	f.consume(t, "c", handle)
	f.backlog(t, 0, 0)
	assert.Len(t, in.all(), n)
}

// What ends is given no stream any more, although it wanted some.
func testWhoEndsWantsNothing(t *testing.T, f *fixture) {
	f = f.with(Options{Lease: 2 * time.Second})
	handle := func(context.Context, labelling.Message) error { return nil }
	f.consume(t, "stays", handle)
	stop := f.consume(t, "ends", handle)
	require.Eventually(t, func() bool {
		for n := range streams {
			if text, err := f.client.Get(t.Context(), f.wantedKey(n)).Result(); err == nil && strings.Contains(text, `"ends"`) {
				return true
			}
		}
		return false
	}, 20*time.Second, time.Millisecond)
	stop()
	for n := range streams {
		for _, key := range []string{f.ownerKey(n), f.wantedKey(n)} {
			text, err := f.client.Get(t.Context(), key).Result()
			if !errors.Is(err, redis.Nil) {
				require.NoError(t, err)
			}
			assert.NotContains(t, text, "ends", key)
		}
	}
}

func testMessagesAfterAFlush(t *testing.T, f *fixture) {
	var in inbox
	f.consume(t, "one", func(_ context.Context, m labelling.Message) error { in.put(m); return nil })
	f.publish(t, "before", "x")
	f.backlog(t, 0, 0)
	f.flush(t)
	f.publish(t, "after", "x")
	f.backlog(t, 0, 0)
	require.Len(t, in.all(), 2)
	assert.Equal(t, "after", in.all()[1].ID)
	assert.True(t, strings.HasPrefix(string(in.all()[1].Body), "body of after"))
}
