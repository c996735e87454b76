package queues

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// TestTwoTaggiesShareARedis has each of them do all that leaves something in Redis.
func TestTwoTaggiesShareARedis(t *testing.T) {
	t.Parallel()
	url := embeddedtest.RealRedis(t).URL
	var redis inRedis
	for _, prefix := range []string{"eu:", "us:"} {
		s := apitest.NewServer(t, apitest.WithRedis(url), func(c *config.Config) { c.RedisPrefix = prefix })
		s.Works()
		redis = inRedis{s}
		before := len(redis.names(t))
		s.FollowsRevocations()
		require.Eventually(t, func() bool {
			channels, err := s.App.Stores.Redis.PubSubChannels(t.Context(), prefix+"*").Result()
			return err == nil && len(channels) == 1
		}, apitest.Patience, time.Millisecond)
		l := s.Labelled(5, 0)
		stream := l.Listens(l.Labellers[0], nil)
		stream.Snapshot()
		l.Finished(l.Labellers[0], l.Claimed(l.Labellers[0], 1)[0])
		l.Counts("4 0 1 0")
		backlog, err := s.App.Labelling.Queue.Backlog(t.Context())
		require.NoError(t, err)
		assert.Zero(t, backlog.Dead)
		stream.Close()
		assert.Greater(t, len(redis.names(t)), before+15)
	}
	for _, name := range redis.names(t) {
		assert.True(t, strings.HasPrefix(name, "eu:taggie:") || strings.HasPrefix(name, "us:taggie:"), name)
	}
}

type inRedis struct{ *apitest.Server }

// names returns those of all keys and channels.
func (r inRedis) names(t *testing.T) []string {
	t.Helper()
	keys, err := r.App.Stores.Redis.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	channels, err := r.App.Stores.Redis.PubSubChannels(t.Context(), "*").Result()
	require.NoError(t, err)
	return append(keys, channels...)
}
