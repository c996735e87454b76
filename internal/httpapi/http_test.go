package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
	"go.uber.org/goleak"
)

func TestRefusedBodies(t *testing.T) {
	s := newServer(t)
	const viewer = `{"query":"{ viewer { name } }"}`
	for _, test := range []struct {
		reason, body string
		headers      []string
		status       int
		says         string
	}{
		{"not JSON", `hunter2`, nil, 400, "not JSON"},
		{"empty", ``, nil, 400, "not JSON"},
		{"text after the object", viewer + ` hunter2`, nil, 400, "goes on"},
		{"two objects", viewer + viewer, nil, 400, "goes on"},
		{"a batch", ` [` + viewer + `]`, nil, 400, "not batched"},
		{"no object", `"hunter2"`, nil, 400, "wrong type"},
		{"no query", `{"operationName":"hunter2"}`, nil, 400, "query is missing"},
		{"no query, for a new client", `{"qeury":"hunter2"}`, []string{"Accept", mediaResponse}, 422, "query is missing"},
		{"no text, for a new client", `{"query":{"hunter2":1}}`, []string{"Accept", mediaResponse}, 422, "query is of the wrong type"},
		{"a batch, for a new client", `[` + viewer + `]`, []string{"Accept", mediaResponse}, 422, "not batched"},
		{"not JSON, for a new client", `hunter2`, []string{"Accept", mediaResponse}, 400, "not JSON"},
		{"a query that is no text", `{"query":{"hunter2":1}}`, nil, 400, "query is of the wrong type"},
		{"variables that are no object", `{"query":"{ viewer { name } }","variables":["hunter2"]}`, nil, 400, "variables is of the wrong type"},
		{"broken UTF-8", "{\"query\":\"{ viewer { name } }\",\"variables\":{\"a\":\"hunter2\xff\"}}", nil, 400, "UTF-8"},
		{"text, which a page may send anywhere", viewer, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"a form, which a page may send anywhere", `query=hunter2`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"no content type", viewer, []string{"Content-Type", ""}, 415, "application/json"},
		{"another charset", viewer, []string{"Content-Type", "application/json; charset=latin1"}, 415, "UTF-8"},
		{"compressed", viewer, []string{"Content-Encoding", "gzip"}, 415, "compressed"},
		{"too large", `{"query":"` + strings.Repeat(" ", request.MaxBody) + `"}`, nil, 413, "larger than 3145728 bytes"},
		{"an answer nobody can give", viewer, []string{"Accept", "text/html"}, 406, "application/json"},
		{"an operation that is not there", `{"query":"query A { viewer { name } }","operationName":"hunter2"}`, []string{"Accept", mediaResponse}, 422, "no operation of that name"},
		{"several operations and none named", `{"query":"query A { viewer { name } } query B { viewer { name } }"}`, []string{"Accept", mediaResponse}, 422, "several"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			a := s.post(test.body, test.headers...)
			assert.Contains(t, a.only(t, test.status, "BAD_REQUEST").Message, test.says)
			assert.NotContains(t, a.Body.String(), "hunter2", "what was sent may be a secret")
		})
	}
	assert.NotContains(t, s.log.String(), "hunter2")
}

