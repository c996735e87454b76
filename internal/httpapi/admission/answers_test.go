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

// answer is that of a query of who, which may weigh so much.
func (a *Answers) answer(who string, weighs int64) *unsent {
	return &unsent{of: a, who: who, weighs: weighs}
}

// need takes room for n bytes more.
func (u *unsent) need(ctx context.Context, n int64) error { return u.take(ctx, ctx, n) }

// free asserts that all room was given back.
func (a *Answers) free(t *testing.T) {
	t.Helper()
	assert.Empty(t, a.callers)
	assert.True(t, a.small.TryAcquire(a.most/4), "steps")
	assert.True(t, a.all.TryAcquire(a.most-a.most/4), "reservations")
}

// One caller waits for its own answers, and is told to come again; others have room until the server has none.
func TestRoomForAnswers(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond)
	reserve := func(ctx context.Context, who string, weight int64) (*unsent, error) {
		u := a.answer(who, weight)
		if err := u.need(ctx, smallAnswer+1); err != nil {
			u.sent()
			return nil, err
		}
		return u, nil
	}
	first, err := reserve(t.Context(), "ada", 1<<30)
	require.NoError(t, err)
	_, err = reserve(t.Context(), "ada", smallAnswer+1)
	var refused *fault.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, fault.Exhausted, refused.Kind)
	assert.Positive(t, refused.RetryAfter)
	other, err := reserve(t.Context(), "bob", 25<<20)
	require.NoError(t, err)
	_, err = reserve(t.Context(), "eve", 30<<20)
	assert.True(t, fault.Is(err, fault.Exhausted), "the server has 75 MiB: %v", err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = reserve(ended, "ada", 1<<20)
	assert.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	require.NoError(t, first.resize(t.Context(), 1<<20)) // it turned out to be small
	second, err := reserve(t.Context(), "ada", 49<<20)
	require.NoError(t, err)
	for _, u := range []*unsent{first, second, other} {
		u.sent()
		u.sent()
		u.over()
	}
	a.free(t)
}

// Queries that may weigh much, and turn out to be small, are carried out beside one another.
func TestSmallAnswersTakeTheRoomTheyNeed(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond) // 25 MiB of them for small ones
	var all []*unsent
	for range 25 {
		u := a.answer("ada", 1<<30)
		for range 16 {
			require.NoError(t, u.need(t.Context(), smallAnswer/16))
		}
		assert.Zero(t, u.held)
		all = append(all, u)
	}
	assert.Equal(t, int64(smallAnswer-lightAnswer), all[0].small, "the first step is everybody's")
	for i, u := range all {
		require.NoError(t, u.weigh(t.Context(), lightAnswer+1, i%2 == 0))
		assert.Zero(t, u.held)
		if i%2 == 0 {
			assert.Equal(t, int64(lightAnswer), u.small, "after the last part")
		}
		u.sent()
	}
	a.free(t)
}

// What a caller has in steps is bounded as well: whoever has many small answers reserves for the others, and leaves steps to other callers.
func TestStepsOfACaller(t *testing.T) {
	t.Parallel()
	a := NewAnswers(400<<20, 20*time.Millisecond)
	var all []*unsent
	steps := int(a.share/shareOfSteps/(smallAnswer-lightAnswer)) + 1
	for n := range steps {
		u := a.answer("ada", 2*smallAnswer)
		require.NoError(t, u.need(t.Context(), smallAnswer))
		assert.Equal(t, n == steps-1, u.held > 0, n)
		all = append(all, u)
	}
	other := a.answer("bob", 2*smallAnswer)
	require.NoError(t, other.need(t.Context(), smallAnswer))
	assert.Zero(t, other.held)
	for _, u := range append(all, other) {
		u.sent()
	}
	a.free(t)
}

// A query that is not small reserves what it may weigh. Whoever finds no room is told so, whatever else is made for it.
func TestLargeAnswersReserveWhatTheyMayWeigh(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond)
	first, second := a.answer("ada", 1<<30), a.answer("ada", 1<<30)
	require.NoError(t, first.need(t.Context(), 100_000))
	require.NoError(t, second.need(t.Context(), 100_000))
	require.NoError(t, first.need(t.Context(), smallAnswer))
	assert.Equal(t, a.share, first.held)
	assert.Zero(t, first.small)
	assert.True(t, fault.Is(second.need(t.Context(), smallAnswer), fault.Exhausted))
	assert.True(t, fault.Is(second.need(t.Context(), 1), fault.Exhausted), "and knows it")
	assert.True(t, fault.Is(second.weigh(t.Context(), 10, true), fault.Exhausted))
	second.sent()

	third := a.answer("ada", 1<<30)
	waits := make(chan error)
	go func() { waits <- third.need(t.Context(), 2*smallAnswer) }()
	first.sent()
	require.NoError(t, <-waits)
	third.sent()
	require.NoError(t, third.need(t.Context(), smallAnswer))
	require.NoError(t, third.resize(t.Context(), smallAnswer))
	assert.Zero(t, third.held, "what comes after the end takes no room")
	a.free(t)
}

