package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func testMessagesAreTakenOver(t *testing.T, f *fixture) {
	f = f.with(Options{Stuck: 20 * time.Millisecond})
	const n = 40
	for i := range n {
		f.publish(t, fmt.Sprint(i), fmt.Sprint(i))
	}
	// A consumer that takes everything and dies, and one message that is deleted under its hands.
	deleted := 0
	for s := range streams {
		require.NoError(t, f.client.XGroupCreateMkStream(t.Context(), f.finishedKey(s), group, "0").Err())
		got, err := f.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "dead", Streams: []string{f.finishedKey(s), ">"}, Count: n, Block: -1}).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		require.NoError(t, err)
		if deleted == 0 {
			deleted = 1
			require.NoError(t, f.client.XDel(t.Context(), f.finishedKey(s), got[0].Messages[0].ID).Err())
		}
	}
	require.Equal(t, 1, deleted)
	var in inbox
	stop := f.consume(t, "two", func(_ context.Context, m labelling.Message) error { in.put(m); return nil })
	f.backlog(t, 0, 0)
	stop()
	require.Len(t, in.all(), n-1)
	for _, m := range in.all() {
		assert.Equal(t, 2, m.Tries)
	}

	// One whose consumers die each time ends, too.
	f = f.with(Options{Stuck: time.Millisecond, Lease: 10 * time.Millisecond, Tries: 1})
	hang := make(chan struct{})
	var stops []func()
	for i := range 2 {
		stuck := make(chan struct{}, 1)
		stops = append(stops, f.consume(t, fmt.Sprintf("hangs %d", i), func(context.Context, labelling.Message) error {
			stuck <- struct{}{}
			<-hang
			return errors.New("too late")
		}))
		if i == 0 {
			f.publish(t, "hangs", "hangs")
		}
		<-stuck
	}
	f.consume(t, "three", func(context.Context, labelling.Message) error { return errors.New("is not asked") })
	f.backlog(t, 0, 1)
	letters, err := f.DeadLetters(t.Context(), 1)
	require.NoError(t, err)
	assert.Contains(t, letters[0].Reason, "did not come to an end")
	close(hang)
	for _, stop := range stops {
		stop()
	}
	f.backlog(t, 0, 1)
}

// Consumers come and go; the messages of each item are handled one after the other all the same.
func testMessagesInOrder(t *testing.T, f *fixture) {
	f = f.with(Options{Lease: 2 * time.Second})
	const items, each = 16, 30
	var mu sync.Mutex
	busy, seen := map[string]bool{}, map[string][]string{}
	handle := func(_ context.Context, m labelling.Message) error {
		mu.Lock()
		assert.False(t, busy[m.Item], "two have messages of one item at a time")
		busy[m.Item], seen[m.Item] = true, append(seen[m.Item], m.ID)
		mu.Unlock()
		time.Sleep(time.Millisecond) // as long as it takes
		mu.Lock()
		busy[m.Item] = false
		mu.Unlock()
		return nil
	}
	owners := func() map[string]int {
		of := map[string]int{}
		for n := range streams {
			if name, err := f.client.Get(t.Context(), f.ownerKey(n)).Result(); err == nil {
				of[name]++
			}
		}
		return of
	}
	shared := func(want map[string]int) {
		t.Helper()
		require.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, owners()) }, 20*time.Second, 5*time.Millisecond, "%v", want)
	}
	endOne := f.consume(t, "one", handle)
	shared(map[string]int{"one": streams})
	f.consume(t, "two", handle)
	shared(map[string]int{"one": streams / 2, "two": streams / 2})
	for n := range each {
		for i := range items {
			f.publish(t, fmt.Sprint(n), fmt.Sprintf("i%d", i))
		}
		switch n {
		case 10:
			f.consume(t, "three", handle)
		case 20:
			endOne()
		}
	}
	f.backlog(t, 0, 0)
	shared(map[string]int{"two": streams / 2, "three": streams / 2})
	var want []string
	for n := range each {
		want = append(want, fmt.Sprint(n))
	}
	mu.Lock()
	defer mu.Unlock()
	for item, ids := range seen {
		assert.Equal(t, want, ids, item)
	}
	assert.Len(t, seen, items)
}