// A lone surrogate is no character; it would silently become U+FFFD.
func TestHalfCharactersAreRefused(t *testing.T) {
	s := newServer(t)
	literal := func(text string) string {
		return `{"query":` + string(response.Encode("# ü "+`\ud800`+"\n{ ü: node(id: \""+text+"\") { __typename } }")) + `}`
	}
	for _, test := range []struct{ reason, body, field, says string }{
		{"in a variable", `{"query":"query($a: ID!) { node(id: $a) { id } }","variables":{"a":"hunter2\ud83d"}}`, "a", "byte 76 "},
		{"deep in a variable", `{"query":"{ __typename }","variables":{"input":{"list":["\ud83d\ude00",{"x":"\udfff"}]}}}`, "input.list.1.x", "byte 78 "},
		{"in a name", `{"query":"{ __typename }","variables":{"input":{"\ud800":1}}}`, "input", "byte 50 "},
		{"in the document's own text", `{"query":"{ __typename } # \ud800"}`, "query", "byte 28 "},
		{"in an extension", `{"query":"{ __typename }","extensions":{"x":"\udc00"}}`, "extensions.x", "byte 46 "},
		{"in a literal", literal(`hunter2\ud800`), "id", "character 8 "},
		{"the second half of one in a literal", literal(`ü\uFFFD\udc00`), "id", "character 8 "},
	} {
		t.Run(test.reason, func(t *testing.T) {
			for media, status := range map[string]int{request.JSON: http.StatusBadRequest, mediaResponse: http.StatusUnprocessableEntity} {
				if strings.HasSuffix(test.reason, "literal") && media == request.JSON {
					status = http.StatusOK
				}
				a := s.post(strings.ReplaceAll(test.body, "ü: ", ""), "Accept", media)
				refused := a.only(t, status, "INVALID_INPUT")
				assert.Equal(t, test.field, refused.Extensions["field"])
				assert.Contains(t, refused.Message, test.says)
				assert.NotContains(t, a.Body.String(), "hunter2")
			}
		})
	}
	a := s.get("/graphql?query=%7B__typename%7D&variables=" + url.QueryEscape(`{"a":["\ud800"]}`))
	assert.Equal(t, "a.0", a.only(t, http.StatusBadRequest, "INVALID_INPUT").Extensions["field"])

	for _, text := range []string{`\ud83d\ude00`, `\u{1F600}`, "\uFFFD", `\uFFFD`, `\\ud800`} {
		a := s.post(literal(text))
		assert.NotContains(t, a.Body.String(), "surrogate", text)
	}
}

func TestBodyOfUnknownLengthIsBounded(t *testing.T) {
	s := newServer(t)
	body := io.MultiReader(strings.NewReader(`{"query":"`), strings.NewReader(strings.Repeat(" ", request.MaxBody)), strings.NewReader(`"}`))
	r := httptest.NewRequest(http.MethodPost, "/graphql", body)
	require.Negative(t, r.ContentLength)
	a := s.do(with(r, "Content-Type", request.JSON))
	a.only(t, http.StatusRequestEntityTooLarge, "BAD_REQUEST")
	assert.Equal(t, "close", a.Header().Get("Connection"), "the rest is not read")
}

