package httpapi

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/eventstream"
	"github.com/taggie/taggie/internal/httpapi/request"
)

func TestEventStreamCarriesOutOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		for _, begin := range []func(string, ...string) *listener{th.stream, th.source} {
			l := begin(`{ viewer }`).opened()
			l.expects("event: next", `data: {"data":{"viewer":"`+string(adaID)+`"}}`)
			l.completes()
		}
		l := th.stream(`mutation { signUp }`).opened()
		l.expects("event: next", `data: {"data":{"signUp":"world"}}`)
		l.completes()
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
		assert.Contains(t, th.counted(), `taggie_operations_total{operation_type="query",outcome="ok"} 2`)
		assert.Contains(t, th.counted(), `taggie_operations_total{operation_type="mutation",outcome="ok"} 1`)
		assert.Equal(t, "mutation", th.logged("request")[2]["operation"])
	})
}

func TestEventStreamHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTheatre(t).stream(`{ hello }`, "Origin", "https://spa.example").opened()
		assert.Equal(t, "no-store, no-transform", l.resp.Header.Get("Cache-Control"))
		assert.Equal(t, "no", l.resp.Header.Get("X-Accel-Buffering"))
		assert.Equal(t, "https://spa.example", l.resp.Header.Get("Access-Control-Allow-Origin"))
		assert.Equal(t, "nosniff", l.resp.Header.Get("X-Content-Type-Options"))
	})
}

func TestSubscriptionByEventStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		l := th.source(`subscription { ticks(source: "a") }`).opened() // before anything happens
		for i := range 3 {
			th.play.source("a") <- i
			l.expects("event: next", "id: at"+strconv.Itoa(i), `data: {"data":{"ticks": `+strconv.Itoa(i)+`}}`)
		}
		fresh := th.play.events()
		assert.NotSame(t, fresh[0], fresh[1])
		close(th.play.source("a"))
		l.completes()
		assert.Contains(t, th.counted(), `taggie_operations_total{operation_type="subscription",outcome="ok"} 1`)
		assert.Equal(t, 1, strings.Count(th.counted(), "\n"))
	})
}

func TestEventWithoutPositionHasNoID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		l := th.stream(`subscription { half(source: "a") }`).opened()
		for range 2 { // and an error within an event ends nothing
			th.play.source("a") <- 0
			text := l.read()
			assert.True(t, strings.HasPrefix(text, "event: next\ndata: "), text)
			assert.Contains(t, text, "not read")
		}
	})
}

func TestLastEventIDResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		l := th.source(`subscription { ticks(source: "a") }`, headerLastEventID, "at7").opened()
		th.play.source("after at7") <- 8
		l.expects("event: next", "id: at8", `data: {"data":{"ticks": 8}}`)
	})
}

// TestEventStreamTellsOfRefusedOperations shows that what is wrong with an operation is told in the stream.
func TestEventStreamTellsOfRefusedOperations(t *testing.T) {
	tests := []struct{ name, query, code string }{
		{"syntax", `{ hello`, "GRAPHQL_PARSE_FAILED"},
		{"unknown field", `{ bye }`, "GRAPHQL_VALIDATION_FAILED"},
		{"root fields", `{` + manyAliases(document.MaxRootFields+1) + `}`, "BAD_REQUEST"},
		{"two subscriptions at once", `subscription { a: ticks(source: "a") refused }`, "GRAPHQL_VALIDATION_FAILED"},
		{"the resolver's refusal", `subscription { refused }`, "FORBIDDEN"},
		{"a panic", `{ panics }`, "INTERNAL"},
		{"a panic at the beginning of a subscription", `subscription { panics }`, "INTERNAL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				l := th.stream(tt.query).opened()
				text := l.read()
				assert.True(t, strings.HasPrefix(text, `event: next`+"\n"+`data: {"errors":[{`), text)
				assert.Contains(t, text, `"code":"`+tt.code+`"`)
				assert.NotContains(t, text, "secret")
				l.completes()
				synctest.Wait()
				assert.Zero(t, th.sockets.Open())
				assert.Equal(t, 1, strings.Count(th.counted(), "\n"), th.counted())
				assert.Contains(t, th.counted(), `outcome="`+tt.code+`"} 1`)
				assert.Equal(t, tt.code, th.logged("request")[0]["outcome"])
			})
		})
	}
}

