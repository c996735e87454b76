package notes

import (
	"context"
	"errors"
	"slices"
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
// clean up. Rows of tags stay: they are in the partition of the owner. The keys of rows are enough, so one whose attributes cannot be read goes like any
// other. A note goes after what it is found by, and a tombstone together with its orders: CleanUp writes none for a tombstone that is gone. The position
// only says that there are more.
//
// Index: primary. Key: PK = USER#<owner> AND begins_with(SK, NOTE#), or TOMBSTONE#; NOTE#<id>/LOCATOR; CLEANUP#<day>#<shard>/NOTE#<id>; for each note as removeLeftovers in
// CleanUp. Cost: 1 or 2 Queries for each 100 notes; 2 Queries and more for each note; ⌈rows/25⌉ BatchWriteItem; 1 TransactWriteItems of up to 100 rows for each 25
// tombstones.
func (db Store) EraseNotes(ctx context.Context, owner note.UserID, _ string) (next string, err error) {
	for _, prefix := range []string{keys.NotePrefix, keys.TombstonePrefix} {
		gone, err := db.listGone(ctx, owner, prefix)
		if err != nil {
			return "", err
		}
		if len(gone) == 0 {
			continue
		}
		if err := errors.Join(db.Each(len(gone), func(i int) error { return db.removeLeftovers(ctx, gone[i].id) })...); err != nil {
			return "", err
		}
		locators, rows := make([]dynamo.RowID, len(gone)), make([]dynamo.RowID, len(gone))
		for i, g := range gone {
			locators[i], rows[i] = dynamo.RowID{Table: dynamo.NotesTable, Key: locatorKey(g.id)}, dynamo.RowID{Table: dynamo.NotesTable, Key: g.key}
		}
		if err := db.BatchDelete(ctx, locators); err != nil {
			return "", err
		}
		if prefix == keys.NotePrefix {
			err = db.BatchDelete(ctx, rows)
		} else {
			err = db.removeTombstones(ctx, gone)
		}
		if err != nil {
			return "", err
		}
		return "more", nil
	}
	return "", nil
}

// gone is a note or a tombstone that is being erased.
type gone struct {
	key       dynamo.Key
	id        note.ID
	deletedAt time.Time // of a tombstone that says it
}

// listGone lists notes or tombstones of an owner.
func (db Store) listGone(ctx context.Context, owner note.UserID, prefix string) (found []gone, err error) {
	low, high := dynamo.Prefixed(prefix)
	s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(owner)), Low: low, High: high, Limit: erasePage, Single: true, Keys: prefix == keys.NotePrefix}
	_, err = db.WithoutContent().Query(ctx, s, func(item dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(item, dynamo.NotesTable)
		g := gone{key: key, id: note.ID(keys.Part(key.SK, 2))}
		if prefix == keys.TombstonePrefix {
			g.id = note.ID(keys.Part(key.SK, 1))
			g.deletedAt, _ = keys.ParseInstant(dynamo.TextOf(item, "deleted_at")) // otherwise its first order is found by nothing, and goes by itself
		}
		found = append(found, g)
		return true, err
	})
	return found, err
}

// tombstonesAtOnce is how many tombstones one transaction removes, with up to 3 orders each.
const tombstonesAtOnce = dynamo.MaxActions / 4

// removeTombstones removes tombstones together with their orders.
func (db Store) removeTombstones(ctx context.Context, tombstones []gone) error {
	for some := range slices.Chunk(tombstones, tombstonesAtOnce) {
		var actions []dynamo.Action
		for _, g := range some {
			actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Key: g.key, Remove: true})
			for key := range db.orders(g) {
				actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Key: key, Remove: true})
			}
		}
		if err := db.Transact(ctx, actions, idempotency.Key{}); err != nil {
			return err
		}
	}
	return nil
}

// orders returns where the order to clean up a deleted note may be: on the day on which its undo ends, or a while from now when it comes for the second time.
func (db Store) orders(g gone) map[dynamo.Key]bool {
	days := map[dynamo.Key]bool{}
	for _, due := range []time.Time{note.Deleted{DeletedAt: g.deletedAt}.UndoUntil(), db.Now(), db.Now().Add(note.Settle)} {
		days[cleanupKey(note.Cleanup{Note: g.id, Due: due})] = true
	}
	return days
}
