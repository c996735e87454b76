package edge

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// still is a rate at which nothing comes back during a test.
var still = Rate{Capacity: 1_000_000_000, PerSecond: 1}

// newBudget returns a budget that a slow machine does not make impatient.
func newBudget(client redis.UniversalClient, name string, rate Rate) *Budget {
	b := NewBudget(Redis{Client: client}, name, rate, time.Now)
	b.patience = time.Minute
	return b
}

// onEach runs a test on an embedded Redis, on a real one, on a node of a cluster, and without any.
func onEach(t *testing.T, run func(t *testing.T, client redis.UniversalClient)) {
	both(t, run)
	t.Run("cluster", func(t *testing.T) { run(t, clusterNode(t)) })
	t.Run("away", func(t *testing.T) {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		run(t, client)
	})
}

// clusterNode starts a Redis Cluster of one node, which refuses scripts whose keys are in several slots.
func clusterNode(t *testing.T) redis.UniversalClient {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: embeddedtest.NewRedisCluster(t, 1, 0).Addrs()})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

func TestBudgetKeysOfOneCallerAreInOneSlot(t *testing.T) {
	assert.Equal(t, "taggie:budget:t_cost:{user%3A11}", Redis{}.budgetKey("t_cost", "user:11"))
	assert.Equal(t, "taggie:budget:t_cost:{user%3A11}:OP", Redis{}.paidKey("t_cost", "user:11", "OP"))
	for _, who := range []string{"ada", "}", "{", "}{", "a}b", "{}x", "ä"} {
		bucket, paid := Redis{}.budgetKey("cost", who), Redis{}.paidKey("cost", who, "}{x")
		tag := func(key string) string { return key[strings.Index(key, "{")+1 : strings.Index(key, "}")] }
		assert.NotEmpty(t, tag(bucket), who)
		assert.Equal(t, tag(bucket), tag(paid), who)
	}
}

func TestBudgetIsChargedAndGivenBack(t *testing.T) {
	onEach(t, func(t *testing.T, client redis.UniversalClient) {
		b, capacity := newBudget(client, rand.Text(), still), still.Capacity
		left, wait := b.Charge(t.Context(), "ada", "1", 600_000_000)
		assert.Zero(t, wait)
		assert.InDelta(t, capacity-600_000_000, left, 60)

		left, wait = b.Charge(t.Context(), "ada", "2", 600_000_000)
		assert.InDelta(t, float64(200_000_000*time.Second), float64(wait), float64(time.Minute), "until the rest has come back")
		assert.InDelta(t, capacity-600_000_000, left, 60, "what is refused costs nothing")

		left, wait = b.Charge(t.Context(), "grace", "3", 600_000_000)
		assert.Zero(t, wait, "she has a budget of her own")
		assert.InDelta(t, capacity-600_000_000, left, 60)

		assert.InDelta(t, capacity-1000, b.Settle(t.Context(), "ada", "1", 1000), 60)
		_, wait = b.Charge(t.Context(), "ada", "4", 600_000_000)
		assert.Zero(t, wait, "what was not used is there again")
	})
}

func TestBudgetTakesEffectOnceForAnOperation(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		b, capacity := newBudget(client, rand.Text(), still), still.Capacity
		for range 3 {
			left, wait := b.Charge(t.Context(), "ada", "1", 500_000_000)
			assert.Zero(t, wait)
			assert.InDelta(t, capacity-500_000_000, left, 60, "charged once")
		}
		for range 3 {
			assert.InDelta(t, capacity-200_000_000, b.Settle(t.Context(), "ada", "1", 200_000_000), 60, "given back once")
		}
		left, wait := b.Charge(t.Context(), "ada", "1", 500_000_000)
		assert.Zero(t, wait)
		assert.InDelta(t, capacity-200_000_000, left, 60, "a command that comes late has no effect")
	})
}

// Who asks and goes at once is charged where everybody is.
func TestBudgetIsChargedWhenTheCallerHasGone(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		name, capacity := rand.Text(), still.Capacity
		gone, leave := context.WithCancel(t.Context())
		leave()
		newBudget(client, name, still).Charge(gone, "ada", "1", 600_000_000)
		another := newBudget(client, name, still)
		left, _ := another.Charge(t.Context(), "ada", "2", 0)
		assert.InDelta(t, capacity-600_000_000, left, 60)
		newBudget(client, name, still).Settle(gone, "ada", "1", 1000)
		left, _ = another.Charge(t.Context(), "ada", "3", 0)
		assert.InDelta(t, capacity-1000, left, 60)
	})
}

func TestBudgetIsOverdrawnByWhatWasNotAsked(t *testing.T) {
	onEach(t, func(t *testing.T, client redis.UniversalClient) {
		b, capacity := newBudget(client, rand.Text(), still), still.Capacity
		b.Settle(t.Context(), "ada", "1", capacity)
		assert.InDelta(t, -500_000_000, b.Settle(t.Context(), "ada", "2", 500_000_000), 60)
		_, wait := b.Charge(t.Context(), "ada", "3", 1000)
		assert.InDelta(t, float64(500_001_000*time.Second), float64(wait), float64(time.Minute))
		assert.InDelta(t, -capacity, b.Settle(t.Context(), "ada", "4", capacity), 60, "and by no more than it holds")
	})
}

func TestBudgetComesBack(t *testing.T) {
	onEach(t, func(t *testing.T, client redis.UniversalClient) {
		b := newBudget(client, rand.Text(), Rate{Capacity: 1000, PerSecond: 10_000})
		_, wait := b.Charge(t.Context(), "ada", "1", 1000)
		require.Zero(t, wait)
		require.Eventually(t, func() bool {
			_, wait := b.Charge(t.Context(), "ada", "2", 1000)
			return wait == 0
		}, 10*time.Second, time.Millisecond)
	})
}

// A server that charged an operation by itself settles it by itself, and what Redis was charged is settled there.
func TestBudgetWhileRedisGoesAndComes(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	b := NewBudget(Redis{Client: client}, "cost", Rate{Capacity: 1000, PerSecond: 100}, func() time.Time { return now })
	left, wait := b.Charge(t.Context(), "ada", "1", 900)
	assert.Zero(t, wait)
	assert.Equal(t, 100, left)
	_, wait = b.Charge(t.Context(), "ada", "2", 300)
	assert.Equal(t, 2*time.Second, wait)
	assert.Equal(t, 500, b.Settle(t.Context(), "ada", "1", 500))
	assert.Equal(t, 400, b.Settle(t.Context(), "ada", "charged in Redis", 100), "which cannot be told")
	now = now.Add(3 * time.Second)
	left, _ = b.Charge(t.Context(), "ada", "3", 0)
	assert.Equal(t, 700, left)
}

func TestBucketsThatAreEmptyAreForgotten(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	b := newBuckets(Rate{Capacity: 1000, PerSecond: 1000})
	for i := range 10 * fewBuckets {
		now = now.Add(time.Millisecond)
		_, wait := b.charge(now, "user "+time.Duration(i).String(), time.Duration(i).String(), 100)
		require.Zero(t, wait)
		_, was := b.settle(now, "user "+time.Duration(i).String(), time.Duration(i).String(), 100)
		require.True(t, was)
	}
	assert.Less(t, len(b.empty), 2*fewBuckets)
	assert.Empty(t, b.paid)
}
