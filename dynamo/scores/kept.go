package scores

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/score"
)

// keptRow says that a user keeps a score. The score's place in the list is a row of its own, whose key tells everything.
type keptRow struct {
	by   score.UserID
	kept score.Kept
}

// keptRows are the attributes of these rows besides their key.
var keptRows = dynamo.LayoutOf(
	dynamo.OfInstant("kept_at", func(r *keptRow) *time.Time { return &r.kept.At }),
)

func keptKey(by score.UserID, of score.Ref) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(by)), SK: keys.KeptSK(string(of.Owner), string(of.ID))}
}

func keptAtKey(by score.UserID, k score.Kept) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(by)), SK: keys.KeptAtSK(k.At, string(k.Score.Owner), string(k.Score.ID))}
}

// decodeKept reads a score's place in the list.
func decodeKept(item dynamo.Item, k *score.Kept) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return err
	}
	at, owner, id, err := keys.KeptOf(key.SK)
	*k = score.Kept{Score: score.Ref{Owner: score.UserID(owner), ID: score.ID(id)}, At: at}
	return err
}

// countKept changes how many scores a user keeps.
func countKept(by score.UserID, n int64) dynamo.Action {
	return dynamo.Action{Table: dynamo.ScoresTable, Key: scoreCountKey(by), Update: "SET kept_count = if_not_exists(kept_count, :none) + :by",
		Values: dynamo.Attrs{":none": dynamo.Number(0), ":by": dynamo.Number(n)}}
}

// roomForKept counts one score more on condition that the user may keep it.
func roomForKept(by score.UserID) dynamo.Action {
	a := countKept(by, 1)
	a.Condition, a.Values[":most"] = "attribute_not_exists(kept_count) OR kept_count < :most", dynamo.Number(score.MaxKept)
	a.Failed = func(dynamo.Attrs) error {
		return fault.New(fault.Exhausted, "a user keeps at most %d scores of others: drop some first", score.MaxKept)
	}
	return a
}

// errNoChange says that a score is kept already, or is not.
var errNoChange = errors.New("this is so already")

// KeepScore puts that a user keeps a score, and its place in the list, unless that is so already.
//
// Index: primary. Key: o = sc:<user> AND s = keep:<owner><score> on condition that there is none; s = kept:<instant><owner><score>; summary on
// condition of the count. Cost: 1 TransactWriteItems of 3 rows; where the score is kept already and an idempotency key is given, 1 more.
func (db Store) KeepScore(ctx context.Context, by score.UserID, k score.Kept, once idempotency.Key) error {
	row := dynamo.ScoresTable.Key(keptKey(by, k.Score))
	keptRows.Write(&keptRow{by, k}, row)
	err := db.Transact(ctx, []dynamo.Action{
		{Table: dynamo.ScoresTable, Item: row, Condition: "attribute_not_exists(o)", Failed: func(dynamo.Attrs) error { return errNoChange }},
		{Table: dynamo.ScoresTable, Item: dynamo.ScoresTable.Key(keptAtKey(by, k))},
		roomForKept(by),
	}, once)
	return db.unchanged(ctx, err, once)
}

// DropScore removes both rows, if they are there. It starts again when the score was dropped and kept again meanwhile.
//
// Index: primary. Key: o = sc:<user> AND s = keep:<owner><score> on condition of when it was kept; s = kept:<instant><owner><score>; summary.
// Cost: 1 GetItem and 1 TransactWriteItems of 3 rows; where the score is not kept 1 GetItem, and 1 TransactWriteItems for an idempotency key.
func (db Store) DropScore(ctx context.Context, by score.UserID, dropped score.Ref, once idempotency.Key) error {
	for range retry.Until(ctx) {
		r := keptRow{by: by, kept: score.Kept{Score: dropped}}
		there, err := db.Get(ctx, dynamo.ScoresTable, keptKey(by, dropped), func(item dynamo.Item) error { return keptRows.Decode(item, &r) })
		if err != nil {
			return err
		}
		if !there {
			return db.unchanged(ctx, errNoChange, once)
		}
		at := dynamo.Attrs{":at": dynamo.Str(keys.Instant(r.kept.At))}
		err = db.Transact(ctx, []dynamo.Action{
			{Table: dynamo.ScoresTable, Key: keptKey(by, dropped), Remove: true, Condition: "kept_at = :at", Values: at, Failed: dynamo.Moved},
			{Table: dynamo.ScoresTable, Key: keptAtKey(by, r.kept), Remove: true},
			countKept(by, -1),
		}, once)
		if !errors.Is(err, dynamo.ErrMoved) {
			return err
		}
	}
	return retry.Busy("this list of scores")
}

// unchanged records the idempotency key of a change that was so already.
func (db Store) unchanged(ctx context.Context, err error, once idempotency.Key) error {
	if errors.Is(err, errNoChange) {
		return db.Transact(ctx, nil, once)
	}
	return err
}

// ListKept lists the scores that a user keeps, the one that was kept last first. The scores themselves are not read.
//
// Index: primary. Key: o = sc:<user> AND begins_with(s, kept:). Cost: 1 Query.
func (db Store) ListKept(ctx context.Context, by score.UserID, w page.Window) (page.Slice[score.Kept], error) {
	low, high := dynamo.Prefixed(keys.KeptAtPrefix)
	return dynamo.Listing[score.Kept]{
		Span:       dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ScoresPK(string(by)), Low: low, High: high},
		Descending: true,
		Decode:     decodeKept,
		Position:   func(k score.Kept) string { return keptAtKey(by, k).SK },
	}.Read(ctx, db.DB, w)
}
