//go:build long && unix

package fleets

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
)

// soakWorld is a fleet on engines of its own, which can be broken as well as what is between them and the servers.
type soakWorld struct {
	*fleet
	dir     string // of the engines
	engines *embedded.Engines
	redis   *embeddedtest.RedisNode
	dynamo  *faultinject.Injector // what happens to calls of DynamoDB
	s3      *rough                // what happens to calls of S3
	clients *lines                // the connections of clients
}

// newSoakWorld starts engines and n servers of the program that the tests are.
func newSoakWorld(t *testing.T, n int, binary string) *soakWorld {
	t.Helper()
	w := &soakWorld{dir: t.TempDir(), redis: embeddedtest.NewRedis(t), dynamo: faultinject.New(), s3: &rough{}, clients: &lines{}}
	var err error
	w.engines, err = embedded.Start(t.Context(), embedded.Options{Dir: w.dir, DynamoDB: true, S3: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), apitest.Patience)
		defer cancel()
		assert.NoError(t, w.engines.Stop(ctx))
	})
	direct := w.engines.DynamoDB
	w.s3.base = transportTo(w.engines.S3)
	tables, objects := direct, w.engines.S3
	tables.URL, tables.Socket, tables.Credential = lane(t, direct.URL, w.dynamo.Wrap(transportTo(direct))), "", ""
	objects.URL = lane(t, objects.URL, w.s3)
	w.fleet = newFleetWith(t, n, binary, w.redis.URL(), append(
		apitest.RemoteAt(t, "r"+strings.ReplaceAll(uuid.NewString(), "-", "")+"_", tables, objects, embedded.Endpoint{}),
		"TAGGIE_COST_BUDGET=0", "TAGGIE_OPERATION_TIMEOUT="+soakDeadline.String(),
	))
	w.fleet.engine = &direct
	w.web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, DialContext: w.clients.dial}, Timeout: 2 * soakWaits}
	return w
}

// rough is a way to S3 on which things go wrong.
type rough struct {
	base http.RoundTripper

	mu    sync.Mutex
	wrong func(r *http.Request, next http.RoundTripper) (*http.Response, error) // nil while all is well
	hits  int                                                                   // requests that went wrong in this way
}

// RoundTrip sends a request on.
func (r *rough) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	wrong := r.wrong
	r.hits++
	r.mu.Unlock()
	if wrong == nil {
		return r.base.RoundTrip(request)
	}
	return wrong(request, r.base)
}

// goes has requests go wrong in a way from now on; nil for no more.
func (r *rough) goes(wrong func(r *http.Request, next http.RoundTripper) (*http.Response, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong, r.hits = wrong, 0
}

// touched returns how many requests went wrong in the way of the moment.
func (r *rough) touched() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hits
}

// lines are connections that can be cut all at once.
type lines struct {
	mu  sync.Mutex
	all map[*line]bool
}

// line is one of them.
type line struct {
	net.Conn
	of *lines
}

func (l *lines) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	one := &line{conn, l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*line]bool{}
	}
	l.all[one] = true
	return one, nil
}

// Close ends the connection.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.all, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// cut ends all connections without a word.
func (l *lines) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.all {
		if tcp, ok := one.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = one.Conn.Close()
	}
	clear(l.all)
}

// soakWaits is how long a client waits for an answer: longer than the servers may take, so that it shows when they take longer.
const soakWaits = 30 * time.Second
