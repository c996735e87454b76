package dynamo

import (
	"context"
	"errors"
	"time"

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
func (db Notes) ListCleanups(ctx context.Context, since, due time.Time, after note.Cleanup) ([]note.Cleanup, error) {
	low, high := prefixed("NOTE#")
	var found []note.Cleanup
	if after.Note != "" {
		since = after.Due
	}
	for day := since.UTC().Truncate(24 * time.Hour); !day.After(due) && len(found) < maxCleanups; day = day.Add(24 * time.Hour) {
		shards := keys.CleanupPKs(day)
		orders, cut := make([][]note.Cleanup, len(shards)), make([]bool, len(shards))
		errs := db.each(len(shards), func(i int) error {
			s := span{table: notesTable, pk: shards[i], low: low, high: high}
			if last := cleanupKey(after); after.Note != "" && s.pk == last.PK {
				s.low = last.SK + "\x00"
			} else if after.Note != "" && s.pk < last.PK {
				return nil
			}
			_, err := db.query(ctx, s, func(item []byte) (bool, error) {
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
// because GSI2 may not yet have shown every share.
//
// Index: GSI2, eventually consistent. Key: GSI2PK = NOTE#<id> AND begins_with(GSI2SK, SHARED#). Index: primary. Key:
// PK = NOTE_HISTORY#<id>. Cost: 1 Query per 100 rows or megabyte of shares and of versions, ⌈rows/25⌉ BatchWriteItem,
// 2 TransactWriteItems.
func (db Notes) CleanUp(ctx context.Context, c note.Cleanup, next time.Time) error {
	// The order may be another one meanwhile: of a later deletion of the same note.
	order := action{table: notesTable, key: cleanupKey(c), remove: true, condition: "attribute_not_exists(PK) OR deleted_at = :at",
		values: attrs{":at": str(keys.Instant(c.DeletedAt))}, failed: func(attrs) error { return errUndeleted }}
	err := db.transact(ctx, []action{{
		table: notesTable, key: tombstoneKey(c.Owner, c.Note), update: "SET cleaning = :yes",
		condition: "deleted_at = :at", values: attrs{":yes": number(1), ":at": str(keys.Instant(c.DeletedAt))},
		failed: func(attrs) error { return errUndeleted },
	}}, idempotency.Key{})
	if errors.Is(err, errUndeleted) {
		if err = db.transact(ctx, []action{order}, idempotency.Key{}); errors.Is(err, errUndeleted) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	if err := db.removeLeftovers(ctx, c.Note); err != nil {
		return err
	}
	then := action{table: notesTable, key: tombstoneKey(c.Owner, c.Note), remove: true}
	if !c.Last {
		c.Last, c.Due = true, next
		then = action{table: notesTable, item: cleanupRow(c)}
		if cleanupKey(c) == order.key { // the same day: the new order replaces the old one
			return db.transact(ctx, []action{then}, idempotency.Key{})
		}
	}
	return db.transact(ctx, []action{order, then}, idempotency.Key{})
}

// removePage is how many rows are looked for before those found are removed. A megabyte may end a page earlier: versions
// have up to 400 KB each, and thousands of them could not be read before the time is over.
const removePage = 100

// removeLeftovers removes all shares and versions of a note, page by page, so that what was done is done when it fails.
func (db Notes) removeLeftovers(ctx context.Context, id note.ID) error {
	shares := span{table: notesTable, index: gsi2, pk: keys.NotePK(string(id))}
	shares.low, shares.high = prefixed(keys.SharedPrefix)
	versions := span{table: notesTable, pk: keys.NoteHistoryPK(string(id))}
	versions.low, versions.high = prefixed(keys.VersionPrefix)
	for _, s := range []span{shares, versions} {
		s.limit, s.single, s.keys = removePage, true, true
		for more := true; more; more = s.start != nil {
			var rows []write
			next, err := db.query(ctx, s, func(item []byte) (bool, error) {
				key, err := keyOf(item, s.table)
				rows = append(rows, write{table: s.table, key: key})
				return true, err
			})
			if err != nil {
				return err
			}
			if err := db.batchWrite(ctx, rows); err != nil {
				return err
			}
			s.start = next
		}
	}
	return nil
}
