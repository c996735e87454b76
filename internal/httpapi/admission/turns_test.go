package admission

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

func TestTurnsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2, time.Hour)
		var mu sync.Mutex
		var ended []string
		var all sync.WaitGroup
		come := func(who string, n int) {
			for range n {
				all.Go(func() {
					leave, err := turns.Enter(t.Context(), who)
					if !assert.NoError(t, err) {
						return
					}
					time.Sleep(time.Second)
					mu.Lock()
					ended = append(ended, who)
					mu.Unlock()
					leave()
					leave() // has no effect
				})
			}
			synctest.Wait()
		}
		come("greedy", 1000)
		come("ada", 2)
		come("grace", 1)
		time.Sleep(5*time.Second + 1)
		mu.Lock()
		assert.Contains(t, ended[:6], "ada")
		assert.Contains(t, ended[:6], "grace")
		assert.Len(t, ended, 10)
		mu.Unlock()
		all.Wait()
		assert.Len(t, ended, 1003)
		assert.Zero(t, turns.inside)
		assert.Empty(t, turns.lines)
	})
}

func TestWhoWouldWaitTooLongIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, 100*time.Second)
		var all sync.WaitGroup
		var refusals []time.Duration
		come := func(who string) {
			all.Go(func() {
				began := time.Now()
				leave, err := turns.Enter(t.Context(), who)
				if known, is := errors.AsType[*fault.Error](err); is {
					assert.Equal(t, fault.Exhausted, known.Kind)
					assert.Zero(t, time.Since(began), "at once")
					refusals = append(refusals, known.RetryAfter)
					return
				}
				time.Sleep(time.Second)
				leave()
			})
			synctest.Wait()
		}
		for range 90 {
			come("greedy")
		}
		time.Sleep(50*time.Second + 500*time.Millisecond)
		for range 59 {
			come("greedy")
		}
		assert.Empty(t, refusals)
		for range 10 {
			come("greedy")
		}
		assert.NotEmpty(t, refusals)
		assert.InDelta(t, 1, refusals[0].Seconds(), 1)
		many := len(refusals)
		come("ada") // who does not wait behind them
		assert.Len(t, refusals, many)
		all.Wait()
	})
}

// TestWhoGaveUpIsNotWaitedFor has many give up. Who comes next is told how long it waits behind those who are there.
func TestWhoGaveUpIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, 100*time.Second)
		turns.pace = pacer{each: time.Second, many: paceKnown}
		leave, err := turns.Enter(t.Context(), "ada")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		for range 40 {
			for _, who := range []string{"ada", "grace"} {
				gone.Go(func() {
					_, err := turns.Enter(ctx, who)
					assert.ErrorIs(t, err, context.Canceled)
				})
			}
		}
		synctest.Wait()
		cancel()
		gone.Wait()
		assert.Empty(t, turns.order)
		assert.Empty(t, turns.lines)
		entered := make(chan func())
		go func() {
			leave, err := turns.Enter(t.Context(), "ada")
			assert.NoError(t, err, "nobody is before it")
			entered <- leave
		}()
		synctest.Wait()
		leave()
		(<-entered)()
		assert.Zero(t, turns.inside)
	})
}

func TestNobodyWaitsForATurnInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, time.Minute)
		leave, err := turns.Enter(t.Context(), "ada")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = turns.Enter(ctx, "ada")
		require.ErrorIs(t, err, context.Canceled)
		_, err = turns.Enter(t.Context(), "grace")
		assert.True(t, fault.Is(err, fault.Exhausted), "%v", err)
		assert.Zero(t, turns.waiting)
		leave()
		leave, err = turns.Enter(t.Context(), "grace")
		require.NoError(t, err)
		leave()
		assert.Zero(t, turns.inside)
		assert.Empty(t, turns.lines)
	})
}
