package faultinject

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Rule is one thing that goes wrong.
type Rule struct {
	match Match
	when  When
	act   func(x *exchange, next handler) (*answer, error)
	stop  func()

	mu   sync.Mutex
	seen int
	hits int
}

// Hits returns how many calls the rule has touched.
func (r *Rule) Hits() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hits
}

// Stop ends the rule for calls that are yet to come.
func (r *Rule) Stop() { r.stop() }

func (r *Rule) touches(c *Call) bool {
	if !r.match(c) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen++
	if !r.when(r.seen) {
		return false
	}
	r.hits++
	return true
}

// When says whether the nth matching call, counted from 1, is touched.
type When func(n int) bool

// Always touches each matching call.
func Always(int) bool { return true }

// First touches the first count matching calls.
func First(count int) When { return func(n int) bool { return n <= count } }

// Nth touches one matching call only.
func Nth(nth int) When { return func(n int) bool { return n == nth } }

// Every touches the calls nth, 2·nth, 3·nth and so on.
func Every(nth int) When { return func(n int) bool { return n%nth == 0 } }

// Sometimes touches the given share of the matching calls, the same ones for the same seed.
func Sometimes(share float64, seed uint64) When {
	random := rand.New(rand.NewPCG(seed, seed))
	return func(int) bool { return random.Float64() < share } // a rule asks under its lock
}

// Match chooses calls.
type Match func(*Call) bool

// Operation matches the named operations ("Query", "BatchGetItem").
func Operation(names ...string) Match {
	return func(c *Call) bool { return slices.Contains(names, c.Operation) }
}

// Table matches calls that name the table, alone or among others.
func Table(name string) Match { return func(c *Call) bool { return slices.Contains(c.Tables, name) } }

// Index matches calls that read the index.
func Index(name string) Match { return func(c *Call) bool { return c.Index == name } }

// Reads matches the operations that read items.
func Reads(c *Call) bool {
	switch c.Operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		return true
	}
	return false
}

// Writes matches the operations that write items.
func Writes(c *Call) bool { return c.Operation == "BatchWriteItem" || conditional(c) }

// conditional matches the writes that may have conditions, and so can conflict.
func conditional(c *Call) bool {
	switch c.Operation {
	case "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems":
		return true
	}
	return false
}

// all matches what each of the matches matches.
func all(matches []Match, more ...Match) Match {
	matches = slices.Concat(matches, more)
	return func(c *Call) bool {
		for _, m := range matches {
			if !m(c) {
				return false
			}
		}
		return true
	}
}
