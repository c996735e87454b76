// Package scores keeps scores, their snapshots and texts, and the items that scores and libraries consist of.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [Store] and [Items].
package scores

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// Store keeps scores, their texts and snapshots, and which items they use. Each change of a score or a snapshot leaves an event in the outbox until it was told.
type Store struct {
	*dynamo.DB
	Tell func(event.Event) // is called, and must not wait, when something has happened; nil where that is found in the outbox later
}

var _ score.Store = Store{}

const (
	noSuchScore    = "there is no such score"
	noSuchText     = "the score has no such text"
	noSuchSnapshot = "there is no such snapshot"
)

// ScoresByID reads scores.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) ScoresByID(ctx context.Context, refs []score.Ref) ([]score.Score, []error) {
	scores, wants := make([]score.Score, len(refs)), make([]dynamo.Want, len(refs))
	for i, ref := range refs {
		wants[i] = dynamo.Want{Table: dynamo.ScoresTable, Key: ScoreKey(ref), Decode: func(item dynamo.Item) error { return decodeScore(item, &scores[i]) }}
	}
	return scores, dynamo.Missing(db.BatchGet(ctx, wants), noSuchScore)
}

// TextsByID reads descriptions and annotations. Hundred annotations of the greatest size fit into what DynamoDB reads of one
// partition at a time. A text that is missing may belong to a change whose rows become visible one by one, within
// milliseconds: it is looked for up to three times more.
//
// Index: primary. Key: o = ld:<owner> AND s = anno:<score><hash>, or desc:<score><hash>. Cost: ⌈distinct texts/100⌉ BatchGetItem.
func (db Store) TextsByID(ctx context.Context, ids []score.TextID) ([]string, []error) {
	texts, errs, left := make([]string, len(ids)), make([]error, len(ids)), make([]int, len(ids))
	for i := range left {
		left[i] = i
	}
	light := db.DB.Projecting(nil)
	for try := 0; len(left) > 0 && try < dynamo.Lookups && (try == 0 || db.Pause(ctx, try)); try++ {
		wants := make([]dynamo.Want, len(left))
		for n, i := range left {
			wants[n] = dynamo.Want{Table: dynamo.ScoresTable, Key: textKey(ids[i]), Decode: func(item dynamo.Item) (err error) {
				texts[i], err = textOf(item)
				return err
			}}
		}
		var again []int
		for n, err := range light.BatchGet(ctx, wants) {
			errs[left[n]] = err
			if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
				again = append(again, left[n])
			}
		}
		left = again
	}
	return texts, dynamo.Missing(errs, noSuchText)
}

func textOf(item dynamo.Item) (text string, err error) {
	err = dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		if string(name) != "c" {
			return nil
		}
		text, err = v.Str()
		return err
	})
	return text, err
}

// SnapshotsByID reads what is told of snapshots.
//
// Index: primary. Key: o = sc:<owner> AND s = snap:<score><snapshot>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) SnapshotsByID(ctx context.Context, ids []score.SnapshotID) ([]score.Snapshot, []error) {
	snapshots, wants := make([]score.Snapshot, len(ids)), make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.ScoresTable, Key: snapshotKey(id), Decode: func(item dynamo.Item) error { return decodeSnapshot(item, &snapshots[i]) }}
	}
	return snapshots, dynamo.Missing(db.DB.Projecting(nil).BatchGet(ctx, wants), noSuchSnapshot)
}

// ListScores lists an owner's scores by id. The public ones have a row of their own, so that the others are not read; one that was
// seen before or after its score is left out.
//
// Index: primary. Key: o = sc:<owner> AND begins_with(s, main:); of the public ones begins_with(s, pub:), and s = main:<score> of
// each. Cost: 1 Query; of the public ones ⌈n/100⌉ BatchGetItem besides.
func (db Store) ListScores(ctx context.Context, owner score.UserID, public bool, w page.Window) (page.Slice[score.Score], error) {
	s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ScoresPK(string(owner))}
	if public {
		return db.listPublic(ctx, s, w)
	}
	s.Low, s.High = dynamo.Prefixed(keys.ScorePrefix)
	l := dynamo.Listing[score.Score]{Span: s, Decode: decodeScore, Position: func(s score.Score) string { return ScoreKey(s.Ref).SK }}
	return l.Read(ctx, db.DB, w)
}

