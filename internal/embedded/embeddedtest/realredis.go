package embeddedtest

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/child"
)

const (
	realRedisTimeout = 20 * time.Second
	realRedisPorts   = 5 // tries, when somebody else takes the chosen port first
)

// RealRedis starts a Redis server of the test's own, empty and without persistence, and stops it when the
// test is over. Without redis-server in PATH the test is skipped, or fails if TAGGIE_TEST_REQUIRE names
// "redis".
func RealRedis(t testing.TB) embedded.Endpoint {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if required("redis") {
			t.Fatal("redis-server is not in PATH, and TAGGIE_TEST_REQUIRE asks for it: install Redis (Debian: apt-get install redis-server)")
		}
		t.Skip("left out: redis-server is not in PATH; install Redis (Debian: apt-get install redis-server) to run this test")
	}
	for range realRedisPorts {
		if address, ok := startRealRedis(t, path); ok {
			return embedded.Endpoint{URL: "redis://" + address + "/0"}
		}
	}
	t.Fatal("redis-server did not get a port")
	return embedded.Endpoint{}
}

// startRealRedis reports false when the port it chose was taken meanwhile.
func startRealRedis(t testing.TB, path string) (address string, ok bool) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("choose a port for redis-server: %v", err)
	}
	address = listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(address)

	var printed bytes.Buffer // read only when the process is over
	server, err := child.Start(exec.Command(path, "--port", port, "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", t.TempDir()), &printed)
	if err != nil {
		t.Fatalf("start redis-server: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), realRedisTimeout)
	defer cancel()
	for !answersPing(ctx, address) {
		select {
		case <-server.Done():
			if strings.Contains(printed.String(), "Address already in use") {
				return "", false
			}
			t.Fatalf("redis-server ended at once: %s", printed.String())
		case <-ctx.Done():
			_ = server.Stop(ctx)
			t.Fatalf("redis-server does not answer: %s", printed.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), realRedisTimeout)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Errorf("stop redis-server: %v", err)
		}
	})
	return address, true
}

func answersPing(ctx context.Context, address string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && answer == "+PONG\r\n"
}
