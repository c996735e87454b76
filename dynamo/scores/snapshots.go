package scores

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// roomForOne is the condition that a score exists and may have one snapshot more.
func roomForOne(ref score.Ref) dynamo.Action {
	return dynamo.Action{Table: dynamo.ScoresTable, Key: ScoreKey(ref), Condition: "attribute_exists(o) AND (attribute_not_exists(s_count) OR s_count < :most)",
		Values: dynamo.Attrs{":most": dynamo.Number(score.MaxSnapshots)}, Failed: func(row dynamo.Attrs) error {
			if row == nil {
				return fault.New(fault.NotFound, noSuchScore)
			}
			return score.ErrTooManySnapshots
		}}
}

func nameTaken(dynamo.Attrs) error { return score.ErrNameTaken }

// BeginSnapshot checks what can be checked before the content is stored, and records the intent.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score>, name:<score><name> as conditions; todo:<score><snapshot>; a task.
// Cost: 1 TransactWriteItems of 4 rows.
func (db Store) BeginSnapshot(ctx context.Context, s score.Snapshot, items []score.ItemRef) (score.Intent, error) {
	i := score.Intent{Score: s.Score, ID: s.ID, Kind: score.Snapshotting, Items: items, Due: db.dueIn(score.PrepareWithin)}
	actions := []dynamo.Action{roomForOne(s.Score),
		{Table: dynamo.ScoresTable, Key: snapshotNameKey(s.Score, s.Name), Condition: "attribute_not_exists(o)", Failed: nameTaken}}
	return i, db.Transact(ctx, append(actions, putIntent(i, begun)...), idempotency.Key{})
}

func nameRow(s score.Snapshot) dynamo.Action {
	row := dynamo.ScoresTable.Key(snapshotNameKey(s.Score, s.Name))
	row["snap"] = dynamo.Str(keys.EncodeUUID(s.ID))
	return dynamo.Action{Table: dynamo.ScoresTable, Item: row, Condition: "attribute_not_exists(o)", Failed: nameTaken}
}

// CommitSnapshot makes the snapshot appear. Many items are made used before, which nobody sees.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score> on condition that it exists, may have one more, and shows snapshots of its version;
// snap:<score><snapshot> and name:<score><name> on condition that there is none; todo:<score><snapshot>; a task; o = si:<owner> AND
// s = <item><snapshot> on condition that there is none, and o = it:<owner> AND s = <score><item> on condition that it exists.
// The event in the outbox. Cost: 1 TransactWriteItems of 6 rows and two per item; with more than 42 items 1 TransactWriteItems per 44 of them besides.
func (db Store) CommitSnapshot(ctx context.Context, of score.Score, s score.Snapshot, i score.Intent, once idempotency.Key) error {
	by, e := uses.By{Score: s.Score, Snapshot: s.ID}, score.SnapshotEvent(score.SnapshotCreated, of, s, s.CreatedAt)
	one := roomForOne(s.Score)
	one.Update = "SET s_count = if_not_exists(s_count, :none) + :one"
	one.Values[":none"], one.Values[":one"] = dynamo.Number(0), dynamo.Number(1)
	one.Condition += " AND (attribute_not_exists(shown_from) OR shown_from <= :version)"
	one.Values[":version"] = dynamo.Number(int64(s.Version))
	full := one.Failed
	one.Failed = func(row dynamo.Attrs) error {
		if dynamo.Count(row["shown_from"]) > s.Version {
			return &score.UnknownItem{}
		}
		return full(row)
	}
	final := []dynamo.Action{one,
		{Table: dynamo.ScoresTable, Item: snapshotRow(s), Condition: "attribute_not_exists(o)", Failed: func(dynamo.Attrs) error { return errTooLate }},
		nameRow(s), becomes(i, existing), removeTask(i), outbox.Put(e)}
	items := i.Items
	if len(final)+2*len(items) > db.Prepared {
		for from, step := 0, max((db.Prepared-1)/2, 1); from < len(items); from += step {
			chunk := items[from:min(from+step, len(items))]
			if err := db.taking(ctx, by, chunk, []dynamo.Action{whileBegun(i, dynamo.Action{})}, idempotency.Key{}); err != nil {
				return err
			}
		}
		items = nil
	}
	return db.told(e, db.taking(ctx, by, items, final, once))
}

// ofName is an action on a snapshot on condition of its name.
func ofName(s score.Snapshot, attempt string) dynamo.Action {
	return dynamo.Action{Table: dynamo.ScoresTable, Key: snapshotKey(s.SnapshotID), Condition: "snapname = :name", Values: dynamo.Attrs{":name": dynamo.Str(s.Name)},
		Failed: func(row dynamo.Attrs) error {
			switch {
			case row == nil:
				return fault.New(fault.NotFound, noSuchSnapshot)
			case attempt != "" && dynamo.Text(row["_attempt"]) == attempt:
				return dynamo.ErrDone
			}
			return &score.SnapshotConflict{}
		}}
}

// removeSnapshot removes what is told of a snapshot.
func removeSnapshot(s score.Snapshot) []dynamo.Action {
	row := ofName(s, "")
	row.Remove = true
	return []dynamo.Action{row, {Table: dynamo.ScoresTable, Key: snapshotNameKey(s.Score, s.Name), Remove: true}}
}

