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

	turn chan struct{} // held by who looks, or takes the last look
	last *look         // nil before the first one
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
	if l := h.listeners[who]; l.times > 1 {
		l.times--
	} else {
		delete(h.listeners, who)
	}
}

// lookAt returns what is shared with a user, as it was read since an instant. Followers of one user share what one of them reads. Exhausted above
// [MaxOwners] and [MaxShares].
func (h *Hub) lookAt(ctx context.Context, who UserID, l *listener, since time.Time) (*look, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.last != nil && !l.last.began.Before(since) {
		return l.last, nil
	}
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
	l.last = now
	return now, nil
}
