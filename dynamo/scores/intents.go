package scores

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
)

// The states of an intent. From begun it goes to existing, if it is a snapshot's, and in the end to ending: nothing can be
// committed any more, and what is not used is being removed.
const (
	begun    = "begun"
	existing = "existing"
	ending   = "ending"
)

func intentKey(ref score.Ref, id string) dynamo.Key {
	return dynamo.Key{PK: keys.ScoresPK(string(ref.Owner)), SK: keys.IntentSK(string(ref.ID), id)}
}

// putIntent records an intent with its task.
func putIntent(i score.Intent, state string) []dynamo.Action {
	row := dynamo.ScoresTable.Key(intentKey(i.Score, i.ID))
	row["kind"], row["state"], row["it"] = dynamo.Str(string(i.Kind)), dynamo.Str(state), itemKeys(i.Items)
	row["g"], row["due"] = dynamo.Number(int64(i.Version)), dynamo.Str(keys.Instant(i.Due))
	return []dynamo.Action{
		{Table: dynamo.ScoresTable, Item: row, Condition: "attribute_not_exists(o)", Failed: func(dynamo.Attrs) error {
			return fault.New(fault.Conflict, "this is being done already")
		}},
		dynamo.TaskAction(i.Task()),
	}
}

// errTooLate says that what was prepared was taken back, because it took too long.
var errTooLate = fault.New(fault.Unavailable, "the change took too long; try again")

// whileBegun is an action on an intent on condition that it was not ended; without an update a check.
func whileBegun(i score.Intent, a dynamo.Action) dynamo.Action {
	a.Table, a.Key, a.Condition = dynamo.ScoresTable, intentKey(i.Score, i.ID), "#state = :begun"
	a.Names, a.Values = dynamo.Reserved("state"), dynamo.Attrs{":begun": dynamo.Str(begun)}
	a.Failed = func(dynamo.Attrs) error { return errTooLate }
	return a
}

// becomes lets an intent go from begun to another state.
func becomes(i score.Intent, state string) dynamo.Action {
	a := whileBegun(i, dynamo.Action{Update: "SET #state = :state"})
	a.Values[":state"] = dynamo.Str(state)
	return a
}

func removeTask(i score.Intent) dynamo.Action {
	return dynamo.Action{Table: dynamo.RelationshipEntries, Key: dynamo.TaskKey(i.Task()), Remove: true}
}

// dueIn is when an intent is settled by its task.
func (db Store) dueIn(within time.Duration) time.Time {
	return db.instant().Add(within)
}

// intentRow is what a row tells of an intent.
type intentRow struct {
	score.Intent
	State string
}

func decodeIntent(item dynamo.Item, r *intentRow) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return err
	}
	ref, rest, err := refOf(key, keys.IntentPrefix, 1)
	if err != nil {
		return err
	}
	r.Score, r.ID = ref, rest[0]
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		var s string
		switch string(name) {
		case "kind":
			s, err = v.Str()
			r.Kind = score.IntentKind(s)
		case "state":
			r.State, err = v.Str()
		case "it":
			r.Items, err = readItemKeys(v, ref.Owner)
		case "g":
			r.Version, err = v.Int()
		case "due":
			r.Due, err = v.Instant()
		}
		return err
	})
}

func (db Store) intent(ctx context.Context, of score.Ref, id string) (r intentRow, found bool, err error) {
	found, err = db.Get(ctx, dynamo.ScoresTable, intentKey(of, id), func(item dynamo.Item) error { return decodeIntent(item, &r) })
	return r, found, err
}

// EndIntent ends an intent that is begun.
//
// Index: primary. Key: o = sc:<owner> AND s = todo:<score><intent>, on condition of its state.
// Cost: 1 GetItem, and 1 TransactWriteItems of 1 row.
func (db Store) EndIntent(ctx context.Context, of score.Ref, id string) (score.Intent, bool, error) {
	for {
		r, found, err := db.intent(ctx, of, id)
		if err != nil || !found || r.State == existing {
			return score.Intent{}, false, err
		}
		if r.State == ending {
			return r.Intent, true, nil
		}
		err = db.Transact(ctx, []dynamo.Action{becomes(r.Intent, ending)}, idempotency.Key{})
		if err == nil {
			return r.Intent, true, nil
		}
		if !errors.Is(err, errTooLate) { // otherwise somebody was faster: see what it did
			return score.Intent{}, false, err
		}
	}
}

