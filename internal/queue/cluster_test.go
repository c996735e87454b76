package queue

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/child"
)

// slots is how many there are in a Redis Cluster.
const slots = 16384

// clusterClient starts a Redis Cluster of three nodes, and stops it when the test is over. Without redis-server in PATH the test
// is skipped, or fails if TAGGIE_TEST_REQUIRE names "cluster".
func clusterClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("TAGGIE_TEST_REQUIRE"), ","), "cluster") {
			t.Fatal("redis-server is not in PATH, and TAGGIE_TEST_REQUIRE asks for a cluster: install Redis (Debian: apt-get install redis-server)")
		}
		t.Skip("left out: redis-server is not in PATH; install Redis (Debian: apt-get install redis-server) to run this test")
	}
	const nodes = 3
	var addrs []string
	var clients []*redis.Client
	var first, firstBus string
	for i := range nodes {
		port, bus := freePort(t), freePort(t)
		var printed bytes.Buffer // read only when the process is over
		node, err := child.Start(exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
			"--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "15000"), &printed)
		require.NoError(t, err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			assert.NoError(t, node.Stop(ctx))
		})
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
		t.Cleanup(func() { assert.NoError(t, client.Close()) })
		require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 20*time.Second, 5*time.Millisecond, "node %d answers", i)
		require.NoError(t, client.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		require.NoError(t, client.ClusterAddSlotsRange(t.Context(), i*slots/nodes, (i+1)*slots/nodes-1).Err())
		if i == 0 {
			first, firstBus = port, bus
		} else {
			require.NoError(t, client.Do(t.Context(), "CLUSTER", "MEET", "127.0.0.1", first, firstBus).Err())
		}
		addrs, clients = append(addrs, "127.0.0.1:"+port), append(clients, client)
	}
	for i, client := range clients {
		require.Eventually(t, func() bool {
			info, err := client.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(nodes))
		}, 30*time.Second, 10*time.Millisecond, "node %d knows the others", i)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, PoolSize: 100})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}
