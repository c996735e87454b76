package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/task"
)

// The times in these tests are those of a bubble in which nothing waits.

func TestTasksAreDoneOnceAmongServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		var mu sync.Mutex
		done := map[string]int{}
		handlers := map[task.Kind]task.Handler{"k": func(_ context.Context, one task.Task) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			done[one.ID]++
			return time.Time{}, nil
		}}
		for i := range 100 {
			_ = s.PutTask(t.Context(), task.Task{Kind: "k", ID: fmt.Sprint(i)})
		}
		_, _, stop1 := started(t, s, 3, handlers)
		_, _, stop2 := started(t, s, 3, handlers)
		time.Sleep(time.Minute)
		stop1()
		stop2()
		assert.Len(t, done, 100)
		for id, times := range done {
			assert.Equal(t, 1, times, id)
		}
		assert.Empty(t, s.left())
	})
}

func TestNoMoreTasksRunAtOnceThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		for i := range 20 {
			_ = s.PutTask(t.Context(), task.Task{Kind: "k", ID: fmt.Sprint(i)})
		}
		var mu sync.Mutex
		running, most := 0, 0
		_, _, stop := started(t, s, 3, map[task.Kind]task.Handler{"k": func(context.Context, task.Task) (time.Time, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return time.Time{}, nil
		}})
		time.Sleep(time.Minute)
		stop()
		assert.Equal(t, 3, most)
		assert.Empty(t, s.left())
	})
}

func TestWakeHasTheStoreAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		did := make(chan time.Time, 1)
		tasks, _, stop := started(t, s, 1, map[task.Kind]task.Handler{"k": func(context.Context, task.Task) (time.Time, error) {
			did <- time.Now()
			return time.Time{}, nil
		}})
		defer stop()
		synctest.Wait() // the first round found nothing
		before := time.Now()
		_ = s.PutTask(t.Context(), task.Task{Kind: "k", ID: "1"})
		tasks.Wake()
		tasks.Wake()
		assert.Equal(t, before, <-did)
	})
}

func TestAHandlerDecidesWhenItsTaskComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore(task.Task{Kind: "k", ID: "1"})
		var times []time.Time
		_, _, stop := started(t, s, 1, map[task.Kind]task.Handler{"k": func(context.Context, task.Task) (time.Time, error) {
			if times = append(times, time.Now()); len(times) == 1 {
				return time.Now().Add(time.Hour), nil
			}
			return time.Time{}, nil
		}})
		time.Sleep(2 * time.Hour)
		stop()
		require.Len(t, times, 2)
		assert.InDelta(t, time.Hour, times[1].Sub(times[0]), float64(2*DefaultTasksEvery))
		assert.Empty(t, s.left())
	})
}

func TestTasksComeBackLaterAfterEachErrorAndPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore(task.Task{Kind: "k", ID: "1"})
		var times []time.Time
		_, log, stop := started(t, s, 1, map[task.Kind]task.Handler{"k": func(context.Context, task.Task) (time.Time, error) {
			times = append(times, time.Now())
			switch len(times) {
			case 8:
				return time.Time{}, nil
			case 2:
				panic("ouch")
			}
			return time.Time{}, errors.New("broken")
		}})
		time.Sleep(time.Hour)
		stop()
		require.Len(t, times, 8)
		for i := range 7 {
			wait := backOffMin << i
			assert.GreaterOrEqual(t, times[i+1].Sub(times[i]), wait/2, "after try %d", i)
			assert.LessOrEqual(t, times[i+1].Sub(times[i]), wait+2*DefaultTasksEvery, "after try %d", i)
		}
		assert.Equal(t, 6, log.count("error=broken"), "each error is logged once")
		assert.Equal(t, 1, log.count("panic: ouch"))
		assert.Empty(t, s.left())
	})
}

func TestBackOffIsBounded(t *testing.T) {
	for _, tries := range []int{-1, 0, 1, 8, 9, 15, 16, 63, 64, 1000} {
		wait := backOff(tries)
		assert.LessOrEqual(t, wait, backOffMax)
		assert.GreaterOrEqual(t, wait, backOffMin/2)
	}
}

func TestLongWorkKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore(task.Task{Kind: "k", ID: "1"})
		runs := 0
		handlers := map[task.Kind]task.Handler{"k": func(ctx context.Context, _ task.Task) (time.Time, error) {
			runs++
			time.Sleep(10 * task.Lease)
			return time.Time{}, ctx.Err()
		}}
		_, _, stop1 := started(t, s, 1, handlers)
		_, _, stop2 := started(t, s, 1, handlers)
		time.Sleep(11 * task.Lease)
		stop1()
		stop2()
		assert.Equal(t, 1, runs)
		assert.GreaterOrEqual(t, s.extended, 29)
		assert.Empty(t, s.left())
	})
}

func TestAHandlerEndsWhenItsLeaseIsLost(t *testing.T) {
	for name, extend := range map[string]func(context.Context) (bool, error){
		"taken":     func(context.Context) (bool, error) { return false, nil },
		"no answer": func(ctx context.Context) (bool, error) { <-ctx.Done(); return false, ctx.Err() },
		"errors":    func(context.Context) (bool, error) { return false, errors.New("broken") },
		"panics":    func(context.Context) (bool, error) { panic("ouch") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore(task.Task{Kind: "k", ID: "1"})
				s.extend = extend
				begun := time.Now()
				ended := make(chan time.Duration, 9)
				_, log, stop := started(t, s, 1, map[task.Kind]task.Handler{"k": func(ctx context.Context, of task.Task) (time.Time, error) {
					<-ctx.Done()
					if of.Tries > 0 { // begun again, as the lease is over, and stopped
						return time.Time{}, ctx.Err()
					}
					ended <- time.Since(begun)
					return time.Time{}, nil // and yet it is not done
				}})
				assert.LessOrEqual(t, <-ended, task.Lease)
				stop()
				assert.Equal(t, []string{"k 1"}, s.left())
				assert.Equal(t, 1, log.count("lost to another server"))
			})
		})
	}
}

func TestStoppingWaitsForHandlersAndLeavesTheirTasksToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore(task.Task{Kind: "k", ID: "1"})
		returned := false
		_, log, stop := started(t, s, 1, map[task.Kind]task.Handler{"k": func(ctx context.Context, _ task.Task) (time.Time, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // it tidies up
			returned = true
			return time.Time{}, ctx.Err()
		}})
		synctest.Wait()
		stop()
		assert.True(t, returned)
		assert.Zero(t, log.count("level=ERROR"))
		due, err := s.ListDueTasks(t.Context(), time.Now().Add(time.Millisecond), 9)
		require.NoError(t, err)
		assert.Len(t, due, 1, "another server can go on at once")
	})
}

func TestUnknownKindsAreLeftToOthersAndBlockNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		for i := range 10 {
			_ = s.PutTask(t.Context(), task.Task{Kind: "new", ID: fmt.Sprint("a", i)})
		}
		_ = s.PutTask(t.Context(), task.Task{Kind: "k", ID: "z"})
		_, log, stop := started(t, s, 2, map[task.Kind]task.Handler{"k": func(context.Context, task.Task) (time.Time, error) { return time.Time{}, nil }})
		time.Sleep(10 * time.Minute)
		stop()
		assert.Len(t, s.left(), 10)
		assert.NotContains(t, s.left(), "k z")
		assert.Equal(t, 1, log.count("does not know"))
	})
}

func TestAStoreThatFailsIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.listErr = errors.New("away")
		_, log, stop := started(t, s, 1, nil)
		time.Sleep(10 * time.Minute)
		stop()
		assert.Greater(t, s.listed, 100)
		assert.Equal(t, 1, log.count("error=away"))
	})
}

