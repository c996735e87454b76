package httpapi

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/lean"
	"github.com/taggie/taggie/internal/memory"
)

const (
	deferring    = `{ viewer { id ... @defer(label: "address") { email } } }`
	acceptsDefer = "multipart/mixed;deferSpec=20220824, application/json"
)

// textsOf are the texts of the parts of an answer, whose header and end are checked.
func textsOf(t *testing.T, a answer) []string {
	t.Helper()
	require.Equal(t, http.StatusOK, a.Code, a.Body.String())
	media, params, err := mime.ParseMediaType(a.Header().Get("Content-Type"))
	require.NoError(t, err)
	assert.Equal(t, "multipart/mixed", media)
	assert.Equal(t, "20220824", params["deferspec"])
	assert.True(t, strings.HasSuffix(a.Body.String(), "\r\n-----\r\n"), "%q", a.Body.String())
	r := multipart.NewReader(a.Body, params["boundary"])
	var texts []string
	for {
		part, err := r.NextPart()
		if err == io.EOF { //nolint:errorlint // the package documents this very value
			return texts
		}
		require.NoError(t, err)
		assert.Equal(t, "application/json; charset=utf-8", part.Header.Get("Content-Type"))
		text, err := io.ReadAll(part)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
}

func TestDeferredFieldsComeLater(t *testing.T) {
	s := newServer(t)
	for accept := range map[string]bool{acceptsDefer: true, "multipart/mixed": true, "application/json, text/event-stream, multipart/mixed": true} {
		texts := textsOf(t, s.ask(deferring, nil, "Accept", accept))
		require.Len(t, texts, 2)
		assert.JSONEq(t, `{"data":{"viewer":{"id":"`+adaGID+`"}},"hasNext":true}`, texts[0], "without the field, not with null in its place")
		assert.JSONEq(t, `{"incremental":[{"data":{"email":"ada@example.com"},"path":["viewer"],"label":"address"}],"hasNext":false}`, texts[1])
	}
	text := s.get("/metrics").Body.String()
	assert.Contains(t, text, `taggie_operations_total{operation_type="query",outcome="ok"} 3`, "each operation counts once")
}

func TestWhatIsNotDeferredIsAnsweredAtOnce(t *testing.T) {
	s := newServer(t)
	for _, query := range []string{
		`query($later: Boolean! = false) { viewer { ... @defer(if: $later) { email } } }`,
		`{ viewer { ... @defer(if: false) { email } } }`,
		`{ viewer { ... @defer(if: true) { email } email } }`, // asked for at once as well
		`{ ... @defer { viewer { email } } }`,                 // gqlgen does not defer root fields
	} {
		a := s.ask(query, nil, "Accept", acceptsDefer)
		assert.JSONEq(t, `{"data":{"viewer":{"email":"ada@example.com"}}}`, a.Body.String(), query)
		assert.Equal(t, "application/json; charset=utf-8", a.Header().Get("Content-Type"))
	}
	texts := textsOf(t, s.ask(`{ viewer { email } }`, nil, "Accept", "multipart/mixed"))
	require.Len(t, texts, 1, "who accepts nothing else gets one part")
	assert.JSONEq(t, `{"data":{"viewer":{"email":"ada@example.com"}},"hasNext":false}`, texts[0])
}

func TestDeferIsRefusedWhereItWouldLoseData(t *testing.T) {
	s := newServer(t)
	for _, accept := range []string{"", request.JSON, mediaResponse, "*/*", "multipart/mixed;deferSpec=20990101, application/json", "multipart/mixed;incrementalSpec=v0.2, */*", "multipart/mixed;streamSpec=20220824, */*", "multipart/mixed;deferSpec=20220824;xSpec=1, */*", "multipart/mixed;q=0, */*"} {
		for _, query := range []string{deferring, `{ viewer { ...f @defer } } fragment f on User { email }`, `{ viewer { ...f } } fragment f on User { ... @defer { email } }`} {
			a := s.ask(query, nil, "Accept", accept)
			assert.Contains(t, a.only(t, http.StatusNotAcceptable, "BAD_REQUEST").Message, "multipart/mixed;deferSpec=20220824", accept)
		}
	}
	a := s.ask(`mutation { createNote(input: {title: "a", content: "b"}) { ... @defer { note { id } } } }`, nil, "Accept", acceptsDefer)
	assert.Contains(t, a.only(t, http.StatusOK, "BAD_REQUEST").Message, "for queries")

	_, errs := s.options.runner().Create(graphql.StartOperationTrace(t.Context()), &graphql.RawParams{Query: deferring})
	require.Len(t, errs, 1)
	assert.Contains(t, errs[0].Message, "multipart/mixed", "sockets and event streams refuse it, too")
}

// scripted answers every query with the responses that it is sent.
type scripted struct {
	graphql.ExecutableSchema
	responses chan *graphql.Response
}

func (s scripted) Exec(context.Context) graphql.ResponseHandler {
	return func(ctx context.Context) *graphql.Response {
		select {
		case resp := <-s.responses:
			if memory.Take(ctx, len(resp.Data)) != nil {
				return &graphql.Response{Data: json.RawMessage("null")}
			}
			return resp
		case <-ctx.Done():
			return nil
		}
	}
}

func part(data string, more bool, path ...ast.PathElement) *graphql.Response {
	return &graphql.Response{Data: json.RawMessage(data), Path: path, HasNext: &more}
}

// Each part is on its way before the next is there, compressed or not.
func TestPartsAreNotHeldBack(t *testing.T) {
	script := scripted{newServer(t).options.Schema, make(chan *graphql.Response)}
	s := newServer(t, func(o *Options) { o.Schema = script })
	listening := httptest.NewServer(s.handler)
	t.Cleanup(listening.Close)
	large := `{"viewer":{"id":"` + strings.Repeat("a", 10_000) + `"}}`
	for _, coding := range []string{"identity", "gzip"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, listening.URL+"/graphql", strings.NewReader(`{"query":"{ viewer { id ... @defer { email } } }"}`))
		require.NoError(t, err)
		with(r, "Content-Type", request.JSON, "Accept", acceptsDefer, "Accept-Encoding", coding)
		go func() { script.responses <- part(large, true) }()
		w, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		body := io.Reader(w.Body)
		if coding == "gzip" {
			require.Equal(t, "gzip", w.Header.Get("Content-Encoding"))
			body, err = gzip.NewReader(w.Body)
			require.NoError(t, err)
		}
		lines := bufio.NewReader(body)
		until := func(says string) {
			for {
				line, err := lines.ReadString('\n')
				require.NoError(t, err)
				if strings.Contains(line, says) {
					return
				}
			}
		}
		until(`"hasNext":true`)
		go func() { script.responses <- part(`{"email":"b"}`, true, ast.PathName("viewer")) }()
		until(`"path":["viewer"]`)
		go func() { script.responses <- part(`{"name":"c"}`, false, ast.PathName("viewer")) }()
		until(`"hasNext":false`)
		require.NoError(t, w.Body.Close())
	}
}

