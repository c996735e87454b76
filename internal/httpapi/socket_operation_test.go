package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/request"
)

func TestSocketCarriesOutOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("q", `{ hello }`)
		c.expects(`{"type":"next","id":"q","payload":{"data":{"hello":"world"}}}`)
		c.expects(`{"type":"complete","id":"q"}`)

		c.subscribe("q", `mutation { signUp }`) // the id is free again
		c.expects(`{"type":"next","id":"q","payload":{"data":{"signUp":"world"}}}`)
		c.expects(`{"type":"complete","id":"q"}`)

		c.subscribe("f", `{ fails }`) // an error in a field is part of an answer
		m := c.read()
		assert.Equal(t, "next", m["type"])
		assert.Contains(t, fmt.Sprint(m["payload"]), "somebody was faster")
		c.expects(`{"type":"complete","id":"f"}`)

		c.send(`{"type":"subscribe","id":"v","payload":{"query":"query Big($n: Int!) { big(size: $n) }","operationName":"Big","variables":{"n":3},"extensions":null}}`)
		c.expects(`{"type":"next","id":"v","payload":{"data":{"big":"xxx"}}}`)
		c.expects(`{"type":"complete","id":"v"}`)

		metrics := th.counted()
		assert.Contains(t, metrics, `taggie_operations_total{operation_type="query",outcome="ok"} 2`)
		assert.Contains(t, metrics, `taggie_operations_total{operation_type="query",outcome="CONFLICT"} 1`)
		assert.Contains(t, metrics, `taggie_operations_total{operation_type="mutation",outcome="ok"} 1`)
		assert.Len(t, th.logged("socket operation"), 4)
	})
}

// A value that is refused ends its operation only.
func TestSocketRefusesHalfCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.send(`{"type":"subscribe","id":"h","payload":{"query":"query Big($n: Int!) { big(size: $n) }","variables":{"n":3,"x":"\ud800"}}}`)
		m := c.read()
		assert.Equal(t, "error", m["type"])
		assert.Contains(t, fmt.Sprint(m["payload"]), "INVALID_INPUT")
		assert.Contains(t, fmt.Sprint(m["payload"]), "field:x")
		c.send(`{"type":"subscribe","id":"\ud800","payload":{"query":"{ hello }"}}`) // would be the same id as "\udfff"
		c.closed(connection.CodeBadMessage)
	})
}

// TestSocketRefusesOperations shows that nothing follows an error: the pong comes next.
func TestSocketRefusesOperations(t *testing.T) {
	tests := []struct{ name, query, code string }{
		{"syntax", `{ hello`, "GRAPHQL_PARSE_FAILED"},
		{"empty", ``, "GRAPHQL_VALIDATION_FAILED"},
		{"unknown field", `{ bye }`, "GRAPHQL_VALIDATION_FAILED"},
		{"tokens", `{` + strings.Repeat(" hello", document.MaxTokens) + `}`, "GRAPHQL_PARSE_FAILED"},
		{"root fields", `{` + manyAliases(document.MaxRootFields+1) + `}`, "BAD_REQUEST"},
		{"two subscriptions at once", `subscription { a: ticks(source: "a") refused }`, "GRAPHQL_VALIDATION_FAILED"},
		{"introspection as subscription", `subscription { __typename }`, "GRAPHQL_VALIDATION_FAILED"},
		{"the resolver's refusal", `subscription { refused }`, "FORBIDDEN"},
		{"a panic", `{ panics }`, "INTERNAL"},
		{"a panic at the beginning of a subscription", `subscription { panics }`, "INTERNAL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				c := th.ready("ada")
				c.subscribe("1", tt.query)
				shown := c.refused("1", tt.code)
				assert.NotContains(t, fmt.Sprint(shown), "secret")
				synctest.Wait()
				c.send(`{"type":"ping"}`)
				c.expects(`{"type":"pong"}`)
				assert.Equal(t, 1, strings.Count(th.counted(), "\n"), th.counted())
				assert.Contains(t, th.counted(), `outcome="`+tt.code+`"} 1`)
			})
		})
	}
}

func manyAliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d: hello", i)
	}
	return b.String()
}

