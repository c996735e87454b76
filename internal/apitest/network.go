package apitest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// cutting is a connection that ends after so many bytes in both directions together, in the middle of whatever that is.
type cutting struct {
	net.Conn
	mu   sync.Mutex
	left int
}

var errCut = errors.New("the connection was cut")

// take returns how many of n bytes pass.
func (c *cutting) take(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, c.left)
	c.left -= n
	return n
}

// Read reads what passes.
func (c *cutting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if passes := c.take(n); passes < n {
		_ = c.Close()
		return passes, errCut
	}
	return n, err
}

// Write writes what passes.
func (c *cutting) Write(p []byte) (int, error) {
	passes := c.take(len(p))
	n, err := c.Conn.Write(p[:passes])
	if passes < len(p) {
		_ = c.Close()
		return n, errors.Join(err, errCut)
	}
	return n, err
}

// After makes connections that are cut after so many bytes.
func After(n int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &cutting{Conn: conn, left: n}, err
	}
}

// bridge is the way to a Redis, which can be cut.
type bridge struct {
	t    *testing.T
	addr string // of this end
	To   string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

// NewBridge returns the way to a Redis of the test's own, and the URL of this end.
func NewBridge(t *testing.T) (b *bridge, url string) {
	t.Helper()
	options, err := config.Load([]string{"TAGGIE_REDIS_URL=" + embeddedtest.RealRedis(t).URL})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b = &bridge{t: t, addr: listener.Addr().String(), To: options.Redis.Addrs[0], conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = listener.Close()
		b.Cut()
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go b.carry(near)
		}
	}()
	return b, "redis://" + b.addr + "/0"
}

// carry carries what is said in both directions.
func (b *bridge) carry(near net.Conn) {
	defer func() { _ = near.Close() }()
	far, err := net.Dial("tcp", b.To)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	b.mu.Lock()
	if b.down {
		b.mu.Unlock()
		return
	}
	b.conns[near], b.conns[far] = true, true
	b.mu.Unlock()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// Cut breaks all connections, and each that is made until mend.
func (b *bridge) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = true
	for c := range b.conns {
		_ = c.Close()
	}
	clear(b.conns)
}

func (b *bridge) Mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = false
}