func TestAnAnswerInPartsEndsInTime(t *testing.T) {
	script := scripted{newServer(t).options.Schema, make(chan *graphql.Response, 1)}
	s := newServer(t, func(o *Options) { o.Schema, o.OperationTimeout = script, 50*time.Millisecond })
	script.responses <- part(`{"viewer":{"id":"a"}}`, true)
	texts := textsOf(t, s.ask(deferring, nil, "Accept", acceptsDefer))
	require.Len(t, texts, 2)
	assert.Contains(t, texts[1], present.Late)
	assert.Contains(t, texts[1], `"code":"UNAVAILABLE"`)
	assert.True(t, strings.HasSuffix(texts[1], `,"hasNext":false}`), texts[1])
}

// A client that goes away ends what is worked on for it, and is no fault of a store.
func TestAClientThatDoesNotWaitForAllParts(t *testing.T) {
	script := scripted{newServer(t).options.Schema, make(chan *graphql.Response, 1)}
	s := newServer(t, func(o *Options) { o.Schema = script })
	ended := make(chan struct{})
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		s.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	script.responses <- part(`{"viewer":{"id":"a"}}`, true)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, listening.URL+"/graphql", strings.NewReader(`{"query":"{ viewer { id ... @defer { email } } }"}`))
	require.NoError(t, err)
	w, err := http.DefaultClient.Do(with(r, "Content-Type", request.JSON, "Accept", acceptsDefer))
	require.NoError(t, err)
	defer func() { _ = w.Body.Close() }()
	_, err = bufio.NewReader(w.Body).ReadString('}')
	require.NoError(t, err)
	leave()
	<-ended
	assert.Empty(t, s.logged("unavailable"))
}

