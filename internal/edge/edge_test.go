package edge

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

func TestLimitKey(t *testing.T) {
	assert.Equal(t, "taggie:limit:lookup:{u1}", Redis{}.limitKey("lookup", "u1"))
}

// both runs a test on the embedded Redis and on a real one.
func both(t *testing.T, run func(t *testing.T, client redis.UniversalClient)) {
	for name, start := range map[string]func(testing.TB) embedded.Endpoint{"embedded": embeddedtest.Redis, "redis-server": embeddedtest.RealRedis} {
		t.Run(name, func(t *testing.T) {
			options, err := redis.ParseURL(start(t).URL)
			require.NoError(t, err)
			client := redis.NewClient(options)
			t.Cleanup(func() { assert.NoError(t, client.Close()) })
			run(t, client)
		})
	}
}

// newLimiter returns a limiter that a slow machine does not make impatient.
func newLimiter(client redis.UniversalClient, name string, burst int, every time.Duration) *Limiter {
	l := NewLimiter(Redis{Client: client}, name, burst, every, time.Now)
	l.patience = time.Minute
	return l
}

func TestLimiterAllowsABurstAndThenRefuses(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		l := newLimiter(client, rand.Text(), 5, time.Hour)
		for range 5 {
			ok, err := l.Allow(t.Context(), "ada")
			require.NoError(t, err)
			assert.True(t, ok)
		}
		ok, err := l.Allow(t.Context(), "ada")
		require.NoError(t, err)
		assert.False(t, ok, "the sixth at once")
		ok, err = l.Allow(t.Context(), "grace")
		require.NoError(t, err)
		assert.True(t, ok, "another user has a bucket of her own")
	})
}

func TestLimiterFillsUpAgain(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		l := newLimiter(client, rand.Text(), 1, 20*time.Millisecond)
		ok, err := l.Allow(t.Context(), "ada")
		require.NoError(t, err)
		require.True(t, ok)
		require.Eventually(t, func() bool {
			ok, err := l.Allow(t.Context(), "ada")
			return err == nil && ok
		}, 10*time.Second, time.Millisecond)
	})
}

func TestLimiterTellsWhenRedisDoesNotAnswer(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	_, err := NewLimiter(Redis{Client: client}, "lookup", 1, time.Second, time.Now).Allow(t.Context(), "ada")
	assert.Error(t, err)
}

// mute accepts connections and never answers; it counts them.
func mute(t *testing.T) (addr string, accepted *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	accepted = &atomic.Int32{}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			serving.Go(func() {
				_, _ = io.Copy(io.Discard, conn) // until the client hangs up
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	return listener.Addr().String(), accepted
}

func TestLimiterDoesNotWaitForRedis(t *testing.T) {
	addr, accepted := mute(t)
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	l := NewLimiter(Redis{Client: client}, "lookup", 1, time.Second, func() time.Time { return now })

	start := time.Now()
	_, err := l.Allow(t.Context(), "ada")
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrAway)
	assert.Less(t, time.Since(start), 2*time.Second, "the client's own limits are 3 s and more")
	require.Eventually(t, func() bool { return accepted.Load() == 1 }, 10*time.Second, time.Millisecond, "it was asked, once")

	_, err = l.Allow(t.Context(), "ada")
	require.ErrorIs(t, err, ErrAway)
	assert.EqualValues(t, 1, accepted.Load(), "left alone for a moment")

	now = now.Add(pause)
	_, err = l.Allow(t.Context(), "ada")
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrAway, "and asked again")
}

func TestLimiterDoesNotBlameRedisForAClientThatHasGone(t *testing.T) {
	addr, _ := mute(t)
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	l := NewLimiter(Redis{Client: client}, "lookup", 1, time.Second, time.Now)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		_, err := l.Allow(gone, "ada")
		require.ErrorIs(t, err, context.Canceled)
	}
}
