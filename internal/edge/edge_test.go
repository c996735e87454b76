package edge

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

func TestLimitKey(t *testing.T) {
	assert.Equal(t, "taggie:limit:lookup:{u1}", limitKey("lookup", "u1"))
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

func TestLimiterAllowsABurstAndThenRefuses(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		l := NewLimiter(client, t.Name(), 5, time.Hour)
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
		l := NewLimiter(client, t.Name(), 1, 20*time.Millisecond)
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
	_, err := NewLimiter(client, "lookup", 1, time.Second).Allow(t.Context(), "ada")
	assert.Error(t, err)
}
