package dynamo

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// roomForOne is the condition that a score exists and may have one snapshot more.
func roomForOne(ref score.Ref) action {
	return action{table: scoresTable, key: scoreKey(ref), condition: "attribute_exists(o) AND (attribute_not_exists(s_count) OR s_count < :most)",
		values: attrs{":most": number(score.MaxSnapshots)}, failed: func(row attrs) error {
			if row == nil {
				return fault.New(fault.NotFound, noSuchScore)
			}
			return score.ErrTooManySnapshots
		}}
}

func nameTaken(attrs) error { return score.ErrNameTaken }

// BeginSnapshot checks what can be checked before the content is stored, and records the intent.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score>, name:<score><name> as conditions; todo:<score><snapshot>; a task.
// Cost: 1 TransactWriteItems of 4 rows.
func (db Scores) BeginSnapshot(ctx context.Context, s score.Snapshot, items []score.ItemRef) (score.Intent, error) {
	i := score.Intent{Score: s.Score, ID: s.ID, Kind: score.Snapshotting, Items: items, Due: db.dueIn(score.PrepareWithin)}
	actions := []action{roomForOne(s.Score),
		{table: scoresTable, key: snapshotNameKey(s.Score, s.Name), condition: "attribute_not_exists(o)", failed: nameTaken}}
	return i, db.transact(ctx, append(actions, putIntent(i, begun)...), idempotency.Key{})
}

func nameRow(s score.Snapshot) action {
	row := scoresTable.key(snapshotNameKey(s.Score, s.Name))
	row["snap"] = str(keys.EncodeUUID(s.ID))
	return action{table: scoresTable, item: row, condition: "attribute_not_exists(o)", failed: nameTaken}
}

// CommitSnapshot makes the snapshot appear. Many items are made used before, which nobody sees.
//
// Index: primary. Key: o = sc:<owner> AND s = main:<score> on condition that it exists and may have one more;
// snap:<score><snapshot> and name:<score><name> on condition that there is none; todo:<score><snapshot>; a task; o = si:<owner> AND
// s = <item><snapshot> on condition that there is none, and o = it:<owner> AND s = <score><item> on condition that it exists.
// Cost: 1 TransactWriteItems of 5 rows and two per item; with more than 42 items 1 TransactWriteItems per 44 of them besides.
func (db Scores) CommitSnapshot(ctx context.Context, s score.Snapshot, i score.Intent, once idempotency.Key) error {
	by := usedBy{score: s.Score, snapshot: s.ID}
	one := roomForOne(s.Score)
	one.update = "SET s_count = if_not_exists(s_count, :none) + :one"
	one.values[":none"], one.values[":one"] = number(0), number(1)
	final := []action{one,
		{table: scoresTable, item: snapshotRow(s), condition: "attribute_not_exists(o)", failed: func(attrs) error { return errTooLate }},
		nameRow(s), becomes(i, existing), removeTask(i)}
	items := i.Items
	if len(final)+2*len(items) > db.prepared {
		for from, step := 0, max((db.prepared-1)/2, 1); from < len(items); from += step {
			chunk := items[from:min(from+step, len(items))]
			if err := db.taking(ctx, by, chunk, []action{whileBegun(i, action{})}, idempotency.Key{}); err != nil {
				return err
			}
		}
		items = nil
	}
	return db.taking(ctx, by, items, final, once)
}

// ofName is an action on a snapshot on condition of its name.
func ofName(s score.Snapshot, attempt string) action {
	return action{table: scoresTable, key: snapshotKey(s.SnapshotID), condition: "snapname = :name", values: attrs{":name": str(s.Name)},
		failed: func(row attrs) error {
			switch {
			case row == nil:
				return fault.New(fault.NotFound, noSuchSnapshot)
			case attempt != "" && text(row["_attempt"]) == attempt:
				return errDone
			}
			return &score.SnapshotConflict{}
		}}
}

// removeSnapshot removes what is told of a snapshot.
func removeSnapshot(s score.Snapshot) []action {
	row := ofName(s, "")
	row.remove = true
	return []action{row, {table: scoresTable, key: snapshotNameKey(s.Score, s.Name), remove: true}}
}

