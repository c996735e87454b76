package loaders

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/vikstrous/dataloadgen"

	"github.com/taggie/taggie/internal/fault"
)

// wait is how long a load waits for others of its kind when no list resolver looked ahead.
const wait = time.Millisecond

// Loader batches and remembers the reads of one kind of thing for one response.
type Loader[K comparable, V any] struct {
	fetch func(keys []K) ([]V, []error)

	mu    sync.Mutex
	batch *dataloadgen.Loader[K, *pending[V]] // nil until somebody asks: most responses read few kinds of things
}

// pending is a value that was asked for. dataloadgen sees only pendings, never errors, so that one key's error can not
// become another's, and so that a load that a look-ahead began is found by whoever comes while it runs.
type pending[V any] struct {
	done  <-chan struct{} // of all that were asked for together
	value *V
	err   error
}

// there is closed: what was primed is there.
var there = func() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

func newLoader[K comparable, V any](ctx context.Context, name string, observe Observe, fetch func(context.Context, []K) ([]V, []error)) *Loader[K, V] {
	l := &Loader[K, V]{}
	l.fetch = func(keys []K) (values []V, errs []error) {
		defer func() {
			// The batch runs in a goroutine of its own, where a panic would end the process.
			if p := recover(); p != nil {
				values, errs = mistake[V](len(keys), fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		// The context of the response, not that of the first caller, whose end would fail everybody's batch.
		within, done := observe(ctx, name, len(keys))
		defer done()
		values, errs = fetch(within, keys)
		if len(values) != len(keys) || errs != nil && len(errs) != len(keys) {
			return mistake[V](len(keys), fmt.Errorf("%s: %d values and %d errors for %d keys", name, len(values), len(errs), len(keys)))
		}
		return values, errs
	}
	return l
}

// known returns what was asked for so far.
func (l *Loader[K, V]) known() *dataloadgen.Loader[K, *pending[V]] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.batch == nil {
		l.batch = dataloadgen.NewLoader(func(_ context.Context, keys []K) ([]*pending[V], []error) {
			all, loads, done := make([]pending[V], len(keys)), make([]*pending[V], len(keys)), make(chan struct{})
			for i := range loads {
				all[i].done = done
				loads[i] = &all[i]
			}
			go l.settle(keys, loads, done) // so that Load waits for its own key or context, not for the batch
			return loads, nil
		}, dataloadgen.WithWait(wait))
	}
	return l.batch
}

// clear forgets everything. Who waits for a value still gets it.
func (l *Loader[K, V]) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batch = nil
}

// mistake is what a fetch returns that broke its promise: an error for each of n keys.
func mistake[V any](n int, cause error) ([]V, []error) {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = fault.Wrap(fault.Internal, cause, "the server made a mistake")
	}
	return make([]V, n), errs
}

// settle fetches the keys, hands each load its value or error, and says that they are there.
func (l *Loader[K, V]) settle(keys []K, loads []*pending[V], done chan<- struct{}) {
	defer close(done)
	values, errs := l.fetch(keys)
	for i, load := range loads {
		if errs != nil && errs[i] != nil {
			load.err = errs[i]
		} else {
			load.value = &values[i]
		}
	}
}

// Load returns the value of a key, together with all others that are asked for at about the same time.
func (l *Loader[K, V]) Load(ctx context.Context, key K) (V, error) {
	value, err := l.Look(ctx, key)
	if value == nil {
		var zero V
		return zero, err
	}
	return *value, err
}

// Look is Load without a copy: it returns the remembered value, which nobody may change, and nil with an error.
func (l *Loader[K, V]) Look(ctx context.Context, key K) (*V, error) {
	load, err := l.known().Load(ctx, key)
	if err != nil {
		return nil, err
	}
	select {
	case <-load.done:
	default: // to wait for two channels costs more than to look at one
		select {
		case <-load.done:
		case <-ctx.Done():
			return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "the request was ended before its data was read")
		}
	}
	return load.value, load.err
}

// atATime is how many pendings are made at once, of which some may be too many: keys are asked for more than once.
const atATime = 64

// Prefetch reads at once all keys that were not asked for yet, in one batch; it returns when they are there. List resolvers
// call it for what is selected below them, so that no level waits for a timer and no batch is split.
func (l *Loader[K, V]) Prefetch(keys []K) {
	if len(keys) == 0 {
		return
	}
	var mine []K
	var loads []*pending[V]
	var spare []pending[V] // made at once
	done, known := make(chan struct{}), l.known()
	for _, key := range keys {
		if len(spare) == 0 {
			spare = make([]pending[V], min(len(keys), atATime))
		}
		load := &spare[0]
		load.done = done
		if known.Prime(key, load) {
			mine, loads, spare = append(mine, key), append(loads, load), spare[1:]
		}
	}
	if len(mine) > 0 {
		l.settle(mine, loads, done)
	}
}

// LoadAll returns the value or the error of each key; those that were not asked for yet are read at once, in one batch.
func (l *Loader[K, V]) LoadAll(ctx context.Context, keys []K) ([]V, []error) {
	l.Prefetch(keys)
	values, errs := make([]V, len(keys)), make([]error, len(keys))
	for i, key := range keys {
		values[i], errs[i] = l.Load(ctx, key)
	}
	return values, errs
}

// Prime remembers a value that was read otherwise.
func (l *Loader[K, V]) Prime(key K, value V) {
	l.known().Prime(key, &pending[V]{done: there, value: &value})
}

// PrimeAll remembers values that were read otherwise, each by its key, and which nobody may change from now on.
func (l *Loader[K, V]) PrimeAll(values []V, key func(*V) K) {
	loads, known := make([]pending[V], len(values)), l.known()
	for i := range values {
		loads[i] = pending[V]{done: there, value: &values[i]}
		known.Prime(key(&values[i]), &loads[i])
	}
}

// LoadNow returns the value of a key without waiting for others: for lists, which DynamoDB cannot batch. Whoever asks for the
// same key meanwhile gets the same read.
func (l *Loader[K, V]) LoadNow(ctx context.Context, key K) (V, error) {
	l.Prefetch([]K{key})
	return l.Load(ctx, key)
}

// oneByOne makes a batch of reads that cannot be batched.
func oneByOne[K comparable, V any](read func(context.Context, K) (V, error)) func(context.Context, []K) ([]V, []error) {
	return func(ctx context.Context, keys []K) ([]V, []error) {
		values, errs := make([]V, len(keys)), make([]error, len(keys))
		for i, key := range keys {
			values[i], errs[i] = read(ctx, key)
		}
		return values, errs
	}
}
