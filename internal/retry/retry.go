// Package retry tries again what failed only because others were faster.
//
// It knows pauses and the caller's deadline. It must not know what is tried, nor which failures are worth another try: its
// callers do. Start reading at [Until].
package retry

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// The pauses between two tries: up to shortest after the first one, twice as long after each that follows, and up to longest at most.
const (
	shortest = 2 * time.Millisecond
	longest  = 250 * time.Millisecond
)

// within bounds the tries of a caller who has no deadline.
const within = 10 * time.Second

// Until yields 0, 1, 2 … for as long as the caller's deadline leaves time for another try and for the answer: until an eighth of the
// time that it had is left, or a second, if that is less. Between two tries it pauses for a time that differs from those of
// others who try, so that they do not meet again and again. The first try is always made.
func Until(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		left := within
		if deadline, ok := ctx.Deadline(); ok {
			left = time.Until(deadline)
		}
		ctx, cancel := context.WithTimeout(ctx, left-min(left/8, time.Second))
		defer cancel()
		for n := 0; yield(n); n++ {
			if !Pause(ctx, min(shortest<<min(n, 16), longest)) {
				return
			}
		}
	}
}

// Pause waits for any time up to the bound, each as likely as the others. It returns false when the context ends first.
func Pause(ctx context.Context, bound time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(rand.N(max(bound, 1)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Busy is what a change ends with that others did not let through in time. The same request may succeed later; nothing says that
// the caller expected something else than there is.
func Busy(what string) error {
	return fault.New(fault.Unavailable, "others change %s again and again; try again", what)
}
