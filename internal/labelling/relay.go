package labelling

import (
	"context"
	"sync"
	"time"
)

// Relay sends transitions again that stayed in the outbox: who stored them came to an end before they were sent, or Redis lost them.
type Relay struct {
	Options
	mu   sync.Mutex
	sent map[string]resent // by transition
}

// resent is how often a transition was sent again, and when it is to be sent next.
type resent struct {
	times int
	next  time.Time
}

const (
	// relayAfter is how long a transition has to be handled; one that is not gets twice as long each time, up to relayMost.
	relayAfter = 1500 * time.Millisecond
	relayMost  = 10 * time.Minute
	// relayAtOnce is how many are looked at in one round in each part of the outbox. Those that nobody can handle are among them.
	relayAtOnce = 1000
)

// NewRelay returns the job.
func NewRelay(o Options) *Relay { return &Relay{Options: o, sent: map[string]resent{}} }

// Run sends once what is due.
func (r *Relay) Run(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	late, err := r.Truth.ListOutbox(ctx, now.Add(-relayAfter), relayAtOnce)
	if err != nil {
		return err
	}
	sent := make(map[string]resent, len(late)) // what is not there any more is forgotten
	for _, t := range late {
		sent[t.ID] = r.sent[t.ID]
	}
	r.sent = sent
	for _, t := range late {
		was := sent[t.ID]
		if now.Before(was.next) {
			continue
		}
		if err := r.send(ctx, t); err != nil {
			return err
		}
		wait := min(relayAfter<<min(was.times, 10), relayMost)
		sent[t.ID] = resent{times: was.times + 1, next: now.Add(wait)}
	}
	return nil
}
