package loaders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
)

// source is what a loader of tests reads: twice the key, and errors for negative keys.
type source struct {
	mu      sync.Mutex
	batches [][]int
	started chan struct{} // gets a value for each batch that begins, when set
	hold    chan struct{} // batches wait until it is closed, when set
}

var errOdd = errors.New("odd")

func (s *source) fetch(ctx context.Context, keys []int) ([]int, []error) {
	s.mu.Lock()
	s.batches = append(s.batches, slices.Clone(keys))
	s.mu.Unlock()
	if s.started != nil {
		s.started <- struct{}{}
	}
	values, errs := make([]int, len(keys)), make([]error, len(keys))
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			for i := range errs {
				errs[i] = ctx.Err()
			}
			return values, errs
		}
	}
	for i, key := range keys {
		if values[i] = 2 * key; key < 0 {
			errs[i] = fmt.Errorf("key %d: %w", key, errOdd)
		}
	}
	return values, errs
}

// readTwice returns the keys that are in more than one place of the batches.
func (s *source) readTwice() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, twice := map[int]bool{}, []int(nil)
	for _, batch := range s.batches {
		for _, key := range batch {
			if seen[key] {
				twice = append(twice, key)
			}
			seen[key] = true
		}
	}
	return twice
}

func newTestLoader(t *testing.T, fetch func(context.Context, []int) ([]int, []error)) *Loader[int, int] {
	return newLoader(t.Context(), "test", unobserved, fetch)
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestLoadsAreOneBatch(t *testing.T) {
	var s source
	l := newTestLoader(t, s.fetch)
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() {
			v, err := l.Load(t.Context(), i%100)
			assert.NoError(t, err)
			assert.Equal(t, 2*(i%100), v)
		})
	}
	group.Wait()
	assert.Empty(t, s.readTwice())
	v, err := l.Load(t.Context(), 7)
	require.NoError(t, err)
	assert.Equal(t, 14, v)
	assert.Empty(t, s.readTwice(), "what was read is remembered")
}

func TestErrorsAreTheKeysOwn(t *testing.T) {
	var s source
	l := newTestLoader(t, s.fetch)
	l.Prefetch([]int{1, -1, 2})
	_, err := l.Load(t.Context(), -1)
	require.ErrorIs(t, err, errOdd)
	assert.ErrorContains(t, err, "key -1")
	for _, key := range []int{1, 2} {
		v, err := l.Load(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, 2*key, v)
	}
}

// A batch of one that fails, and one of several with a single error, must not fail anybody else.
func TestErrorOfASingleKey(t *testing.T) {
	l := newTestLoader(t, func(_ context.Context, keys []int) ([]int, []error) {
		if keys[0] == 1 {
			return []int{0}, []error{errOdd}
		}
		return make([]int, len(keys)), nil
	})
	l.Prefetch([]int{1})
	l.Prefetch([]int{2, 3})
	_, err := l.Load(t.Context(), 1)
	require.ErrorIs(t, err, errOdd)
	_, err = l.Load(t.Context(), 2)
	require.NoError(t, err)
}

// dataloadgen gives a one-element error slice to everybody; a source that returns one has broken its promise, and says so.
func TestSourceThatBreaksItsPromise(t *testing.T) {
	for name, fetch := range map[string]func(context.Context, []int) ([]int, []error){
		"one error for all": func(context.Context, []int) ([]int, []error) { return make([]int, 3), []error{errOdd} },
		"too few values":    func(context.Context, []int) ([]int, []error) { return make([]int, 2), nil },
		"nothing":           func(context.Context, []int) ([]int, []error) { return nil, nil },
		"panic":             func(context.Context, []int) ([]int, []error) { panic("source") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestLoader(t, fetch)
			var group sync.WaitGroup
			for _, prefetched := range []bool{true, false} {
				keys := []int{1, 2, 3}
				if prefetched {
					l.Prefetch(keys)
				}
				for _, key := range keys {
					group.Go(func() {
						_, err := l.Load(soon(t), key)
						assert.True(t, fault.Is(err, fault.Internal), "got %v", err)
					})
				}
				group.Wait()
				l.clear()
			}
		})
	}
}

func TestPanicOfTheObserverIsAnError(t *testing.T) {
	var s source
	l := newLoader(t.Context(), "test", func(context.Context, string, int) (context.Context, func()) { panic("observer") }, s.fetch)
	_, err := l.Load(soon(t), 1)
	assert.True(t, fault.Is(err, fault.Internal), "got %v", err)
}

// The first caller, on whose context dataloadgen runs the batch, goes away while the batch is read.
func TestFirstCallersCancellationHarmsNobody(t *testing.T) {
	s := source{started: make(chan struct{}), hold: make(chan struct{})}
	l := newTestLoader(t, s.fetch)
	first, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := l.Load(first, 1)
		gone <- err
	}()
	select {
	case <-s.started:
	case <-soon(t).Done():
		t.Fatal("no batch began")
	}
	stays := make(chan error, 1)
	go func() {
		v, err := l.Load(t.Context(), 1) // finds the same load
		assert.Equal(t, 2, v)
		stays <- err
	}()
	cancel()
	err := <-gone // at once: the batch is still held
	assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
	assert.ErrorIs(t, err, context.Canceled)
	close(s.hold)
	require.NoError(t, <-stays)
	v, err := l.Load(t.Context(), 1)
	require.NoError(t, err, "the cancellation is not remembered")
	assert.Equal(t, 2, v)
	assert.Empty(t, s.readTwice())
}

func TestAResponseThatEndsEndsItsReads(t *testing.T) {
	s := source{hold: make(chan struct{}), started: make(chan struct{}, 1)}
	response, end := context.WithCancel(t.Context())
	l := newLoader(response, "test", unobserved, s.fetch)
	done := make(chan error, 1)
	go func() {
		_, err := l.Load(t.Context(), 1)
		done <- err
	}()
	<-s.started
	end()
	assert.ErrorIs(t, <-done, context.Canceled)
}

func TestPrefetchAndLoadNeverReadAKeyTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var s source
		l := newTestLoader(t, s.fetch)
		var group sync.WaitGroup
		for range rapid.IntRange(1, 6).Draw(r, "callers") {
			keys := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 8).Draw(r, "keys")
			prefetch := rapid.Bool().Draw(r, "prefetch")
			group.Go(func() {
				if prefetch {
					l.Prefetch(keys)
				}
				for _, key := range keys {
					v, err := l.Load(t.Context(), key)
					assert.NoError(t, err)
					assert.Equal(t, 2*key, v)
				}
			})
		}
		group.Wait()
		require.Empty(r, s.readTwice())
	})
}

func TestPrimeAndPut(t *testing.T) {
	var s source
	l := newTestLoader(t, s.fetch)
	load := func(key int) int {
		v, err := l.Load(t.Context(), key)
		require.NoError(t, err)
		return v
	}
	l.Prime(1, 100)
	assert.Equal(t, 100, load(1))
	l.Prime(1, 200)
	assert.Equal(t, 100, load(1), "what is known stays")
	l.Prefetch([]int{1, 2})
	assert.Equal(t, 4, load(2))
	assert.Equal(t, [][]int{{2}}, s.batches, "a primed key is not read")
}

func TestFromPanicsWithoutLoaders(t *testing.T) {
	assert.Panics(t, func() { From(t.Context()) })
	l := &Loaders{}
	assert.Same(t, l, From(With(t.Context(), l)))
}
