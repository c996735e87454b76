package note

import (
	"context"
	"slices"
	"time"
)

// EventType says what happened to a note.
type EventType string

// The types of events.
const (
	Created    EventType = "CREATED"
	Changed    EventType = "CHANGED" // title or content
	Moved      EventType = "MOVED"   // to another deadline, or to none
	Tagged     EventType = "TAGGED"  // tags were added or removed
	Shared     EventType = "SHARED"  // or is shared for something else than before
	ShareEnded EventType = "SHARE_ENDED"
	Removed    EventType = "DELETED"
	Undeleted  EventType = "UNDELETED"
)

// Event is something that happened to a note. It keeps nothing of the note itself: who is told of it reads the note.
type Event struct {
	Type    EventType
	Note    ID
	Owner   UserID // "" while it is not known: a share was ended by the user who had it
	By      UserID // who did it
	With    UserID // whose share it is about; "" for what is about the note
	Version int    // of the note since then; 0 for what is about a share
	At      time.Time
}

// Creation is the event of a new note.
func Creation(n Note) Event { return eventOf(Created, n, n.UpdatedBy, n.UpdatedAt) }

// Deletion is the event of a note that its owner deleted.
func Deletion(n Note, d Deleted) Event { return eventOf(Removed, n, n.Owner, d.DeletedAt) }

// Return is the event of a note that its owner brought back.
func Return(n Note) Event { return eventOf(Undeleted, n, n.UpdatedBy, n.UpdatedAt) }

// Alteration is the event of a note that was changed.
func Alteration(before, after Note) Event {
	return eventOf(kindOf(before, after), after, after.UpdatedBy, after.UpdatedAt)
}

func kindOf(before, after Note) EventType {
	switch {
	case before.Title != after.Title || before.Content != after.Content:
		return Changed
	case !before.Deadline.Equal(after.Deadline):
		return Moved
	case !slices.Equal(before.Tags, after.Tags):
		return Tagged
	}
	return Changed
}

func eventOf(typ EventType, n Note, by UserID, at time.Time) Event {
	return Event{Type: typ, Note: n.ID, Owner: n.Owner, By: by, Version: n.Version, At: at}
}

// Giving is the event of a share that its owner gave.
func Giving(s Share) Event {
	return Event{Type: Shared, Note: s.Note, Owner: s.Owner, By: s.Owner, With: s.User, At: s.SharedAt}
}

// Ending is the event of a share that somebody ended.
func Ending(s Share, by UserID, at time.Time) Event {
	return Event{Type: ShareEnded, Note: s.Note, Owner: s.Owner, By: by, With: s.User, At: at}
}

// Outbox keeps each event, from the transaction of its change on, until it was told.
type Outbox interface {
	// ListOutbox returns events that happened before an instant and were not told yet, the oldest first, up to limit in each part of the outbox. Their
	// owners are known, unless nothing is left of the note.
	ListOutbox(ctx context.Context, before time.Time, limit int) ([]Event, error)
	// DeleteOutbox removes events that were told. One that is not there does no harm.
	DeleteOutbox(ctx context.Context, told []Event) error
}
