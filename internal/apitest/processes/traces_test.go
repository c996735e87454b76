package processes

import (
	"bufio"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
)

// receiver takes spans by OTLP over HTTP.
type receiver struct {
	mu    sync.Mutex
	spans []*spans.Span
	text  strings.Builder // all that was sent
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(body)
	for _, of := range sent.GetResourceSpans() {
		for _, by := range of.GetScopeSpans() {
			c.spans = append(c.spans, by.GetSpans()...)
		}
	}
}

// one waits for a span of this name and returns its traceparent.
func (c *receiver) one(t *testing.T, name string) (traceparent string) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			if s.GetName() == name {
				traceparent = "00-" + hex.EncodeToString(s.GetTraceId()) + "-" + hex.EncodeToString(s.GetSpanId()) + "-01"
				return true
			}
		}
		return false
	}, apitest.Patience, 20*time.Millisecond, "%s", name)
	return traceparent
}

// of returns the names of the spans of a trace, each after those that it is below, once they end with the given one.
func (c *receiver) of(t *testing.T, traceparent, last string) []string {
	t.Helper()
	trace := strings.Split(traceparent, "-")[1]
	var paths []string
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		byID := map[string]*spans.Span{}
		for _, s := range c.spans {
			if hex.EncodeToString(s.GetTraceId()) == trace {
				byID[string(s.GetSpanId())] = s
			}
		}
		paths = paths[:0]
		for _, s := range byID {
			path := s.GetName()
			for above := byID[string(s.GetParentSpanId())]; above != nil; above = byID[string(above.GetParentSpanId())] {
				path = above.GetName() + " > " + path
			}
			paths = append(paths, path)
		}
		return slices.Contains(paths, last)
	}, apitest.Patience, 20*time.Millisecond, "%s", last)
	slices.Sort(paths)
	return paths
}

// reader is a client that follows a subscription as an event stream, in a request like others.
type reader struct{ *apitest.Client }

// eventStream begins a subscription and returns the header of the answer, and what waits for the next event.
func (r reader) eventStream(t *testing.T, query string) (http.Header, func()) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+"/graphql?query="+url.QueryEscape(query), nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer "+r.Token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return response.Header, func() {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data:") {
				return
			}
		}
		require.FailNow(t, "the stream has ended")
	}
}

// A collector is told what an operation asked of which store, and nothing of whom or what it was about.
func TestTracesAreSent(t *testing.T) {
	t.Parallel()
	c := &receiver{}
	at := httptest.NewServer(c)
	defer at.Close()
	env := []string{"TAGGIE_DATA=" + t.TempDir(), "OTEL_EXPORTER_OTLP_ENDPOINT=" + at.URL, "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test"}
	token, err := apitest.Run(t, env, func(_ context.Context, term *cli.Terminal) error {
		return cli.TokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)
	s, _ := apitest.StartProcess(t, env, apitest.FreePort(t))
	ada := reader{&apitest.Client{Server: s, Token: strings.TrimSpace(token)}}
	ada.Must(`mutation { createUser(input: {name: "Augusta", email: "ada@example.com"}) { user { id } } }`, nil)
	note := ada.Mutate("createNote", "note { id }", apitest.Vars{"title": "Engine", "content": "punched"}).Str("result.note.id")

	a := ada.Do(`query Difference($n: ID!) { node(id: $n) { ... on Note { title owner { name } } } }`, apitest.Vars{"n": note})
	require.Empty(t, a.Errors, a.Body)
	paths := c.of(t, a.Header.Get("traceparent"), "POST /graphql > query")
	assert.Contains(t, paths, "POST /graphql > query > load notes > BatchGetItem")
	assert.Contains(t, paths, "POST /graphql > query > load users > BatchGetItem")
	assert.Contains(t, paths, "POST /graphql > spend of a budget")

	p := ada.Project("Birds")
	stream, first := ada.eventStream(t, `subscription { projectEvents(projectId: "`+p.ID+`") { __typename } }`)
	first()
	trace := stream.Get("traceparent")
	begun := c.of(t, trace, "GET /graphql > subscription")
	assert.Contains(t, begun, "GET /graphql", "it does not wait for the end of the stream")
	for range 6 {
		ada.Must(`mutation($p: ID!) { pauseProject(input: {projectId: $p}) { project { id } } }`, apitest.Vars{"p": p.ID})
		first()
		ada.Must(`mutation($p: ID!) { resumeProject(input: {projectId: $p}) { project { id } } }`, apitest.Vars{"p": p.ID})
		first()
	}
	later := ada.Do(`{ viewer { id } }`, nil)
	c.of(t, later.Header.Get("traceparent"), "POST /graphql > query") // whatever came before has been sent, too
	assert.Equal(t, begun, c.of(t, trace, "GET /graphql > subscription"), "what is told later is in no trace")

	socket := ada.Subscribe(`query { viewer { name } }`, nil)
	<-socket.Results
	paths = c.of(t, c.one(t, "message"), "message")
	assert.Contains(t, paths, "message > query > load users > BatchGetItem")
	assert.Contains(t, paths, "message > spend of a budget")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, private := range []string{"ada@", "Augusta", "Engine", "punched", "Difference", "Birds", ada.Token, note} {
		assert.NotContains(t, c.text.String(), private)
	}
	for _, known := range []string{"taggie", "deployment.environment.name", "aws.dynamodb"} {
		assert.Contains(t, c.text.String(), known)
	}
}
