package admission

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// One caller waits for its own answers, and is told to come again; others have room until the server has none.
func TestRoomForAnswers(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond)
	light, err := a.reserve(t.Context(), "ada", lightAnswer)
	require.NoError(t, err)
	assert.Nil(t, light)
	first, err := a.reserve(t.Context(), "ada", 1<<30)
	require.NoError(t, err)
	_, err = a.reserve(t.Context(), "ada", lightAnswer+1)
	var refused *fault.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, fault.Exhausted, refused.Kind)
	assert.Positive(t, refused.RetryAfter)
	other, err := a.reserve(t.Context(), "bob", 25<<20)
	require.NoError(t, err)
	_, err = a.reserve(t.Context(), "eve", 30<<20)
	assert.True(t, fault.Is(err, fault.Exhausted), "the server has 75 MiB: %v", err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = a.reserve(ended, "ada", 1<<20)
	assert.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	require.NoError(t, first.resize(t.Context(), 1<<20)) // it turned out to be small
	second, err := a.reserve(t.Context(), "ada", 49<<20)
	require.NoError(t, err)
	for _, u := range []*unsent{first, second, other} {
		u.sent()
		u.sent()
		u.over()
	}
	assert.Empty(t, a.callers)
	assert.True(t, a.all.TryAcquire(75<<20))
}

// Queries that may weigh much, and turn out to be small, are carried out beside one another.
func TestSmallAnswersTakeTheRoomTheyNeed(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond) // 25 MiB of them for small ones
	var all []*unsent
	for range 25 {
		u := a.begin("ada")
		u.weighs = 1 << 30
		for range 16 {
			require.NoError(t, u.Take(t.Context(), smallAnswer/16))
		}
		assert.Zero(t, u.held)
		all = append(all, u)
	}
	assert.Equal(t, int64(smallAnswer-lightAnswer), all[0].small, "the first step is everybody's")
	for i, u := range all {
		enough, err := u.enough(lightAnswer+1, i%2 == 0)
		require.NoError(t, err)
		assert.True(t, enough)
		if i%2 == 0 {
			assert.Equal(t, int64(lightAnswer), u.small, "after the last part")
		}
		u.sent()
	}
	assert.Empty(t, a.callers)
	assert.True(t, a.small.TryAcquire(25<<20))
	assert.True(t, a.all.TryAcquire(75<<20))
}

// A query that is not small reserves what it may weigh. Whoever finds no room is told so, whatever else is made for it.
func TestLargeAnswersReserveWhatTheyMayWeigh(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond)
	first, second := a.begin("ada"), a.begin("ada")
	first.weighs, second.weighs = 1<<30, 1<<30
	require.NoError(t, first.Take(t.Context(), 100_000))
	require.NoError(t, second.Take(t.Context(), 100_000))
	require.NoError(t, first.Take(t.Context(), smallAnswer))
	assert.Equal(t, a.share, first.held)
	assert.Zero(t, first.small)
	assert.True(t, fault.Is(second.Take(t.Context(), smallAnswer), fault.Exhausted))
	assert.True(t, fault.Is(second.Take(t.Context(), 1), fault.Exhausted), "and knows it")
	_, err := second.enough(10, true)
	assert.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	second.sent()

	third := a.begin("ada")
	third.weighs = 1 << 30
	waits := make(chan error)
	go func() { waits <- third.Take(t.Context(), 2*smallAnswer) }()
	first.sent()
	require.NoError(t, <-waits)
	third.sent()
	assert.True(t, third.Take(t.Context(), smallAnswer) == nil && third.held == 0, "what comes after the end takes no room")
	assert.True(t, a.small.TryAcquire(25<<20))
	assert.True(t, a.all.TryAcquire(75<<20))
}

// Where small answers find no more room, a query reserves what it may weigh before it is large. Nobody waits for somebody who waits.
func TestManyAnswersThatGrowAtOnce(t *testing.T) {
	t.Parallel()
	a := NewAnswers(8<<20, time.Minute)
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			u := a.begin(fmt.Sprint(n % 4))
			u.weighs = 1 << 30
			defer u.sent()
			for range 1 + n%16 {
				assert.NoError(t, u.Take(t.Context(), 200_000))
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	assert.Empty(t, a.callers)
	assert.True(t, a.small.TryAcquire(2<<20))
	assert.True(t, a.all.TryAcquire(6<<20))
}

// Whatever becomes of a message, nobody is remembered who has no room any more.
func TestRoomForMessages(t *testing.T) {
	t.Parallel()
	a := NewAnswers(2<<20, time.Millisecond)
	m := a.Messages("ada", 1<<20)
	m.Want()
	require.NoError(t, m.Admit(t.Context()))
	sent, err := m.Next(t.Context(), 1<<10)
	require.NoError(t, err)
	m.Want()
	waiting := make(chan error)
	go func() { waiting <- m.Admit(t.Context()) }()
	sent() // the rest of its room
	require.NoError(t, <-waiting)
	sent()
	m.End()
	assert.Empty(t, a.callers, "what was admitted is not built any more")
	m.Want()
	require.ErrorIs(t, m.Admit(t.Context()), context.Canceled)
	assert.Empty(t, a.callers)

	other := a.Messages("ada", 1<<20)
	first, err := other.Next(t.Context(), 1<<20)
	require.NoError(t, err)
	_, err = other.Next(t.Context(), 1)
	assert.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, other.Admit(ended), context.Canceled)
	other.Want()
	require.Error(t, other.Admit(ended), "there is no room")
	first()
	assert.Empty(t, a.callers)
}