// RenameSnapshot changes the name and moves the row that keeps it unique.
//
// Index: primary. Key: o = sc:<owner> AND s = snap:<score><snapshot> on condition of its name; name:<score><name> of both names, on
// condition that there is none of the new one; the event in the outbox. Cost: 1 TransactWriteItems of 4 rows.
func (db Store) RenameSnapshot(ctx context.Context, of score.Score, before, after score.Snapshot, once idempotency.Key) error {
	if before.Name == after.Name {
		return db.Transact(ctx, nil, once)
	}
	attempt := uuid.NewString()
	row := ofName(before, attempt)
	row.Update, row.Names = "SET snapname = :after, update_at = :at, #attempt = :attempt", map[string]string{"#attempt": "_attempt"}
	row.Values[":after"], row.Values[":at"], row.Values[":attempt"] = dynamo.Str(after.Name), dynamo.Str(keys.Instant(after.UpdatedAt)), dynamo.Str(attempt)
	e := score.SnapshotEvent(score.SnapshotRenamed, of, after, after.UpdatedAt)
	err := db.Transact(ctx, []dynamo.Action{row, nameRow(after), {Table: dynamo.ScoresTable, Key: snapshotNameKey(before.Score, before.Name), Remove: true}, outbox.Put(e)}, once)
	if errors.Is(err, dynamo.ErrDone) {
		err = nil
	}
	return db.told(e, err)
}

// oneFewer counts one snapshot less, on condition that the score hides those that it did.
func oneFewer(of score.Score, s score.Snapshot) dynamo.Action {
	a := dynamo.Action{Table: dynamo.ScoresTable, Key: ScoreKey(s.Score), Update: "SET s_count = if_not_exists(s_count, :one) - :one",
		Condition: "attribute_exists(o) AND attribute_not_exists(shown_from)", Values: dynamo.Attrs{":one": dynamo.Number(1)}, Failed: func(row dynamo.Attrs) error {
			if row == nil {
				return fault.New(fault.NotFound, noSuchScore)
			}
			return &score.SnapshotConflict{}
		}}
	if of.ShownFrom > 0 {
		a.Condition, a.Values[":from"] = "attribute_exists(o) AND shown_from = :from", dynamo.Number(int64(of.ShownFrom))
	}
	if s.Version < of.ShownFrom && of.Hidden > 0 { // a server of a version before may have put it without counting it
		a.Update += ", s_hidden = if_not_exists(s_hidden, :one) - :one"
	}
	return a
}

// DeleteSnapshot lets the snapshot disappear; its intent, which knows its items, is to be settled.
//
// Index: primary. Key: o = sc:<owner> AND s = todo:<score><snapshot>, snap:<score><snapshot> on condition of its name, name:<score><name>,
// main:<score> on condition that it exists and hides the snapshots that it did; a task; the event in the outbox. Cost: 1 GetItem, 1
// TransactWriteItems of 6 rows; of a snapshot that another program put, also 1 Query of o = si:<owner>, one more per started megabyte of keys.
func (db Store) DeleteSnapshot(ctx context.Context, of score.Score, s score.Snapshot, once idempotency.Key) (score.Intent, error) {
	r, found, err := db.intent(ctx, s.Score, s.ID)
	if err == nil && found && r.State != existing {
		err = fault.New(fault.NotFound, noSuchSnapshot)
	}
	if err != nil {
		return score.Intent{}, err
	}
	e := score.SnapshotEvent(score.SnapshotDeleted, of, s, db.instant())
	gone := append([]dynamo.Action{oneFewer(of, s), outbox.Put(e)}, removeSnapshot(s)...)
	if !found {
		foreign, err := db.foreignSnapshots(ctx, []score.SnapshotID{s.SnapshotID})
		if err != nil {
			return score.Intent{}, err
		}
		i := foreign[0]
		return i, db.told(e, db.Transact(ctx, append(putIntent(i, ending), gone...), once))
	}
	i := r.Intent
	i.Due = db.dueIn(task.Lease)
	attempt := uuid.NewString()
	end := dynamo.Action{Table: dynamo.ScoresTable, Key: intentKey(i.Score, i.ID), Update: "SET #state = :ending, #due = :due, #attempt = :attempt", Condition: "#state = :kept",
		Names:  map[string]string{"#state": "state", "#due": "due", "#attempt": "_attempt"},
		Values: dynamo.Attrs{":ending": dynamo.Str(ending), ":kept": dynamo.Str(existing), ":due": dynamo.Str(keys.Instant(i.Due)), ":attempt": dynamo.Str(attempt)},
		Failed: func(row dynamo.Attrs) error {
			if dynamo.Text(row["_attempt"]) == attempt {
				return dynamo.ErrDone
			}
			return fault.New(fault.NotFound, noSuchSnapshot)
		}}
	err = db.Transact(ctx, append([]dynamo.Action{end, dynamo.TaskAction(i.Task())}, gone...), once)
	if errors.Is(err, dynamo.ErrDone) {
		err = nil
	}
	return i, db.told(e, err)
}

// foreignSnapshots are the intents of snapshots that have none, since another program put them: which items they use is told by
// the rows of the uses alone, which are not in the order of who uses.
func (db Store) foreignSnapshots(ctx context.Context, ids []score.SnapshotID) ([]score.Intent, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	intents, at := make([]score.Intent, len(ids)), map[string]int{}
	for n, id := range ids {
		intents[n] = score.Intent{Score: id.Score, ID: id.ID, Kind: score.Snapshotting, Due: db.dueIn(task.Lease)}
		at[id.ID] = n
	}
	s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ItemUsesPK(string(ids[0].Score.Owner)), Keys: true}
	_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var u score.Use
		if err := uses.Decode(item, &u); err != nil {
			return false, err
		}
		if n, is := at[u.By]; is {
			of := intents[n].Score
			intents[n].Items = append(intents[n].Items, score.ItemRef{Owner: of.Owner, Score: of.ID, ID: u.Item.ID})
		}
		return true, nil
	})
	return intents, err
}
