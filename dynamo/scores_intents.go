package dynamo

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
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

func intentKey(ref score.Ref, id string) rowKey {
	return rowKey{keys.ScoresPK(string(ref.Owner)), keys.IntentSK(string(ref.ID), id)}
}

// putIntent records an intent with its task.
func putIntent(i score.Intent, state string) []action {
	row := scoresTable.key(intentKey(i.Score, i.ID))
	row["kind"], row["state"], row["it"] = str(string(i.Kind)), str(state), itemKeys(i.Items)
	row["g"], row["due"] = number(int64(i.Version)), str(keys.Instant(i.Due))
	return []action{
		{table: scoresTable, item: row, condition: "attribute_not_exists(o)", failed: func(attrs) error {
			return fault.New(fault.Conflict, "this is being done already")
		}},
		taskAction(i.Task()),
	}
}

// errTooLate says that what was prepared was taken back, because it took too long.
var errTooLate = fault.New(fault.Unavailable, "the change took too long; try again")

// whileBegun is an action on an intent on condition that it was not ended; without an update a check.
func whileBegun(i score.Intent, a action) action {
	a.table, a.key, a.condition = scoresTable, intentKey(i.Score, i.ID), "#state = :begun"
	a.names, a.values = reserved("state"), attrs{":begun": str(begun)}
	a.failed = func(attrs) error { return errTooLate }
	return a
}

// becomes lets an intent go from begun to another state.
func becomes(i score.Intent, state string) action {
	a := whileBegun(i, action{update: "SET #state = :state"})
	a.values[":state"] = str(state)
	return a
}

func removeTask(i score.Intent) action {
	return action{table: relationshipEntries, key: taskKey(i.Task()), remove: true}
}

// dueIn is when an intent is settled by its task.
func (db Scores) dueIn(within time.Duration) time.Time {
	return db.now().UTC().Add(within).Truncate(time.Millisecond)
}

// intentRow is what a row tells of an intent.
type intentRow struct {
	score.Intent
	state string
}

