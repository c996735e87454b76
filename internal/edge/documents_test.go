package edge

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDocumentKey(t *testing.T) {
	assert.Equal(t, "taggie:document:ab", Redis{}.documentKey("ab"))
}

func TestDocuments(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		d := NewDocuments(Redis{Client: client}, newLimiter(client, t.Name(), 2, time.Hour))
		_, found, err := d.Find(t.Context(), "ab")
		require.NoError(t, err)
		assert.False(t, found)

		ok, err := d.Put(t.Context(), "ada", "ab", "{ viewer { name } }")
		require.NoError(t, err)
		assert.True(t, ok)
		another := NewDocuments(Redis{Client: client}, newLimiter(client, t.Name(), 2, time.Hour))
		text, found, err := another.Find(t.Context(), "ab")
		require.NoError(t, err)
		assert.True(t, found, "servers share them")
		assert.Equal(t, "{ viewer { name } }", text)
	})
}

func TestDocumentsAreKeptForAWeekAfterTheirLastUse(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		d := NewDocuments(Redis{Client: client}, newLimiter(client, t.Name(), 2, time.Hour))
		_, err := d.Put(t.Context(), "ada", "ab", "{ viewer { name } }")
		require.NoError(t, err)
		left := func() time.Duration { return client.TTL(t.Context(), Redis{}.documentKey("ab")).Val() }
		assert.Greater(t, left(), documentKept-time.Hour)
		require.NoError(t, client.Expire(t.Context(), Redis{}.documentKey("ab"), time.Hour).Err())
		_, _, err = d.Find(t.Context(), "ab")
		require.NoError(t, err)
		assert.Greater(t, left(), documentKept-time.Hour)
	})
}

// TestNobodyFillsRedisWithDocuments has the numbers of the server.
func TestNobodyFillsRedisWithDocuments(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		d := NewDocuments(Redis{Client: client}, newLimiter(client, t.Name(), DocumentBurst, DocumentEvery))
		put := func(who, hash, text string) bool {
			t.Helper()
			ok, err := d.Put(t.Context(), who, hash, text)
			require.NoError(t, err)
			return ok
		}
		assert.False(t, put("ada", "long", strings.Repeat("x", MaxDocument+1)))
		longest, kept := strings.Repeat("x", MaxDocument), 0
		for i := range 2 * DocumentBurst {
			if put("ada", strconv.Itoa(i), longest) {
				kept++
			}
		}
		assert.InDelta(t, DocumentBurst, kept, 1, "one more if this took minutes")
		_, found, err := d.Find(t.Context(), strconv.Itoa(2*DocumentBurst-1))
		require.NoError(t, err)
		assert.False(t, found)
		assert.True(t, put("grace", "hers", "text"), "each has an allowance of her own")

		atOnce, inAWeek := DocumentBurst*MaxDocument, int(documentKept/DocumentEvery)*MaxDocument
		assert.LessOrEqual(t, atOnce+inAWeek, 20_000_000)
	})
}

func TestADocumentThatIsThereCountsForNobody(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		d := NewDocuments(Redis{Client: client}, newLimiter(client, t.Name(), 2, time.Hour))
		for range 3 {
			ok, err := d.Put(t.Context(), "ada", "ab", "text")
			require.NoError(t, err)
			assert.True(t, ok)
		}
		ok, err := d.Put(t.Context(), "ada", "ab", "what its hash is of, if that was not")
		require.NoError(t, err)
		assert.True(t, ok)
		ok, err = d.Put(t.Context(), "ada", "cd", "text")
		require.NoError(t, err)
		assert.False(t, ok)
	})
}

func TestDocumentsDoNotWaitForRedis(t *testing.T) {
	addr, _ := mute(t)
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	d := NewDocuments(Redis{Client: client}, NewLimiter(Redis{Client: client}, "documents", 1, time.Second, func() time.Time { return now }))
	_, _, err := d.Find(t.Context(), "ab")
	require.Error(t, err)
	_, found, err := d.Find(t.Context(), "ab")
	require.NoError(t, err, "it is told once, and left alone for a moment")
	assert.False(t, found)
	kept, err := d.Put(t.Context(), "ada", "ab", "text")
	require.NoError(t, err)
	assert.False(t, kept)

	now = now.Add(pause)
	_, err = d.Put(t.Context(), "ada", "ab", "text")
	require.Error(t, err)
}
