package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
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

// Requests of more bytes take long to read, or of a length that is not known: of a caller, this many are read at a time.
const (
	bulkyBody = 64 << 10
	maxBulky  = 2
)

// bulky lets in so many large requests of a caller at a time.
func bulky(g *gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if 0 <= r.ContentLength && r.ContentLength <= bulkyBody {
			next.ServeHTTP(w, r)
			return
		}
		leave, err := g.enter(r.Context(), spender(viewer.From(r.Context())))
		if err != nil {
			refused := gqlerror.Wrap(err)
			w.Header().Set("Connection", "close") // rather than read the body
			writeError(w, r, statusOfLimit(w.Header(), gqlerror.List{refused}), refused)
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}
