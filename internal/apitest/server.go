// Package apitest has what tests of the whole server share: servers on embedded engines with faults between them, clients, and things to work on.
// The tests are in the packages below, by subject.
package apitest

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
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/clock"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/lean"
	"github.com/taggie/taggie/internal/redisclient"
	"github.com/taggie/taggie/internal/telemetry"
)

// Server is the whole server, wired as in production, on embedded engines with fault injection in between, and on
// tables of its own.
type Server struct {
	T      *testing.T
	URL    string
	Local  *auth.Local
	Faults *faultinject.Injector
	DB     *dynamo.DB
	Bucket *blob.Bucket
	Prefix string // of the tables
	Logs   *LockedBuffer
	App    *app.Application // nil when the server runs as its command
}

// NewServer starts a server. change may alter the settings first.
func NewServer(t *testing.T, change ...func(*config.Config)) *Server {
	t.Helper()
	cfg, err := config.Load([]string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=127.0.0.1:0", "TAGGIE_TABLE_PREFIX=t" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"})
	require.NoError(t, err)
	cfg.CostBudget, cfg.CostRate = 1_000_000_000, 1_000_000_000 // tests ask for more than a user does
	cfg.OperationTimeout = OperationTimeout
	for _, f := range change {
		f(&cfg)
	}
	s := &Server{T: t, Faults: faultinject.New(), Prefix: cfg.TablePrefix, Logs: &LockedBuffer{}}
	metrics := telemetry.NewMetrics()
	log := slog.New(slog.NewTextHandler(s.Logs, nil))

	embeddedtest.DropTables(t, cfg.TablePrefix)
	engine := app.EmbeddedClient(embeddedtest.DynamoDB(t))
	engine.Wrap = s.Faults.Wrap
	engine.Middleware = []func(*middleware.Stack) error{metrics.DynamoDB()}
	dynamoClient, err := awsclient.DynamoDB(t.Context(), engine)
	require.NoError(t, err)
	s.DB = dynamo.New(dynamo.Options{Client: dynamoClient, TablePrefix: cfg.TablePrefix, Concurrency: cfg.DynamoConcurrency, SDKReads: cfg.DynamoSDKReads, Watch: metrics, Allowances: cfg.Allowances})
	embeddedtest.MakeTables(t, s.DB.Tables())

	s3Engine := app.EmbeddedClient(embeddedtest.S3(t))
	s3Client, err := awsclient.S3(t.Context(), s3Engine)
	require.NoError(t, err)
	bucket := blob.NewBucket(s3Client, "b"+strings.ReplaceAll(uuid.NewString(), "-", ""), s3Engine.Region, nil)
	require.NoError(t, bucket.Apply(t.Context(), func(blob.Step) {}))

	answering, waiting := redisOf(t, cfg)
	a, err := app.Assemble(cfg, document.Trusted{}, &app.Stores{DB: s.DB, Bucket: bucket, Redis: answering, Waiting: waiting}, metrics, nil, log)
	require.NoError(t, err)
	s.Local, s.App, s.Bucket = a.Local, a, bucket
	web := httptest.NewServer(comparing(t, a.Handler))
	t.Cleanup(func() { // as a server ends
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
		defer cancel()
		assert.NoError(t, a.Sockets.Shutdown(ctx))
		a.CloseStreams()
		web.Close()
	})
	s.URL = web.URL
	s.Faults.Recorder().Reset() // what follows is the test's
	return s
}

// signed are the parts of an address that differ from second to second.
var signed = regexp.MustCompile(`X-Amz-(Date|Expires|Signature)=[^&"\\]*`)

// comparing has all that plans write compared with what gqlgen's executor makes of the same, in every test.
func comparing(t *testing.T, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(lean.Comparing(r.Context(), func(plan, executor []byte) {
			if plan, executor = signed.ReplaceAll(plan, nil), signed.ReplaceAll(executor, nil); !bytes.Equal(plan, executor) {
				t.Errorf("a plan wrote\n%s\nand the executor\n%s", plan, executor)
			}
		})))
	})
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
		o, err := app.RedisOptions(cfg, nil, app.RedisAnswer)
		require.NoError(t, err)
		answering, waiting = redisclient.New(o), app.RedisWaiting(o)
	}
	t.Cleanup(func() { assert.NoError(t, errors.Join(waiting.Close(), answering.Close())) })
	return answering, waiting
}

// WithRedis has a server use the Redis at this URL.
func WithRedis(url string) func(*config.Config) {
	return func(c *config.Config) {
		if err := c.Redis.UnmarshalText([]byte(url)); err != nil {
			panic(err) // the test's own
		}
	}
}

// LockedBuffer collects logs from many goroutines.
type LockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written so far.
func (b *LockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Ahead starts another server on the same stores, whose clock is ahead of the true time, which DynamoDB tells it.
func (s *Server) Ahead(d time.Duration) *Server {
	s.T.Helper()
	return s.beside(d, true)
}

// Later starts another server on the same stores, for which so much time has passed: nobody tells it another time.
func (s *Server) Later(d time.Duration) *Server {
	s.T.Helper()
	return s.beside(d, false)
}

func (s *Server) beside(d time.Duration, told bool) *Server {
	s.T.Helper()
	other := &Server{T: s.T, Faults: s.Faults, Prefix: s.Prefix, Logs: &LockedBuffer{}}
	log := slog.New(slog.NewTextHandler(other.Logs, nil))
	stores := *s.App.Stores
	stores.Clock = clock.New(func() time.Time { return time.Now().Add(d) }, log)
	engine := app.EmbeddedClient(embeddedtest.DynamoDB(s.T))
	if engine.Wrap = s.Faults.Wrap; told {
		engine.Time = stores.Clock
	}
	metrics := telemetry.NewMetrics()
	engine.Middleware = []func(*middleware.Stack) error{metrics.DynamoDB()}
	client, err := awsclient.DynamoDB(s.T.Context(), engine)
	require.NoError(s.T, err)
	stores.DB = dynamo.New(dynamo.Options{Client: client, TablePrefix: s.Prefix, Now: stores.Clock.Now, Watch: metrics})
	other.DB = stores.DB
	a, err := app.Assemble(s.App.Cfg, document.Trusted{}, &stores, metrics, nil, log)
	require.NoError(s.T, err)
	other.Local, other.App = a.Local, a
	web := httptest.NewServer(comparing(s.T, a.Handler))
	s.T.Cleanup(func() {
		assert.NoError(s.T, a.Sockets.Shutdown(context.WithoutCancel(s.T.Context())))
		a.CloseStreams()
		web.Close()
	})
	other.URL = web.URL
	return other
}

// Ready asks /readyz on a connection of its own.
func (s *Server) Ready() (status int, checks map[string]string) {
	s.T.Helper()
	r, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+"/readyz", nil)
	require.NoError(s.T, err)
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.T, err, "the server still accepts")
	defer func() { _ = resp.Body.Close() }()
	var body struct{ Checks map[string]string }
	require.NoError(s.T, json.NewDecoder(resp.Body).Decode(&body))
	return resp.StatusCode, body.Checks
}

// Page returns what is at a path.
func (s *Server) Page(path string, status int) string {
	s.T.Helper()
	r, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+path, nil)
	require.NoError(s.T, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.T, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.T, err)
	assert.Equal(s.T, status, resp.StatusCode, "%s: %s", path, text)
	return string(text)
}

// Metrics returns what /metrics says.
func (s *Server) Metrics() string {
	s.T.Helper()
	return s.Page("/metrics", http.StatusOK)
}
