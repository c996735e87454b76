package domain

import (
	"time"

	"github.com/taggie/taggie/internal/viewer"
)

// UndoDeletion is how long a deleted project or scope can be brought back.
const UndoDeletion = 30 * 24 * time.Hour

// DeletionState is where the deletion of something stands that has much.
type DeletionState string

// The states of a deletion; "" of what is not deleted.
const (
	Deleting    DeletionState = "DELETING"  // its members become former members
	Deleted     DeletionState = "DELETED"   // until UndoUntil
	Reinstating DeletionState = "RESTORING" // former members become members again
	Erasing     DeletionState = "PURGING"   // all that it has is removed
)

// Deletion is that something was deleted; the zero value, that it was not.
type Deletion struct {
	State     DeletionState
	By        viewer.UserID
	At        time.Time
	UndoUntil time.Time // from then on it cannot be brought back
}

// Over reports whether it is too late to bring it back.
func (d Deletion) Over(now time.Time) bool { return d.State == Erasing || !now.Before(d.UndoUntil) }
