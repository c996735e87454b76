package follow

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/note"
)

// look is what others shared with a user when somebody looked. Nobody changes it: all who listen for the user have the same one.
type look struct {
	began  time.Time
	shared map[note.ID]UserID // the notes, each by its owner
	owners map[UserID]bool
}

// since is when the look began.
func (l *look) since() time.Time { return l.began }

// looked is what somebody has seen, and when looking began.
type looked interface {
	comparable
	since() time.Time
}

// listener is who or what is listened for, once or several times.
type listener[L looked] struct {
	times int // guarded by the hub's lock

	turn   chan struct{} // held by who looks, or takes the last look
	last   L             // the zero L before the first one
	failed error         // of the last try, nil when it succeeded
	ended  time.Time     // that try
}

func newListener[L looked]() *listener[L] { return &listener[L]{turn: make(chan struct{}, 1)} }

// at returns a look that began since an instant. Those who listen share what one of them sees, and that it failed if they waited for it.
func (l *listener[L]) at(ctx context.Context, since time.Time, lookNow func(context.Context) (L, error)) (seen L, err error) {
	asked := time.Now()
	var none L
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if l.last != none && !l.last.since().Before(since) {
		return l.last, nil
	}
	if l.failed != nil && !l.ended.Before(asked) {
		return none, l.failed
	}
	seen, err = lookNow(ctx)
	if err == nil {
		l.last = seen
	}
	if l.failed, l.ended = err, time.Now(); ctx.Err() != nil {
		l.failed = nil // it is only that this one wants no more
	}
	return seen, err
}

// enter counts a user who is about to listen to notes. Exhausted for who listens [MaxListening] times.
func (h *Hub) enter(who UserID) (*listener[*look], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.listeners[who]
	if l == nil {
		l = newListener[*look]()
		h.listeners[who] = l
	}
	if l.times >= MaxListening {
		return nil, often("your notes")
	}
	l.times++
	return l, nil
}

// exit takes back what enter has counted.
func (h *Hub) exit(who UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.listeners[who]
	if l.times--; l.times == 0 {
		delete(h.listeners, who)
	}
}

// lookAt returns what is shared with a user, as it was read since an instant. Exhausted above [MaxOwners] and [MaxShares].
func (h *Hub) lookAt(ctx context.Context, who UserID, l *listener[*look], since time.Time) (*look, error) {
	return l.at(ctx, since, func(ctx context.Context) (*look, error) { return h.lookNow(ctx, who) })
}

// lookNow reads what is shared with a user.
func (h *Hub) lookNow(ctx context.Context, who UserID) (*look, error) {
	now := &look{began: time.Now(), owners: map[UserID]bool{}}
	shares, err := h.o.Shares.ListReceived(ctx, who, MaxShares+1)
	if err != nil {
		return nil, err
	}
	if len(shares) > MaxShares {
		return nil, tooMany("notes are shared with you", MaxShares)
	}
	now.shared = make(map[note.ID]UserID, len(shares))
	for _, s := range shares {
		if s.Owner != who {
			now.shared[s.Note], now.owners[s.Owner] = s.Owner, true
		}
	}
	if len(now.owners) > MaxOwners {
		return nil, tooMany("users share notes with you", MaxOwners)
	}
	return now, nil
}
