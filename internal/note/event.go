package note

import (
	"slices"
	"time"

	"github.com/taggie/taggie/internal/event"
)

// The types of events of notes.
const (
	Created    event.Type = "CREATED"
	Changed    event.Type = "CHANGED" // title or content
	Moved      event.Type = "MOVED"   // to another deadline, or to none
	Tagged     event.Type = "TAGGED"  // tags were added or removed
	Shared     event.Type = "SHARED"  // or is shared for something else than before
	ShareEnded event.Type = "SHARE_ENDED"
	Removed    event.Type = "DELETED"
	Undeleted  event.Type = "UNDELETED"
)

// Creation is the event of a new note.
func Creation(n Note) event.Event { return eventOf(Created, n, n.UpdatedBy, n.UpdatedAt) }

// Deletion is the event of a note that its owner deleted.
func Deletion(n Note, d Deleted) event.Event { return eventOf(Removed, n, n.Owner, d.DeletedAt) }

// Return is the event of a note that its owner brought back.
func Return(n Note) event.Event { return eventOf(Undeleted, n, n.UpdatedBy, n.UpdatedAt) }

// Alteration is the event of a note that was changed.
func Alteration(before, after Note) event.Event {
	return eventOf(typeOf(before, after), after, after.UpdatedBy, after.UpdatedAt)
}

func typeOf(before, after Note) event.Type {
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

func eventOf(typ event.Type, n Note, by UserID, at time.Time) event.Event {
	return event.Event{Kind: event.OfNote, Type: typ, Of: string(n.ID), Owner: n.Owner, By: by, Version: n.Version, At: at}
}

// Giving is the event of a share that its owner gave.
func Giving(s Share) event.Event { return shareEvent(Shared, s, s.Owner, s.SharedAt) }

// Ending is the event of a share that somebody ended.
func Ending(s Share, by UserID, at time.Time) event.Event { return shareEvent(ShareEnded, s, by, at) }

func shareEvent(typ event.Type, s Share, by UserID, at time.Time) event.Event {
	return event.Event{Kind: event.OfNote, Type: typ, Of: string(s.Note), Owner: s.Owner, By: by, With: s.User, At: at}
}