func decodeIntent(item []byte, r *intentRow) error {
	key, err := keyOf(item, scoresTable)
	if err != nil {
		return err
	}
	ref, rest, err := refOf(key, keys.IntentPrefix, 1)
	if err != nil {
		return err
	}
	r.Score, r.ID = ref, rest[0]
	return attributes(item, func(name []byte, v value) (err error) {
		var s string
		switch string(name) {
		case "kind":
			s, err = v.str()
			r.Kind = score.IntentKind(s)
		case "state":
			r.state, err = v.str()
		case "it":
			r.Items, err = readItemKeys(v, ref.Owner)
		case "g":
			r.Version, err = v.int()
		case "due":
			r.Due, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
}

func (db Scores) intent(ctx context.Context, of score.Ref, id string) (r intentRow, found bool, err error) {
	found, err = db.get(ctx, scoresTable, intentKey(of, id), func(item []byte) error { return decodeIntent(item, &r) })
	return r, found, err
}

// EndIntent ends an intent that is begun.
//
// Index: primary. Key: o = sc:<owner> AND s = todo:<score><intent>, on condition of its state.
// Cost: 1 GetItem, and 1 TransactWriteItems of 1 row.
func (db Scores) EndIntent(ctx context.Context, of score.Ref, id string) (score.Intent, bool, error) {
	for {
		r, found, err := db.intent(ctx, of, id)
		if err != nil || !found || r.state == existing {
			return score.Intent{}, false, err
		}
		if r.state == ending {
			return r.Intent, true, nil
		}
		err = db.transact(ctx, []action{becomes(r.Intent, ending)}, idempotency.Key{})
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
func (db Scores) ForgetIntent(ctx context.Context, i score.Intent) error {
	return db.transact(ctx, []action{{table: scoresTable, key: intentKey(i.Score, i.ID), remove: true}, removeTask(i)}, idempotency.Key{})
}

// ListIntents ends the intents of all snapshots of a score that is deleted, and removes what is told of the snapshots.
//
// Index: primary. Key: o = sc:<owner> AND begins_with(s, todo:<score>); snap:<score><snapshot>, name:<score><name>.
// Cost: 2 Query, and for each snapshot 1 GetItem and 1 TransactWriteItems of 3 rows; where another program put snapshots, 1 Query of
// o = si:<owner> more, one more per started megabyte of keys.
func (db Scores) ListIntents(ctx context.Context, of score.Ref) ([]score.Intent, error) {
	s := span{table: scoresTable, pk: keys.ScoresPK(string(of.Owner))}
	s.low, s.high = prefixed(keys.IntentPrefix + keys.EncodeUUID(string(of.ID)))
	var rows []intentRow
	_, err := db.query(ctx, s, func(item []byte) (bool, error) {
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
	errs := db.each(len(intents), func(n int) error { return db.endSnapshot(ctx, intents[n], n < len(rows)) })
	return intents, errors.Join(errs...)
}

// withoutIntent returns the snapshots of a score that another program put.
func (db Scores) withoutIntent(ctx context.Context, of score.Ref, stored map[string]bool) ([]score.Intent, error) {
	s := span{table: scoresTable, pk: keys.ScoresPK(string(of.Owner)), keys: true}
	s.low, s.high = prefixed(keys.SnapshotsPrefix(string(of.ID)))
	var ids []score.SnapshotID
	_, err := db.query(ctx, s, func(item []byte) (bool, error) {
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
func (db Scores) endSnapshot(ctx context.Context, i score.Intent, stored bool) error {
	for {
		var s score.Snapshot
		found, err := db.get(ctx, scoresTable, snapshotKey(i.Snapshot()), func(item []byte) error { return decodeSnapshot(item, &s) })
		if err != nil {
			return err
		}
		actions := []action{{table: scoresTable, key: intentKey(i.Score, i.ID), update: "SET #state = :ending", condition: "attribute_exists(o)",
			names: reserved("state"), values: attrs{":ending": str(ending)}, failed: func(attrs) error { return errDone }}}
		if !stored {
			actions = putIntent(i, ending)
		}
		if found {
			actions = append(actions, removeSnapshot(s)...)
		}
		err = db.transact(ctx, actions, idempotency.Key{})
		if _, renamed := errors.AsType[*score.SnapshotConflict](err); renamed {
			continue
		}
		if errors.Is(err, errDone) || fault.Is(err, fault.NotFound) || !stored && fault.Is(err, fault.Conflict) {
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
func (db Scores) ReleaseIntent(ctx context.Context, i score.Intent) error {
	if i.Kind == score.Snapshotting {
		return db.dropping(ctx, usedBy{score: i.Score, snapshot: i.ID}, i.Items)
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
		writes := make([]write, len(unused))
		for n, id := range unused {
			writes[n] = write{table: scoresTable, key: textKey(id)}
		}
		err = db.batchWrite(ctx, writes)
	}
	if err != nil {
		return err
	}
	return db.dropping(ctx, usedBy{score: i.Score, version: now.Version}, without(i.Items, now.Items()))
}

// reached returns the score when it has the version for which the intent prepared, or a later one.
func (db Scores) reached(ctx context.Context, i score.Intent) (s score.Score, found bool, err error) {
	for idle := 0; ; idle++ {
		s = score.Score{}
		found, err = db.get(ctx, scoresTable, scoreKey(i.Score), func(item []byte) error { return decodeScore(item, &s) })
		if err != nil || !found || s.Version >= i.Version {
			return s, found, err
		}
		raise := action{table: scoresTable, key: scoreKey(i.Score), update: "SET #version = :reached", values: attrs{":reached": number(int64(i.Version))}, failed: moved}
		err = db.transact(ctx, []action{raise.ifVersion(s.Version, "version")}, idempotency.Key{})
		if err != nil && !errors.Is(err, errMoved) || !db.pause(ctx, idle) {
			return s, found, errors.Join(err, ctx.Err())
		}
	}
}

// texts returns the texts of a score that no version after the given one is prepared to use.
func (db Scores) texts(ctx context.Context, of score.Ref, kind score.TextKind, version int) ([]score.TextID, error) {
	s := span{table: scoresTable, pk: keys.TextsPK(string(of.Owner))}
	prefix := textKey(score.TextID{Score: of, Kind: kind}).SK
	s.low, s.high = prefixed(prefix)
	var ids []score.TextID
	light := db.projecting(projections{*db.table(scoresTable): projectionOf("o", "s", "g")})
	_, err := light.query(ctx, s, func(item []byte) (bool, error) {
		id, g := score.TextID{Score: of, Kind: kind}, 0
		err := attributes(item, func(name []byte, v value) (err error) {
			switch string(name) {
			case "s":
				var key string
				key, err = v.str()
				id.Hash = key[min(len(prefix), len(key)):]
			case "g":
				g, err = v.int()
			default:
				err = v.skip()
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
