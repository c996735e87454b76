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

// listener is a user who listens, once or several times.
type listener struct {
	times int // guarded by the hub's lock

	turn   chan struct{} // held by who looks, or takes the last look
	last   *look         // nil before the first one
	failed error         // of the last try, nil when it succeeded
	ended  time.Time     // that try
}

// enter counts a user who is about to listen. Exhausted for who listens [MaxListening] times.
func (h *Hub) enter(who UserID) (*listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.listeners[who]
	if l == nil {
		l = &listener{turn: make(chan struct{}, 1)}
		h.listeners[who] = l
	}
	if l.times >= MaxListening {
		return nil, often()
	}
	l.times++
	return l, nil
}

// exit takes back what enter has counted.
func (h *Hub) exit(who UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uncount(who)
}

// uncount is exit, under the lock.
func (h *Hub) uncount(who UserID) {
	l := h.listeners[who]
	if l.times--; l.times == 0 {
		delete(h.listeners, who)
	}
}

// lookAt returns what is shared with a user, as it was read since an instant. Followers of one user share what one of them reads, and that it failed
// if they waited for it. Exhausted above [MaxOwners] and [MaxShares].
func (h *Hub) lookAt(ctx context.Context, who UserID, l *listener, since time.Time) (*look, error) {
	asked := time.Now()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.last != nil && !l.last.began.Before(since) {
		return l.last, nil
	}
	if l.failed != nil && !l.ended.Before(asked) {
		return nil, l.failed
	}
	seen, err := h.lookNow(ctx, who)
	if err == nil {
		l.last = seen
	}
	if l.failed, l.ended = err, time.Now(); ctx.Err() != nil {
		l.failed = nil // it is only that this one wants no more
	}
	return seen, err
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