func TestBodyThatDoesNotCome(t *testing.T) {
	s := newServer(t)
	listening := httptest.NewUnstartedServer(s.handler)
	listening.Config.ReadTimeout = 100 * time.Millisecond
	listening.Start()
	t.Cleanup(listening.Close)
	conn, err := net.Dial("tcp", listening.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
	assert.Contains(t, string(text), `"code":"BAD_REQUEST"`)
	assert.True(t, resp.Close)
}

func TestAcceptedBodies(t *testing.T) {
	s := newServer(t)
	for reason, body := range map[string]string{
		"nulls":                `{"query":"{ __typename }","operationName":null,"variables":null,"extensions":null}`,
		"whitespace around":    "\n {\"query\":\"{ __typename }\"} \r\n",
		"a whole pair":         `{"query":"{ __typename }","variables":{"a":"\ud83d\ude00"}}`,
		"an escaped backslash": `{"query":"{ __typename }","variables":{"a":"\\ud83d"}}`,
		"other names":          `{"query":"{ __typename }","QUERY":"{ viewer { name } }","Variables":3,"extensions":{"other":[{}]},"other":[[]]}`,
	} {
		a := s.post(body, "Content-Type", "application/json; charset=UTF-8", "Content-Encoding", "identity")
		assert.Equal(t, http.StatusOK, a.Code, reason)
		assert.Equal(t, map[string]any{"__typename": "Query"}, a.Data, reason)
	}
	// The largest content that is allowed, in its longest spelling.
	a := s.post(`{"query":"{ __typename }","variables":{"a":"` + strings.Repeat(`\u0041`, 350_000) + `"}}`)
	assert.Equal(t, http.StatusOK, a.Code)
}

func TestGET(t *testing.T) {
	s := newServer(t)
	get := func(query string, headers ...string) answer {
		return s.get("/graphql?"+query, append([]string{"Authorization", "Bearer ada"}, headers...)...)
	}
	a := get("query=" + url.QueryEscape(`query A($id: ID!) { node(id: $id) { __typename } }`) + "&operationName=A&variables=" + url.QueryEscape(`{"id":"`+adaGID+`"}`))
	assert.Equal(t, map[string]any{"node": map[string]any{"__typename": "User"}}, a.Data, a.Body.String())

	a = get("query=" + url.QueryEscape(`mutation { createNote(input: {title: "a", content: "b"}) { note { id } } }`))
	a.only(t, http.StatusMethodNotAllowed, "BAD_REQUEST")
	assert.Equal(t, "POST", a.Header().Get("Allow"))
	a = get("query=" + url.QueryEscape(`mutation($t: String!) { createNote(input: {title: $t, content: "b"}) { note { id } } }`))
	a.only(t, http.StatusMethodNotAllowed, "BAD_REQUEST") // whatever else is wrong with it

	a = get("query=%7B__typename%7D&operationName=&variables=&extensions=")
	assert.Equal(t, map[string]any{"__typename": "Query"}, a.Data, "what is empty is not there")

	a = s.do(httptest.NewRequest(http.MethodHead, "/graphql?query=%7B__typename%7D", nil))
	assert.Equal(t, http.StatusOK, a.Code)
	a = s.do(httptest.NewRequest(http.MethodHead, "/graphql?query=mutation%7B__typename%7D", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, a.Code)

	a = get("query=%7B__typename%7D&variables=" + strings.Repeat("+", request.MaxAddress))
	assert.Contains(t, a.only(t, http.StatusRequestURITooLong, "BAD_REQUEST").Message, "use POST")

	for _, query := range []string{"", "query=%7B&variables=[1]", "query=%7B&extensions=hunter2", "query=%ff", "query=%zz"} {
		a = get(query)
		a.only(t, http.StatusBadRequest, "BAD_REQUEST")
		assert.NotContains(t, a.Body.String(), "hunter2")
	}

	a = s.do(httptest.NewRequest(http.MethodPut, "/graphql", nil))
	a.only(t, http.StatusMethodNotAllowed, "BAD_REQUEST")
	assert.Equal(t, "GET, HEAD, POST, OPTIONS", a.Header().Get("Allow"))
}

func TestAccept(t *testing.T) {
	for accept, want := range map[string]string{
		"":                      request.JSON,
		"*/*":                   request.JSON,
		"application/*;q=0.8":   request.JSON,
		"application/json":      request.JSON,
		mediaResponse:           mediaResponse,
		mediaResponse + ", */*": mediaResponse,
		"text/html, */*;q=0.1":  request.JSON,
		"application/json;q=0, */*;q=0.1, text/html":            request.JSON,
		"application/json;q=0.5, " + mediaResponse + ";q=0.9":   mediaResponse,
		mediaResponse + "; charset=utf-8, application/json;q=1": mediaResponse,
		"text/html":               "",
		"application/json;q=none": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/graphql", nil)
		r.Header.Set("Accept", accept)
		assert.Equal(t, want, accepted(r), accept)
	}
}

func TestRequestID(t *testing.T) {
	s := newServer(t)
	assert.Equal(t, "a.B_9-", s.get("/healthz", "X-Request-Id", "a.B_9-").Header().Get("X-Request-Id"))
	made := map[string]bool{}
	for _, unfit := range []string{"", "a b", "a\nb", "é", strings.Repeat("a", 65)} {
		id := s.get("/healthz", "X-Request-Id", unfit).Header().Get("X-Request-Id")
		assert.Regexp(t, `^[A-Z2-7]{26}$`, id)
		made[id] = true
	}
	assert.Len(t, made, 5)
	assert.Len(t, s.logged("request"), 6)
}

func TestLogTellsNothingPersonal(t *testing.T) {
	s := newServer(t)
	s.post(`{"query":"query Secret { viewer { hunter2: name } }","operationName":"Secret"}`, "Authorization", "Bearer ada")
	s.get("/hunter2?hunter2=hunter2")
	entries := s.logged("request")
	require.Len(t, entries, 2)
	assert.Equal(t, "query", entries[0]["operation"])
	assert.Equal(t, "ok", entries[0]["outcome"])
	assert.Equal(t, "/graphql", entries[0]["route"])
	for _, secret := range []string{"hunter2", "Secret", "Bearer", "Ada"} {
		assert.NotContains(t, s.log.String(), secret)
	}
}

func TestATokenInTheAddressIsForEventStreams(t *testing.T) {
	s := newServer(t)
	s.get("/graphql?query=%7Bhello%7D&access_token=ada").only(t, http.StatusBadRequest, "BAD_REQUEST")
	a := s.get("/graphql?access_token=&query=%7Bhello%7D", "Authorization", "Bearer ada", "Origin", "https://app.example.com")
	a.only(t, http.StatusBadRequest, "BAD_REQUEST")
	assert.Contains(t, a.Body.String(), "header Authorization")
}

// The level may change: what began while it was another one is logged at that.
func TestRequestsAreLoggedAtALevelThatIsGiven(t *testing.T) {
	level := new(slog.LevelVar)
	s := newServer(t, func(o *Options) { o.Requests = level })
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		level.Set(l)
		s.post(`{"query":"{ viewer { name } }"}`)
	}
	entries := s.logged("request")
	require.Len(t, entries, 2)
	assert.Equal(t, "DEBUG", entries[0]["level"])
	assert.Equal(t, "INFO", entries[1]["level"])
}

func TestPanicOfAHandler(t *testing.T) {
	s := newServer(t, func(o *Options) {
		o.Console = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })
	})
	a := s.get("/")
	a.only(t, http.StatusInternalServerError, "INTERNAL")
	assert.NotContains(t, a.Body.String(), "secret")
	entries := s.logged("panic")
	require.Len(t, entries, 1)
	assert.Contains(t, entries[0]["stack"], "http_test.go")
}

