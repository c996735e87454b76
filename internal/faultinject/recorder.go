package faultinject

import (
	"fmt"
	"slices"
	"sync"
)

// Recorder keeps each call as the SDK sent it, in order. The calls that rules make for themselves are not among them.
type Recorder struct {
	mu    sync.Mutex
	calls []*Call
	tick  int
}

// Calls returns the calls sent since the last reset that match.
func (r *Recorder) Calls(match ...Match) []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var calls []Call
	for _, c := range r.calls {
		c.decode()
		if all(match)(c) {
			calls = append(calls, *c)
		}
	}
	return calls
}

// Count returns how many calls were sent since the last reset that match.
func (r *Recorder) Count(match ...Match) int { return len(r.Calls(match...)) }

// Operations returns how often each operation was sent.
func (r *Recorder) Operations() map[string]int {
	counts := map[string]int{}
	for _, c := range r.Calls() {
		counts[c.Operation]++
	}
	return counts
}

// NewConnections returns how many calls had to dial.
func (r *Recorder) NewConnections() int {
	return r.Count(func(c *Call) bool { return c.NewConnection })
}

// MaxConcurrent returns how many matching calls the engine had before it at once.
func (r *Recorder) MaxConcurrent(match ...Match) int {
	// Calls that are still in flight end after all others.
	most := 0
	reached := r.Calls(all(match, func(c *Call) bool { return c.Reached }))
	for _, a := range reached {
		at := 0
		for _, b := range reached {
			if b.start <= a.start && (b.end == 0 || a.start < b.end) {
				at++
			}
		}
		most = max(most, at)
	}
	return most
}

// ReadTwice returns the keys that successful GetItem and BatchGetItem calls asked for more than once, in one call or in
// several. Keys that had been left unprocessed count again.
func (r *Recorder) ReadTwice() []Key {
	seen := map[Key]int{}
	var twice []Key
	for _, c := range r.Calls(Operation("GetItem", "BatchGetItem"), func(c *Call) bool { return c.Status == 200 }) {
		for _, k := range c.Keys {
			if seen[k]++; seen[k] == 2 {
				twice = append(twice, k)
			}
		}
	}
	return twice
}

// Violations says in words which calls break DynamoDB's limits: 100 keys per BatchGetItem and 100 actions per
// transaction, 25 writes per BatchWriteItem, and no key twice in one call.
func (r *Recorder) Violations() []string {
	var found []string
	for i, c := range r.Calls() {
		limit, size := 100, len(c.Keys)
		switch c.Operation {
		case "BatchGetItem", "TransactGetItems":
		case "TransactWriteItems":
			size = max(c.Writes, len(c.Keys))
		case "BatchWriteItem":
			limit, size = 25, c.Writes
		default:
			continue
		}
		if size > limit {
			found = append(found, fmt.Sprintf("call %d: %s has %d keys, at most %d are allowed", i, c.Operation, size, limit))
		}
		for j, k := range c.Keys {
			if slices.Contains(c.Keys[:j], k) {
				found = append(found, fmt.Sprintf("call %d: %s has the key %s of %s twice", i, c.Operation, k.Attributes, k.Table))
			}
		}
	}
	return found
}

// Reset forgets the calls.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}

func (r *Recorder) begin(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

func (r *Recorder) end(c *Call, a *answer, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		c.Status, c.ErrorCode = a.status, a.errorCode()
	}
}

func (r *Recorder) enter(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick++
	c.Reached, c.start = true, r.tick
}

func (r *Recorder) leave(c *Call, dialled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick++
	c.end, c.NewConnection = r.tick, c.NewConnection || dialled
}