// TestEventStreamIsNotBegun shows what is refused with a status.
func TestEventStreamIsNotBegun(t *testing.T) {
	json := []string{"Content-Type", "application/json"}
	tests := []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		code                       string
	}{
		{"a mutation over GET", "GET", "/graphql?query=mutation+%7B+signUp+%7D", "", nil, 405, "BAD_REQUEST"},
		{"a mutation over HEAD", "HEAD", "/graphql?query=mutation+%7B+signUp+%7D", "", nil, 405, "BAD_REQUEST"},
		{"a query over HEAD", "HEAD", "/graphql?query=%7Bhello%7D", "", nil, 405, "BAD_REQUEST"},
		{"variables that are no JSON", "GET", "/graphql?query=%7Bhello%7D&variables=x", "", nil, 400, "BAD_REQUEST"},
		{"no JSON", "POST", "/graphql", "hello", json, 400, "BAD_REQUEST"},
		{"no query", "POST", "/graphql", "{}", json, 400, "BAD_REQUEST"},
		{"a form", "POST", "/graphql", "query=%7Bhello%7D", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "BAD_REQUEST"},
		{"text", "POST", "/graphql", `{"query":"{ hello }"}`, []string{"Content-Type", "text/plain"}, 415, "BAD_REQUEST"},
		{"another method", "PUT", "/graphql", "", nil, 405, "BAD_REQUEST"},
		{"an expired token", "GET", "/graphql?query=%7Bhello%7D&access_token=old", "", nil, 401, "UNAUTHENTICATED"},
		{"an issuer that is away", "POST", "/graphql", `{"query":"{ hello }"}`, append([]string{"Authorization", "Bearer away"}, json...), 503, "UNAVAILABLE"},
		{"a token in the address of a POST", "POST", "/graphql?access_token=ada", `{"query":"{ hello }"}`, json, 400, "BAD_REQUEST"},
		{"another page", "GET", "/graphql?query=%7Bhello%7D", "", []string{"Origin", "https://evil.example"}, 403, "FORBIDDEN"},
		{"a page without origin", "GET", "/graphql?query=%7Bhello%7D", "", []string{"Origin", "null"}, 403, "FORBIDDEN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				l := th.begin(tt.method, tt.target, tt.body, tt.headers...)
				l.refused(tt.status, tt.code)
				assert.Equal(t, tt.status == http.StatusMethodNotAllowed, l.resp.Header.Get("Allow") != "")
				synctest.Wait()
				assert.Empty(t, th.counted(), "nothing is carried out")
				assert.Zero(t, th.sockets.Open())
				th.isVacant()
			})
		})
	}
}

// TestAnEventSourceComesAgain refuses it for what passes: it gives up for ever after any status but 200.
func TestAnEventSourceComesAgain(t *testing.T) {
	t.Run("an issuer that is away", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newTheatre(t)
			l := th.begin(http.MethodGet, "/graphql?query=%7Bhello%7D&access_token=away", "").opened()
			text, err := l.block()
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(text, ": "), text)
			_, err = l.block()
			require.ErrorIs(t, err, io.EOF)
			synctest.Wait()
			assert.Empty(t, th.counted(), "nothing is carried out")
			assert.Equal(t, "UNAVAILABLE", th.logged("request")[0]["outcome"])
			assert.NotEmpty(t, th.logged("request")[0]["ended"])
		})
	})
	t.Run("a server that is full", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newTheatre(t)
			for th.sockets.Reserve() == nil {
			}
			l := th.source(`subscription { ticks(source: "a") }`)
			require.Equal(t, http.StatusOK, l.resp.StatusCode)
			l.expects("retry: 5000")
			text, err := l.block()
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(text, ": "), text)
		})
	})
	t.Run("not for what does not pass", func(t *testing.T) {
		a := newServer(t).get("/graphql?query=%7Bhello%7D&access_token=old", "Accept", eventstream.Media)
		a.only(t, http.StatusUnauthorized, "UNAUTHENTICATED")
	})
}

// A connection that is closed while the client still sends may lose the answer: this is asked without one.
func TestLargeBodyBeginsNoEventStream(t *testing.T) {
	a := newServer(t).post(strings.Repeat("x", request.MaxBody+1), "Accept", eventstream.Media, "Authorization", "Bearer ada")
	a.only(t, http.StatusRequestEntityTooLarge, "BAD_REQUEST")
	assert.Equal(t, "close", a.Header().Get("Connection"))
}

// TestTwoTokensAreNone sends a token in the query string and in the header.
func TestTwoTokensAreNone(t *testing.T) {
	r, err := http.NewRequest(http.MethodGet, "/graphql?access_token=a&access_token=b", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer c")
	assert.Equal(t, []string{"Bearer c", "Bearer a", "Bearer b"}, authorized(r).Header.Values("Authorization"))
	assert.Equal(t, []string{"Bearer c"}, r.Header.Values("Authorization"))
	r.Method = http.MethodPost
	assert.Same(t, r, authorized(r))
}

func TestWhoPrefersAnEventStream(t *testing.T) {
	tests := []struct {
		accept string
		stream bool
	}{
		{"text/event-stream", true},
		{"text/event-stream, multipart/mixed", true}, // urql, of subscriptions
		{"text/event-stream, */*;q=0.5", true},
		{"text/event-stream, application/json", true},
		{"application/graphql-response+json, application/json, text/event-stream, multipart/mixed", false}, // urql, of queries
		{"application/json;q=0.9, text/event-stream", true},
		{"application/json, text/event-stream;q=0.9", false},
		{"text/event-stream;q=0", false},
		{"*/*", false},
		{"", false},
	}
	for _, tt := range tests {
		t.Run(tt.accept, func(t *testing.T) {
			s := newServer(t, func(o *Options) { o.Sockets = connection.NewRegistry(connection.Bounds{}) })
			reached := false
			a := &streamer{s.options.api()}
			h := a.or(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
			s.handler = h
			s.get("/graphql", "Accept", tt.accept)
			assert.Equal(t, !tt.stream, reached)
		})
	}
}