func TestCrossOrigin(t *testing.T) {
	preflight := func(s *server, origin string) answer {
		r := httptest.NewRequest(http.MethodOptions, "/graphql", nil)
		return s.do(with(r, "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type"))
	}
	const allow = "Access-Control-Allow-Origin"

	closed := newServer(t)
	a := preflight(closed, "https://app.example.com")
	assert.Equal(t, http.StatusNoContent, a.Code)
	assert.Empty(t, a.Header().Get(allow), "no list means nobody")

	open := newServer(t, func(o *Options) { o.AllowedOrigins = []string{"https://app.example.com", "https://*.example.org"} })
	a = preflight(open, "https://app.example.com")
	assert.Equal(t, "https://app.example.com", a.Header().Get(allow))
	assert.Equal(t, "authorization,content-type", a.Header().Get("Access-Control-Allow-Headers"))
	for _, origin := range []string{"https://evil.example.com", "https://app.example.com.evil.net", "http://app.example.com", "https://a.example.org", "null"} {
		assert.Empty(t, preflight(open, origin).Header().Get(allow), origin)
	}
	a = open.post(`{"query":"{ __typename }"}`, "Origin", "https://app.example.com")
	assert.Equal(t, "https://app.example.com", a.Header().Get(allow))
	assert.Equal(t, "X-Request-Id, Traceparent", a.Header().Get("Access-Control-Expose-Headers"))
	assert.Empty(t, a.Header().Get("Access-Control-Allow-Credentials"))
}

