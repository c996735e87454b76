package dynamo

import (
	"context"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

// CreateNote puts note, locator and tag rows.
//
// Index: primary. Key: USER#<owner>/NOTE#<deadline>#<id> on condition that there is none, NOTE#<id>/LOCATOR,
// USER#<owner>/TAG#<tag>#NOTE#<id> per tag. Cost: 1 TransactWriteItems of 2 to 42 rows.
func (db Notes) CreateNote(ctx context.Context, n note.Note, once idempotency.Key) error {
	actions := []action{db.putNew(n), {table: notesTable, item: locatorRow(n)}}
	return db.tallies.spend(allowedNotes, string(n.Owner), 1, func() error {
		return db.transact(ctx, append(actions, tagChanges(n, nil, n.Tags)...), once)
	})
}

// putNew puts a note where none is.
func (db Notes) putNew(n note.Note) action {
	return action{table: notesTable, item: noteRow(n), condition: "attribute_not_exists(PK)", failed: conflict}
}

// conflict is what a failed condition on the version of a note means.
func conflict(attrs) error { return &note.VersionConflict{} }

// tagChanges returns the actions that turn one set of tags into another.
func tagChanges(n note.Note, from, to []tag.Tag) []action {
	var actions []action
	had := make(map[string]string, len(from))
	for _, t := range from {
		had[t.Key] = t.Value
	}
	has := make(map[string]bool, len(to))
	for _, t := range to {
		has[t.Key] = true
		if value, there := had[t.Key]; !there || value != t.Value { // the row shows the tag as it is typed on the note
			actions = append(actions, action{table: notesTable, item: tagRow(n.Owner, n.ID, t)})
		}
	}
	for _, t := range from {
		if !has[t.Key] {
			actions = append(actions, action{table: notesTable, remove: true, key: rowKey{keys.UserPK(string(n.Owner)), keys.TagSK(t.Key, string(n.ID))}})
		}
	}
	return actions
}

// UpdateNote replaces a note. The rows of tags and shares carry only the note's id, so that a new deadline moves two rows
// however many there are.
//
// Index: primary. Key: USER#<owner>/NOTE#<deadline>#<id> on condition of its version, and where it moves to;
// NOTE#<id>/LOCATOR if it moves; NOTE_HISTORY#<id>/VER#<version> if a version is kept; USER#<owner>/TAG#<tag>#NOTE#<id>
// per tag that differs; USER#<editor>/SHARED#<id> as a condition. Cost: 1 TransactWriteItems of 1 to 86 rows.
func (db Notes) UpdateNote(ctx context.Context, editor note.UserID, before, after note.Note, keepVersion *note.Version, once idempotency.Key) error {
	var actions []action
	if editor != before.Owner {
		actions = append(actions, mayEdit(editor, before.ID))
	}
	if before.Version == after.Version { // nothing to change, but perhaps a key to record
		if !once.Given() {
			return nil
		}
		return db.transact(ctx, actions, once)
	}
	from, to := noteKey(before), noteKey(after)
	isCurrent := action{table: notesTable, key: from, failed: conflict}.ifVersion(before.Version, "version")
	if from == to {
		isCurrent.item = noteRow(after)
		actions = append(actions, isCurrent)
		if before.Foreign {
			actions = append(actions, action{table: notesTable, item: locatorRow(after)})
		}
	} else {
		isCurrent.remove = true
		actions = append(actions, db.putNew(after), isCurrent, action{table: notesTable, item: locatorRow(after)})
	}
	if keepVersion != nil {
		if before.Version >= note.MaxVersion { // no row counts the versions, and this number grows with each of them
			return fault.New(fault.Exhausted, "a note is changed at most %d times: go on with a copy", note.MaxVersion)
		}
		actions = append(actions, action{table: notesTable, item: versionRow(before.Owner, *keepVersion)})
	}
	return db.transact(ctx, append(actions, tagChanges(after, before.Tags, after.Tags)...), once)
}

// mayEdit makes the share of the editor a condition: it may be revoked at this moment.
func mayEdit(editor note.UserID, id note.ID) action {
	return action{table: notesTable, key: shareKey(editor, id), condition: "#permission = :edit", names: reserved("permission"), values: attrs{":edit": str(permissions[note.Edit])},
		failed: func(row attrs) error {
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
// NOTE#<id>/LOCATOR; USER#<owner>/TAG#<tag>#NOTE#<id> per tag; CLEANUP#<day>#<shard>/NOTE#<id>. Cost: 1
// TransactWriteItems of 4 to 44 rows.
func (db Notes) DeleteNote(ctx context.Context, n note.Note, d note.Deleted, once idempotency.Key) error {
	actions := []action{
		{table: notesTable, item: tombstoneRow(n, d), condition: "attribute_not_exists(PK)", failed: conflict},
		action{table: notesTable, key: noteKey(n), remove: true, failed: conflict}.ifVersion(n.Version, "version"),
		{table: notesTable, key: locatorKey(n.ID), remove: true},
		{table: notesTable, item: cleanupRow(cleanupOf(n, d))},
	}
	return db.transact(ctx, append(actions, tagChanges(n, n.Tags, nil)...), once)
}

// UndeleteNote puts note, locator and tag rows back and removes the tombstone and the order to clean up.
//
// Index: primary. Key: as for DeleteNote, on condition that the tombstone is the same and its clean-up has not begun.
// Cost: 1 TransactWriteItems of 4 to 44 rows.
func (db Notes) UndeleteNote(ctx context.Context, n note.Note, d note.Deleted, once idempotency.Key) error {
	put := db.putNew(n)
	put.failed = func(attrs) error { return fault.New(fault.NotFound, noSuchNote) }
	actions := []action{
		put,
		{table: notesTable, key: tombstoneKey(n.Owner, n.ID), remove: true,
			condition: "deleted_at = :at AND attribute_not_exists(cleaning)", values: attrs{":at": str(keys.Instant(d.DeletedAt))},
			failed: func(attrs) error { return fault.New(fault.NotFound, noSuchNote) }},
		{table: notesTable, item: locatorRow(n)},
		{table: notesTable, key: cleanupKey(cleanupOf(n, d)), remove: true},
	}
	return db.transact(ctx, append(actions, tagChanges(n, nil, n.Tags)...), once)
}

// cleanupOf returns the order to clean up that a deletion leaves.
func cleanupOf(n note.Note, d note.Deleted) note.Cleanup {
	return note.Cleanup{Note: n.ID, Owner: n.Owner, DeletedAt: d.DeletedAt, Due: d.UndoUntil()}
}

func cleanupKey(c note.Cleanup) rowKey {
	return rowKey{keys.CleanupPK(c.Due, string(c.Note)), keys.CleanupSK(string(c.Note))}
}

func cleanupRow(c note.Cleanup) attrs {
	row := notesTable.key(cleanupKey(c))
	row["note_id"], row["user_id"] = str(string(c.Note)), str(string(c.Owner))
	row["deleted_at"], row["due_at"] = str(keys.Instant(c.DeletedAt)), str(keys.Instant(c.Due))
	if c.Last {
		row["last"] = number(1)
	}
	return row
}

func decodeCleanup(item []byte, c *note.Cleanup) error {
	return attributes(item, func(name []byte, v value) (err error) {
		var s string
		switch string(name) {
		case "note_id":
			s, err = v.str()
			c.Note = note.ID(s)
		case "user_id":
			s, err = v.str()
			c.Owner = note.UserID(s)
		case "deleted_at":
			c.DeletedAt, err = v.instant()
		case "due_at":
			c.Due, err = v.instant()
		case "last":
			c.Last = true
			err = v.skip()
		default:
			err = v.skip()
		}
		return err
	})
}
