// Package follow tells people what happens to the notes and scores that they may read.
//
// It knows how what happened comes from the outbox into the events of a user's notes or of a score, who is told of which of them, and where a follower
// is among them. It must not know engines or the graph, nor what is in a note. Start reading at [Teller], which fills the events, and at [Hub], which
// tells them to those who listen.
package follow

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/score"
)

// UserID identifies a user.
type UserID = note.UserID

// Limits of who follows notes and scores.
const (
	MaxOwners = 300    // who share notes with a follower
	MaxShares = 10_000 // of notes with a follower
	MaxEvents = 1_000  // that are kept of a user's notes, or of a score, about
	// MaxListening is how often a user may listen to notes on one server, and how often to scores.
	MaxListening = 50
	// KeptFor is how long events are kept when nobody follows them.
	KeptFor = 7 * 24 * time.Hour
)

// Stream names the events of a user's notes, or of one score.
type Stream struct {
	Kind event.Kind
	Of   string // the id of the user, or of the score
}

// NotesOf names the events of a user: those of the own notes, and of shares that others gave to the user.
func NotesOf(u UserID) Stream { return Stream{event.OfNote, string(u)} }

// Score names the events of a score.
func Score(id score.ID) Stream { return Stream{event.OfScore, string(id)} }

// String spells the stream as all servers do.
func (s Stream) String() string { return string(s.Kind) + ":" + s.Of }

// Entry is an event in a stream.
type Entry struct {
	ID string // where it is
	event.Event
	// From is where the event is among those of the owner, for the user whose share the event is about.
	From string
	read time.Time // when it was there at the latest
}

// ErrGap means that events after a position were missed, or may have been.
var ErrGap = errors.New("events were missed")

// Streams keep the latest events of each stream. What is kept here may vanish at any moment. It may fail with Unavailable.
type Streams interface {
	// Append puts an event behind all others of a stream and returns where it is; also when it was put there a while ago. Unless it always is put there, it is
	// not, and "" is returned, when there is no position yet in the stream: then nobody can miss it.
	Append(ctx context.Context, to Stream, e Entry, always bool) (string, error)
	// End returns the position behind the last event of a stream.
	End(ctx context.Context, of Stream) (string, error)
	// Read returns up to n events after a position, the oldest first. It does not wait for any. ErrGap when what is at the position is no longer kept.
	Read(ctx context.Context, of Stream, after string, n int) ([]Entry, error)
}

// Outbox keeps each event, from the transaction of its change on, until it was told.
type Outbox interface {
	// ListOutbox returns events that happened before an instant and were not told yet, the oldest first, up to limit in each part of the outbox. The
	// owner of a note is not known where its reader has left it.
	ListOutbox(ctx context.Context, before time.Time, limit int) ([]event.Event, error)
	// DeleteOutbox removes events that were told. One that is not there does no harm.
	DeleteOutbox(ctx context.Context, told []event.Event) error
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

// Scores tell who may read a score.
type Scores interface {
	// ScoresByID is that of [score.Reader].
	ScoresByID(ctx context.Context, refs []score.Ref) ([]score.Score, []error)
}
