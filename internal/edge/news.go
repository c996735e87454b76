package edge

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// News tell all servers that something happened: that the tokens of a user are revoked, or that there are events of a user's notes. Redis only
// carries the news; whoever was away while there was some has to look where it is kept.
type News struct {
	redis    Redis
	of       string
	name     string
	patience time.Duration
}

// NewNews returns the news of a kind of the servers that give the same name. The client must heed the deadlines of contexts.
func NewNews(r Redis, of, name string) *News {
	return &News{redis: r, of: of, name: name, patience: time.Second}
}

// newsChannel is taggie:<of>:<name>, as in taggie:revocations:<name>.
func (r Redis) newsChannel(of, name string) string { return r.key(of + ":" + name) }

// Announce tells all servers that listen at the moment.
func (n *News) Announce(ctx context.Context, id string, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, n.patience)
	defer cancel()
	message := strconv.FormatInt(at.UnixMilli(), 10) + " " + id
	if err := n.redis.Client.Publish(ctx, n.redis.newsChannel(n.of, n.name), message).Err(); err != nil {
		return fmt.Errorf("announce %s: %w", n.of, err)
	}
	return nil
}

// Follow tells of each announcement until ctx ends. Whenever it has begun to listen, at first and after the connection was lost,
// joined looks what was missed. Follow ends with the error of either.
func (n *News) Follow(ctx context.Context, joined func(context.Context) error, told func(ctx context.Context, id string, at time.Time) error) error {
	subscription := n.redis.Client.Subscribe(ctx, n.redis.newsChannel(n.of, n.name))
	defer func() { _ = subscription.Close() }() // the connection goes either way
	news := subscription.ChannelWithSubscriptions()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, open := <-news:
			if !open {
				return fmt.Errorf("follow %s: %w", n.of, redis.ErrClosed)
			}
			switch m := m.(type) {
			case *redis.Subscription:
				if err := joined(ctx); err != nil {
					return fmt.Errorf("look which %s were missed: %w", n.of, err)
				}
			case *redis.Message:
				millis, id, _ := strings.Cut(m.Payload, " ")
				at, err := strconv.ParseInt(millis, 10, 64)
				if err != nil {
					continue // not ours
				}
				if err := told(ctx, id, time.UnixMilli(at).UTC()); err != nil {
					return fmt.Errorf("heed one of the %s: %w", n.of, err)
				}
			}
		}
	}
}
