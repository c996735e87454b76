package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
)

// maxCleanups bounds what one call of ListCleanups returns.
const maxCleanups = 500

// ListCleanups reads the orders that are due, day by day from since on.
//
// Index: primary. Key: PK = CLEANUP#<day> AND begins_with(SK, NOTE#), for each day. Cost: 1 Query per day.
func (db Notes) ListCleanups(ctx context.Context, since, due time.Time) ([]note.Cleanup, error) {
	low, high := prefixed("NOTE#")
	var found []note.Cleanup
	for day := since; !day.After(due.Add(24*time.Hour)) && len(found) < maxCleanups; day = day.Add(24 * time.Hour) {
		s := span{table: notesTable, index: primary, pk: keys.CleanupPK(day), low: low, high: high}
		_, err := db.query(ctx, s, func(item []byte) (bool, error) {
			var c note.Cleanup
			err := decodeCleanup(item, &c)
			if err == nil && !c.Due.After(due) {
				found = append(found, c)
			}
			return len(found) < maxCleanups, err
		})
		if err != nil {
			return nil, err
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
// PK = NOTE_HISTORY#<id>. Cost: 2 Query, ⌈rows/25⌉ BatchWriteItem, 2 TransactWriteItems.
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
	rows, err := db.leftovers(ctx, c.Note)
	if err != nil {
		return err
	}
	if err := db.batchDelete(ctx, notesTable, rows); err != nil {
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

// leftovers returns the keys of all shares and versions of a note.
func (db Notes) leftovers(ctx context.Context, id note.ID) ([]rowKey, error) {
	var rows []rowKey
	collect := func(item []byte) (bool, error) {
		key, err := keyOf(item)
		rows = append(rows, key)
		return true, err
	}
	low, high := prefixed(keys.SharedPrefix)
	if _, err := db.query(ctx, span{table: notesTable, index: gsi2, pk: keys.NotePK(string(id)), low: low, high: high}, collect); err != nil {
		return nil, err
	}
	low, high = prefixed(keys.VersionPrefix)
	_, err := db.query(ctx, span{table: notesTable, index: primary, pk: keys.NoteHistoryPK(string(id)), low: low, high: high}, collect)
	return rows, err
}

// batchDelete removes rows in chunks of 25 and repeats what DynamoDB leaves unprocessed until the deadline.
//
// Cost: ⌈n/25⌉ BatchWriteItem.
func (db *DB) batchDelete(ctx context.Context, table string, rows []rowKey) error {
	ctx, cancel := within(ctx)
	defer cancel()
	for len(rows) > 0 {
		chunk := rows[:min(maxBatchWrite, len(rows))]
		rows = rows[len(chunk):]
		left := make([]types.WriteRequest, len(chunk))
		for i, key := range chunk {
			left[i] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key.attributes()}}
		}
		for idle := 0; len(left) > 0; idle++ {
			out, err := db.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{*db.table(table): left}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
			switch {
			case err != nil && !repeatable(err):
				return failed(err, "some rows could not be removed")
			case err == nil:
				before := len(left)
				if left = out.UnprocessedItems[*db.table(table)]; len(left) < before {
					idle = -1
				}
			}
			if len(left) > 0 && !db.pause(ctx, max(idle, 0)) {
				return failed(errors.Join(err, ctx.Err()), "some rows could not be removed in time")
			}
		}
	}
	return nil
}
