// Package clock tells the time that all servers share: that of Redis, or that of DynamoDB while Redis does not answer.
//
// It knows what the stores said the time is, and how far this server's own clock is from that. It must not know the stores: who asks
// them tells it. Start reading at [Clock.Now].
package clock

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// Tolerated is how far a server's clock may be off before it warns.
	Tolerated = 2 * time.Second
	// fresh is how long what a store said counts as what it says now. Redis is asked more often.
	fresh = 15 * time.Second
	// settled is how long the answers of DynamoDB are put together: for that long two clocks run alike.
	settled = time.Minute
	// tick is the resolution of the Date header.
	tick = time.Second
)

// Clock is the time that servers share. It is safe for concurrent use.
type Clock struct {
	local func() time.Time // this server's, with its monotonic reading
	log   *slog.Logger

	mu     sync.Mutex
	redis  reading
	dynamo reading
	date   string // the last one, and what it says
	told   time.Time
	warned string // what is off, and was warned of
	lone   bool   // Redis was off, and this server was not, when DynamoDB said the time last
}

// reading is what a store said: at the local time at, its time was between low and high.
type reading struct {
	at, low, high time.Time
	heard         time.Time // the last time, by the local clock
}

// New returns a clock that knows the local time only, until it hears another one. The local clock is [time.Now] but in tests.
func New(local func() time.Time, log *slog.Logger) *Clock { return &Clock{local: local, log: log} }

// Local returns the time of this server, by which answers are timed.
func (c *Clock) Local() time.Time { return c.local() }

// Now returns the time that servers share; that of this server as long as no store has told it.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	shared, _ := c.shared(now)
	return shared
}

// Agreed returns the time that tokens are checked by: that of [Clock.Now], unless DynamoDB and this server agree that Redis is wrong. It is then the time
// of this server.
func (c *Clock) Agreed() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	shared, source := c.shared(now)
	if source == redis && c.lone {
		return now
	}
	return shared
}

// shared returns the time at the local time now, and who said so. The local clock only measures how long ago that was, by its monotonic
// reading, so that it may be set meanwhile.
func (c *Clock) shared(now time.Time) (time.Time, string) {
	source, name := c.redis, redis
	if c.dynamo.fresh(now) && !c.redis.fresh(now) {
		source, name = c.dynamo, dynamoDB
	}
	if source.heard.IsZero() {
		return now, ""
	}
	return source.time(now), name
}

// The stores, as they are called in the log.
const (
	redis    = "Redis"
	dynamoDB = "DynamoDB"
)

func (r *reading) fresh(now time.Time) bool { return !r.heard.IsZero() && now.Sub(r.heard) < fresh }

// time returns the store's time at the local time now.
func (r *reading) time(now time.Time) time.Time {
	return r.low.Add(r.high.Sub(r.low) / 2).Add(now.Sub(r.at))
}

// apart returns how far two clocks are apart, without their monotonic readings.
func apart(a, b time.Time) time.Duration { return a.Round(0).Sub(b.Round(0)) }

// HeardRedis takes the time that Redis answered to a question of the local time asked.
func (c *Clock) HeardRedis(theirs, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	c.redis = reading{at: now, low: theirs, high: theirs.Add(now.Sub(asked)), heard: now}
	c.compare(now)
}

// HeardDate takes the Date header of an answer of DynamoDB to a question of the local time asked. It tells whole seconds; many answers
// together tell more.
func (c *Clock) HeardDate(date string, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	if date != c.date {
		theirs, err := http.ParseTime(date)
		if err != nil {
			return
		}
		c.date, c.told = date, theirs
	}
	if c.told.IsZero() {
		return
	}
	theirs := c.told
	is := reading{at: now, low: theirs, high: theirs.Add(tick + now.Sub(asked)), heard: now}
	if was := c.dynamo; !was.heard.IsZero() && now.Sub(was.at) < settled {
		since := now.Sub(was.at)
		low, high := later(is.low.Add(-since), was.low), earlier(is.high.Add(-since), was.high)
		if !low.After(high) {
			is = reading{at: was.at, low: low, high: high, heard: now}
		}
	}
	c.dynamo = is
	c.compare(now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// compare warns when a clock has come to be off, and says when it is right again.
func (c *Clock) compare(now time.Time) {
	if c.dynamo.fresh(now) && c.redis.fresh(now) {
		c.lone = apart(now, c.dynamo.time(now)).Abs() <= Tolerated && apart(now, c.redis.time(now)).Abs() > Tolerated
	}
	shared, source := c.shared(now)
	off := c.off(apart(now, shared), source)
	switch {
	case off == nil && c.warned != "":
		c.log.Info("the clock of " + c.warned + " is right again")
		c.warned = ""
	case off != nil && c.warned != off.of():
		c.warned = off.of()
		c.log.Warn("the clock of "+c.warned+" is off; leases and short waits go by the clock of "+source, "off", off.Said())
	}
}

// off returns nil when the clock of this server is ahead of that of a store by no more than is tolerated.
func (c *Clock) off(ahead time.Duration, source string) *Off {
	if ahead.Abs() <= Tolerated {
		return nil
	}
	if source == redis && c.lone {
		return &Off{Ahead: -ahead, Redis: true}
	}
	return &Off{Ahead: ahead}
}

// Ahead returns how far the clock of this server is ahead of the shared one; less than 0 when it is behind.
func (c *Clock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	shared, _ := c.shared(now)
	return apart(now, shared)
}

// Off says that a clock is off.
type Off struct {
	Ahead time.Duration
	Redis bool // the clock of Redis, as this server and DynamoDB see it; otherwise that of this server
}

// Error says whose clock, and how far.
func (o *Off) Error() string { return "the clock of " + o.of() + " is " + o.far() }

func (o *Off) of() string {
	if o.Redis {
		return redis
	}
	return "this server"
}

// Said is what operators are shown.
func (o *Off) Said() string {
	if o.Redis {
		return o.Error() + " of DynamoDB and this server"
	}
	return o.far()
}

func (o *Off) far() string {
	if o.Ahead < 0 {
		return fmt.Sprintf("%s behind", (-o.Ahead).Round(time.Millisecond))
	}
	return fmt.Sprintf("%s ahead", o.Ahead.Round(time.Millisecond))
}

// Check returns *[Off] when the clock of this server, or that of Redis, is off by more than [Tolerated].
func (c *Clock) Check(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	shared, source := c.shared(now)
	if off := c.off(apart(now, shared), source); off != nil {
		return off
	}
	return nil
}
