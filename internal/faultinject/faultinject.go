// Package faultinject breaks the calls between the SDK and DynamoDB, on purpose and on schedule. It is a tool of the tests.
//
// An [Injector] stands where HTTP requests leave the SDK, so that the SDK's own parsing, checksums and retries happen as they
// would: a throttle is an HTTP 400, a reset is a broken connection. It knows DynamoDB's JSON protocol. It
// must not know Taggie's tables, and the server must not import it.
//
// Rules wrap one another in the order in which they were added, the first one outermost. They are deterministic: each counts
// the calls it matches, and a [When] says which of them it touches. The [Recorder] sees each call as the SDK sent it.
//
// Some rules change requests or make calls of their own (DescribeTable, GetItem …) with the headers of a request that passed.
// Their signature no longer fits: they work with engines that do not check signatures, as the embedded one.
// PartiQL is passed on unseen, and so is whatever is not DynamoDB.
//
// Start reading at [Injector.Wrap].
package faultinject

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Injector holds the rules and the record of the calls. All methods may be called while calls are in flight.
type Injector struct {
	// Sleep is what [Injector.Delay] waits with; a test may replace it before the first call.
	Sleep func(ctx context.Context, d time.Duration) error

	recorder Recorder

	mu      sync.Mutex
	base    http.RoundTripper
	rules   []*Rule
	schemas map[string]*schema

	// engine is held for reading by each request to the engine, and for writing while the engine is shown to nobody.
	engine sync.RWMutex
}

// New returns an injector without rules, which only records.
func New() *Injector {
	return &Injector{Sleep: sleep, schemas: map[string]*schema{}}
}

// Wrap puts the injector in front of the transport. All that it wraps are to the same engine: later calls go by the last one, whoever makes them.
func (i *Injector) Wrap(base http.RoundTripper) http.RoundTripper {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.base = base
	return roundTripper(i.roundTrip)
}

func (i *Injector) transport() http.RoundTripper {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.base
}

// Recorder returns the record of the calls.
func (i *Injector) Recorder() *Recorder { return &i.recorder }

// Clear stops all rules; the record stays.
func (i *Injector) Clear() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rules = nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// exchange is one call on its way to the engine.
type exchange struct {
	ctx    context.Context
	r      *http.Request // whose headers are sent; its body was read into body
	body   []byte
	call   *Call // as the SDK sent it
	locked bool  // the engine is already held
}

// handler carries an exchange out.
type handler func(*exchange) (*answer, error)

func (i *Injector) roundTrip(r *http.Request) (*http.Response, error) {
	call, body, err := receive(r)
	if err != nil {
		return nil, err
	}
	if call == nil {
		return i.transport().RoundTrip(r)
	}
	x := &exchange{ctx: r.Context(), r: r, body: body, call: call}
	handle := i.chain(call)
	i.recorder.begin(call)
	a, err := handle(x)
	i.recorder.end(call, a, err)
	if err != nil {
		return nil, err
	}
	return a.response(r), nil
}

// chain wraps the rules of this moment around the engine, for this call.
func (i *Injector) chain(c *Call) handler {
	i.mu.Lock()
	rules := slices.Clone(i.rules)
	i.mu.Unlock()
	if len(rules) > 0 {
		c.decode()
	}
	h := i.forward
	for _, rule := range slices.Backward(rules) {
		next := h
		h = func(x *exchange) (*answer, error) {
			if !rule.touches(x.call) {
				return next(x)
			}
			return rule.act(x, next)
		}
	}
	return h
}

func (i *Injector) add(r *Rule) *Rule { return i.insert(r, false) }

func (i *Injector) insert(r *Rule, first bool) *Rule {
	i.mu.Lock()
	defer i.mu.Unlock()
	r.stop = func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.rules = slices.DeleteFunc(i.rules, func(other *Rule) bool { return other == r })
	}
	if first {
		i.rules = slices.Insert(i.rules, 0, r)
	} else {
		i.rules = append(i.rules, r)
	}
	return r
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
