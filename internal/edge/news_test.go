package edge

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewsChannel(t *testing.T) {
	assert.Equal(t, "taggie:revocations:t_users", Redis{}.newsChannel("revocations", "t_users"))
}

// news is what a follower is told, in its order.
type news struct {
	joined chan struct{}
	told   chan string
	ended  chan error
	stop   context.CancelFunc
}

func follow(t *testing.T, r *News) *news {
	ctx, cancel := context.WithCancel(t.Context())
	n := &news{joined: make(chan struct{}, 10), told: make(chan string, 10), ended: make(chan error, 1), stop: cancel}
	go func() {
		n.ended <- r.Follow(ctx, func(context.Context) error {
			n.joined <- struct{}{}
			return nil
		}, func(_ context.Context, id string, at time.Time) error {
			n.told <- id + " " + at.Format(time.RFC3339Nano)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-n.ended)
	})
	return n
}

func TestEveryFollowerIsTold(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		r := NewNews(Redis{Client: client}, "revocations", t.Name())
		r.patience = time.Minute
		first, second, other := follow(t, r), follow(t, r), follow(t, NewNews(Redis{Client: client}, "revocations", "another"))
		for _, n := range []*news{first, second, other} {
			<-n.joined
		}
		at := time.Date(2026, 11, 22, 8, 0, 0, 123e6, time.UTC)
		require.NoError(t, r.Announce(t.Context(), "a user", at))
		for _, n := range []*news{first, second} {
			assert.Equal(t, "a user 2026-11-22T08:00:00.123Z", <-n.told)
		}
		assert.Empty(t, other.told)
	})
}

// TestWhoLostTheConnectionLooksAgain cuts a follower off, as a failover does.
func TestWhoLostTheConnectionLooksAgain(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		options := *client.(*redis.Client).Options()
		conns := make(chan net.Conn, 10)
		options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			conns <- conn
			return conn, err
		}
		follower := redis.NewClient(&options)
		t.Cleanup(func() { assert.NoError(t, follower.Close()) })
		n := follow(t, NewNews(Redis{Client: follower}, "revocations", t.Name()))
		<-n.joined
		require.NoError(t, (<-conns).Close())
		<-n.joined
		r := NewNews(Redis{Client: client}, "revocations", t.Name())
		r.patience = time.Minute
		require.NoError(t, r.Announce(t.Context(), "later", time.UnixMilli(0)))
		assert.Equal(t, "later 1970-01-01T00:00:00Z", <-n.told)
	})
}

func TestFollowingEndsWithWhatKeepsFromLooking(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		away := errors.New("the store is away")
		err := NewNews(Redis{Client: client}, "revocations", t.Name()).Follow(t.Context(), func(context.Context) error { return away }, nil)
		require.ErrorIs(t, err, away)
	})
}

func TestFollowingEndsWithWhatKeepsFromHeeding(t *testing.T) {
	both(t, func(t *testing.T, client redis.UniversalClient) {
		away := errors.New("the store is away")
		r := NewNews(Redis{Client: client}, "revocations", t.Name())
		r.patience = time.Minute
		err := r.Follow(t.Context(), func(ctx context.Context) error { return r.Announce(ctx, "a user", time.Now()) },
			func(context.Context, string, time.Time) error { return away })
		require.ErrorIs(t, err, away)
	})
}

func TestAnnouncementsDoNotWaitForLong(t *testing.T) {
	addr, _ := mute(t)
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	r := NewNews(Redis{Client: client}, "revocations", "x")
	r.patience = 10 * time.Millisecond
	require.Error(t, r.Announce(t.Context(), "a user", time.Now()))
}
