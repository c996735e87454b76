package notes

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
)

// erasePage is how many notes or shares are removed together.
const erasePage = 100

// EraseShares ends shares that an owner gave, and tells those who had them, so that they see that the notes are gone. It goes on behind the position.
//
// Index: GSI1, eventually consistent. Key: GSI1PK = OWNER#<owner>. Cost: 1 Query for each 100 shares, and for each that of DeleteShare.
func (db Store) EraseShares(ctx context.Context, owner note.UserID, position string) (next string, err error) {
	s := dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI1, PK: keys.OwnerPK(string(owner)), Limit: erasePage, Single: true}
	if position != "" {
		s.Low = position + "\x00"
	}
	var shares []note.Share
	more, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var share note.Share
		err := decodeShare(item, &share)
		shares = append(shares, share)
		return true, err
	})
	if err != nil {
		return "", err
	}
	if err := db.endShares(ctx, shares, owner); err != nil || more == nil || len(shares) == 0 {
		return "", err
	}
	last := shares[len(shares)-1]
	return keys.OwnerShareSK(string(last.Note), string(last.User)), nil
}

// EraseReceived ends shares that others gave a user, 100 at a time; the position only says that there are more.
//
// Index: primary. Key: PK = USER#<user> AND begins_with(SK, SHARED#). Cost: that of ListReceived, and for each share that of DeleteShare.
func (db Store) EraseReceived(ctx context.Context, user note.UserID, _ string) (next string, err error) {
	shares, err := db.ListReceived(ctx, user, erasePage)
	if err == nil {
		err = db.endShares(ctx, shares, user)
	}
	if err != nil || len(shares) < erasePage {
		return "", err
	}
	return "more", nil
}

func (db Store) endShares(ctx context.Context, shares []note.Share, by note.UserID) error {
	at := db.Now().UTC().Truncate(time.Millisecond)
	return errors.Join(db.Each(len(shares), func(i int) error { return db.DeleteShare(ctx, shares[i], by, at, idempotency.Key{}) })...)
}

// EraseNotes removes notes and tombstones of an owner, 100 at a time, with what belongs to them: shares that are left, versions, the locator and the orders to
// clean up. Rows of tags stay: they are in the partition of the owner. A note goes after what it is found by; the position only says that there are more.
//
// Index: primary. Key: PK = USER#<owner> AND begins_with(SK, NOTE#), or TOMBSTONE#; NOTE#<id>/LOCATOR; CLEANUP#<day>#<shard>/NOTE#<id>; for each note as removeLeftovers in
// CleanUp. Cost: 1 or 2 Queries for each 100 notes; 2 Queries and more for each note; ⌈rows/25⌉ BatchWriteItem.
func (db Store) EraseNotes(ctx context.Context, owner note.UserID, _ string) (next string, err error) {
	for _, prefix := range []string{keys.NotePrefix, keys.TombstonePrefix} {
		low, high := dynamo.Prefixed(prefix)
		s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(owner)), Low: low, High: high, Limit: erasePage, Single: true}
		var ids []note.ID
		var behind, rows []dynamo.RowID
		if _, err := db.WithoutContent().Query(ctx, s, func(item dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(item, dynamo.NotesTable)
			if err != nil {
				return false, err
			}
			var n note.Note
			var d note.Deleted
			if err := decodeNote(item, &n, &d); err != nil {
				return false, err
			}
			if n.ID == "" {
				n.ID = note.ID(keys.Part(key.SK, 1))
			}
			n.Owner = owner
			ids, rows = append(ids, n.ID), append(rows, dynamo.RowID{Table: dynamo.NotesTable, Key: key})
			behind = append(behind, dynamo.RowID{Table: dynamo.NotesTable, Key: locatorKey(n.ID)})
			if prefix == keys.TombstonePrefix {
				behind = append(behind, db.orders(n, d)...)
			}
			return true, nil
		}); err != nil {
			return "", err
		}
		if len(ids) == 0 {
			continue
		}
		if err := errors.Join(db.Each(len(ids), func(i int) error { return db.removeLeftovers(ctx, ids[i]) })...); err != nil {
			return "", err
		}
		for _, some := range [][]dynamo.RowID{behind, rows} {
			if err := db.BatchDelete(ctx, some); err != nil {
				return "", err
			}
		}
		return "more", nil
	}
	return "", nil
}

// orders returns where the order to clean up a deleted note may be: on the day on which its undo ends, or a day from now when it comes for the second time.
func (db Store) orders(n note.Note, d note.Deleted) []dynamo.RowID {
	first := cleanupOf(n, d)
	days := map[dynamo.Key]bool{cleanupKey(first): true}
	for _, due := range []time.Time{db.Now(), db.Now().Add(note.Settle)} {
		first.Due = due
		days[cleanupKey(first)] = true
	}
	rows := make([]dynamo.RowID, 0, len(days))
	for key := range days {
		rows = append(rows, dynamo.RowID{Table: dynamo.NotesTable, Key: key})
	}
	return rows
}
