package notes

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

// CreateNote puts note, locator and tag rows.
//
// Index: primary. Key: USER#<owner>/NOTE#<deadline>#<id> on condition that there is none, NOTE#<id>/LOCATOR,
// USER#<owner>/TAG#<tag>#NOTE#<id> per tag; the event in the outbox. Cost: 1 TransactWriteItems of 3 to 43 rows.
func (db Store) CreateNote(ctx context.Context, n note.Note, once idempotency.Key) error {
	actions := []dynamo.Action{db.putNew(n), {Table: dynamo.NotesTable, Item: locatorRow(n)}}
	return db.Spend(allowedNotes, string(n.Owner), 1, func() error {
		return db.change(ctx, note.Creation(n), append(actions, tagChanges(n, nil, n.Tags)...), once)
	})
}

// putNew puts a note where none is.
func (db Store) putNew(n note.Note) dynamo.Action {
	return dynamo.Action{Table: dynamo.NotesTable, Item: noteRow(n), Condition: "attribute_not_exists(PK)", Failed: conflict}
}

// conflict is what a failed condition on the version of a note means.
func conflict(dynamo.Attrs) error { return &note.VersionConflict{} }

// tagChanges returns the actions that turn one set of tags into another.
func tagChanges(n note.Note, from, to []tag.Tag) []dynamo.Action {
	var actions []dynamo.Action
	had := make(map[string]string, len(from))
	for _, t := range from {
		had[t.Key] = t.Value
	}
	has := make(map[string]bool, len(to))
	for _, t := range to {
		has[t.Key] = true
		if value, there := had[t.Key]; !there || value != t.Value { // the row shows the tag as it is typed on the note
			actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Item: tagRow(n.Owner, n.ID, t)})
		}
	}
	for _, t := range from {
		if !has[t.Key] {
			actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Remove: true, Key: dynamo.Key{PK: keys.UserPK(string(n.Owner)), SK: keys.TagSK(t.Key, string(n.ID))}})
		}
	}
	return actions
}

// UpdateNote replaces a note. The rows of tags and shares carry only the note's id, so that a new deadline moves two rows
// however many there are. The locator says when the note changed, for those with whom it is shared.
//
// Index: primary. Key: USER#<owner>/NOTE#<deadline>#<id> on condition of its version, and where it moves to;
// NOTE#<id>/LOCATOR; NOTE_HISTORY#<id>/VER#<version> if a version is kept; USER#<owner>/TAG#<tag>#NOTE#<id>
// per tag that differs; USER#<editor>/SHARED#<id> as a condition; the event in the outbox. Cost: 1 TransactWriteItems of 3 to 87 rows.
func (db Store) UpdateNote(ctx context.Context, editor note.UserID, before, after note.Note, keepVersion *note.Version, once idempotency.Key) error {
	var actions []dynamo.Action
	if editor != before.Owner {
		actions = append(actions, mayEdit(editor, before.ID))
	}
	if before.Version == after.Version { // nothing to change, but perhaps a key to record
		if !once.Given() {
			return nil
		}
		return db.Transact(ctx, actions, once)
	}
	from, to := noteKey(before), noteKey(after)
	isCurrent := dynamo.Action{Table: dynamo.NotesTable, Key: from, Failed: conflict}.IfVersion(before.Version, "version")
	if from == to {
		isCurrent.Item = noteRow(after)
		actions = append(actions, isCurrent)
	} else {
		isCurrent.Remove = true
		actions = append(actions, db.putNew(after), isCurrent)
	}
	actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Item: locatorRow(after)})
	if keepVersion != nil {
		if before.Version >= note.MaxVersion { // no row counts the versions, and this number grows with each of them
			return fault.New(fault.Exhausted, "a note is changed at most %d times: go on with a copy", note.MaxVersion)
		}
		actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Item: versionRow(before.Owner, *keepVersion)})
	}
	return db.change(ctx, note.Alteration(before, after), append(actions, tagChanges(after, before.Tags, after.Tags)...), once)
}

// mayEdit makes the share of the editor a condition: it may be revoked at this moment.
func mayEdit(editor note.UserID, id note.ID) dynamo.Action {
	return dynamo.Action{Table: dynamo.NotesTable, Key: shareKey(editor, id), Condition: "#permission = :edit", Names: dynamo.Reserved("permission"), Values: dynamo.Attrs{":edit": dynamo.Str(permissions[note.Edit])},
		Failed: func(row dynamo.Attrs) error {
			if row == nil {
				return fault.New(fault.NotFound, noSuchNote)
			}
			return fault.New(fault.Forbidden, "the note is shared with you for viewing only")
		}}
}

