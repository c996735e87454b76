package model

import (
	"errors"
	"io"
	"strconv"

	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/note"
)

// NoteMessage is what a subscription to the events of notes brings; see aliases.go.
type NoteMessage any

// NoteCursor is a position in the events of the notes that a user may read, as clients see it.
type NoteCursor struct{ follow.Cursor }

// MarshalGQL writes the cursor as a GraphQL string.
func (c NoteCursor) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, strconv.Quote(c.String()))
}

// UnmarshalGQL reads a cursor; whether it is one of the viewer only the hub can tell.
func (c *NoteCursor) UnmarshalGQL(v any) (err error) {
	text, ok := v.(string)
	if !ok {
		return errors.New("a cursor is a string")
	}
	c.Cursor, err = follow.ParseCursor(text)
	return err
}

// NotePosition is where a subscription is.
type NotePosition struct{ At NoteCursor }

// Position is where it is among the events.
func (p NotePosition) Position() NoteCursor { return p.At }

// NoteEvent is something that happened to a note, as somebody is told who may read it.
type NoteEvent struct {
	note.Event
	Cursor NoteCursor
}

// Position is where it is among the events.
func (e NoteEvent) Position() NoteCursor { return e.Cursor }
