package edge

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Revocations tell all servers whose tokens are revoked. Redis only carries the news; whoever was away while there was some
// has to look where they are kept.
type Revocations struct {
	redis    Redis
	name     string
	patience time.Duration
}

// NewRevocations returns the revocations of the servers that give the same name. The client must heed the deadlines of contexts.
func NewRevocations(r Redis, name string) *Revocations {
	return &Revocations{redis: r, name: name, patience: time.Second}
}

// revocationsChannel is taggie:revocations:<name>.
func (r Redis) revocationsChannel(name string) string { return r.key("revocations:" + name) }

// Announce tells all servers that listen at the moment.
func (r *Revocations) Announce(ctx context.Context, id string, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	message := strconv.FormatInt(at.UnixMilli(), 10) + " " + id
	if err := r.redis.Client.Publish(ctx, r.redis.revocationsChannel(r.name), message).Err(); err != nil {
		return fmt.Errorf("announce a revocation: %w", err)
	}
	return nil
}

// Follow tells of each revocation until ctx ends. Whenever it has begun to listen, at first and after the connection was lost,
// joined looks what was missed. Follow ends with the error of either.
func (r *Revocations) Follow(ctx context.Context, joined func(context.Context) error, told func(ctx context.Context, id string, at time.Time) error) error {
	subscription := r.redis.Client.Subscribe(ctx, r.redis.revocationsChannel(r.name))
	defer func() { _ = subscription.Close() }() // the connection goes either way
	news := subscription.ChannelWithSubscriptions()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, open := <-news:
			if !open {
				return fmt.Errorf("follow revocations: %w", redis.ErrClosed)
			}
			switch m := m.(type) {
			case *redis.Subscription:
				if err := joined(ctx); err != nil {
					return fmt.Errorf("look which revocations were missed: %w", err)
				}
			case *redis.Message:
				millis, id, _ := strings.Cut(m.Payload, " ")
				at, err := strconv.ParseInt(millis, 10, 64)
				if err != nil {
					continue // not ours
				}
				if err := told(ctx, id, time.UnixMilli(at).UTC()); err != nil {
					return fmt.Errorf("heed a revocation: %w", err)
				}
			}
		}
	}
}