// ForgetIntent removes the intent and its task.
//
// Index: primary. Key: o = sc:<owner> AND s = todo:<score><intent>; the task. Cost: 1 TransactWriteItems of 2 rows.
func (db Store) ForgetIntent(ctx context.Context, i score.Intent) error {
	return db.Transact(ctx, []dynamo.Action{{Table: dynamo.ScoresTable, Key: intentKey(i.Score, i.ID), Remove: true}, removeTask(i)}, idempotency.Key{})
}

// ListIntents ends the intents of all snapshots of a score that is deleted, and removes what is told of the snapshots.
//
// Index: primary. Key: o = sc:<owner> AND begins_with(s, todo:<score>); snap:<score><snapshot>, name:<score><name>.
// Cost: 2 Query, and for each snapshot 1 GetItem and 1 TransactWriteItems of 3 rows; where another program put snapshots, 1 Query of
// o = si:<owner> more, one more per started megabyte of keys.
func (db Store) ListIntents(ctx context.Context, of score.Ref) ([]score.Intent, error) {
	s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ScoresPK(string(of.Owner))}
	s.Low, s.High = dynamo.Prefixed(keys.IntentPrefix + keys.EncodeUUID(string(of.ID)))
	var rows []intentRow
	_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var r intentRow
		err := decodeIntent(item, &r)
		if r.Kind == score.Snapshotting {
			rows = append(rows, r)
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	stored, intents := map[string]bool{}, make([]score.Intent, len(rows))
	for n, r := range rows {
		stored[r.ID], intents[n] = true, r.Intent
	}
	foreign, err := db.withoutIntent(ctx, of, stored)
	if err != nil {
		return nil, err
	}
	intents = append(intents, foreign...)
	errs := db.Each(len(intents), func(n int) error { return db.endSnapshot(ctx, intents[n], n < len(rows)) })
	return intents, errors.Join(errs...)
}

// withoutIntent returns the snapshots of a score that another program put.
func (db Store) withoutIntent(ctx context.Context, of score.Ref, stored map[string]bool) ([]score.Intent, error) {
	s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ScoresPK(string(of.Owner)), Keys: true}
	s.Low, s.High = dynamo.Prefixed(keys.SnapshotsPrefix(string(of.ID)))
	var ids []score.SnapshotID
	_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var one score.Snapshot
		err := decodeSnapshot(item, &one)
		if !stored[one.ID] {
			ids = append(ids, one.SnapshotID)
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return db.foreignSnapshots(ctx, ids)
}

// endSnapshot removes what is told of a snapshot whose score is deleted. Nobody can take one of it any more.
func (db Store) endSnapshot(ctx context.Context, i score.Intent, stored bool) error {
	for {
		var s score.Snapshot
		found, err := db.Get(ctx, dynamo.ScoresTable, snapshotKey(i.Snapshot()), func(item dynamo.Item) error { return decodeSnapshot(item, &s) })
		if err != nil {
			return err
		}
		actions := []dynamo.Action{{Table: dynamo.ScoresTable, Key: intentKey(i.Score, i.ID), Update: "SET #state = :ending", Condition: "attribute_exists(o)",
			Names: dynamo.Reserved("state"), Values: dynamo.Attrs{":ending": dynamo.Str(ending)}, Failed: func(dynamo.Attrs) error { return dynamo.ErrDone }}}
		if !stored {
			actions = putIntent(i, ending)
		}
		if found {
			actions = append(actions, removeSnapshot(s)...)
		}
		err = db.Transact(ctx, actions, idempotency.Key{})
		if _, renamed := errors.AsType[*score.SnapshotConflict](err); renamed {
			continue
		}
		if errors.Is(err, dynamo.ErrDone) || fault.Is(err, fault.NotFound) || !stored && fault.Is(err, fault.Conflict) {
			return nil // somebody else has settled it
		}
		return err
	}
}

