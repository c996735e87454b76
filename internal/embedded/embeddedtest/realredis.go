package embeddedtest

import (
	"bufio"
	"context"
	"net"
	"testing"
	"time"

	"github.com/taggie/taggie/internal/embedded"
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
	return embedded.Endpoint{URL: NewRedis(t).URL()}
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
