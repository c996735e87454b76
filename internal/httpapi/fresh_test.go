package httpapi

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

// looking has sign-ins end with an error as soon as it is set, and counts them.
type looking struct {
	fails error
	looks int
}

func (l *looking) change(o *Options) {
	signIn := o.SignIn
	o.SignIn = func(ctx context.Context, i viewer.Identity) (viewer.Viewer, error) {
		if l.looks++; l.fails != nil {
			return viewer.Viewer{}, l.fails
		}
		v, err := signIn(ctx, i)
		v.Looked = time.Now()
		return v, err
	}
}

var (
	errRevoked = fault.New(fault.Unauthenticated, "the token was revoked")
	errAway    = fault.New(fault.Unavailable, "the store is away")
)

// silent has a client say nothing but pong until the server has to look again.
func (c *client) silent() {
	c.t.Helper()
	time.Sleep(tokenAge)
	c.expects(`{"type":"ping"}`)
	c.send(`{"type":"pong"}`)
	time.Sleep(time.Second)
}

// TestWhoIsConnectedForLongIsLookedAtAgain has nobody tell the server: Redis is away.
func TestWhoIsConnectedForLongIsLookedAtAgain(t *testing.T) {
	const query = `subscription { ticks(source: "a") }`
	for _, test := range []struct {
		fails  error
		code   websocket.StatusCode
		reason string
	}{{errRevoked, 4403, present.Revoked}, {errAway, 1013, execution.MessageInterrupted}} {
		synctest.Test(t, func(t *testing.T) {
			l := &looking{}
			th := newTheatre(t, l.change)
			c := th.ready("ada")
			c.subscribe("1", query)
			synctest.Wait()
			before := l.looks
			for range 40 { // within the time that a look holds
				th.play.source("a") <- 1
				c.expects(`{"type":"next","id":"1","payload":{"data":{"ticks":1}}}`)
			}
			assert.Equal(t, before, l.looks)
			c.silent()
			th.play.source("a") <- 2
			c.expects(`{"type":"next","id":"1","payload":{"data":{"ticks":2}}}`)
			assert.Equal(t, before+1, l.looks)
			c.silent()
			l.fails = test.fails
			th.play.source("a") <- 3
			assert.Equal(t, test.reason, c.closed(test.code))
		})
		synctest.Test(t, func(t *testing.T) {
			l := &looking{}
			th := newTheatre(t, l.change)
			stream := th.stream(query).opened()
			th.play.source("a") <- 1
			assert.Contains(t, stream.read(), `{"ticks": 1}`)
			time.Sleep(tokenAge)
			assert.NotContains(t, stream.read(), "ticks")
			time.Sleep(time.Second)
			l.fails = test.fails
			th.play.source("a") <- 2
			stream.cut(test.reason)
		})
	}
}

// TestOperationsOfASocketAreLookedAtAgain has a socket that was silent for long.
func TestOperationsOfASocketAreLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &looking{}
		th := newTheatre(t, l.change)
		c := th.ready("ada")
		c.silent()
		for code, fails := range map[string]error{"UNAVAILABLE": errAway, "UNAUTHENTICATED": errRevoked} {
			l.fails = fails
			c.subscribe(code, `subscription { ticks(source: "a") }`)
			c.refused(code, code)
		}
	})
}

// TestAnAnswerThatTookLongIsLookedAtAgain revokes while an operation is carried out.
func TestAnAnswerThatTookLongIsLookedAtAgain(t *testing.T) {
	for code, fails := range map[string]error{"UNAUTHENTICATED": errRevoked, "UNAVAILABLE": errAway} {
		synctest.Test(t, func(t *testing.T) {
			l := &looking{}
			s := newServer(t, l.change, func(o *Options) { o.OperationTimeout = 30 * time.Second })
			s.people.read = func(context.Context) error {
				time.Sleep(tokenAge + time.Second)
				l.fails = fails
				return nil
			}
			w := s.ask(`{ viewer { name } }`, nil, "Authorization", "Bearer ada")
			assert.Equal(t, http.StatusOK, w.Code)
			assert.GreaterOrEqual(t, l.looks, 2)
			assert.Contains(t, w.Body.String(), code)
			assert.NotContains(t, w.Body.String(), "Ada")
		})
	}
}

// doing is a store that tells whether a change was made.
type doing struct {
	user.Store
	did *bool
}

func (d doing) UpdateUser(context.Context, user.User, user.User, idempotency.Key) error {
	*d.did = true
	return nil
}

// TestWhatWasDoneIsTold has a token revoked while a mutation is carried out: it is not answered as if it had been refused.
func TestWhatWasDoneIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &looking{}
		s := newServer(t, l.change, func(o *Options) { o.OperationTimeout = 30 * time.Second })
		did := false
		s.people.Store = doing{s.people.Store, &did}
		s.people.read = func(context.Context) error {
			time.Sleep(tokenAge + time.Second)
			l.fails = errRevoked
			return nil
		}
		w := s.ask(`mutation { updateUser(input: {name: "Ada L"}) { user { name } } }`, nil, "Authorization", "Bearer ada")
		assert.True(t, did)
		assert.NotContains(t, w.Body.String(), "UNAUTHENTICATED")
	})
}

// TestALookIsNotCounted has the server look while a query is carried out: what that costs is not the query's.
func TestALookIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var query *telemetry.Tally
		looks := 0
		s := newServer(t, func(o *Options) {
			signIn := o.SignIn
			o.SignIn = func(ctx context.Context, i viewer.Identity) (viewer.Viewer, error) {
				if looks++; query != nil {
					assert.NotSame(t, query, telemetry.TallyFrom(ctx))
				}
				v, err := signIn(ctx, i)
				v.Looked = time.Now()
				return v, err
			}
		}, func(o *Options) { o.OperationTimeout = 30 * time.Second })
		s.people.read = func(ctx context.Context) error {
			query = telemetry.TallyFrom(ctx)
			time.Sleep(tokenAge + time.Second)
			return nil
		}
		s.ask(`{ viewer { name } }`, nil, "Authorization", "Bearer ada", "Taggie-Extensions", "dynamo")
		assert.NotNil(t, query)
		assert.Equal(t, 2, looks)
	})
}
