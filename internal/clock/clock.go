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
	warned bool
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

// shared returns the time at the local time now, and who said so. The local clock only measures how long ago that was, by its monotonic
// reading, so that it may be set meanwhile.
func (c *Clock) shared(now time.Time) (time.Time, string) {
	source, name := c.redis, "Redis"
	if r := &c.dynamo; !r.heard.IsZero() && now.Sub(r.heard) < fresh && (c.redis.heard.IsZero() || now.Sub(c.redis.heard) >= fresh) {
		source, name = *r, "DynamoDB"
	}
	if source.heard.IsZero() {
		return now, ""
	}
	return source.low.Add(source.high.Sub(source.low) / 2).Add(now.Sub(source.at)), name
}

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

// compare warns when this server's clock has come to be off, and says when it is right again.
func (c *Clock) compare(now time.Time) {
	shared, source := c.shared(now)
	ahead := now.Round(0).Sub(shared.Round(0))
	switch off := ahead.Abs() > Tolerated; {
	case off && !c.warned:
		c.log.Warn("the clock of this server is off; leases and short waits go by the clock of "+source, "ahead", ahead.Round(time.Millisecond))
		c.warned = true
	case !off && c.warned:
		c.log.Info("the clock of this server is right again")
		c.warned = false
	}
}

// Ahead returns how far the clock of this server is ahead of the shared one; less than 0 when it is behind.
func (c *Clock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	shared, _ := c.shared(now)
	return now.Round(0).Sub(shared.Round(0))
}

// Off says that the clock of a server is off.
type Off struct{ Ahead time.Duration }

// Error says how far.
func (o *Off) Error() string { return "the clock of this server is " + o.Said() }

// Said is what operators are shown.
func (o *Off) Said() string {
	if o.Ahead < 0 {
		return fmt.Sprintf("%s behind", (-o.Ahead).Round(time.Millisecond))
	}
	return fmt.Sprintf("%s ahead", o.Ahead.Round(time.Millisecond))
}

// Check returns *[Off] when the clock of this server is off by more than [Tolerated].
func (c *Clock) Check(context.Context) error {
	if ahead := c.Ahead(); ahead.Abs() > Tolerated {
		return &Off{Ahead: ahead}
	}
	return nil
}