func TestSession(t *testing.T) {
	expires := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	s := newServer(t, func(o *Options) {
		o.AllowedOrigins = []string{"https://app.example.com"}
		o.Session = func(context.Context, string) (Session, error) {
			return Session{Token: "t", User: SessionUser{Email: "demo@example.com", Name: "Demo"}, ExpiresAt: expires}, nil
		}
	})
	for _, headers := range [][]string{
		{"Host", "localhost:8080"},
		{"Host", "127.0.0.1:8080", "Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:8080"},
		{"Host", "[::1]:8080", "Sec-Fetch-Site", "none"},
	} {
		a := s.get("/session", headers...)
		require.Equal(t, http.StatusOK, a.Code, headers)
		assert.JSONEq(t, `{"token":"t","user":{"email":"demo@example.com","name":"Demo"},"expiresAt":"2026-11-20T09:00:00Z"}`, a.Body.String())
		assert.Equal(t, "no-store", a.Header().Get("Cache-Control"))
	}
	for reason, headers := range map[string][]string{
		"DNS rebinding":                  {"Host", "evil.example.com:8080"},
		"a proxy":                        {"Host", "localhost:8080", "X-Forwarded-For", "203.0.113.7"},
		"a proxy that says its name":     {"Host", "localhost:8080", "Via", "1.1 proxy"},
		"a proxy by RFC 7239":            {"Host", "localhost:8080", "Forwarded", "for=203.0.113.7"},
		"a proxy of another kind":        {"Host", "localhost:8080", "X-Real-Ip", "203.0.113.7"},
		"a proxy that forwards a scheme": {"Host", "localhost:8080", "X-Forwarded-Proto", "https"},
		"a name that looks alike":        {"Host", "localhost.evil.com"},
		"another site":                   {"Host", "localhost:8080", "Sec-Fetch-Site", "cross-site"},
		"another port":                   {"Host", "localhost:8080", "Sec-Fetch-Site", "same-site"},
		"another origin":                 {"Host", "localhost:8080", "Origin", "http://localhost:3000"},
		"an origin that may use the API": {"Host", "localhost:8080", "Origin", "https://app.example.com"},
	} {
		a := s.get("/session", headers...)
		a.only(t, http.StatusForbidden, "FORBIDDEN")
		assert.Empty(t, a.Header().Get("Access-Control-Allow-Origin"), reason)
	}
	nginx := with(httptest.NewRequest(http.MethodGet, "/session", nil), "Host", "127.0.0.1:8080", "Connection", "close")
	nginx.Proto, nginx.ProtoMinor = "HTTP/1.0", 0 // as it sends requests if it is told nothing
	s.do(nginx).only(t, http.StatusForbidden, "FORBIDDEN")
	s.do(httptest.NewRequest(http.MethodPost, "/session", nil)).only(t, http.StatusMethodNotAllowed, "BAD_REQUEST")
	newServer(t).get("/session", "Host", "localhost").only(t, http.StatusNotFound, "NOT_FOUND")
}

func TestLocalOnly(t *testing.T) {
	s := newServer(t, func(o *Options) { o.LocalOnly = true })
	for _, target := range []string{"/", "/graphql", "/healthz", "/metrics"} {
		s.get(target, "Host", "evil.example.com").only(t, http.StatusForbidden, "FORBIDDEN")
	}
	assert.Equal(t, "console", s.get("/", "Host", "app.localhost:8080").Body.String())
	assert.Equal(t, "console", newServer(t).get("/", "Host", "taggie.example.com").Body.String())
}

