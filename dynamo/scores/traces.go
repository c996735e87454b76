package scores

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
)

// EraseKept takes the scores of an owner, which are gone, out of the lists of those who keep them, on one page of the table from a position on. It returns how
// many it met, and where to go on; "" at the end.
//
// Index: primary, by Scan. Key: all rows of the table; then as DropScore. Cost: 1 consistent Scan of up to 1 MB, and that of DropScore for each row that it shows.
func (db Store) EraseKept(ctx context.Context, owner score.UserID, position string) (met int, next string, err error) {
	found, next, err := db.Traces(ctx, dynamo.Traced{
		Table: dynamo.ScoresTable, Or: "begins_with(#s, :kept)", Names: map[string]string{"#s": dynamo.ScoresTable.SK},
		Values: dynamo.Attrs{":kept": dynamo.Str(keys.KeptPrefix + keys.EncodeUUID(string(owner)))},
	}, string(owner), position)
	if err != nil {
		return 0, "", err
	}
	return len(found), next, dynamo.EraseEach(db.DB, found, func(t dynamo.Trace) error {
		by, err := keys.SplitIDs(t.Key.PK, keys.ScoresPrefixOfAll, 1)
		if err != nil {
			return err
		}
		of, err := keys.SplitIDs(t.Key.SK, keys.KeptPrefix, 2)
		if err != nil {
			return err
		}
		return db.DropScore(ctx, score.UserID(by[0]), score.Ref{Owner: score.UserID(of[0]), ID: score.ID(of[1])}, idempotency.Key{})
	})
}
