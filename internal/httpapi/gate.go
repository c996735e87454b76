package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// waitingPer is how many operations of a caller may wait for each that is carried out.
const waitingPer = 4

// gate lets in so many operations of a caller at a time. Others wait, and are refused when too many do.
type gate struct {
	most int

	mu      sync.Mutex
	callers map[string]*callers
}

// callers are the operations of one caller: a value in the channel for each that is carried out, and how many there are in all.
type callers struct {
	inside chan struct{}
	all    int
}

func newGate(most int) *gate { return &gate{most: most, callers: make(map[string]*callers)} }

// enter waits until an operation of who may be carried out, and returns what ends it. Faults: Exhausted when too many wait,
// Unavailable when the operation's time is up.
func (g *gate) enter(ctx context.Context, who string) (leave func(), err error) {
	g.mu.Lock()
	c := g.callers[who]
	if c == nil {
		c = &callers{inside: make(chan struct{}, g.most)}
		g.callers[who] = c
	}
	if c.all >= g.most*(1+waitingPer) {
		g.mu.Unlock()
		return nil, &fault.Error{
			Kind: fault.Exhausted, Message: "too many operations of yours are under way: wait for answers", RetryAfter: time.Second,
		}
	}
	c.all++
	g.mu.Unlock()
	select {
	case c.inside <- struct{}{}:
		return sync.OnceFunc(func() { <-c.inside; g.forget(who, c) }), nil
	case <-ctx.Done():
		g.forget(who, c)
		return nil, fault.Wrap(fault.Unavailable, ctx.Err(), messageLate)
	}
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