// listPublic lists the public scores of a partition.
func (db Store) listPublic(ctx context.Context, s dynamo.Span, w page.Window) (page.Slice[score.Score], error) {
	s.Low, s.High = dynamo.Prefixed(keys.PublicScorePrefix)
	s.Keys = true
	l := dynamo.Listing[score.Ref]{Span: s, Decode: decodePublic}
	return dynamo.Filtered(ctx, db.DB, l, w, func(ctx context.Context, refs []score.Ref) ([]score.Score, error) {
		scores, errs := db.ScoresByID(ctx, refs)
		var kept []score.Score
		for i, s := range scores {
			switch {
			case errs != nil && fault.Is(errs[i], fault.NotFound):
			case errs != nil && errs[i] != nil:
				return nil, errs[i]
			case s.Access == score.Public:
				kept = append(kept, s)
			}
		}
		return kept, nil
	}, func(s score.Score) string { return publicScoreKey(s.Ref).SK })
}

// ArePublic reads the rows by which public scores are listed.
//
// Index: primary. Key: o = sc:<owner> AND s = pub:<score>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) ArePublic(ctx context.Context, refs []score.Ref) ([]bool, []error) {
	public, wants := make([]bool, len(refs)), make([]dynamo.Want, len(refs))
	for i, ref := range refs {
		wants[i] = dynamo.Want{Table: dynamo.ScoresTable, Key: publicScoreKey(ref), Decode: func(dynamo.Item) error { public[i] = true; return nil }}
	}
	return public, dynamo.OrNone(db.BatchGet(ctx, wants))
}

// CountScores reads how many scores owners have.
//
// Index: primary. Key: o = sc:<owner> AND s = summary. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) CountScores(ctx context.Context, owners []score.UserID) ([]int, []error) {
	counts, wants := make([]int, len(owners)), make([]dynamo.Want, len(owners))
	for i, owner := range owners {
		wants[i] = dynamo.Want{Table: dynamo.ScoresTable, Key: scoreCountKey(owner), Decode: func(item dynamo.Item) error {
			return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
				if string(name) != "score_count" {
					return nil
				}
				counts[i], err = v.Int()
				counts[i] = max(counts[i], 0) // another program may have counted less
				return err
			})
		}}
	}
	errs := db.DB.Projecting(nil).BatchGet(ctx, wants)
	for i, err := range errs {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = nil // who never had a score has none
		}
	}
	return counts, errs
}

// ListSnapshotsOf lists the snapshots of scores, concurrently within the bound. A score has few enough of them to be ordered
// here: their ids say nothing about when they were taken.
//
// Index: primary. Key: o = sc:<owner> AND begins_with(s, snap:<score>), for each score. Cost: 1 Query per score.
func (db Store) ListSnapshotsOf(ctx context.Context, refs []score.Ref) ([][]score.Snapshot, []error) {
	lists := make([][]score.Snapshot, len(refs))
	light := db.DB.Projecting(nil)
	errs := db.Each(len(refs), func(i int) error {
		s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ScoresPK(string(refs[i].Owner))}
		s.Low, s.High = dynamo.Prefixed(keys.SnapshotsPrefix(string(refs[i].ID)))
		_, err := light.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var one score.Snapshot
			err := decodeSnapshot(item, &one)
			lists[i] = append(lists[i], one)
			return true, err
		})
		newestFirst(lists[i])
		return err
	})
	return lists, errs
}

// summary are the attributes of a score without pages and annotations.
var summary = dynamo.Projection{Expression: aws.String("#o, #s, d_hash, create_at, update_at, #access, s_count, s_hidden, shown_from, #version, #data.#title, #data.des_h, #data.#v, #data.p_count, #data.a_count"),
	Names: map[string]string{"#o": "o", "#s": "s", "#access": "access", "#version": "version", "#data": "data", "#title": "title", "#v": "v"}}

// WithoutPages returns the store for reads of scores that need only their counts of pages and annotations. What it returns must
// not be written back.
func (db Store) WithoutPages() Store {
	return Store{DB: db.Projecting(dynamo.Projections{*db.Table(dynamo.ScoresTable): summary})}
}