// ReleaseIntent compares what there is with what the score uses now, if it exists, and removes the rest. If the version for
// which the intent prepared has not come, the score gets it first, as it is: nobody else prepares for it from then on, and what
// was prepared can be told from what others prepare.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score>; o = ld:<owner> AND begins_with(s, anno:<score>), and desc:<score>;
// o = si:<owner> AND s = <item><score>, or <item><snapshot>, for each item, with o = it:<owner> AND s = <score><item>.
// Cost: 1 GetItem, 1 TransactWriteItems if the version has not come; 2 Query and one per megabyte of texts; 1 TransactWriteItems
// per 90 texts, ⌈n/25⌉ BatchWriteItem when the score is gone; ⌈n/100⌉ BatchGetItem and 1 TransactWriteItems per 45 items.
func (db Store) ReleaseIntent(ctx context.Context, i score.Intent) error {
	if i.Kind == score.Snapshotting {
		return db.dropping(ctx, uses.By{Score: i.Score, Snapshot: i.ID}, i.Items)
	}
	now, found, err := db.reached(ctx, i)
	if err != nil {
		return err
	}
	if !found {
		now.Version = math.MaxInt32 // whatever was prepared, nobody can use it
	}
	used := map[score.TextID]bool{}
	for _, id := range now.Texts() {
		used[id] = true
	}
	var unused []score.TextID
	for _, kind := range []score.TextKind{score.AnnotationText, score.DescriptionText} {
		texts, err := db.texts(ctx, i.Score, kind, now.Version)
		if err != nil {
			return err
		}
		for _, id := range texts {
			if !used[id] {
				unused = append(unused, id)
			}
		}
	}
	if found {
		err = db.removing(ctx, unused, now.Version)
	} else {
		writes := make([]dynamo.RowID, len(unused))
		for n, id := range unused {
			writes[n] = dynamo.RowID{Table: dynamo.ScoresTable, Key: textKey(id)}
		}
		err = db.BatchDelete(ctx, writes)
	}
	if err != nil {
		return err
	}
	return db.dropping(ctx, uses.By{Score: i.Score, Version: now.Version}, without(i.Items, now.Items()))
}

// reached returns the score when it has the version for which the intent prepared, or a later one.
func (db Store) reached(ctx context.Context, i score.Intent) (s score.Score, found bool, err error) {
	for idle := 0; ; idle++ {
		s = score.Score{}
		found, err = db.Get(ctx, dynamo.ScoresTable, ScoreKey(i.Score), func(item dynamo.Item) error { return decodeScore(item, &s) })
		if err != nil || !found || s.Version >= i.Version {
			return s, found, err
		}
		raise := dynamo.Action{Table: dynamo.ScoresTable, Key: ScoreKey(i.Score), Update: "SET #version = :reached", Values: dynamo.Attrs{":reached": dynamo.Number(int64(i.Version))}, Failed: dynamo.Moved}
		err = db.Transact(ctx, []dynamo.Action{raise.IfVersion(s.Version, "version")}, idempotency.Key{})
		if err != nil && !errors.Is(err, dynamo.ErrMoved) || !db.Pause(ctx, idle) {
			return s, found, errors.Join(err, ctx.Err())
		}
	}
}

// texts returns the texts of a score that no version after the given one is prepared to use.
func (db Store) texts(ctx context.Context, of score.Ref, kind score.TextKind, version int) ([]score.TextID, error) {
	s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.TextsPK(string(of.Owner))}
	prefix := textKey(score.TextID{Score: of, Kind: kind}).SK
	s.Low, s.High = dynamo.Prefixed(prefix)
	var ids []score.TextID
	light := db.Projecting(dynamo.Projections{*db.Table(dynamo.ScoresTable): dynamo.ProjectionOf("o", "s", "g")})
	_, err := light.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		id, g := score.TextID{Score: of, Kind: kind}, 0
		err := dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
			switch string(name) {
			case "s":
				var key string
				key, err = v.Str()
				id.Hash = key[min(len(prefix), len(key)):]
			case "g":
				g, err = v.Int()
			}
			return err
		})
		if g <= version {
			ids = append(ids, id)
		}
		return true, err
	})
	return ids, err
}

// without returns the elements of all that are not in some.
func without[T comparable](all, some []T) []T {
	not := make(map[T]bool, len(some))
	for _, one := range some {
		not[one] = true
	}
	var left []T
	for _, one := range all {
		if !not[one] {
			left = append(left, one)
		}
	}
	return left
}
