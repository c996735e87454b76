package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
	"github.com/taggie/taggie/resolvers"
)

// What operations cost besides what they show, and how many may come, as callers meet it.
const (
	operationCost = 100
	changeCost    = 100
	refusedCost   = 2_000
	messageCost   = 50
	refusalPause  = time.Second
	waitingPer    = 64 // of one that is carried out
	maxBulky      = 2
	maxErrors     = 20               // in an answer
	maxWorking    = 8                // operations of a socket
	maxQueued     = 64               // messages of a socket that are not written yet
	tokenAge      = 20 * time.Second // until it is looked again whether a token counts
)

// costShown is the response extension cost as clients read it.
type costShown struct {
	Requested int
	Used      *int
	Budget    *budgetShown
	Document  *document.Extent
	Limits    struct {
		Cost, Operations, BodyBytes int
		Seconds                     float64
		document.Extent
	}
}

type budgetShown struct{ Capacity, PerSecond, Charged, Kept, Remaining int }

const adaID = user.ID("11111111-1111-4111-8111-111111111111")

var adaGID = gid.Of("User", string(adaID)).String()

// people is a store of one user, Ada. Each call goes through read, where tests break it.
type people struct {
	user.Store
	metrics *telemetry.Metrics
	read    func(ctx context.Context) error
}

func (p *people) UsersByID(ctx context.Context, ids []user.ID) ([]user.User, []error) {
	users, errs := make([]user.User, len(ids)), make([]error, len(ids))
	p.metrics.ObserveCall(ctx, &telemetry.Call{
		Operation: "BatchGetItem", Tables: []string{"notes"}, Keys: len(ids), Attempts: 3,
		Capacity: []telemetry.Consumed{{Table: "notes", Units: 0.5}},
	})
	err := p.read(ctx)
	for i, id := range ids {
		switch {
		case err != nil:
			errs[i] = err
		case id == adaID:
			users[i] = user.User{ID: adaID, Name: "Ada", Email: "ada@example.com"}
		default:
			errs[i] = fault.New(fault.NotFound, "there is no such user")
		}
	}
	return users, errs
}

func (p *people) FindIdempotencyKey(context.Context, idempotency.Key) error { return nil }

// tokens knows two tokens: "ada", and "away" whose issuer cannot be asked.
type tokens struct{}

func (tokens) Authenticate(_ context.Context, authorization []string) (viewer.Identity, error) {
	switch {
	case len(authorization) == 0:
		return viewer.Identity{}, nil
	case len(authorization) == 1 && authorization[0] == "Bearer ada":
		return viewer.Identity{Issuer: "test", Subject: "ada"}, nil
	case authorization[0] == "Bearer away":
		return viewer.Identity{}, fault.New(fault.Unavailable, "the issuer does not answer")
	}
	return viewer.Identity{}, fault.New(fault.Unauthenticated, "the token has expired")
}

// server is an API over fakes.
type server struct {
	t       *testing.T
	people  *people
	options Options
	log     *lines
	handler http.Handler
}

// lines are log lines; handlers of several requests write them.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newServer(t *testing.T, change ...func(*Options)) *server {
	t.Helper()
	metrics := telemetry.NewMetrics()
	s := &server{t: t, log: &lines{}, people: &people{metrics: metrics, read: func(context.Context) error { return nil }}}
	log, err := telemetry.NewLogger(s.log, "json", "debug")
	require.NoError(t, err)
	newID := func() string { return "22222222-2222-4222-8222-222222222222" }
	users := user.NewService(user.Options{Store: s.people, Now: time.Now, NewID: newID})
	notes := note.NewService(note.Options{Now: time.Now, NewID: newID})
	s.options = Options{
		Schema: graph.NewExecutableSchema(graph.Config{Resolvers: &resolvers.Resolver{
			Users: users, Notes: notes, Cursors: page.NewCodec([]byte("0123456789abcdef0123456789abcdef")),
		}}),
		Loaders: loaders.Sources{Users: users, Notes: notes, Entities: entity.NewService(entity.Options{}), Projects: project.NewService(project.Options{})},
		Auth:    tokens{},
		SignIn: func(_ context.Context, identity viewer.Identity) (viewer.Viewer, error) {
			v := viewer.Viewer{Identity: identity}
			if identity.Subject == "ada" {
				v.UserID = adaID
			}
			return v, nil
		},
		Metrics:          metrics,
		Log:              log,
		Console:          http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "console") }),
		OperationTimeout: time.Minute,
	}
	for _, c := range change {
		c(&s.options)
	}
	s.handler, err = New(s.options)
	require.NoError(t, err)
	return s
}

// answer is a response as a client sees it.
type answer struct {
	*httptest.ResponseRecorder
	Data       map[string]any
	Errors     []shownError
	Extensions map[string]json.RawMessage
}

type shownError struct {
	Message    string
	Path       []any
	Locations  []any
	Extensions map[string]any
}

func (s *server) do(r *http.Request) answer {
	s.t.Helper()
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	s.handler.ServeHTTP(a.ResponseRecorder, r)
	if strings.Contains(a.Header().Get("Content-Type"), "json") {
		require.NoError(s.t, json.Unmarshal(a.Body.Bytes(), &a), a.Body.String())
	}
	return a
}

// ask sends an operation as Ada; headers are names and values in turn.
func (s *server) ask(query string, variables map[string]any, headers ...string) answer {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(s.t, err)
	return s.post(string(body), append([]string{"Authorization", "Bearer ada"}, headers...)...)
}

func (s *server) post(body string, headers ...string) answer {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return s.do(with(r, headers...))
}

func (s *server) get(target string, headers ...string) answer {
	s.t.Helper()
	return s.do(with(httptest.NewRequest(http.MethodGet, target, nil), headers...))
}

func with(r *http.Request, headers ...string) *http.Request {
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// only asserts that the answer is one error with this code, and returns it.
func (a answer) only(t *testing.T, status int, code string) shownError {
	t.Helper()
	require.Equal(t, status, a.Code, a.Body.String())
	require.Len(t, a.Errors, 1, a.Body.String())
	assert.Equal(t, code, a.Errors[0].Extensions["code"])
	again := a.Errors[0].Extensions["retryAfter"] != nil
	assert.Equal(t, code == "UNAVAILABLE" || again, a.Errors[0].Extensions["retryable"])
	return a.Errors[0]
}

// logged returns the log lines with this message.
func (s *server) logged(message string) []map[string]any {
	var found []map[string]any
	for line := range strings.Lines(s.log.String()) {
		var entry map[string]any
		require.NoError(s.t, json.Unmarshal([]byte(line), &entry))
		if entry[slog.MessageKey] == message {
			found = append(found, entry)
		}
	}
	return found
}
