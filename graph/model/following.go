package model

import (
	"errors"
	"io"
	"strconv"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/score"
)

// What subscriptions bring; see aliases.go.
type (
	// NoteMessage is what a subscription to the events of notes brings.
	NoteMessage any
	// ScoreMessage is what a subscription to the events of a score brings.
	ScoreMessage any
)

// NoteCursor is a position in the events of the notes that a user may read, as clients see it.
type NoteCursor struct{ follow.Cursor }

// MarshalGQL writes the cursor as a GraphQL string.
func (c NoteCursor) MarshalGQL(w io.Writer) { writeCursor(w, c.Cursor) }

// UnmarshalGQL reads a cursor; whether it is one of the viewer only the hub can tell.
func (c *NoteCursor) UnmarshalGQL(v any) error { return readCursor(&c.Cursor, v) }

// ScoreCursor is a position in the events of a score, as clients see it.
type ScoreCursor struct{ follow.Cursor }

// MarshalGQL writes the cursor as a GraphQL string.
func (c ScoreCursor) MarshalGQL(w io.Writer) { writeCursor(w, c.Cursor) }

// UnmarshalGQL reads a cursor; whether it is one of the score only the hub can tell.
func (c *ScoreCursor) UnmarshalGQL(v any) error { return readCursor(&c.Cursor, v) }

func writeCursor(w io.Writer, c follow.Cursor) { _, _ = io.WriteString(w, strconv.Quote(c.String())) }

func readCursor(c *follow.Cursor, v any) (err error) {
	text, ok := v.(string)
	if !ok {
		return errors.New("a cursor is a string")
	}
	*c, err = follow.ParseCursor(text)
	return err
}

// NotePosition is where a subscription to notes is.
type NotePosition struct{ At follow.Cursor }

// Position is where it is among the events.
func (p NotePosition) Position() NoteCursor { return NoteCursor{p.At} }

// NoteEvent is something that happened to a note, as somebody is told who may read it.
type NoteEvent struct {
	event.Event
	Cursor follow.Cursor
}

// Position is where it is among the events.
func (e NoteEvent) Position() NoteCursor { return NoteCursor{e.Cursor} }

// ScorePosition is where a subscription to a score is.
type ScorePosition struct{ At follow.Cursor }

// Position is where it is among the events.
func (p ScorePosition) Position() ScoreCursor { return ScoreCursor{p.At} }

// ScoreEvent is something that happened to a score, as somebody is told who may read it.
type ScoreEvent struct {
	event.Event
	Cursor follow.Cursor
	Seen   *score.Score // as it was a moment later; nil where it has to be read
}

// Position is where it is among the events.
func (e ScoreEvent) Position() ScoreCursor { return ScoreCursor{e.Cursor} }

// Ref is where the score is.
func (e ScoreEvent) Ref() score.Ref { return score.Ref{Owner: e.Owner, ID: score.ID(e.Of)} }
