package notes

import (
	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/note"
)

var (
	allowedNotes = dynamo.Allowance{Kind: "notes", Most: note.MaxNotes, Says: "a user has at most %d notes, those included that were deleted within 30 days: delete some, and wait until they are gone",
		Rows: func(owner string) dynamo.Span {
			return dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.LSI1, PK: keys.UserPK(owner)}
		}}
	allowedShares = dynamo.Allowance{Kind: "shares", Most: note.MaxShares, Says: "a user has at most %d shares of notes: end some first",
		Rows: func(owner string) dynamo.Span {
			return dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI1, PK: keys.OwnerPK(owner)}
		}}
)

// Allowances are how many notes and shares a user may have.
func Allowances() []dynamo.Allowance { return []dynamo.Allowance{allowedNotes, allowedShares} }
