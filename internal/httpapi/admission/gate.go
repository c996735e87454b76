package admission

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/viewer"
)

// waitingPer is how many operations of a caller may wait for each that is carried out.
const waitingPer = 64

// gate lets in so many operations of a caller at a time, or operations of so much weight. Others wait, and are refused when too
// many do, or when they would wait for longer than they can.
type gate struct {
	most int // weight inside
	all  int // operations, inside and waiting

	mu      sync.Mutex
	callers map[string]*callers
}

// callers are the operations of one caller: the weight of those that are carried out, of those that wait, and how many there are in all.
type callers struct {
	inside  *semaphore.Weighted
	all     int
	waiting int
	pace    pacer // of a unit of weight
}

func newGate(most int) *gate { return newScales(most, most*(1+waitingPer)) }

// newScales returns a gate for operations of different weights.
func newScales(most, all int) *gate {
	return &gate{most: most, all: all, callers: make(map[string]*callers)}
}

// enter waits until an operation of who may be carried out, and returns what ends it. Faults: Exhausted when too many wait, or when the time is up,
// or would be; Unavailable when nobody waits for it any more.
func (g *gate) enter(ctx context.Context, who string, weight int) (leave func(), err error) {
	n := int64(min(weight, g.most))
	g.mu.Lock()
	c := g.callers[who]
	if c == nil {
		c = &callers{inside: semaphore.NewWeighted(int64(g.most))}
		g.callers[who] = c
	}
	until, bounded := ctx.Deadline()
	longer := c.pace.wait(c.waiting+int(n)) - time.Until(until)
	if c.all >= g.all || bounded && longer > 0 && !c.inside.TryAcquire(n) {
		g.mu.Unlock()
		return nil, TooManyOperations(longer)
	}
	entered := bounded && longer > 0
	c.all++
	if !entered {
		c.waiting += int(n)
	}
	g.mu.Unlock()
	if !entered {
		err = c.inside.Acquire(ctx, n)
		g.mu.Lock()
		c.waiting -= int(n)
		longer = c.pace.wait(c.waiting)
		g.mu.Unlock()
	}
	switch {
	case err == nil:
		return sync.OnceFunc(func() { c.inside.Release(n); g.left(c, int(n)); g.forget(who, c) }), nil
	case ctx.Err() == context.DeadlineExceeded: //nolint:errorlint // contexts return it bare
		err = TooManyOperations(longer)
	default:
		err = fault.Wrap(fault.Unavailable, err, present.Late)
	}
	g.forget(who, c)
	return nil, err
}

// TooManyOperations is why an operation is refused whose caller has too many under way; longer is for how much longer it would wait. Fault: Exhausted.
func TooManyOperations(longer time.Duration) error {
	return &fault.Error{
		Kind: fault.Exhausted, Message: "too many operations of yours are under way: wait for answers", RetryAfter: max(longer, time.Second),
	}
}

// left takes note of the end of an operation.
func (g *gate) left(c *callers, weight int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.waiting == 0 {
		c.pace.last = time.Time{}
		return
	}
	before := c.pace.last
	c.pace.last = time.Time{}
	if now := time.Now(); before.IsZero() {
		c.pace.ended(now)
	} else {
		c.pace.last = now.Add(-now.Sub(before) / time.Duration(weight))
		c.pace.ended(now)
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
type hold struct {
	leave func()
	asked bool  // for its turn
	err   error // why it got none
}

type holdKey struct{}

// Holding returns a context for one operation, which stays in its gate until release is called: what is written of it is in
// memory, though its time may be up.
func Holding(ctx context.Context) (held context.Context, release func()) {
	h := &hold{leave: func() {}}
	return context.WithValue(ctx, holdKey{}, h), func() { h.leave() }
}

// AwaitTurn waits until an operation below [Holding] may be carried out, for as long as the operation may take then. Whether it may is found out
// by CreateOperationContext: what passes until then is not of the operation's own time.
func (e Executor) AwaitTurn(ctx context.Context) {
	h, ok := ctx.Value(holdKey{}).(*hold)
	if !ok || e.options.Patience <= 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, e.options.Patience)
	defer cancel()
	h.asked = true
	var leave func()
	if leave, h.err = e.gate.enter(bounded, caller.Name(viewer.From(ctx)), 1); h.err == nil {
		h.leave = leave
	}
}
