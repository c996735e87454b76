package telemetry

import (
	"context"
	"maps"
	"sync"
)

// Tally adds up what one response cost in DynamoDB. All methods may be called concurrently, and on nil.
type Tally struct {
	mu    sync.Mutex
	spent Spent
}

// Spent is what a response has cost so far. Calls + Retries is the number of HTTP requests to the engine.
type Spent struct {
	Calls       int            // calls that were sent at least once
	Operations  map[string]int // Calls by operation: {"BatchGetItem": 3, "Query": 2}
	Keys        int            // items that were asked for or written by key, leftovers counted each time
	Retries     int            // attempts after the first of a call
	Throttled   int            // attempts that the engine refused for throttling
	Unprocessed int            // keys or writes that an answer left unprocessed
	Failed      int            // calls that ended in an error
	Capacity    float64        // consumed capacity units, read and write together
}

type tallyKey struct{}

// WithTally returns a context whose calls are added up, and the tally.
func WithTally(ctx context.Context) (context.Context, *Tally) {
	t := new(Tally)
	return context.WithValue(ctx, tallyKey{}, t), t
}

// TallyFrom returns the tally that ctx carries, or nil, which counts nothing.
func TallyFrom(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

// Snapshot returns what has been spent so far.
func (t *Tally) Snapshot() Spent {
	if t == nil {
		return Spent{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.spent
	s.Operations = maps.Clone(s.Operations)
	return s
}

// again takes an attempt into account that was not the last one of its call.
func (t *Tally) again(throttled int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent.Retries++
	t.spent.Throttled += throttled
}

// add takes a call into account.
func (t *Tally) add(c *Call) {
	if t == nil || c.Attempts == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spent.Operations == nil {
		t.spent.Operations = make(map[string]int, 4)
	}
	t.spent.Calls++
	t.spent.Operations[c.Operation]++
	t.spent.Keys += c.Keys
	t.spent.Retries += c.Attempts - 1
	t.spent.Throttled += c.Throttled
	t.spent.Unprocessed += c.Unprocessed
	if c.Err != nil {
		t.spent.Failed++
	}
	for _, consumed := range c.Capacity {
		t.spent.Capacity += consumed.Units
	}
}
