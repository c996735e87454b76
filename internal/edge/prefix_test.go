package edge

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSeveralInOneRedisSeeNothingOfOneAnother has two Taggies that differ in nothing but their prefixes.
func TestSeveralInOneRedisSeeNothingOfOneAnother(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		a, b := Redis{Client: client, Prefix: t.Name() + ":a:"}, Redis{Client: client, Prefix: t.Name() + ":b:"}
		for _, r := range []Redis{a, b} {
			limiter := NewLimiter(r, "limit", 1, time.Hour, time.Now)
			limiter.patience = time.Minute
			ok, err := limiter.Allow(t.Context(), "ada")
			require.NoError(t, err)
			assert.True(t, ok, "nobody of this Taggie was before")
			ok, err = limiter.Allow(t.Context(), "ada")
			require.NoError(t, err)
			assert.False(t, ok)

			left, _ := NewBudget(r, "cost", still, time.Now).Charge(t.Context(), "ada", "1", 100)
			assert.Equal(t, still.Capacity-100, left)

			_, found, err := NewDocuments(r, limiter).Find(t.Context(), "ab")
			require.NoError(t, err)
			assert.False(t, found)
			put, err := NewDocuments(r, limiter).Put(t.Context(), "grace", "ab", "{ viewer { name } }")
			require.NoError(t, err)
			assert.True(t, put)
			for _, key := range client.Keys(t.Context(), t.Name()+"*").Val() {
				assert.Regexp(t, `:[ab]:taggie:`, key)
			}
		}
		n := follow(t, NewNews(a, "revocations", "users"))
		<-n.joined
		require.NoError(t, NewNews(b, "revocations", "users").Announce(t.Context(), "lin", time.UnixMilli(0)))
		require.NoError(t, NewNews(a, "revocations", "users").Announce(t.Context(), "ada", time.UnixMilli(0)))
		assert.Equal(t, "ada 1970-01-01T00:00:00Z", <-n.told)
	})
}
