package queue

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// clusterClient starts a Redis Cluster of three nodes, and stops it when the test is over.
func clusterClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: embeddedtest.NewRedisCluster(t, 3, 0).Addrs(), PoolSize: 100})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}