// DeleteNote removes note, locator and tag rows, and puts a tombstone and the order to clean up. Shares and versions stay
// until the deletion can no longer be undone; lists leave them out.
//
// Index: primary. Key: USER#<owner>/TOMBSTONE#<id>; USER#<owner>/NOTE#<deadline>#<id> on condition of its version;
// NOTE#<id>/LOCATOR; USER#<owner>/TAG#<tag>#NOTE#<id> per tag; CLEANUP#<day>#<shard>/NOTE#<id>; the event in
// the outbox. Cost: 1 TransactWriteItems of 5 to 45 rows.
func (db Store) DeleteNote(ctx context.Context, n note.Note, d note.Deleted, once idempotency.Key) error {
	actions := []dynamo.Action{
		{Table: dynamo.NotesTable, Item: tombstoneRow(n, d), Condition: "attribute_not_exists(PK)", Failed: conflict},
		dynamo.Action{Table: dynamo.NotesTable, Key: noteKey(n), Remove: true, Failed: conflict}.IfVersion(n.Version, "version"),
		{Table: dynamo.NotesTable, Key: locatorKey(n.ID), Remove: true},
		{Table: dynamo.NotesTable, Item: cleanupRow(cleanupOf(n, d))},
	}
	return db.change(ctx, note.Deletion(n, d), append(actions, tagChanges(n, n.Tags, nil)...), once)
}

// UndeleteNote puts note, locator and tag rows back and removes the tombstone and the order to clean up.
//
// Index: primary. Key: as for DeleteNote, on condition that the tombstone is the same and its clean-up has not begun.
// Cost: 1 TransactWriteItems of 5 to 45 rows.
func (db Store) UndeleteNote(ctx context.Context, n note.Note, d note.Deleted, once idempotency.Key) error {
	put := db.putNew(n)
	put.Failed = func(dynamo.Attrs) error { return fault.New(fault.NotFound, noSuchNote) }
	actions := []dynamo.Action{
		put,
		{Table: dynamo.NotesTable, Key: tombstoneKey(n.Owner, n.ID), Remove: true,
			Condition: "deleted_at = :at AND attribute_not_exists(cleaning)", Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(d.DeletedAt))},
			Failed: func(dynamo.Attrs) error { return fault.New(fault.NotFound, noSuchNote) }},
		{Table: dynamo.NotesTable, Item: locatorRow(n)},
		{Table: dynamo.NotesTable, Key: cleanupKey(cleanupOf(n, d)), Remove: true},
	}
	return db.change(ctx, note.Return(n), append(actions, tagChanges(n, nil, n.Tags)...), once)
}

// cleanupOf returns the order to clean up that a deletion leaves.
func cleanupOf(n note.Note, d note.Deleted) note.Cleanup {
	return note.Cleanup{Note: n.ID, Owner: n.Owner, DeletedAt: d.DeletedAt, Due: d.UndoUntil()}
}

func cleanupKey(c note.Cleanup) dynamo.Key {
	return dynamo.Key{PK: keys.CleanupPK(c.Due, string(c.Note)), SK: keys.CleanupSK(string(c.Note))}
}

func cleanupRow(c note.Cleanup) dynamo.Attrs {
	row := dynamo.NotesTable.Key(cleanupKey(c))
	row["note_id"], row["user_id"] = dynamo.Str(string(c.Note)), dynamo.Str(string(c.Owner))
	row["deleted_at"], row["due_at"] = dynamo.Str(keys.Instant(c.DeletedAt)), dynamo.Str(keys.Instant(c.Due))
	if c.Last {
		row["last"] = dynamo.Number(1)
	}
	return row
}

func decodeCleanup(item dynamo.Item, c *note.Cleanup) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		var s string
		switch string(name) {
		case "note_id":
			s, err = v.Str()
			c.Note = note.ID(s)
		case "user_id":
			s, err = v.Str()
			c.Owner = note.UserID(s)
		case "deleted_at":
			c.DeletedAt, err = v.Instant()
		case "due_at":
			c.Due, err = v.Instant()
		case "last":
			c.Last = true
		}
		return err
	})
}