func TestErrorsOfParts(t *testing.T) {
	script := scripted{newServer(t).options.Schema, make(chan *graphql.Response, 2)}
	s := newServer(t, func(o *Options) { o.Schema = script })
	script.responses <- part(`{"viewer":{"id":"a"}}`, true)
	failed := part(`null`, false, ast.PathName("viewer"), ast.PathIndex(3))
	failed.Errors = gqlerror.List{refusal.Of("NOT_FOUND", "gone")}
	script.responses <- failed
	texts := textsOf(t, s.ask(deferring, nil, "Accept", acceptsDefer, "Taggie-Extensions", "dynamo"))
	require.Len(t, texts, 2)
	assert.Contains(t, texts[0], `"dynamo":{"calls":0`)
	assert.Contains(t, texts[1], `{"incremental":[{"errors":[{"message":"gone"`)
	assert.Contains(t, texts[1], `"data":null,"extensions":{"dynamo":`)
	assert.True(t, strings.HasSuffix(texts[1], `,"path":["viewer",3]}],"hasNext":false}`), texts[1])
}

const deferringNotes = `{ viewer { id ... @defer { notes(first: 500) { nodes { title } } } } }`

// All parts are paid for, and the budget is settled behind the last one.
func TestAnAnswerInPartsCostsWhatAllPartsShow(t *testing.T) {
	for _, extensions := range []string{"", "cost"} {
		script := scripted{newServer(t).options.Schema, make(chan *graphql.Response, 3)}
		p := newPurse()
		s := newServer(t, withBudget(p), func(o *Options) { o.Schema = script })
		script.responses <- part(`{"viewer":{"id":"a"}}`, true)
		script.responses <- part(`{"notes":null}`, true, ast.PathName("viewer"))
		script.responses <- part(`{"nodes":[{"title":"a"}]}`, false, ast.PathName("viewer"), ast.PathName("notes"))
		texts := textsOf(t, s.ask(deferringNotes, nil, "Accept", acceptsDefer, "Taggie-Extensions", extensions))
		require.Len(t, texts, 3)
		assert.Equal(t, []int{operationCost + 3 + 1 + 3}, p.spent(t, 1))
		if extensions == "" {
			continue
		}
		type told struct{ Extensions struct{ Cost costShown } }
		var first told
		var last struct{ Incremental []told }
		require.NoError(t, json.Unmarshal([]byte(texts[0]), &first))
		require.NoError(t, json.Unmarshal([]byte(texts[2]), &last))
		assert.Equal(t, 2, *first.Extensions.Cost.Used)
		assert.Equal(t, first.Extensions.Cost.Budget.Charged, first.Extensions.Cost.Budget.Kept, "until the last part is there")
		assert.NotContains(t, texts[1], "extensions")
		shown := last.Incremental[0].Extensions.Cost
		assert.Equal(t, 6, *shown.Used)
		assert.Equal(t, operationCost+7, shown.Budget.Kept)
		assert.Equal(t, purseSize-shown.Budget.Kept, shown.Budget.Remaining)
	}
}

func TestAnAnswerInPartsThatIsLateIsPaidInFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := scripted{newServer(t).options.Schema, make(chan *graphql.Response, 1)}
		p := newPurse()
		s := newServer(t, withBudget(p), func(o *Options) { o.Schema = script })
		script.responses <- part(`{"viewer":{"id":"a"}}`, true)
		texts := textsOf(t, s.ask(deferringNotes, nil, "Accept", acceptsDefer, "Taggie-Extensions", "cost"))
		require.Len(t, texts, 2)
		assert.Contains(t, texts[1], present.Late)
		assert.Equal(t, []int{operationCost + 4 + 500*2}, p.spent(t, 1))
	})
}

func TestPartsThatAreTooLargeTogether(t *testing.T) {
	script := scripted{newServer(t).options.Schema, make(chan *graphql.Response, 2)}
	p := newPurse()
	s := newServer(t, withBudget(p), func(o *Options) { o.Schema = script })
	half := strings.Repeat("a", lean.MaxAnswer/2)
	script.responses <- part(`{"viewer":{"id":"`+half+`"}}`, true)
	script.responses <- part(`{"email":"`+half+`"}`, true, ast.PathName("viewer"))
	texts := textsOf(t, s.ask(deferringNotes, nil, "Accept", acceptsDefer))
	require.Len(t, texts, 2)
	require.Less(t, len(texts[1]), 1_000)
	assert.Contains(t, texts[1], "67108864 bytes")
	assert.Contains(t, texts[1], `"code":"EXHAUSTED"`)
	assert.True(t, strings.HasSuffix(texts[1], `,"hasNext":false}`), texts[1])
	assert.Equal(t, []int{operationCost + 1 + admission.CostOf([]byte(`{"viewer":{"id":"`+half+`"}}`))}, p.spent(t, 1), "the part that was sent is paid for")
}
