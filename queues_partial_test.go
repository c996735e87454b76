package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAKeyThatRedisLostIsMissedAndTheProjectRebuilt(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	l := s.labelled(6, 2)
	s.works()
	l.counts("4 0 2 0")
	redis := s.app.stores.redis
	for _, kind := range []string{"taggie:team:statistics:", "taggie:project:metadata:"} {
		keys, err := redis.Keys(t.Context(), kind+"{"+string(l.key())+"}*").Result()
		require.NoError(t, err)
		require.NotEmpty(t, keys)
		require.NoError(t, redis.Del(t.Context(), keys...).Err())
		require.Eventually(t, func() bool {
			return strings.Contains(s.logs.String(), "does not fit together")
		}, patience, 20*time.Millisecond, "noticed")
		require.Eventually(t, func() bool {
			n, err := redis.Exists(t.Context(), keys...).Result()
			return err == nil && int(n) == len(keys)
		}, patience, 20*time.Millisecond, "rebuilt by itself")
		l.counts("4 0 2 0")
	}
}