// RenameSnapshot changes the name and moves the row that keeps it unique.
//
// Index: primary. Key: o = sc:<owner> AND s = snap:<score><snapshot> on condition of its name; name:<score><name> of both names, on
// condition that there is none of the new one. Cost: 1 TransactWriteItems of 3 rows.
func (db Scores) RenameSnapshot(ctx context.Context, before, after score.Snapshot, once idempotency.Key) error {
	if before.Name == after.Name {
		return db.transact(ctx, nil, once)
	}
	attempt := uuid.NewString()
	row := ofName(before, attempt)
	row.update, row.names = "SET snapname = :after, update_at = :at, #attempt = :attempt", map[string]string{"#attempt": "_attempt"}
	row.values[":after"], row.values[":at"], row.values[":attempt"] = str(after.Name), str(keys.Instant(after.UpdatedAt)), str(attempt)
	err := db.transact(ctx, []action{row, nameRow(after), {table: scoresTable, key: snapshotNameKey(before.Score, before.Name), remove: true}}, once)
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// DeleteSnapshot lets the snapshot disappear; its intent, which knows its items, is to be settled.
//
// Index: primary. Key: o = sc:<owner> AND s = todo:<score><snapshot>, snap:<score><snapshot> on condition of its name, name:<score><name>,
// main:<score> on condition that it exists; a task. Cost: 1 GetItem, 1 TransactWriteItems of 5 rows; of a snapshot that another program
// put, also 1 Query of o = si:<owner>, one more per started megabyte of keys.
func (db Scores) DeleteSnapshot(ctx context.Context, s score.Snapshot, once idempotency.Key) (score.Intent, error) {
	r, found, err := db.intent(ctx, s.Score, s.ID)
	if err == nil && found && r.state != existing {
		err = fault.New(fault.NotFound, noSuchSnapshot)
	}
	if err != nil {
		return score.Intent{}, err
	}
	fewer := action{table: scoresTable, key: scoreKey(s.Score), update: "SET s_count = if_not_exists(s_count, :one) - :one", condition: "attribute_exists(o)",
		values: attrs{":one": number(1)}, failed: func(attrs) error { return fault.New(fault.NotFound, noSuchScore) }}
	if !found {
		foreign, err := db.foreignSnapshots(ctx, []score.SnapshotID{s.SnapshotID})
		if err != nil {
			return score.Intent{}, err
		}
		i := foreign[0]
		return i, db.transact(ctx, append(append(putIntent(i, ending), fewer), removeSnapshot(s)...), once)
	}
	i := r.Intent
	i.Due = db.dueIn(task.Lease)
	attempt := uuid.NewString()
	end := action{table: scoresTable, key: intentKey(i.Score, i.ID), update: "SET #state = :ending, #due = :due, #attempt = :attempt", condition: "#state = :kept",
		names:  map[string]string{"#state": "state", "#due": "due", "#attempt": "_attempt"},
		values: attrs{":ending": str(ending), ":kept": str(existing), ":due": str(keys.Instant(i.Due)), ":attempt": str(attempt)},
		failed: func(row attrs) error {
			if text(row["_attempt"]) == attempt {
				return errDone
			}
			return fault.New(fault.NotFound, noSuchSnapshot)
		}}
	err = db.transact(ctx, append([]action{end, fewer, taskAction(i.Task())}, removeSnapshot(s)...), once)
	if errors.Is(err, errDone) {
		err = nil
	}
	return i, err
}

// foreignSnapshots are the intents of snapshots that have none, since another program put them: which items they use is told by
// the rows of the uses alone, which are not in the order of who uses.
func (db Scores) foreignSnapshots(ctx context.Context, ids []score.SnapshotID) ([]score.Intent, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	intents, at := make([]score.Intent, len(ids)), map[string]int{}
	for n, id := range ids {
		intents[n] = score.Intent{Score: id.Score, ID: id.ID, Kind: score.Snapshotting, Due: db.dueIn(task.Lease)}
		at[id.ID] = n
	}
	s := span{table: scoresTable, pk: keys.ItemUsesPK(string(ids[0].Score.Owner)), keys: true}
	_, err := db.query(ctx, s, func(item []byte) (bool, error) {
		var u score.Use
		if err := decodeUse(item, &u); err != nil {
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
