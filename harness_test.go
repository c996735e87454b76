package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/redisclient"
	"github.com/taggie/taggie/internal/telemetry"
)

// testServer is the whole server, wired as in production, on embedded engines with fault injection in between, and on
// tables of its own.
type testServer struct {
	t      *testing.T
	url    string
	local  *auth.Local
	faults *faultinject.Injector
	db     *dynamo.DB
	prefix string // of the tables
	logs   *lockedBuffer
	app    *application // nil when the server runs as its command
}

// newServer starts a server. change may alter the settings first.
func newServer(t *testing.T, change ...func(*config.Config)) *testServer {
	t.Helper()
	cfg, err := config.Load([]string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=127.0.0.1:0", "TAGGIE_TABLE_PREFIX=t" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"})
	require.NoError(t, err)
	cfg.CostBudget, cfg.CostRate = 1_000_000_000, 1_000_000_000 // tests ask for more than a user does
	for _, f := range change {
		f(&cfg)
	}
	s := &testServer{t: t, faults: faultinject.New(), prefix: cfg.TablePrefix, logs: &lockedBuffer{}}
	metrics := telemetry.NewMetrics()
	log := slog.New(slog.NewTextHandler(s.logs, nil))

	embeddedtest.DropTables(t, cfg.TablePrefix)
	engine := embeddedClient(embeddedtest.DynamoDB(t))
	engine.Wrap = s.faults.Wrap
	engine.Middleware = []func(*middleware.Stack) error{metrics.DynamoDB()}
	dynamoClient, err := awsclient.DynamoDB(t.Context(), engine)
	require.NoError(t, err)
	s.db = dynamo.New(dynamo.Options{Client: dynamoClient, TablePrefix: cfg.TablePrefix, Concurrency: cfg.DynamoConcurrency, Allowances: cfg.Allowances})
	require.NoError(t, s.db.ApplyTables(t.Context(), func(dynamo.Step) {}))

	s3Engine := embeddedClient(embeddedtest.S3(t))
	s3Client, err := awsclient.S3(t.Context(), s3Engine)
	require.NoError(t, err)
	bucket := blob.NewBucket(s3Client, "b"+strings.ReplaceAll(uuid.NewString(), "-", ""), s3Engine.Region, nil)
	require.NoError(t, bucket.Apply(t.Context(), func(blob.Step) {}))

	answering, waiting := redisOf(t, cfg)
	a, err := assemble(cfg, httpapi.Trusted{}, &stores{db: s.db, bucket: bucket, redis: answering, waiting: waiting}, metrics, log)
	require.NoError(t, err)
	s.local, s.app = a.local, a
	web := httptest.NewServer(a.handler)
	t.Cleanup(func() { // as a server ends
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		assert.NoError(t, a.sockets.Shutdown(ctx))
		a.queues.hub.Close()
		web.Close()
	})
	s.url = web.URL
	s.faults.Recorder().Reset() // what follows is the test's
	return s
}

// redisOf returns the clients of a server with these settings: those of production when they name a Redis. Messages travel through streams
// that all servers of a Redis share, so in the embedded one each set of tables has a database of its own.
func redisOf(t *testing.T, cfg config.Config) (answering, waiting redis.UniversalClient) {
	t.Helper()
	if cfg.EmbeddedRedis() {
		options, err := redis.ParseURL(embeddedtest.Redis(t).URL)
		require.NoError(t, err)
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(cfg.TablePrefix)) // never fails
		options.DB = 1 + int(hash.Sum32()>>2)
		options.ContextTimeoutEnabled = true
		patient := *options
		patient.PoolSize = 100
		answering, waiting = redis.NewClient(options), redis.NewClient(&patient)
	} else {
		o, err := redisOptions(cfg, nil, redisAnswer)
		require.NoError(t, err)
		answering, waiting = redisclient.New(o), redisWaiting(o)
	}
	t.Cleanup(func() { assert.NoError(t, errors.Join(waiting.Close(), answering.Close())) })
	return answering, waiting
}

// withRedis has a server use the Redis at this URL.
func withRedis(url string) func(*config.Config) {
	return func(c *config.Config) {
		if err := c.Redis.UnmarshalText([]byte(url)); err != nil {
			panic(err) // the test's own
		}
	}
}

// client is somebody who sends requests; the zero token is anonymous.
type client struct {
	*testServer
	token string
	id    string // the global id of the user, once signed up
}

// as returns a client with a token for the address; it has not signed up.
func (s *testServer) as(email string) *client {
	s.t.Helper()
	token, err := s.local.Mint(person(email, email, "", false), time.Hour)
	require.NoError(s.t, err)
	return &client{testServer: s, token: token}
}

// user returns a client who has signed up.
func (s *testServer) user(email string) *client {
	s.t.Helper()
	c := s.as(email)
	c.id = c.must(`mutation($email: String!) { createUser(input: {name: "Somebody", email: $email}) { user { id } } }`, vars{"email": email}).str("createUser.user.id")
	return c
}

// vars are variables of a request.
type vars map[string]any

// gqlError is an error of an answer.
type gqlError struct {
	Message    string
	Path       []any
	Extensions struct {
		Code, Field, RequestID string
		Retryable              bool
	}
}

// answer is what came back.
type answer struct {
	t          *testing.T
	status     int
	body       string
	Data       map[string]any
	Errors     []gqlError
	Extensions struct {
		Dynamo struct {
			Calls, Keys, Retries int
			ConsumedCapacity     float64
			Operations           map[string]int
		}
		OmittedErrors int
	}
}

// do sends a request and returns its answer, errors and all.
func (c *client) do(query string, v vars) *answer {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	require.NoError(c.t, err)
	return c.send(body)
}

// send posts a body as it is.
func (c *client) send(body []byte) *answer {
	c.t.Helper()
	// Not the test's context: helpers run in clean-ups as well.
	r, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), http.MethodPost, c.url+"/graphql", bytes.NewReader(body))
	require.NoError(c.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Taggie-Extensions", "dynamo")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	a := &answer{t: c.t, status: resp.StatusCode, body: string(text)}
	require.NoError(c.t, json.Unmarshal(text, a), "%s", text)
	return a
}

// must sends a request that has to succeed.
func (c *client) must(query string, v vars) *answer {
	c.t.Helper()
	a := c.do(query, v)
	require.Empty(c.t, a.Errors, "%s", a.body)
	return a
}

// at returns the value at a dotted path of the data, nil where there is none.
func (a *answer) at(path string) any {
	var value any = a.Data
	for name := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// str returns the text at a path.
func (a *answer) str(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	require.True(a.t, ok, "no text at %s: %s", path, a.body)
	return s
}

// list returns the list at a path.
func (a *answer) list(path string) []any {
	a.t.Helper()
	l, ok := a.at(path).([]any)
	require.True(a.t, ok, "no list at %s: %s", path, a.body)
	return l
}

// fails asserts that the only error of an answer has this code and field.
func (a *answer) fails(code, field string) {
	a.t.Helper()
	require.Len(a.t, a.Errors, 1, "%s", a.body)
	assert.Equal(a.t, code, a.Errors[0].Extensions.Code, "%s", a.body)
	assert.Equal(a.t, field, a.Errors[0].Extensions.Field, "%s", a.body)
}
