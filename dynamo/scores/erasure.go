package scores

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/score"
)

// EraseOwner removes what is left of an owner whose scores, items and uploads are gone: what is counted of them. It reports whether any of these is still
// there; then nothing is removed.
//
// Index: primary. Key: o = sc:<owner>, ld:<owner>, it:<owner> and si:<owner>. Cost: 4 Queries and ⌈n/25⌉ BatchWriteItem.
func (db Items) EraseOwner(ctx context.Context, owner score.UserID) (left bool, err error) {
	var rows []dynamo.RowID
	for _, pk := range []string{keys.ScoresPK(string(owner)), keys.TextsPK(string(owner)), keys.ItemsPK(string(owner)), keys.ItemUsesPK(string(owner))} {
		if _, err := db.Query(ctx, dynamo.Span{Table: dynamo.ScoresTable, PK: pk, Keys: true}, func(row dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(row, dynamo.ScoresTable)
			left = left || key.SK != keys.CountsSK
			rows = append(rows, dynamo.RowID{Table: dynamo.ScoresTable, Key: key})
			return !left, err
		}); err != nil || left {
			return left, err
		}
	}
	return false, db.BatchDelete(ctx, rows)
}

// OpenUploads lists the uploads of an owner that are neither completed nor closed.
//
// Index: primary. Key: o = it:<owner> AND begins_with(s, upload:). Cost: 1 Query per started megabyte.
func (db Items) OpenUploads(ctx context.Context, owner score.UserID) ([]score.ItemRef, error) {
	low, high := dynamo.Prefixed(keys.UploadPrefix)
	var open []score.ItemRef
	_, err := db.Query(ctx, dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ItemsPK(string(owner)), Low: low, High: high}, func(row dynamo.Item) (bool, error) {
		var u score.Upload
		err := decodeUpload(row, &u)
		if u.State == score.UploadOpen {
			open = append(open, u.ItemRef)
		}
		return true, err
	})
	return open, err
}