// TestACompletedAnswerIsNotSent completes a query whose answer waits in the queue.
func TestACompletedAnswerIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).ready("ada")
		c.send(`{"type":"ping","payload":{"n":1}}`) // its pong is being written, and blocks the pipe
		synctest.Wait()
		c.subscribe("1", `{ hello }`)
		synctest.Wait()
		c.complete("1")
		c.subscribe("1", `{ viewer }`)
		c.expects(`{"type":"pong","payload":{"n":1}}`)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"viewer":"` + string(adaID) + `"}}}`)
		c.expects(`{"type":"complete","id":"1"}`)
	})
}

func TestQueriesWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		for i := range maxWorking {
			c.subscribe(strconv.Itoa(i), `{ slow }`)
		}
		synctest.Wait()
		c.subscribe("next", `{ hello }`)
		c.send(`{"type":"ping"}`)
		c.expects(`{"type":"pong"}`) // and not the answer
		close(th.play.gate)
		for ended := 0; ended <= maxWorking; {
			if c.read()["type"] == "complete" {
				ended++
			}
		}
	})
}

func TestSubscriptionOverHTTPIsRefusedWithAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		refused := th.ask(`subscription { ticks(source: "a") }`, nil).only(t, 400, "BAD_REQUEST")
		assert.Contains(t, refused.Message, subprotocol)
	})
}

func TestSocketQueryHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).ready("ada")
		start := time.Now()
		c.subscribe("1", `{ slow }`)
		m := c.read()
		assert.Contains(t, fmt.Sprint(m), present.Late)
		assert.Equal(t, 5*time.Second, time.Since(start))
		c.expects(`{"type":"complete","id":"1"}`)
	})
}

func TestSubscriptionOutlivesEveryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("1", `subscription { ticks(source: "a") }`)
		source := th.play.source("a")
		go func() {
			time.Sleep(605 * time.Second) // of the bubble's clock
			source <- 1
			source <- 2
			close(source)
		}()
		pings := 0
		for {
			m := c.read()
			if m["type"] != "ping" {
				assert.Equal(t, "next", m["type"])
				break
			}
			pings++
			c.send(`{"type":"pong"}`)
		}
		assert.Equal(t, 30, pings)
		c.expects(`{"type":"next","id":"1","payload":{"data":{"ticks":2}}}`)
		c.expects(`{"type":"complete","id":"1"}`)
	})
}

func TestEventsHaveFreshLoadersAndAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("1", `subscription { ticks(source: "a") }`)
		for i := range 3 {
			th.play.source("a") <- i
			c.expects(`{"type":"next","id":"1","payload":{"data":{"ticks":` + strconv.Itoa(i) + `}}}`)
		}
		fresh := th.play.events()
		require.Len(t, fresh, 3)
		assert.NotSame(t, fresh[0], fresh[1])
		assert.NotSame(t, fresh[1], fresh[2])
		assert.Contains(t, th.counted(), `taggie_operations_total{operation_type="subscription",outcome="ok"} 1`)
	})
}

func TestAnErrorWithinAnEventEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("1", `subscription { half(source: "a") }`)
		for range 2 {
			th.play.source("a") <- 0
			m := c.read()
			assert.Equal(t, "next", m["type"])
			assert.Contains(t, fmt.Sprint(m), "not read")
		}
	})
}

func TestSocketTellsOfExtensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).open(request.HeaderExtensions, "dynamo")
		c.init("ada")
		c.subscribe("1", `{ hello }`)
		assert.Contains(t, c.read()["payload"].(map[string]any)["extensions"], "dynamo")
	})
}

func TestCompleteCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.complete("unknown")
		for _, query := range []string{`subscription { ticks(source: "a") }`, `{ slow }`, `mutation { slow }`, `subscription { stuck }`} {
			c.subscribe("1", query)
			c.complete("1") // perhaps before it has begun
			c.subscribe("1", query)
			synctest.Wait()
			c.complete("1")
			c.send(`{"type":"ping"}`)
			c.expects(`{"type":"pong"}`)
			synctest.Wait()
		}
		assert.GreaterOrEqual(t, th.play.over(), 2)
		assert.NotContains(t, th.counted(), `"subscription",outcome="UNAVAILABLE"`)
	})
}

func TestADroppedSocketCancelsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		for i := range 5 {
			c.subscribe(strconv.Itoa(i), `subscription { ticks(source: "a") }`)
		}
		synctest.Wait()
		require.NoError(t, c.ws.CloseNow())
		synctest.Wait()
		assert.Equal(t, 5, th.play.over())
		assert.Zero(t, th.sockets.Open())
	})
}

func TestAHundredSubscriptionsOnASocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		name := func(i int) string { return "s" + strconv.Itoa(i) }
		for i := range 100 {
			c.subscribe(name(i), `subscription { ticks(source: "`+name(i)+`") }`)
		}
		c.subscribe("more", `{ hello }`)
		c.refused("more", "EXHAUSTED")
		for i := range 100 {
			go func() { th.play.source(name(i)) <- i }()
		}
		seen := map[string]bool{}
		for len(seen) < 100 {
			m := c.read()
			require.Equal(t, "next", m["type"])
			id := m["id"].(string)
			assert.Equal(t, id, name(int(m["payload"].(map[string]any)["data"].(map[string]any)["ticks"].(float64))))
			seen[id] = true
		}
		c.complete("s7")
		c.subscribe("more", `{ hello }`)
		assert.Equal(t, "next", c.read()["type"])
	})
}

func TestOperationsOfASocketAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).ready("ada")
		big := func(id string) {
			c.send(`{"type":"subscribe","id":"` + id + `","payload":{"query":"subscription { ticks(source: \"a\") }","variables":{"x":"` + strings.Repeat("x", request.MaxBody/3) + `"}}}`)
		}
		big("1")
		big("2")
		big("3")
		c.refused("3", "EXHAUSTED")
		c.complete("2")
		synctest.Wait()
		big("3")
		synctest.Wait()
		c.complete("3")
		c.send(`{"type":"ping"}`)
		c.expects(`{"type":"pong"}`)
	})
}

// TestNoMessageAfterComplete lets complete and next race, and uses the id again at once. The pong, which is in the same queue,
// tells when the server has read complete.
func TestNoMessageAfterComplete(t *testing.T) {
	th := newTheatre(t)
	c := th.ready("ada")
	messages := make(chan map[string]any)
	go func() {
		defer close(messages)
		for {
			_, data, err := c.ws.Read(context.Background())
			if err != nil {
				return
			}
			var m map[string]any
			if assert.NoError(t, json.Unmarshal(data, &m)) {
				messages <- m
			}
		}
	}()
	for round := range 300 {
		source, stop := th.play.source(strconv.Itoa(round)), make(chan struct{})
		go func() { // as fast as they are taken
			for {
				select {
				case source <- round:
				case <-stop:
					return
				}
			}
		}()
		event := map[string]any{"ticks": float64(round)}
		c.subscribe("1", `subscription { ticks(source: "`+strconv.Itoa(round)+`") }`)
		for range round % 5 {
			m := <-messages
			require.Equal(t, "next", m["type"])
			require.Equal(t, event, m["payload"].(map[string]any)["data"])
		}
		c.complete("1")
		c.send(`{"type":"ping"}`)
		for m := range messages {
			if m["type"] == "pong" {
				break
			}
			require.Equal(t, "next", m["type"])
			require.Equal(t, event, m["payload"].(map[string]any)["data"])
		}
		close(stop)
	}
	require.NoError(t, c.ws.CloseNow())
	for range messages {
		t.Error("a message after everything was completed")
	}
}

// TestServerCompleteMeetsClientComplete lets both sides end the same operation; the id stays usable.
func TestServerCompleteMeetsClientComplete(t *testing.T) {
	th := newTheatre(t)
	c := th.ready("ada")
	for round := range 200 {
		name := strconv.Itoa(round)
		c.subscribe("1", `subscription { ticks(source: "`+name+`") }`)
		th.play.source(name) <- round
		c.expects(`{"type":"next","id":"1","payload":{"data":{"ticks":` + name + `}}}`)
		go close(th.play.source(name))
		c.complete("1")
		c.send(`{"type":"ping"}`)
		m := c.read()
		if m["type"] == "complete" {
			m = c.read()
		}
		require.Equal(t, "pong", m["type"])
	}
}
