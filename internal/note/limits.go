package note

import "github.com/taggie/taggie/internal/limit"

// Limits are those of notes.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Characters of a title, at least 1", Of: "a note", Most: limit.Count(MaxTitle), Code: limit.Invalid},
		{What: "Size of a content, at least 1 byte", Of: "a note", Most: limit.Bytes(MaxContent), Code: limit.Invalid},
		{What: "Tags", Of: "a note, with `addNoteTags`; `createNote` says `INVALID_INPUT`", Most: limit.Count(MaxTags), Code: "TooManyTags"},
		{What: "Changes, including those of title and content", Of: "a note", Most: limit.Count(MaxVersion), Code: limit.Exhausted, Then: "for changes of title or content"},
		{What: "Notes, including those deleted within 30 days", Of: "a user", Most: limit.About(MaxNotes), Code: limit.Exhausted, Set: "TAGGIE_ALLOWANCES"},
		{What: "Shares of notes", Of: "a user", Most: limit.About(MaxShares), Code: limit.Exhausted, Set: "TAGGIE_ALLOWANCES"},
		{What: "Shares of notes", Of: "a user, with one other who has opened none of them", Most: limit.Count(MaxUnopened), Code: limit.Exhausted},
		{What: "Time to undo a deletion", Of: "a note", Most: limit.Time(UndoFor), Code: "NOT_FOUND"},
	}
}
