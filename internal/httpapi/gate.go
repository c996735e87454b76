package httpapi

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
)

// waitingPer is how many operations of a caller may wait for each that is carried out.
const waitingPer = 4

// gate lets in so many operations of a caller at a time, or operations of so much weight. Others wait, and are refused when too
// many do.
type gate struct {
	most int // weight inside
	all  int // operations, inside and waiting

	mu      sync.Mutex
	callers map[string]*callers
}

// callers are the operations of one caller: the weight of those that are carried out, and how many there are in all.
type callers struct {
	inside *semaphore.Weighted
	all    int
}

func newGate(most int) *gate { return newScales(most, most*(1+waitingPer)) }

// newScales returns a gate for operations of different weights.
func newScales(most, all int) *gate {
	return &gate{most: most, all: all, callers: make(map[string]*callers)}
}

// enter waits until an operation of who may be carried out, and returns what ends it. Faults: Exhausted when too many wait,
// Unavailable when the operation's time is up.
func (g *gate) enter(ctx context.Context, who string, weight int) (leave func(), err error) {
	g.mu.Lock()
	c := g.callers[who]
	if c == nil {
		c = &callers{inside: semaphore.NewWeighted(int64(g.most))}
		g.callers[who] = c
	}
	if c.all >= g.all {
		g.mu.Unlock()
		return nil, &fault.Error{
			Kind: fault.Exhausted, Message: "too many operations of yours are under way: wait for answers", RetryAfter: time.Second,
		}
	}
	c.all++
	g.mu.Unlock()
	n := int64(min(weight, g.most))
	if err := c.inside.Acquire(ctx, n); err != nil {
		g.forget(who, c)
		return nil, fault.Wrap(fault.Unavailable, err, messageLate)
	}
	return sync.OnceFunc(func() { c.inside.Release(n); g.forget(who, c) }), nil
}

func (g *gate) forget(who string, c *callers) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.all--; c.all == 0 {
		delete(g.callers, who)
	}
}

// hold is what lets an operation out of its gate.
type hold struct{ leave func() }

type holdKey struct{}

// holding returns a context for one operation, which stays in its gate until release is called: what is written of it is in
// memory, though its time may be up.
func holding(ctx context.Context) (held context.Context, release func()) {
	h := &hold{leave: func() {}}
	return context.WithValue(ctx, holdKey{}, h), func() { h.leave() }
}
