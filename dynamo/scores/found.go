package scores

import (
	"context"
	"errors"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// place is where a public score is found by its title: two attributes of its row. It is empty for other scores.
type place struct{ letter, order string }

func placeOf(s *score.Score) place {
	folded := score.FoldTitle(s.Title)
	letter := keys.PublicTitlesPK(folded)
	if s.Access != score.Public || letter == "" {
		return place{}
	}
	return place{letter, keys.PublicTitleSK(folded, string(s.Owner), string(s.ID))}
}

// put adds to an update what a row has at the place, and returns the attributes that are to be removed.
func (p place) put(a *dynamo.Action) (removed []string) {
	if p == (place{}) {
		return []string{dynamo.ScoresByTitle.PK, dynamo.ScoresByTitle.SK}
	}
	a.Update += ", " + dynamo.ScoresByTitle.PK + " = :letter, " + dynamo.ScoresByTitle.SK + " = :order"
	a.Values[":letter"], a.Values[":order"] = dynamo.Str(p.letter), dynamo.Str(p.order)
	return nil
}

// removing ends an update that sets something with what it removes.
func removing(a *dynamo.Action, attributes ...string) {
	if len(attributes) > 0 {
		a.Update += " REMOVE " + strings.Join(attributes, ", ")
	}
}

// FindPublicScores lists public scores by their titles. The index may be late, and a server of an earlier version leaves places as they are: a score
// counts if it is public when it is read, and its title is at this place.
//
// Index: scores_by_title, eventually consistent. Key: public_letter = PUBLIC:<character> AND begins_with(title_order, <prefix>). Index: primary. Key:
// o = sc:<owner> AND s = main:<score> of each. Cost: 1 Query and ⌈n/100⌉ BatchGetItem; more of both where the index is late.
func (db Store) FindPublicScores(ctx context.Context, begin string, w page.Window) (page.Slice[score.Score], error) {
	l := dynamo.Listing[string]{Span: dynamo.Span{Table: dynamo.ScoresTable, Index: dynamo.ScoresByTitle, PK: keys.PublicTitlesPK(begin)}} // of places
	l.Span.Low, l.Span.High = dynamo.Prefixed(keys.FoundText(begin))
	l.Decode = func(item dynamo.Item, order *string) error {
		*order = dynamo.TextOf(item, dynamo.ScoresByTitle.SK)
		return nil
	}
	l.Start = func(order string) dynamo.Attrs {
		owner, id, _ := keys.PublicTitleOf(order) // a cursor has what was read
		start := dynamo.ScoresTable.Key(ScoreKey(score.Ref{Owner: score.UserID(owner), ID: score.ID(id)}))
		start[dynamo.ScoresByTitle.PK], start[dynamo.ScoresByTitle.SK] = dynamo.Str(l.Span.PK), dynamo.Str(order)
		return start
	}
	return dynamo.Filtered(ctx, db.DB, l, w, func(ctx context.Context, places []string) ([]score.Score, error) {
		refs := make([]score.Ref, len(places))
		for i, order := range places {
			owner, id, err := keys.PublicTitleOf(order)
			if err != nil {
				return nil, err
			}
			refs[i] = score.Ref{Owner: score.UserID(owner), ID: score.ID(id)}
		}
		scores, errs := db.ScoresByID(ctx, refs)
		var found []score.Score
		for i, s := range scores {
			switch {
			case errs != nil && fault.Is(errs[i], fault.NotFound):
			case errs != nil && errs[i] != nil:
				return nil, errs[i]
			case placeOf(&s).order == places[i] && strings.HasPrefix(score.FoldTitle(s.Title), begin):
				found = append(found, s)
			}
		}
		return found, nil
	}, func(s score.Score) string { return placeOf(&s).order })
}

// Indexing is what came of giving public scores the places where they are found.
type Indexing struct {
	Public  int // scores that are public
	Indexed int // scores that had no place, or a wrong one
	Unread  dynamo.Unread
}

// IndexScores gives all public scores the places where they are found, and takes them from others. It can be run again, beside servers. Scores that cannot be read
// stay as they are. A server of an earlier version leaves places as they are: run it when all servers are updated.
//
// Index: primary. Key: all rows, eventually consistent; o = sc:<owner> AND s = main:<score> on condition of its version. Cost: 1 Scan per megabyte of the
// table, with a pause after each page; 1 BatchGetItem and 1 TransactWriteItems of 1 row for each score that lacks its place, concurrently within the bound.
func (db Store) IndexScores(ctx context.Context) (done Indexing, err error) {
	of := dynamo.ScoresByTitle
	names := []string{dynamo.ScoresTable.PK, dynamo.ScoresTable.SK, "access", "data", "version", of.PK, of.SK}
	err = dynamo.WalkAll(ctx, db.DB, dynamo.ScoresTable, names, &done.Unread, func(key dynamo.Key, item dynamo.Item, lacking *score.Ref) (bool, error) {
		if !dynamo.KeyBegins(keys.ScoresPrefixOfAll, keys.ScorePrefix)(key) {
			return false, nil
		}
		var s score.Score
		if err := decodeScore(item, &s); err != nil {
			return false, err
		}
		if s.Access == score.Public {
			done.Public++
		}
		*lacking = s.Ref
		return (place{dynamo.TextOf(item, of.PK), dynamo.TextOf(item, of.SK)}) != placeOf(&s), nil
	}, func(lacking []score.Ref) error {
		for i, err := range db.Each(len(lacking), func(i int) error { return db.indexScore(ctx, lacking[i]) }) {
			if err == nil {
				done.Indexed++
			} else if err = done.Unread.Note(ctx, dynamo.ScoresTable, ScoreKey(lacking[i]), err); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// indexTries is how often a score may change while it gets its place.
const indexTries = 5

// indexScore gives a score its place; one that is gone needs none.
func (db Store) indexScore(ctx context.Context, ref score.Ref) error {
	for tries := 1; ; tries++ {
		scores, errs := db.ScoresByID(ctx, []score.Ref{ref})
		if err := errors.Join(errs...); err != nil {
			if fault.Is(err, fault.NotFound) {
				return nil
			}
			return err
		}
		s := scores[0]
		a := (&scoreChange{Ref: ref, before: s.Version}).isCurrent()
		a.Update = "SET #access = :access" // as it is
		a.Names["#access"], a.Values[":access"] = "access", dynamo.Str(accesses[s.Access])
		removing(&a, placeOf(&s).put(&a)...)
		err := db.Transact(ctx, []dynamo.Action{a}, idempotency.Key{})
		if _, changed := errors.AsType[*score.VersionConflict](err); !changed || tries == indexTries {
			if fault.Is(err, fault.NotFound) {
				return nil
			}
			return err
		}
	}
}
