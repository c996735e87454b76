package embeddedtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/embedded/child"
)

// RedisNode is a Redis server, alone or one of several that belong together.
type RedisNode struct {
	Addr    string
	Client  *redis.Client // of this node alone
	process *child.Process
	command []string
}

// NewRedis starts a Redis server of the test's own, which can be broken, and stops it when the test is over. Without redis-server in
// PATH the test is skipped, or fails if TAGGIE_TEST_REQUIRE names "redis".
func NewRedis(t testing.TB) *RedisNode {
	t.Helper()
	return startNode(t, redisServer(t, "redis"))
}

// URL is what a server is told of the node when it is alone.
func (n *RedisNode) URL() string { return "redis://" + n.Addr + "/0" }

// Kill ends the node at once.
func (n *RedisNode) Kill() { n.process.Kill() }

// Restart starts a node again that was killed, at the same address and with what [RedisNode.Save] kept; without that it is empty.
func (n *RedisNode) Restart(t testing.TB) {
	t.Helper()
	if !n.start(t) {
		t.Fatal("somebody else has taken the port of redis-server")
	}
}

// Save keeps what the node has now for when it is started again.
func (n *RedisNode) Save(t testing.TB) {
	t.Helper()
	must(t, n.Client.Save(t.Context()).Err())
}

// Sleep has the node answer nobody for a while, and returns when that is over.
func (n *RedisNode) Sleep(ctx context.Context, d time.Duration) {
	_ = n.Client.WithTimeout(d+realRedisTimeout).Do(ctx, "DEBUG", "SLEEP", d.Seconds()).Err()
}

// Follows reports whether the node is a replica that has a connection to its master, and has its data.
func (n *RedisNode) Follows(ctx context.Context) bool {
	info, err := n.Client.Info(ctx, "replication").Result()
	return err == nil && strings.Contains(info, "master_link_status:up")
}

// Hang has the node answer nobody from now on, though its connections stay.
func (n *RedisNode) Hang() {
	go func() { _ = n.Client.Do(context.Background(), "DEBUG", "SLEEP", "600").Err() }() // until it is killed
}

// Master reports whether the node is a master, as far as it knows.
func (n *RedisNode) Master(ctx context.Context) bool {
	role, err := n.Client.Do(ctx, "ROLE").Slice()
	return err == nil && len(role) > 0 && role[0] == "master"
}

// RedisCluster is a Redis Cluster of the test's own.
type RedisCluster struct{ Nodes []*RedisNode }

// nodeTimeout is how long a node of a Cluster may be silent before the others take it for dead. On a busy machine a node is silent
// for longer than one would think, and most tests want no election.
const nodeTimeout, nodeTimeoutWithReplicas = 15 * time.Second, 2 * time.Second

// Slots is how many there are in a Redis Cluster.
const Slots = 16384

