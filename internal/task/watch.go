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
)

// Watch tells how work goes that any server may be doing: the value that was read first, and then, looked at each time tick
// fires, every one that is another. The channel is closed after the one that is over, when there is nothing to be looked at any more, when the
// context ends, and when reading fails again and again. In the first two cases Ended is called before. Cost: one read for each tick.
func Watch[T any](ctx context.Context, tick <-chan time.Time, first T, read func(context.Context) (T, error), w Watched[T]) <-chan T {
	out := make(chan T)
	go func() {
		defer close(out)
		for now := first; ; {
			select {
			case out <- now:
			case <-ctx.Done():
				return
			}
			if w.Over(now) {
				w.Ended()
				return
			}
			next, ok := w.next(ctx, tick, now, read)
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

// next returns the next value that is another than the last, false when there will be none.
func (w Watched[T]) next(ctx context.Context, tick <-chan time.Time, last T, read func(context.Context) (T, error)) (T, bool) {
	for failed := 0; ; {
		select {
		case <-tick:
		case <-ctx.Done():
			return last, false
		}
		now, err := read(ctx)
		switch {
		case err == nil && !w.Same(last, now):
			return now, true
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
