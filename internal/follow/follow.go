// Package follow tells people what happens to the notes that they may read.
//
// It knows how what happened comes from the outbox into the events of a user, who is told of which of them, and where a follower is among the events
// of many users. It must not know engines or the graph, nor what is in a note. Start reading at [Teller], which fills the events, and at [Hub], which
// tells them to those who listen.
package follow

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/note"
)

// UserID identifies a user.
type UserID = note.UserID

// Limits of who follows notes.
const (
	MaxOwners = 300    // who share notes with a follower
	MaxShares = 10_000 // of notes with a follower
	MaxEvents = 1_000  // that are kept of a user, about
	// MaxListening is how often a user may listen on one server.
	MaxListening = 50
	// KeptFor is how long the events of a user are kept when nobody follows them.
	KeptFor = 7 * 24 * time.Hour
)

// Entry is an event among those of a user.
type Entry struct {
	ID string // where it is
	note.Event
	// From is where the event is among those of the owner, for the user whose share the event is about.
	From string
}

// ErrGap means that events after a position were missed, or may have been.
var ErrGap = errors.New("events were missed")

// Streams keep the latest events of each user: those of the own notes, and of shares that others gave to the user. What is kept here may vanish at any
// moment. It may fail with Unavailable.
type Streams interface {
	// Append puts an event behind all others of a user and returns where it is; also when it was put there a while ago. Unless it always is put there, it is
	// not, and "" is returned, when there is no position yet in the user's events: then nobody can miss it.
	Append(ctx context.Context, of UserID, e Entry, always bool) (string, error)
	// End returns the position behind the last event of a user.
	End(ctx context.Context, of UserID) (string, error)
	// Read returns up to n events after a position, the oldest first. It does not wait for any. ErrGap when what is at the position is no longer kept.
	Read(ctx context.Context, of UserID, after string, n int) ([]Entry, error)
}

// News tell all servers whose events have changed.
type News interface {
	// Announce tells all servers that listen at the moment.
	Announce(ctx context.Context, id string, at time.Time) error
	// Follow tells of each announcement until ctx ends. Whenever it has begun to listen, at first and after what carries the news was away, joined is called.
	Follow(ctx context.Context, joined func(context.Context) error, told func(ctx context.Context, id string, at time.Time) error) error
}

// Shares tell what others share with a user.
type Shares interface {
	// ListReceived is that of [note.Shares].
	ListReceived(ctx context.Context, user UserID, limit int) ([]note.Share, error)
}