// NewRedisCluster starts a Redis Cluster of so many masters, each with so many replicas, and stops it when the test is over. With replicas
// they elect a new master in two to four seconds. Without redis-server in PATH the test is skipped, or fails if TAGGIE_TEST_REQUIRE
// names "cluster".
func NewRedisCluster(t testing.TB, masters, replicas int) *RedisCluster {
	t.Helper()
	path := redisServer(t, "cluster")
	timeout := nodeTimeout
	if replicas > 0 {
		timeout = nodeTimeoutWithReplicas
	}
	c := &RedisCluster{}
	for i := range masters * (1 + replicas) {
		c.Nodes = append(c.Nodes, startNode(t, path, "--repl-diskless-sync-delay", "0",
			clustered, "yes", "--cluster-node-timeout", strconv.FormatInt(timeout.Milliseconds(), 10)))
		must(t, c.Nodes[i].Client.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
	}
	bus, err := c.Nodes[0].Client.ConfigGet(t.Context(), "cluster-port").Result()
	must(t, err)
	_, port, _ := net.SplitHostPort(c.Nodes[0].Addr)
	for _, n := range c.Nodes[1:] {
		must(t, n.Client.Do(t.Context(), "CLUSTER", "MEET", "127.0.0.1", port, bus["cluster-port"]).Err())
	}
	for i, n := range c.Nodes[:masters] {
		must(t, n.Client.ClusterAddSlotsRange(t.Context(), i*Slots/masters, (i+1)*Slots/masters-1).Err())
	}
	c.eventually(t, "know one another", func(n *RedisNode) bool {
		info, err := n.Client.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(len(c.Nodes))+"\r")
	})
	for i, n := range c.Nodes[masters:] {
		id, err := c.Nodes[i%masters].Client.Do(t.Context(), "CLUSTER", "MYID").Text()
		must(t, err)
		must(t, n.Client.ClusterReplicate(t.Context(), id).Err())
	}
	c.eventually(t, "are in order", func(n *RedisNode) bool {
		info, err := n.Client.ClusterInfo(t.Context()).Result()
		nodes, err2 := n.Client.ClusterNodes(t.Context()).Result()
		return err == nil && err2 == nil && strings.Contains(info, "cluster_state:ok") && strings.Count(nodes, "slave") == masters*replicas
	})
	for _, n := range c.Nodes[masters:] {
		waitFor(t, "a replica has what its master has", func() bool { return n.Follows(t.Context()) })
	}
	return c
}

// Addrs are the addresses of all nodes.
func (c *RedisCluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr
	}
	return addrs
}

// URL is what a server is told of the cluster.
func (c *RedisCluster) URL() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }

// Owner returns the master of a key's slot, as the first node that answers knows it.
func (c *RedisCluster) Owner(t testing.TB, key string) *RedisNode {
	t.Helper()
	for _, n := range c.Nodes {
		slot, err := n.Client.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			continue
		}
		shards, err := n.Client.ClusterShards(t.Context()).Result()
		must(t, err)
		for _, shard := range shards {
			if !slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End }) {
				continue
			}
			for _, node := range shard.Nodes {
				if node.Role == "master" && node.Health == "online" {
					return c.Nodes[slices.Index(c.Addrs(), net.JoinHostPort(node.IP, strconv.FormatInt(node.Port, 10)))]
				}
			}
		}
	}
	t.Fatalf("no node knows who has %q", key)
	return nil
}

func (c *RedisCluster) eventually(t testing.TB, what string, so func(n *RedisNode) bool) {
	t.Helper()
	for _, n := range c.Nodes {
		waitFor(t, "the nodes of the cluster "+what, func() bool { return so(n) })
	}
}

// RedisSentinels are a master of the test's own, its replicas, and the Sentinels that watch them.
type RedisSentinels struct {
	Nodes     []*RedisNode // the first one is the master at first
	Sentinels []*RedisNode
}

// SentinelMaster is the name that the Sentinels know the master by.
const SentinelMaster = "taggie"

// NewRedisSentinels starts a master with two replicas and three Sentinels, and stops them when the test is over. They replace the master two
// to four seconds after it was killed. Without redis-server in PATH the test is skipped, or fails if TAGGIE_TEST_REQUIRE names "redis".
func NewRedisSentinels(t testing.TB) *RedisSentinels {
	t.Helper()
	path := redisServer(t, "redis")
	const replicas, sentinels = 2, 3
	s := &RedisSentinels{Nodes: []*RedisNode{startNode(t, path)}}
	_, port, _ := net.SplitHostPort(s.Nodes[0].Addr)
	for range replicas {
		s.Nodes = append(s.Nodes, startNode(t, path, "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1 "+port))
	}
	for _, n := range s.Nodes[1:] {
		waitFor(t, "a replica has what its master has", func() bool { return n.Follows(t.Context()) })
	}
	for range sentinels {
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("sentinel monitor %[1]s 127.0.0.1 %[2]s 2\nsentinel down-after-milliseconds %[1]s 1500\nsentinel failover-timeout %[1]s 5000\n", SentinelMaster, port)
		must(t, os.WriteFile(file, []byte(text), 0o600))
		s.Sentinels = append(s.Sentinels, startNode(t, path, file, sentinel))
	}
	for _, one := range s.Sentinels {
		waitFor(t, "a Sentinel knows the others and the replicas", func() bool {
			known, err := one.Client.Do(t.Context(), "SENTINEL", "MASTER", SentinelMaster).Result()
			text := fmt.Sprint(known)
			return err == nil && strings.Contains(text, fmt.Sprintf("num-slaves:%d", replicas)) && strings.Contains(text, fmt.Sprintf("num-other-sentinels:%d", sentinels-1))
		})
	}
	return s
}

