// Package queue keeps Taggie's queues, statistics and events in Redis.
//
// It knows the keys, the scripts that change them, and how items, events and messages travel through them. It must not know
// DynamoDB, the contract, or who may do what. Redis is disposable: what is kept here follows from the truth and can be rebuilt
// from it, and a project whose keys are gone answers [labelling.ErrNotReady] rather than something wrong. The same code runs on
// one Redis, behind Sentinel and on a Redis Cluster: all keys of a project carry it in braces, so they live in one slot, and
// several of them change only inside one script. Start reading at [Queue], then keys.go and [Queue.Apply].
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
)

// Queue keeps the queues of all projects. It is safe for concurrent use. Errors of its methods are faults: those of the labelling
// package, and Unavailable when Redis does not answer; a call that failed so may have been carried out, and can be repeated.
type Queue struct {
	space
	client   redis.UniversalClient
	blocking redis.UniversalClient
	places   chan struct{} // of those who wait for events; nil without a bound
	o        Options
	told     told
}

var _ labelling.Coordinator = (*Queue)(nil)

// Options say how a queue behaves. Zero values stand for the defaults, which fit production.
type Options struct {
	Prefix string // of all keys, without braces: that of this Taggie, if several share the Redis
	// Blocking is the client for commands that wait: they hold a connection each, one for every project whose events are read
	// and one for every stream of messages. By default it is the client for everything.
	Blocking    redis.UniversalClient
	Waiting     int           // how many connections of it wait for events at most; any number when 0. Other readers ask once a second
	Reservation time.Duration // how long an item is kept back unacknowledged; labelling.Reservation
	Hold        time.Duration // how long an item that came back is kept for its author; labelling.Hold
	Presence    time.Duration // how long a heartbeat lasts; labelling.Presence
	MaxEvents   int           // that a project keeps, about; labelling.MaxEvents
	MaxClaims   int           // of a user in a project; labelling.MaxClaims
	Stuck       time.Duration // after which a message is tried again; 30 s
	Lease       time.Duration // how long a stream of messages stays with a consumer that was killed; 3 s
	Tries       int           // after which a message is dead; 10
	Forget      time.Duration // after which a consumer that was not heard of is forgotten; 24 h
	Log         *slog.Logger  // of what goes on in the background; nothing by default
}

// New returns a queue that lives in the Redis behind client.
func New(client redis.UniversalClient, o Options) *Queue {
	if o.Blocking == nil {
		o.Blocking = client
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Reservation = or(o.Reservation, labelling.Reservation)
	o.Hold = or(o.Hold, labelling.Hold)
	o.Presence = or(o.Presence, labelling.Presence)
	o.MaxEvents = or(o.MaxEvents, labelling.MaxEvents)
	o.MaxClaims = or(o.MaxClaims, labelling.MaxClaims)
	o.Stuck = or(o.Stuck, 30*time.Second)
	o.Lease = or(o.Lease, 3*time.Second)
	o.Tries = or(o.Tries, 10)
	o.Forget = or(o.Forget, 24*time.Hour)
	q := &Queue{space: spaceOf(o.Prefix), client: client, blocking: o.Blocking, o: o}
	if o.Waiting > 0 {
		q.places = make(chan struct{}, o.Waiting)
	}
	return q
}

func or[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// Now returns the time of Redis, which all leases are measured by.
func (q *Queue) Now(ctx context.Context) (time.Time, error) {
	now, err := q.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, failed("ask the time", err)
	}
	return now.UTC(), nil
}

// Turn reports whether it is this server's turn to do something that one of all servers does once in a while. The turn ends by itself.
func (q *Queue) Turn(ctx context.Context, what string, lasts time.Duration) (bool, error) {
	mine, err := q.client.SetNX(ctx, q.turnKey(what), 1, lasts).Result()
	if err != nil {
		return false, failed("ask for a turn", err)
	}
	return mine, nil
}

// failed tells what could not be done, and whether it may succeed later.
func failed(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s in Redis: %w", what, err)
	}
	if answer, ok := errors.AsType[redis.Error](err); ok && !passing(answer) {
		return fmt.Errorf("%s in Redis: %w", what, err)
	}
	return fault.Wrap(fault.Unavailable, fmt.Errorf("%s in Redis: %w", what, err), "the queue does not answer; try again in a moment")
}

// passing reports whether Redis refused because of the state it is in, not because of what it was asked.
func passing(err error) bool {
	code, _, _ := strings.Cut(err.Error(), " ")
	switch code {
	case "LOADING", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "OOM", "NOREPLICAS", "MISCONF", "UNBLOCKED":
		return true
	}
	return false
}