// One that was killed keeps its streams until its lease ends; what it had taken is handled then, and nobody waits for it to be stuck.
func testStreamsOfTheKilled(t *testing.T, f *fixture) {
	f = f.with(Options{Lease: 100 * time.Millisecond, Stuck: time.Hour})
	const n = 250 * streams // more than a page of each
	for i := range n {
		f.publish(t, "m", fmt.Sprint(i))
	}
	for n := range streams {
		require.NoError(t, f.client.Set(t.Context(), f.ownerKey(n), "killed", 300*time.Millisecond).Err())
		require.NoError(t, f.client.XGroupCreateMkStream(t.Context(), f.finishedKey(n), group, "0").Err())
		err := f.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "killed", Streams: []string{f.finishedKey(n), ">"}, Block: -1}).Err()
		if !errors.Is(err, redis.Nil) {
			require.NoError(t, err)
		}
	}
	var in inbox
	f.consume(t, "next", func(ctx context.Context, m labelling.Message) error {
		in.put(m)
		for s := range streams {
			owner, err := f.client.Get(ctx, f.ownerKey(s)).Result()
			assert.True(t, errors.Is(err, redis.Nil) || owner != "killed" || streamFor(m) != s, "its lease has not ended")
		}
		return nil
	})
	f.backlog(t, 0, 0)
	assert.Len(t, in.all(), n)
	for _, m := range in.all() {
		assert.Equal(t, 2, m.Tries)
	}
}

// A message that fails holds up those of its item, and no others; nor is the order lost when the stream changes hands.
func testMessagesWaitForTheOneBefore(t *testing.T, f *fixture) {
	const x = "x"
	y := ""
	for n := 0; y == "" || streamFor(labelling.Message{Project: f.project, Item: y}) != streamFor(labelling.Message{Project: f.project, Item: x}); n++ {
		y = fmt.Sprint("y", n)
	}
	for _, fails := range []error{labelling.ErrNotReady, errors.New("not yet")} {
		f := f.with(Options{Stuck: 50 * time.Millisecond, Lease: 400 * time.Millisecond, Tries: 1_000_000})
		var in inbox
		var well atomic.Bool
		var failed atomic.Int32
		handle := func(_ context.Context, m labelling.Message) error {
			if m.ID == "1" && m.Item == x && !well.Load() {
				failed.Add(1)
				return fmt.Errorf("apply: %w", fails)
			}
			in.put(m)
			return nil
		}
		order := func() string {
			all := ""
			for _, m := range in.all() {
				all += m.Item[:1] + m.ID + " "
			}
			return all
		}
		for i := range 5 {
			f.publish(t, fmt.Sprint(i), x)
		}
		stop := f.consume(t, "one", handle)
		require.Eventually(t, func() bool { return failed.Load() > 1 }, 20*time.Second, time.Millisecond)
		assert.Equal(t, "x0 ", order())
		if !errors.Is(fails, labelling.ErrNotReady) { // else the whole project waits, but for one message now and then
			for i := range 5 {
				f.publish(t, fmt.Sprint(i), y)
			}
			f.backlog(t, 4, 0)
			assert.Equal(t, "x0 y0 y1 y2 y3 y4 ", order())
		}
		stop()
		before := failed.Load()
		stop = f.consume(t, "two", handle)
		require.Eventually(t, func() bool { return failed.Load() > before+1 }, 20*time.Second, time.Millisecond)
		well.Store(true)
		f.backlog(t, 0, 0)
		stop()
		assert.Equal(t, "x0 x1 x2 x3 x4", strings.Join(slices.DeleteFunc(strings.Fields(order()), func(m string) bool { return m[0] == 'y' }), " "))
	}
}

// What one takes that has lost its stream without noticing is found by the one that has it.
func testMessagesTakenTooLate(t *testing.T, f *fixture) {
	f = f.with(Options{Stuck: time.Hour, Lease: 200 * time.Millisecond})
	var in inbox
	f.publish(t, "first", "x")
	f.consume(t, "owner", func(_ context.Context, m labelling.Message) error { in.put(m); return nil })
	f.backlog(t, 0, 0)
	f.publish(t, "late", "x")
	key := f.finishedKey(streamFor(labelling.Message{Project: f.project, Item: "x"}))
	for n := 0; ; n++ { // until it is faster than the owner
		got, err := f.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "late", Streams: []string{key, ">"}, Block: -1}).Result()
		if err == nil && len(got) > 0 {
			break
		}
		require.Less(t, n, 10_000)
		f.publish(t, fmt.Sprint(n), "x")
	}
	f.backlog(t, 0, 0)
}