// URL is what a server is told of the Sentinels.
func (s *RedisSentinels) URL() string {
	addrs := make([]string, len(s.Sentinels))
	for i, n := range s.Sentinels {
		addrs[i] = n.Addr
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + SentinelMaster
}

// redisServer returns where redis-server is; when it is missing, the test is skipped, or fails when it must not be.
func redisServer(t testing.TB, requirement string) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err == nil {
		return path
	}
	if required(requirement) {
		t.Fatalf("redis-server is not in PATH, and TAGGIE_TEST_REQUIRE asks for %s: install Redis (Debian: apt-get install redis-server)", requirement)
	}
	t.Skip("left out: redis-server is not in PATH; install Redis (Debian: apt-get install redis-server) to run this test")
	return ""
}

// clustered and sentinel are options of a Redis server that change how it is started.
const clustered, sentinel = "--cluster-enabled", "--sentinel"

// startNode starts a Redis server without persistence. The first of the arguments may be a file of settings.
func startNode(t testing.TB, path string, args ...string) *RedisNode {
	t.Helper()
	var file []string
	if len(args) > 0 && !strings.HasPrefix(args[0], "--") {
		file, args = args[:1], args[1:]
	}
	for range realRedisPorts {
		port := freePort(t)
		all := append(append(slices.Clone(file), "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir()), args...)
		if !slices.Contains(args, sentinel) {
			all = append(all, "--save", "", "--appendonly", "no", "--enable-debug-command", "local")
		}
		if slices.Contains(args, clustered) {
			all = append(all, "--cluster-port", freePort(t))
		}
		n := &RedisNode{Addr: "127.0.0.1:" + port, command: append([]string{path}, all...)}
		if n.start(t) {
			n.Client = redis.NewClient(&redis.Options{Addr: n.Addr, MaxRetries: -1})
			t.Cleanup(func() { _ = n.Client.Close() })
			return n
		}
	}
	t.Fatal("redis-server did not get a port")
	return nil
}

// start starts the process of a node, and returns when it answers. It reports false when the port was taken meanwhile.
func (n *RedisNode) start(t testing.TB) bool {
	t.Helper()
	var printed bytes.Buffer // read only when the process is over
	process, err := child.Start(exec.CommandContext(context.WithoutCancel(t.Context()), n.command[0], n.command[1:]...), &printed)
	must(t, err)
	t.Cleanup(process.Kill) // it has nothing to lose
	n.process = process
	return waitForNode(t, n, &printed)
}

// waitForNode reports false when the port was taken meanwhile.
func waitForNode(t testing.TB, n *RedisNode, printed *bytes.Buffer) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), realRedisTimeout)
	defer cancel()
	for !answersPing(ctx, n.Addr) {
		select {
		case <-n.process.Done():
			if strings.Contains(printed.String(), "Address already in use") {
				return false
			}
			t.Fatalf("redis-server ended at once: %s", printed.String())
		case <-ctx.Done():
			t.Fatal("redis-server does not answer")
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}

// freePort returns a port that nobody uses at the moment.
func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must(t, err)
	return port
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until something is so.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}