// What is made for an answer beyond its estimate takes room as well, also for one that was estimated to be light.
func TestAnswersThatOutgrowTheirEstimate(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond)
	u := a.answer("ada", 10)
	require.NoError(t, u.need(t.Context(), lightAnswer))
	assert.Nil(t, u.own, "it holds nothing yet")
	require.NoError(t, u.need(t.Context(), 2*smallAnswer))
	for range 20 {
		require.NoError(t, u.need(t.Context(), smallAnswer))
		assert.GreaterOrEqual(t, u.held, u.taken)
		assert.LessOrEqual(t, u.held, u.taken+smallAnswer)
	}
	other := a.answer("ada", 20<<20)
	require.NoError(t, other.need(t.Context(), 2*smallAnswer))
	var err error
	for err == nil {
		err = u.need(t.Context(), smallAnswer)
	}
	assert.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	other.sent()
	u.sent()

	full := a.answer("ada", a.share)
	require.NoError(t, full.need(t.Context(), a.share))
	require.NoError(t, full.need(t.Context(), a.share), "no room is larger than the share of its caller")
	full.sent()
	a.free(t)
}

// The time of one read may be over before there is room: others of the same answer find room later.
func TestAPartOfAnAnswerThatWaitedInVain(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, time.Minute)
	first, second := a.answer("ada", 1<<30), a.answer("ada", 1<<30)
	require.NoError(t, first.need(t.Context(), 2*smallAnswer))
	part, over := context.WithCancel(t.Context())
	over()
	assert.True(t, fault.Is(second.take(t.Context(), part, 2*smallAnswer), fault.Unavailable))
	first.sent()
	require.NoError(t, second.need(t.Context(), 1))
	require.NoError(t, second.weigh(t.Context(), 3*smallAnswer, true))
	second.sent()

	late, operation := a.answer("ada", 1<<30), part
	assert.True(t, fault.Is(late.take(operation, operation, 2*smallAnswer), fault.Unavailable))
	assert.True(t, fault.Is(late.need(t.Context(), 1), fault.Unavailable), "that of the operation stands")
	late.sent()
	a.free(t)
}

// What a mutation did is told, though its answer is larger than its estimate and others have all the room.
func TestWhatWasDoneIsTold(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, time.Minute)
	for _, weighs := range []int64{10, 2 * smallAnswer} {
		done, others := a.answer("ada", weighs), a.answer("ada", 1<<30)
		if weighs > smallAnswer {
			require.NoError(t, done.resize(t.Context(), weighs))
		}
		done.told = true
		held := done.held
		require.NoError(t, others.resize(t.Context(), a.share-held))
		require.NoError(t, done.need(t.Context(), 5*smallAnswer))
		require.NoError(t, done.weigh(t.Context(), 9*smallAnswer, true))
		assert.Equal(t, held, done.held, "there was no more")
		others.sent()
		require.NoError(t, done.weigh(t.Context(), 9*smallAnswer, true))
		assert.EqualValues(t, 9*smallAnswer, done.held)
		done.sent()
	}
	a.free(t)
}

// Two parts of an answer want more room at the same time: what one of them reserves is enough for the other.
func TestPartsOfAnAnswerReserveOnce(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, time.Minute)
	first, u := a.answer("ada", 1<<30), a.answer("ada", 1<<30)
	require.NoError(t, first.need(t.Context(), 2*smallAnswer))
	results := make(chan error)
	go func() { results <- u.need(t.Context(), 2*smallAnswer) }()
	for u.reserving.TryLock() { // it does not wait for room yet
		u.reserving.Unlock()
		runtime.Gosched()
	}
	go func() { results <- u.weigh(t.Context(), 3*smallAnswer, false) }()
	first.sent()
	require.NoError(t, <-results)
	require.NoError(t, <-results)
	assert.LessOrEqual(t, u.held, a.share)
	u.sent()
	a.free(t)
}

// Where small answers find no more room, a query reserves what it may weigh before it is large. Nobody waits for somebody who waits.
func TestManyAnswersThatGrowAtOnce(t *testing.T) {
	t.Parallel()
	a := NewAnswers(8<<20, time.Minute)
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			u := a.answer(fmt.Sprint(n%4), 1<<30)
			defer u.sent()
			for range 1 + n%16 {
				assert.NoError(t, u.need(t.Context(), 200_000))
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	a.free(t)
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
