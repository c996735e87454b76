package queue

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// testSeveralInOneRedis has two Taggies with the same project, as after a copy of its tables, do everything a queue does. Their prefixes are as
// alike as they can be, and one of them looks like the names of keys that the guard treats differently.
func testSeveralInOneRedis(t *testing.T, f *fixture) {
	f.flush(t)
	plain := f.with(Options{})
	other := f.with(Options{Prefix: "taggie:user:later:"})
	plain.useAll(t)
	before := f.keys(t)
	slices.Sort(before)
	for _, key := range before {
		assert.True(t, strings.HasPrefix(key, "taggie:"), key)
	}
	counts, letters := plain.state(t), plain.waitingAndDead(t)

	other.useAll(t)
	var theirs []string
	for _, key := range f.keys(t) {
		if !slices.Contains(before, key) {
			assert.True(t, strings.HasPrefix(key, "taggie:user:later:taggie:"), key)
			theirs = append(theirs, strings.TrimPrefix(key, "taggie:user:later:"))
		}
	}
	slices.Sort(theirs)
	assert.Equal(t, before, theirs, "each has keys of its own for everything")
	assert.Equal(t, counts, plain.state(t))
	assert.Equal(t, letters, plain.waitingAndDead(t))

	// What is gone is noticed with a prefix, too, and what is removed is one's own.
	require.NoError(t, f.client.Del(t.Context(), other.keysOf(f.project).team("t1")).Err())
	whole, err := other.Whole(t.Context(), f.project)
	require.NoError(t, err)
	assert.False(t, whole)
	require.NoError(t, plain.Forget(t.Context(), f.project))
	left := slices.DeleteFunc(f.keys(t), func(key string) bool { return !strings.Contains(key, "{"+string(f.project)+"}") })
	assert.NotEmpty(t, left)
	for _, key := range left {
		assert.True(t, other.keysOf(f.project).has(key), key)
	}
}

// useAll writes all kinds of keys there are. Those that messages leave are the same after each run.
func (f *fixture) useAll(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	f.busy(t)
	skipped := f.claim(t, "bob", 1)
	f.must(t, f.ended(skipped[0], labelling.Deferred, project.New))
	require.NoError(t, f.Heartbeat(ctx, "ada", []project.ID{f.project}))
	require.NoError(t, f.SetSize(ctx, 7))
	_, err := Streams{f.Queue}.Append(ctx, follow.NotesOf("ada"), changed(1), true)
	require.NoError(t, err)
	_, err = f.LeaseReviews(ctx, f.project, "rev", 1, labelling.Settle, nil, []string{"e"})
	require.NoError(t, err)
	mine, err := f.Turn(ctx, "relay", time.Hour)
	require.NoError(t, err)
	require.True(t, mine, "a turn of this Taggie")

	handled := make(chan struct{})
	f.o.Tries = 1
	consuming, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Consume(consuming, "c", func(context.Context, labelling.Message) error { close(handled); return assert.AnError })
	}()
	require.NoError(t, f.Publish(ctx, labelling.Message{ID: uuid.NewString(), Project: f.project, Item: "i1"}))
	<-handled
	require.Eventually(t, func() bool { return f.waitingAndDead(t) == [2]int{0, 1} }, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { // each worker makes its stream when it begins
		keys := f.keys(t)
		for n := range streams {
			if !slices.Contains(keys, f.finishedKey(n)) {
				return false
			}
		}
		return true
	}, 10*time.Second, 10*time.Millisecond)
	cancel()
	<-done
}

func (f *fixture) waitingAndDead(t *testing.T) [2]int {
	t.Helper()
	b, err := f.Backlog(t.Context())
	require.NoError(t, err)
	return [2]int{b.Waiting, b.Dead}
}
