// Package edge keeps in Redis what the front of the server needs there.
//
// It knows rates; budgets, persisted queries and revocations follow. It must
// not know the domain or the graph. Everything here may vanish at any moment:
// Redis is disposable. Start reading at [Limiter].
package edge

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limiter allows a number of events at once and then a steady rate, for all servers together.
type Limiter struct {
	client redis.UniversalClient
	name   string
	burst  int
	every  time.Duration
}

// NewLimiter returns a limiter that allows burst events at once and one more in each interval.
func NewLimiter(client redis.UniversalClient, name string, burst int, every time.Duration) *Limiter {
	return &Limiter{client: client, name: name, burst: burst, every: every}
}

// limitKey is taggie:limit:<name>:{<who>}.
func limitKey(name, who string) string { return "taggie:limit:" + name + ":{" + who + "}" }

// allow is a leaky bucket kept as the one instant at which it will be empty. Time is Redis's own, so that servers with
// different clocks agree, and a repeated command costs one event at most.
//
// KEYS: 1 the bucket. ARGV: 1 burst, 2 microseconds per event. Returns: 1 when the event is allowed, else 0.
var allow = redis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local burst, every = tonumber(ARGV[1]), tonumber(ARGV[2])
local empty = tonumber(redis.call('GET', KEYS[1]) or now)
if empty < now then empty = now end
if empty + every - now > burst * every then return 0 end
empty = empty + every
redis.call('SET', KEYS[1], string.format('%.0f', empty), 'PX', math.ceil((empty - now) / 1000) + 1)
return 1
`)

// Allow reports whether one more event of who is allowed. An error means that Redis did not answer.
func (l *Limiter) Allow(ctx context.Context, who string) (bool, error) {
	n, err := allow.Run(ctx, l.client, []string{limitKey(l.name, who)}, l.burst, l.every.Microseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("ask the limit %s: %w", l.name, err)
	}
	return n == 1, nil
}
