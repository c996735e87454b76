package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// Scores keeps scores, their texts and snapshots, and which items they use.
type Scores struct{ *DB }

var _ score.Store = Scores{}

const (
	noSuchScore    = "there is no such score"
	noSuchText     = "the score has no such text"
	noSuchSnapshot = "there is no such snapshot"
)

// ScoresByID reads scores.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Scores) ScoresByID(ctx context.Context, refs []score.Ref) ([]score.Score, []error) {
	scores, wants := make([]score.Score, len(refs)), make([]want, len(refs))
	for i, ref := range refs {
		wants[i] = want{scoresTable, scoreKey(ref), func(item []byte) error { return decodeScore(item, &scores[i]) }}
	}
	return scores, missing(db.batchGet(ctx, wants), noSuchScore)
}

// TextsByID reads descriptions and annotations. Hundred annotations of the greatest size fit into what DynamoDB reads of one
// partition at a time. A text that is missing may belong to a change whose rows become visible one by one, within
// milliseconds: it is looked for up to three times more.
//
// Index: primary. Key: o = ld:<owner> AND s = anno:<score><hash>, or desc:<score><hash>. Cost: ⌈distinct texts/100⌉ BatchGetItem.
func (db Scores) TextsByID(ctx context.Context, ids []score.TextID) ([]string, []error) {
	texts, errs, left := make([]string, len(ids)), make([]error, len(ids)), make([]int, len(ids))
	for i := range left {
		left[i] = i
	}
	light := db.DB.projecting(nil)
	for try := 0; len(left) > 0 && try < lookups && (try == 0 || db.pause(ctx, try)); try++ {
		wants := make([]want, len(left))
		for n, i := range left {
			wants[n] = want{scoresTable, textKey(ids[i]), func(item []byte) (err error) {
				texts[i], err = textOf(item)
				return err
			}}
		}
		var again []int
		for n, err := range light.batchGet(ctx, wants) {
			errs[left[n]] = err
			if err == errMissing { //nolint:errorlint // batchGet returns it bare
				again = append(again, left[n])
			}
		}
		left = again
	}
	return texts, missing(errs, noSuchText)
}

func textOf(item []byte) (text string, err error) {
	err = attributes(item, func(name []byte, v value) (err error) {
		if string(name) != "c" {
			return v.skip()
		}
		text, err = v.str()
		return err
	})
	return text, err
}

// SnapshotsByID reads what is told of snapshots.
//
// Index: primary. Key: o = sc:<owner> AND s = snap:<score><snapshot>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Scores) SnapshotsByID(ctx context.Context, ids []score.SnapshotID) ([]score.Snapshot, []error) {
	snapshots, wants := make([]score.Snapshot, len(ids)), make([]want, len(ids))
	for i, id := range ids {
		wants[i] = want{scoresTable, snapshotKey(id), func(item []byte) error { return decodeSnapshot(item, &snapshots[i]) }}
	}
	return snapshots, missing(db.DB.projecting(nil).batchGet(ctx, wants), noSuchSnapshot)
}

// ListScores lists an owner's scores by id. The public ones have a row of their own, so that the others are not read; one that was
// seen before or after its score is left out.
//
// Index: primary. Key: o = sc:<owner> AND begins_with(s, main:); of the public ones begins_with(s, pub:), and s = main:<score> of
// each. Cost: 1 Query; of the public ones ⌈n/100⌉ BatchGetItem besides.
func (db Scores) ListScores(ctx context.Context, owner score.UserID, public bool, w page.Window) (page.Slice[score.Score], error) {
	s := span{table: scoresTable, pk: keys.ScoresPK(string(owner))}
	if public {
		return db.listPublic(ctx, s, w)
	}
	s.low, s.high = prefixed(keys.ScorePrefix)
	l := listing[score.Score]{span: s, decode: decodeScore, position: func(s score.Score) string { return scoreKey(s.Ref).SK }}
	return l.read(ctx, db.DB, w)
}

// listPublic lists the public scores of a partition.
func (db Scores) listPublic(ctx context.Context, s span, w page.Window) (page.Slice[score.Score], error) {
	s.low, s.high = prefixed(keys.PublicScorePrefix)
	s.keys = true
	l := listing[score.Ref]{span: s, decode: decodePublic}
	return filtered(ctx, db.DB, l, w, func(ctx context.Context, refs []score.Ref) ([]score.Score, error) {
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
func (db Scores) ArePublic(ctx context.Context, refs []score.Ref) ([]bool, []error) {
	public, wants := make([]bool, len(refs)), make([]want, len(refs))
	for i, ref := range refs {
		wants[i] = want{scoresTable, publicScoreKey(ref), func([]byte) error { public[i] = true; return nil }}
	}
	return public, orNone(db.batchGet(ctx, wants))
}

// CountScores reads how many scores owners have.
//
// Index: primary. Key: o = sc:<owner> AND s = summary. Cost: ⌈n/100⌉ BatchGetItem.
func (db Scores) CountScores(ctx context.Context, owners []score.UserID) ([]int, []error) {
	counts, wants := make([]int, len(owners)), make([]want, len(owners))
	for i, owner := range owners {
		wants[i] = want{scoresTable, scoreCountKey(owner), func(item []byte) error {
			return attributes(item, func(name []byte, v value) (err error) {
				if string(name) != "score_count" {
					return v.skip()
				}
				counts[i], err = v.int()
				counts[i] = max(counts[i], 0) // another program may have counted less
				return err
			})
		}}
	}
	errs := db.DB.projecting(nil).batchGet(ctx, wants)
	for i, err := range errs {
		if err == errMissing { //nolint:errorlint // batchGet returns it bare
			errs[i] = nil // who never had a score has none
		}
	}
	return counts, errs
}

// ListSnapshotsOf lists the snapshots of scores, concurrently within the bound. A score has few enough of them to be ordered
// here: their ids say nothing about when they were taken.
//
// Index: primary. Key: o = sc:<owner> AND begins_with(s, snap:<score>), for each score. Cost: 1 Query per score.
func (db Scores) ListSnapshotsOf(ctx context.Context, refs []score.Ref) ([][]score.Snapshot, []error) {
	lists := make([][]score.Snapshot, len(refs))
	light := db.DB.projecting(nil)
	errs := db.each(len(refs), func(i int) error {
		s := span{table: scoresTable, pk: keys.ScoresPK(string(refs[i].Owner))}
		s.low, s.high = prefixed(keys.SnapshotsPrefix(string(refs[i].ID)))
		_, err := light.query(ctx, s, func(item []byte) (bool, error) {
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
var summary = projection{expression: aws.String("#o, #s, d_hash, create_at, update_at, #access, s_count, #version, #data.#title, #data.des_h, #data.#v, #data.p_count, #data.a_count"),
	names: map[string]string{"#o": "o", "#s": "s", "#access": "access", "#version": "version", "#data": "data", "#title": "title", "#v": "v"}}

// WithoutPages returns the store for reads of scores that need only their counts of pages and annotations. What it returns must
// not be written back.
func (db Scores) WithoutPages() Scores {
	return Scores{db.projecting(projections{*db.table(scoresTable): summary})}
}
