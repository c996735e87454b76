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

// maxCleanups is how many orders of one partition are listed at a time, and how many of several partitions are enough.
const maxCleanups = 500

// ListCleanups reads the orders that are due, day by day from since on, the partitions of a day concurrently.
//
// Index: primary. Key: PK = CLEANUP#<day>#<shard> AND begins_with(SK, NOTE#), for each day and each of 16 shards.
// Cost: 16 Query per day.
func (db Store) ListCleanups(ctx context.Context, since, due time.Time, after note.Cleanup) ([]note.Cleanup, error) {
	low, high := dynamo.Prefixed("NOTE#")
	var found []note.Cleanup
	if after.Note != "" {
		since = after.Due
	}
	for day := since.UTC().Truncate(24 * time.Hour); !day.After(due) && len(found) < maxCleanups; day = day.Add(24 * time.Hour) {
		shards := keys.CleanupPKs(day)
		orders, cut := make([][]note.Cleanup, len(shards)), make([]bool, len(shards))
		errs := db.Each(len(shards), func(i int) error {
			s := dynamo.Span{Table: dynamo.NotesTable, PK: shards[i], Low: low, High: high}
			if last := cleanupKey(after); after.Note != "" && s.PK == last.PK {
				s.Low = last.SK + "\x00"
			} else if after.Note != "" && s.PK < last.PK {
				return nil
			}
			_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
				var c note.Cleanup
				err := decodeCleanup(item, &c)
				if err == nil && !c.Due.After(due) {
					orders[i] = append(orders[i], c)
				}
				cut[i] = len(orders[i]) == maxCleanups
				return !cut[i], err
			})
			return err
		})
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		for i := range orders {
			if found = append(found, orders[i]...); cut[i] {
				return found, nil // what follows comes after the rest of this partition
			}
		}
	}
	return found, nil
}

// errUndeleted ends a clean-up whose note was brought back.
var errUndeleted = errors.New("the note was undeleted")

// CleanUp removes what is left of a deleted note: first it marks the tombstone, from when on the deletion cannot be undone,
// then it removes shares and versions, then the tombstone or, the first time, only its own order in favour of a later one,
// because GSI2 may not yet have shown every share. Of a tombstone that somebody else removed meanwhile nothing is written.
//
// Index: GSI2, eventually consistent. Key: GSI2PK = NOTE#<id> AND begins_with(GSI2SK, SHARED#). Index: primary. Key:
// PK = NOTE_HISTORY#<id>. Cost: 1 Query per 100 rows or megabyte of shares and of versions, ⌈rows/25⌉ BatchWriteItem,
// 2 TransactWriteItems, 1 more where the tombstone is gone.
func (db Store) CleanUp(ctx context.Context, c note.Cleanup, next time.Time) error {
	// The order may be another one meanwhile: of a later deletion of the same note.
	order := dynamo.Action{Table: dynamo.NotesTable, Key: cleanupKey(c), Remove: true, Condition: "attribute_not_exists(PK) OR deleted_at = :at",
		Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(c.DeletedAt))}, Failed: func(dynamo.Attrs) error { return errUndeleted }}
	tombstone := dynamo.Action{Table: dynamo.NotesTable, Key: tombstoneKey(c.Owner, c.Note), Condition: "deleted_at = :at",
		Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(c.DeletedAt))}, Failed: func(dynamo.Attrs) error { return errUndeleted }}
	err := db.cleanUp(ctx, c, next, order, tombstone)
	if errors.Is(err, errUndeleted) {
		if err = db.Transact(ctx, []dynamo.Action{order}, idempotency.Key{}); errors.Is(err, errUndeleted) {
			err = nil
		}
	}
	return err
}

// cleanUp carries out an order; errUndeleted when its tombstone is not there.
func (db Store) cleanUp(ctx context.Context, c note.Cleanup, next time.Time, order, tombstone dynamo.Action) error {
	mark := tombstone
	mark.Update, mark.Values = "SET cleaning = :yes", dynamo.Attrs{":yes": dynamo.Number(1), ":at": tombstone.Values[":at"]}
	if err := db.Transact(ctx, []dynamo.Action{mark}, idempotency.Key{}); err != nil {
		return err
	}
	if err := db.removeLeftovers(ctx, c.Note); err != nil {
		return err
	}
	if c.Last {
		tombstone = dynamo.Action{Table: dynamo.NotesTable, Key: tombstone.Key, Remove: true}
		return db.Transact(ctx, []dynamo.Action{order, tombstone}, idempotency.Key{})
	}
	c.Last, c.Due = true, next
	then := []dynamo.Action{tombstone, {Table: dynamo.NotesTable, Item: cleanupRow(c)}}
	if cleanupKey(c) != order.Key { // otherwise the new order replaces the old one, of the same day
		then = append(then, order)
	}
	return db.Transact(ctx, then, idempotency.Key{})
}

// removePage is how many rows are looked for before those found are removed. A megabyte may end a page earlier: versions
// have up to 400 KB each, and thousands of them could not be read before the time is over.
const removePage = 100

// removeLeftovers removes all shares and versions of a note, page by page, so that what was done is done when it fails.
func (db Store) removeLeftovers(ctx context.Context, id note.ID) error {
	shares := dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI2, PK: keys.NotePK(string(id))}
	shares.Low, shares.High = dynamo.Prefixed(keys.SharedPrefix)
	versions := dynamo.Span{Table: dynamo.NotesTable, PK: keys.NoteHistoryPK(string(id))}
	versions.Low, versions.High = dynamo.Prefixed(keys.VersionPrefix)
	for _, s := range []dynamo.Span{shares, versions} {
		s.Limit, s.Single, s.Keys = removePage, true, true
		for more := true; more; more = s.Start != nil {
			var rows []dynamo.RowID
			next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
				key, err := dynamo.KeyOf(item, s.Table)
				rows = append(rows, dynamo.RowID{Table: s.Table, Key: key})
				return true, err
			})
			if err != nil {
				return err
			}
			if err := db.BatchDelete(ctx, rows); err != nil {
				return err
			}
			s.Start = next
		}
	}
	return nil
}