func TestReadyNamesTheStoreAtFault(t *testing.T) {
	ok := func(context.Context) error { return nil }
	all := newServer(t, func(o *Options) { o.Ready = []Check{{Name: "dynamodb", Check: ok}, {Name: "s3", Check: ok}} }).get("/readyz")
	assert.Equal(t, http.StatusOK, all.Code)
	assert.JSONEq(t, `{"status":"ready","checks":{"dynamodb":"ok","s3":"ok"}}`, all.Body.String())

	started := make(chan struct{})
	s := newServer(t, func(o *Options) {
		o.Ready = []Check{
			{Name: "dynamodb", Check: func(context.Context) error { <-started; return nil }}, // waits for the last: they run at once
			{Name: "s3", Check: func(context.Context) error { return errors.New("dial s3.internal: refused") }},
			{Name: "redis", Check: func(context.Context) error { panic("secret") }},
			{Name: "queue", Check: func(context.Context) error { close(started); return context.DeadlineExceeded }},
		}
	})
	a := s.get("/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, a.Code)
	assert.JSONEq(t, `{"status":"not ready","checks":{"dynamodb":"ok","s3":"failed","redis":"failed","queue":"not answered in time"}}`, a.Body.String())
	assert.Len(t, s.logged("not ready"), 3)
	assert.Contains(t, s.log.String(), "s3.internal")

	assert.JSONEq(t, `{"status":"ok"}`, s.get("/healthz").Body.String())
}

func TestReadyDoesNotWaitForACheckForEver(t *testing.T) {
	before := goleak.IgnoreCurrent()
	gate := make(chan struct{})
	deaf := Check{Name: "dynamodb", Check: func(context.Context) error { <-gate; return nil }}
	h := &readiness{log: slog.New(slog.DiscardHandler), now: time.Now, timeout: time.Millisecond, remembered: []Check{deaf}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Contains(t, w.Body.String(), present.Late)
	close(gate)
	goleak.VerifyNone(t, before) // the late check ended without a reader
}

func TestReadyWithoutAnOptionalStore(t *testing.T) {
	s := newServer(t, func(o *Options) {
		o.Ready = []Check{
			{Name: "dynamodb", Check: func(context.Context) error { return nil }},
			{Name: "redis", Check: func(context.Context) error { return errors.New("refused") }, Optional: true},
		}
	})
	a := s.get("/readyz")
	assert.Equal(t, http.StatusOK, a.Code)
	assert.JSONEq(t, `{"status":"ready","checks":{"dynamodb":"ok","redis":"degraded: failed"}}`, a.Body.String())
	assert.Len(t, s.logged("degraded"), 1)
}

func TestReadyAsksOnceASecond(t *testing.T) {
	var stores, server atomic.Int32
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	h := &readiness{
		log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }, timeout: time.Minute,
		remembered: []Check{{Name: "dynamodb", Check: func(context.Context) error { stores.Add(1); return nil }}},
		always:     []Check{{Name: "server", Check: func(context.Context) error { server.Add(1); return nil }}},
	}
	ask := func(ctx context.Context) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil).WithContext(ctx))
		assert.Equal(t, http.StatusOK, w.Code)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ask(gone) // who no longer waits does not spoil the result for the others
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() { ask(t.Context()) })
	}
	clients.Wait()
	assert.EqualValues(t, 1, stores.Load())
	assert.EqualValues(t, 21, server.Load(), "that the server is shutting down is seen at once")

	now = now.Add(readyFor)
	ask(t.Context())
	assert.EqualValues(t, 2, stores.Load())
}

func TestNewNamesAllThatIsMissing(t *testing.T) {
	_, err := New(Options{})
	for _, name := range []string{"Schema", "Loaders", "Auth", "SignIn", "Metrics", "Log", "OperationTimeout"} {
		assert.ErrorContains(t, err, name)
	}
}

func TestServerHasTimeouts(t *testing.T) {
	s := Server(http.NotFoundHandler(), "127.0.0.1:0", 30*time.Second)
	for name, d := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "body": s.ReadTimeout, "write": s.WriteTimeout, "idle": s.IdleTimeout} {
		assert.Positive(t, d, name)
	}
	assert.Positive(t, s.MaxHeaderBytes)
	assert.Greater(t, s.WriteTimeout, s.ReadTimeout+2*30*time.Second, "an answer that is in time can be written")
}
