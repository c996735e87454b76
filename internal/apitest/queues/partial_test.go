package queues

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestAKeyThatRedisLostIsMissedAndTheProjectRebuilt(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	l := s.Labelled(6, 2)
	s.Works()
	l.Counts("4 0 2 0")
	redis := s.App.Stores.Redis
	for _, kind := range []string{"taggie:team:statistics:", "taggie:project:metadata:"} {
		keys, err := redis.Keys(t.Context(), kind+"{"+string(l.Key())+"}*").Result()
		require.NoError(t, err)
		require.NotEmpty(t, keys)
		require.NoError(t, redis.Del(t.Context(), keys...).Err())
		require.Eventually(t, func() bool {
			return strings.Contains(s.Logs.String(), "does not fit together")
		}, apitest.Patience, 20*time.Millisecond, "noticed")
		require.Eventually(t, func() bool {
			n, err := redis.Exists(t.Context(), keys...).Result()
			return err == nil && int(n) == len(keys)
		}, apitest.Patience, 20*time.Millisecond, "rebuilt by itself")
		l.Counts("4 0 2 0")
	}
}
