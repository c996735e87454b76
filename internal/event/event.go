// Package event says what the events of notes and scores consist of, on their way from the transaction of a change to those who follow it.
//
// It knows the attributes that all of them share. It must not know stores, or what is in a note or a score. Start reading at [Event].
package event

import (
	"time"

	"github.com/taggie/taggie/internal/viewer"
)

// Kind says what an event is about.
type Kind string

// The kinds. They are part of keys in DynamoDB and Redis.
const (
	OfNote  Kind = "note"
	OfScore Kind = "score"
)

// Type says what happened. Each kind has its own types.
type Type string

// Event is something that happened to a note or a score. It keeps nothing of the object itself: who is told of it reads the object.
type Event struct {
	Kind     Kind
	Of       string // the id of the note or score
	Type     Type
	Owner    viewer.UserID // "" while it is not known: a share was ended by the user who had it
	By       viewer.UserID // who did it
	With     viewer.UserID // whose share it is about; "" for other events
	Snapshot string        // which snapshot of the score it is about; "" for other events
	Parts    string        // which parts of the score were changed, with spaces between them; "" for other events
	Private  bool          // the score, or the snapshot that it is about, is the owner's alone since then
	Version  int           // of the object since then; of a snapshot the version that it keeps; 0 for what is about a share
	At       time.Time
}

// About is what else tells events of an object apart: a share, or a snapshot; "" for an event of the whole object.
func (e Event) About() string { return string(e.With) + e.Snapshot }
