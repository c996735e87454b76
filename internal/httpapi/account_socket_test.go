package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/request"
)

func TestSocketsObeyTheSameBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse().leave(2*operationCost + 50)
		th := newTheatre(t, withBudget(p))
		c := th.ready("ada")
		c.subscribe("1", `{ hello }`)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"hello":"world"}}}`)
		c.expects(`{"type":"complete","id":"1"}`)
		c.subscribe("2", `subscription { ticks(source: "a") }`)
		synctest.Wait()
		assert.Equal(t, []int{operationCost + 1, operationCost + 1}, p.spent(t, 2), "a subscription costs what one of its messages may")
		c.subscribe("3", `{ hello }`)
		m := c.read()
		assert.Equal(t, "error", m["type"])
		assert.Equal(t, []any{map[string]any{
			"message": "the operation may cost 101, and 48 of your budget are left: try again later, or ask for less", "extensions": map[string]any{"code": "EXHAUSTED", "retryable": true, "retryAfter": 3.0},
		}}, m["payload"])
		c.subscribe("4", `{ bye }`)
		c.read()
		c.subscribe("5", `{ bye }`)
		assert.Contains(t, fmt.Sprint(c.read()["payload"]), "overdrawn", "without a look at the document")
	})
}

// What is not wanted any more costs what it took to receive it.
func TestCancelledOperationsArePaidFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse()
		th := newTheatre(t, withBudget(p), func(o *Options) { o.Operations = 1 })
		c := th.ready("ada")
		finish := th.upload(`{ hello }`) // has its turn
		c.send(`{"type":"subscribe","id":"1","payload":{"query":"{ hello }","variables":{"a":"` + strings.Repeat("x", admission.BulkyBody) + `"}}}`)
		synctest.Wait()
		c.complete("1")
		assert.GreaterOrEqual(t, p.spent(t, 1)[0], operationCost+admission.BulkyBody/document.BytesPerUnit)
		finish()
		p.spent(t, 1+maxBulky)

		c.subscribe("2", `{ slow }`) // has the only place
		synctest.Wait()
		for i, leave := range []func(){
			func() { c.subscribe("3", `{ hello }`); synctest.Wait(); c.complete("3") },
			func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(`{"query":"{ hello }"}`))
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				var asked sync.WaitGroup
				asked.Go(func() {
					th.handler.ServeHTTP(httptest.NewRecorder(), with(r.WithContext(ctx), append(ada, "Content-Type", request.JSON)...))
				})
				synctest.Wait()
				cancel()
				asked.Wait()
			},
		} {
			leave()
			synctest.Wait()
			require.Len(t, p.settled, 2+maxBulky+i)
			assert.Equal(t, operationCost, p.settled[1+maxBulky+i])
		}
		close(th.play.gate)
		c.read()
		c.read()
		p.spent(t, 4+maxBulky)
	})
}

// Nothing of what others cause is lost, and it keeps nobody from asking: who is told too much is told it later.
func TestMessagesOfSubscriptionsAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, behind, cost = 1, 20, 20 * (messageCost + 1) // is more than is owed at a time
		p := newPurse()
		p.left["messages:user:"+string(adaID)] = cost - 10
		th := newTheatre(t, withBudget(p))
		c := th.ready("ada")
		c.subscribe("1", `subscription { ticks(source: "a") }`)
		p.spent(t, 1)
		left, start := p.of("user:"+string(adaID)), time.Now()
		for n := range first + behind + 1 {
			th.play.source("a") <- n
			c.expects(`{"type":"next","id":"1","payload":{"data":{"ticks":` + strconv.Itoa(n) + `}}}`)
			if n < first+behind {
				assert.Zero(t, time.Since(start), n)
			}
		}
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.Equal(t, []int{operationCost + 1, cost}, p.spent(t, 2), "at once")
		assert.Equal(t, left, p.of("user:"+string(adaID)))
		c.complete("1")
	})
}

// A socket is read no faster than its owner's budget comes back, once nothing more finds a place on it.
func TestAFloodOfSubscriptionsIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse().leave(2*(operationCost+1) + 3*refusedCost)
		th := newTheatre(t, withBudget(p), func(o *Options) { o.Sockets = connection.NewRegistry(connection.Bounds{Operations: 2}) })
		c := th.ready("ada")
		for _, id := range []string{"a", "b"} {
			c.subscribe(id, `subscription { ticks(source: "a") }`)
		}
		p.spent(t, 2)
		start := time.Now()
		for i := range 5 {
			c.subscribe("more", `{ hello }`)
			c.refused("more", "EXHAUSTED")
			assert.Equal(t, time.Duration(max(0, i-2))*refusalPause, time.Since(start), i)
		}
		assert.Equal(t, refusedCost, p.spent(t, 7)[2])
		c.send(`{"type":"subscribe"}`)
		c.closed(4400)
		p.spent(t, 8)
	})
}

// Whoever does not read what is answered to a flood is not read any more, and is given up.
func TestAFloodOfSubscriptionsWithoutReadingIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.Sockets = connection.NewRegistry(connection.Bounds{Operations: 1}) })
		c := th.ready("ada")
		sent := 0
		for c.ws.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"type":"subscribe","id":"%d","payload":{"query":"{ bye }"}}`, sent)) == nil {
			sent++
		}
		assert.Less(t, sent, maxQueued+10)
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
	})
}
