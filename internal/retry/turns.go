package retry

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Turns lets those of one server who change the same thing go one after the other once they have met. Twenty of them who only tried
// again would be in one another's way most of the time. Writers on other servers are not seen: they meet, and try again. The
// zero Turns is ready for use.
type Turns struct {
	mu     sync.Mutex
	queues map[string]*queue
}

// queue is for one thing, and there for as long as somebody is in it.
type queue struct {
	turn chan struct{} // holds one token
	in   int
}

// Until is [Until] for changes of the thing that the key names. Who finds a queue joins it; who is alone tries at once, and joins it
// when others were faster.
func (t *Turns) Until(ctx context.Context, key string) iter.Seq[int] {
	return func(yield func(int) bool) {
		leave := t.join(ctx, key, true)
		defer func() { leave() }()
		for n := range Until(ctx) {
			if n == 1 {
				leave()
				leave = t.join(ctx, key, false)
			}
			if !yield(n) {
				return
			}
		}
	}
}

// join waits for a turn, at most for three quarters of the time that is left: who comes late has one try still. It returns what ends the
// turn. With meeting it joins nothing that is not there.
func (t *Turns) join(ctx context.Context, key string, meeting bool) (leave func()) {
	t.mu.Lock()
	q := t.queues[key]
	if q == nil && meeting {
		t.mu.Unlock()
		return func() {}
	}
	if q == nil {
		if t.queues == nil {
			t.queues = map[string]*queue{}
		}
		q = &queue{turn: make(chan struct{}, 1)}
		t.queues[key] = q
	}
	q.in++
	t.mu.Unlock()
	left := within
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	ctx, cancel := context.WithTimeout(ctx, left*3/4)
	defer cancel()
	has := false
	select {
	case q.turn <- struct{}{}:
		has = true
	case <-ctx.Done():
	}
	return sync.OnceFunc(func() {
		if has {
			<-q.turn
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.in--; q.in == 0 {
			delete(t.queues, key)
		}
	})
}