// Tasks that take long wait for one another, and nobody else for them, however many of them are due.
func TestAPoolKeepsItsKindsFromHoldingUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		for i := range 300 { // they come first in the list
			_ = s.PutTask(t.Context(), task.Task{Kind: []task.Kind{"in", "out"}[i%2], ID: fmt.Sprintf("a%03d", i)})
		}
		for i := range 20 {
			_ = s.PutTask(t.Context(), task.Task{Kind: "short", ID: fmt.Sprintf("z%03d", i)})
		}
		var mu sync.Mutex
		running, most, short := 0, 0, 0
		long := func(ctx context.Context, _ task.Task) (time.Time, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			mu.Lock()
			running--
			mu.Unlock()
			return time.Time{}, ctx.Err()
		}
		tasks := NewTasks(TasksOptions{Store: s, Log: slog.New(slog.DiscardHandler), Limit: 4, Token: func() string { return rand.Text() },
			Pools: []Pool{{Kinds: []task.Kind{"in", "out"}, Limit: 2}},
			Handlers: map[task.Kind]task.Handler{"in": long, "out": long, "short": func(context.Context, task.Task) (time.Time, error) {
				mu.Lock()
				defer mu.Unlock()
				short++
				return time.Time{}, nil
			}}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { tasks.Run(ctx); close(ended) }()
		time.Sleep(10 * time.Second)
		mu.Lock()
		assert.Equal(t, 20, short, "none of them waits for a long one")
		assert.Equal(t, 2, running)
		mu.Unlock()
		s.mu.Lock()
		listed := s.listed
		s.mu.Unlock()
		time.Sleep(10 * time.Second)
		s.mu.Lock()
		assert.LessOrEqual(t, s.listed-listed, 10, "waiting is no spinning")
		s.mu.Unlock()
		time.Sleep(3*time.Hour + time.Minute)
		cancel()
		<-ended
		assert.Equal(t, 2, most)
		assert.InDelta(t, 300-2*3, len(s.left()), 0, "the next one begins when one has ended")
	})
}

// A long backlog is not listed again for each of its tasks, though others that could be started may be behind it.
func TestABacklogIsNotListedForEachOfItsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backlog = 500
		s := newFakeStore()
		for i := range backlog {
			_ = s.PutTask(t.Context(), task.Task{Kind: "k", ID: fmt.Sprintf("a%03d", i)})
		}
		var rare time.Time
		begun := time.Now()
		tasks := NewTasks(TasksOptions{Store: s, Log: slog.New(slog.DiscardHandler), Limit: 4, Token: func() string { return rand.Text() },
			Pools: []Pool{{Kinds: []task.Kind{"rare"}, Limit: 1}},
			Handlers: map[task.Kind]task.Handler{
				"k": func(context.Context, task.Task) (time.Time, error) {
					time.Sleep(200 * time.Millisecond)
					return time.Time{}, nil
				},
				"rare": func(context.Context, task.Task) (time.Time, error) { rare = time.Now(); return time.Time{}, nil },
			}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { tasks.Run(ctx); close(ended) }()
		time.Sleep(time.Second)
		_ = s.PutTask(t.Context(), task.Task{Kind: "rare", ID: "z", Due: time.Now()})
		time.Sleep(time.Minute)
		cancel()
		<-ended
		assert.Empty(t, s.left())
		assert.LessOrEqual(t, s.shown, 50*backlog)
		assert.Less(t, rare.Sub(begun), 10*time.Second, "it does not wait for the backlog")
	})
}

// The next task begins when one ends, not at the next time the store is asked anyway.
func TestRoomIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore(task.Task{Kind: "k", ID: "1"}, task.Task{Kind: "k", ID: "2"})
		var ended, began []time.Time
		_, _, stop := started(t, s, 1, map[task.Kind]task.Handler{"k": func(context.Context, task.Task) (time.Time, error) {
			began = append(began, time.Now())
			time.Sleep(100 * time.Millisecond)
			ended = append(ended, time.Now())
			return time.Time{}, nil
		}})
		time.Sleep(time.Minute)
		stop()
		require.Len(t, began, 2)
		assert.Equal(t, ended[0], began[1])
	})
}
