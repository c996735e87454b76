package task_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/task"
)

var (
	errBusy = errors.New("busy")
	errGone = errors.New("gone")
)

// watched is of work that is over at 3; ended is called when there is nothing more to follow.
func watched(ended func()) task.Watched[int] {
	return task.Watched[int]{
		Over: func(n int) bool { return n == 3 }, Same: func(a, b int) bool { return a == b },
		Gone: func(err error) bool { return errors.Is(err, errGone) }, Ended: ended,
	}
}

// told returns what somebody is told when reading gives these values and errors, one after another, and at last 0 when there is nothing
// more to follow.
func told(t *testing.T, first int, results ...any) []int {
	t.Helper()
	ended := false
	tick := make(chan time.Time)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case tick <- time.Time{}:
			case <-stop:
				return
			}
		}
	}()
	var all []int
	for n := range task.Watch(t.Context(), tick, task.Seen[int]{Value: first, At: time.Now()}, func(context.Context) (int, error) {
		next := results[0]
		if len(results) > 1 {
			results = results[1:]
		}
		if err, failed := next.(error); failed {
			return 0, err
		}
		return next.(int), nil
	}, watched(func() { ended = true })) {
		all = append(all, n.Value)
	}
	if ended {
		all = append(all, 0)
	}
	return all
}

func TestWatch(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []int{1, 2, 3, 0}, told(t, 1, 1, 1, 2, errBusy, 2, 3), "each once, whatever fails between, until it is over")
	assert.Equal(t, []int{3, 0}, told(t, 3, 4), "what is over is told once")
	assert.Equal(t, []int{1, 0}, told(t, 1, 1, errGone, 2), "there is nothing to look at")
	assert.Equal(t, []int{1, 2}, told(t, 1, 2, errBusy), "it fails for long")

	ctx, cancel := context.WithCancel(t.Context())
	values := task.Watch(ctx, nil, task.Seen[int]{Value: 1, At: time.Now()}, func(context.Context) (int, error) { return 2, nil }, watched(func() { t.Error("there is more to follow") }))
	assert.Equal(t, 1, (<-values).Value)
	cancel()
	_, open := <-values
	assert.False(t, open)
}
