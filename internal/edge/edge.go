// Package edge keeps in Redis what the front of the server needs there.
//
// It knows rates, budgets, persisted documents and how servers tell one another of news. It must
// not know the domain or the graph. Everything here may vanish at any moment:
// Redis is disposable. Start reading at [Limiter], [Budget] and [News].
package edge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/telemetry"
)

const (
	// patience is how long an event waits for Redis: it is to be allowed without, if need be.
	patience = 200 * time.Millisecond
	// pause is how long Redis is not asked after it did not answer.
	pause = time.Second
)

// ErrAway means that Redis did not answer a moment ago, and is not asked yet again.
var ErrAway = errors.New("redis did not answer a moment ago")

// Redis is the Redis in which something is kept.
type Redis struct {
	Client redis.UniversalClient
	Prefix string // of all keys and channels, without braces: that of this Taggie, if several share the Redis
}

// key returns the name of a key or a channel.
func (r Redis) key(what string) string { return r.Prefix + "taggie:" + what }

// asking runs scripts, without waiting for a Redis that does not answer.
type asking struct {
	redis    Redis
	now      func() time.Time
	patience time.Duration

	mu     sync.Mutex
	closed time.Time // until when Redis is not asked
}

// run carries out a script that returns whole numbers.
func (a *asking) run(ctx context.Context, what string, script *redis.Script, keys []string, args ...any) ([]int64, error) {
	if a.away() {
		return nil, ErrAway
	}
	bounded, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	numbers, err := script.Run(telemetry.WithScript(bounded, what), a.redis.Client, keys, args...).Int64Slice()
	if err != nil && ctx.Err() == nil { // else it is not Redis that took too long
		a.leave()
	}
	return numbers, err
}

func (a *asking) away() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now().Before(a.closed)
}

func (a *asking) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = a.now().Add(pause)
}

// Limiter allows a number of events at once and then a steady rate, for all servers together.
type Limiter struct {
	asking
	name  string
	burst int
	every time.Duration
}

// NewLimiter returns a limiter that allows burst events at once and one more in each interval. The client must heed the
// deadlines of contexts, and not try again by itself. The clock only measures how long Redis is left alone.
func NewLimiter(r Redis, name string, burst int, every time.Duration, now func() time.Time) *Limiter {
	return &Limiter{asking: asking{redis: r, now: now, patience: patience}, name: name, burst: burst, every: every}
}

// limitKey is taggie:limit:<name>:{<who>}.
func (r Redis) limitKey(name, who string) string { return r.key("limit:" + name + ":{" + who + "}") }

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
if empty + every - now > burst * every then return {0} end
empty = empty + every
redis.call('SET', KEYS[1], string.format('%.0f', empty), 'PX', math.ceil((empty - now) / 1000) + 1)
return {1}
`)

// Allow reports whether one more event of who is allowed. An error means that Redis did not answer within a moment; for
// another moment it is then [ErrAway] at once.
func (l *Limiter) Allow(ctx context.Context, who string) (bool, error) {
	numbers, err := l.run(ctx, "allow an event", allow, []string{l.redis.limitKey(l.name, who)}, l.burst, l.every.Microseconds())
	if err != nil {
		return false, fmt.Errorf("ask the limit %s: %w", l.name, err)
	}
	return numbers[0] == 1, nil
}
