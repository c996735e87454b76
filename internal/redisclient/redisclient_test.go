package redisclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// refusal is an answer of Redis that is an error.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func TestErrorsThatMayMeanANewMaster(t *testing.T) {
	for err, want := range map[error]bool{
		nil:                                 false,
		redis.Nil:                           false,
		context.Canceled:                    false,
		refusal("WRONGTYPE Operation"):      false,
		refusal("CLUSTERDOWN Hash slot"):    true,
		refusal("READONLY You can't write"): true,
		context.DeadlineExceeded:            true,
		fmt.Errorf("read: %w", io.EOF):      true,
		errors.New("connection refused"):    true,
	} {
		assert.Equal(t, want, suspicious(err), "%v", err)
	}
}

func TestTheMapIsNotReloadedAllTheTime(t *testing.T) {
	reloads := 0
	w := &watch{reload: func() { reloads++ }}
	for range 1000 {
		w.look(io.EOF)
	}
	assert.Equal(t, 1, reloads)
}

func TestEachModeHasItsClient(t *testing.T) {
	options := redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}
	for want, change := range map[string]func(*redis.UniversalOptions){
		"*redis.Client": func(*redis.UniversalOptions) {},
		// with one address too
		"*redis.ClusterClient": func(o *redis.UniversalOptions) { o.IsClusterMode = true },
	} {
		o := options
		change(&o)
		client := New(o)
		assert.Equal(t, want, fmt.Sprintf("%T", client))
		require.NoError(t, client.Close())
	}
}

func TestAClusterIsReachedByOneOfItsNodes(t *testing.T) {
	t.Parallel()
	cluster := embeddedtest.NewRedisCluster(t, 3, 0)
	client := New(redis.UniversalOptions{Addrs: cluster.Addrs()[2:], IsClusterMode: true})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	for i := range 20 {
		require.NoError(t, client.Set(t.Context(), fmt.Sprint("key", i), i, 0).Err())
	}
}

func ExampleNew() {
	client := New(redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, IsClusterMode: true, MaxRetries: -1}) // nothing listens there
	defer func() { _ = client.Close() }()
	fmt.Println(client.Ping(context.Background()).Err() != nil)
	// Output: true
}
