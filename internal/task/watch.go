package task

import (
	"context"
	"time"
)

const (
	// WatchEvery is how often what goes on in the background is looked at for somebody who watches it.
	WatchEvery = time.Second
	// watchPatience is how many times in a row that may fail.
	watchPatience = 30
	// watchAge is how old a value may be that nobody has taken yet: then it is read again.
	watchAge = 20 * time.Second
)

// Seen is a value, and when reading it began.
type Seen[T any] struct {
	Value T
	At    time.Time
}

// Watch tells how work goes that any server may be doing: the value that was read first, and then, looked at each time tick
// fires, every one that is another. The channel is closed after the one that is over, when there is nothing to be looked at any more, when the
// context ends, and when reading fails again and again. In the first two cases Ended is called before. A value that nobody takes for long is
// read again. Cost: one read for each tick.
func Watch[T any](ctx context.Context, tick <-chan time.Time, first Seen[T], read func(context.Context) (T, error), w Watched[T]) <-chan Seen[T] {
	out := make(chan Seen[T])
	go func() {
		defer close(out)
		for now := first; ; {
			told := w.tell(ctx, out, now)
			if told && w.Over(now.Value) {
				w.Ended()
				return
			}
			next, ok := w.next(ctx, tick, now, told, read)
			if !ok {
				return
			}
			now = next
		}
	}()
	return out
}

// Watched says what is to be known of work in order to watch it.
type Watched[T any] struct {
	Over  func(T) bool      // it has ended: there is nothing more to come
	Same  func(a, b T) bool // there is nothing new
	Gone  func(error) bool  // it is there no more, or no longer for who watches
	Ended func()            // called when there is nothing more to follow
}

// tell hands over a value, and reports false when nobody has taken it in time, or the context has ended.
func (w Watched[T]) tell(ctx context.Context, out chan<- Seen[T], now Seen[T]) bool {
	late := time.NewTimer(watchAge - time.Since(now.At))
	defer late.Stop()
	select {
	case out <- now:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// next returns the next value that is another than the last, or any when that was not told; false when there will be none.
func (w Watched[T]) next(ctx context.Context, tick <-chan time.Time, last Seen[T], told bool, read func(context.Context) (T, error)) (Seen[T], bool) {
	for failed := 0; ; {
		select {
		case <-tick:
		case <-ctx.Done():
			return last, false
		}
		began := time.Now()
		now, err := read(ctx)
		switch {
		case err == nil && !(told && w.Same(last.Value, now)):
			return Seen[T]{now, began}, true
		case err == nil:
			failed = 0
			continue
		}
		if w.Gone(err) {
			w.Ended()
			return last, false
		}
		if failed++; failed == watchPatience {
			return last, false
		}
	}
}
