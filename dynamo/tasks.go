package dynamo

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// Tasks keeps tasks.
type Tasks struct{ *DB }

var _ task.Store = Tasks{}

// taskRecord is a task as its row tells it.
type taskRecord struct {
	task.Task
	Lease time.Time // until when it belongs to who has the token; zero when nobody ever had it
}

func taskKey(t task.Task) rowKey {
	return rowKey{keys.TaskSubjectKey(t.ID), keys.TaskKey(t.Due, string(t.Kind), t.ID)}
}

// taskNames are the attributes of a task that writes mention.
func taskNames(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, name := range names {
		m["#"+name] = name
	}
	return m
}

// taskAction puts the task unless it is there: it never fails, so that it can be part of any transaction, and one that
// is worked on stays as it is.
func taskAction(t task.Task) action {
	return action{
		table: relationshipEntries, key: taskKey(t), task: true,
		update: "SET #scope = if_not_exists(#scope, :scope), #tries = if_not_exists(#tries, :tries)",
		names:  taskNames("scope", "tries"),
		values: attrs{":scope": str(t.Scope), ":tries": number(int64(t.Tries))},
	}
}

// fenced is a change of a task on condition that it is its token's still.
func fenced(t task.Task, lost func(row attrs) error) action {
	return action{table: relationshipEntries, key: taskKey(t), condition: "#token = :token", names: taskNames("token"),
		values: attrs{":token": str(t.Token)}, failed: lost}
}

func decodeTask(item []byte, r *taskRecord) error {
	return attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "_predicate_key":
			var key string
			if key, err = v.str(); err != nil {
				return err
			}
			parts := keys.Split(key)
			if len(parts) != 4 {
				return errors.New("this is no key of a task")
			}
			ms, err := strconv.ParseInt(parts[1], 10, 64)
			r.Due, r.Kind, r.ID = time.UnixMilli(ms).UTC(), task.Kind(parts[2]), parts[3]
			return err
		case "scope":
			r.Scope, err = v.str()
		case "token":
			r.Token, err = v.str()
		case "lease":
			r.Lease, err = v.instant()
		case "tries":
			r.Tries, err = v.int()
		default:
			err = v.skip()
		}
		return err
	})
}

// PutTask records a task.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key = task:<due>:<kind>:<id>.
// Cost: 1 TransactWriteItems of 1 row.
func (db Tasks) PutTask(ctx context.Context, t task.Task) error {
	return db.transact(ctx, []action{taskAction(t)}, idempotency.Key{})
}

// ListDueTasks reads the shards concurrently and leaves out what somebody works on.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key BETWEEN task: AND task:<now>;, for each shard.
// Cost: 1 Query per shard (4); one more of 100, 200, 400, 500 … rows where tasks are worked on.
func (db Tasks) ListDueTasks(ctx context.Context, now time.Time, limit int) ([]task.Task, error) {
	low, high := keys.TaskRange(now)
	shards := keys.TaskSubjectKeys()
	due := make([][]task.Task, len(shards))
	errs := db.each(len(shards), func(i int) error {
		s := span{table: relationshipEntries, pk: shards[i], low: low, high: high, limit: limit}
		for round := 0; ; round++ {
			next, err := db.query(ctx, s, func(item []byte) (bool, error) {
				var r taskRecord
				err := decodeTask(item, &r)
				if err == nil && !r.Lease.After(now) {
					due[i] = append(due[i], r.Task)
				}
				return true, err
			})
			if err != nil || next == nil || len(due[i]) >= limit {
				return err
			}
			s.start, s.limit = next, further(round, limit-len(due[i]))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(due...)
	slices.SortFunc(all, func(a, b task.Task) int { return a.Due.Compare(b.Due) })
	return all[:min(limit, len(all))], nil
}

// errNotClaimed comes with the row that stood in the way; nil for none.
type errNotClaimed struct{ row attrs }

func (errNotClaimed) Error() string { return "the task is somebody else's, or done" }

// ClaimTask takes the task over on condition that nobody has it. The token has to be a new one for each claim: by it an
// attempt whose answer was lost is known. Numbers of tries count claims, so that two who saw the same row cannot both have it.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key = task:<due>:<kind>:<id>.
// Cost: 1 TransactWriteItems of 1 row; one more when the task was claimed since it was read and is free again.
func (db Tasks) ClaimTask(ctx context.Context, t task.Task, token string, until time.Time) (task.Task, bool, error) {
	for {
		err := db.transact(ctx, []action{{
			table: relationshipEntries, key: taskKey(t), update: "SET #token = :token, #lease = :until, #tries = :more",
			condition: "#tries = :tries AND (attribute_not_exists(#lease) OR #lease <= :now)", names: taskNames("token", "lease", "tries"),
			values: attrs{":token": str(token), ":until": str(keys.Instant(until)), ":now": str(keys.Instant(db.now())),
				":tries": number(int64(t.Tries)), ":more": number(int64(t.Tries + 1))},
			failed: func(row attrs) error { return errNotClaimed{row} },
		}}, idempotency.Key{})
		taken := t
		taken.Token = token
		if err == nil {
			return taken, true, nil
		}
		in, ok := errors.AsType[errNotClaimed](err)
		switch {
		case !ok:
			return t, false, err
		case in.row == nil:
			return t, false, nil
		}
		var r taskRecord
		if err := decodeTask(rowJSON(in.row), &r); err != nil {
			return t, false, err
		}
		switch {
		case r.Token == token: // the attempt before
			taken.Tries = r.Tries - 1
			return taken, true, nil
		case r.Lease.After(db.now()) || r.Tries == t.Tries:
			return t, false, nil
		}
		t.Tries = r.Tries
	}
}

// errLost says that the token is no longer the task's.
var errLost = fault.New(fault.Conflict, "the task is somebody else's by now, or done")

func lost(attrs) error { return errLost }

// ExtendTask moves the end of the lease on condition of the token.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key = task:<due>:<kind>:<id>.
// Cost: 1 TransactWriteItems of 1 row.
func (db Tasks) ExtendTask(ctx context.Context, t task.Task, until time.Time) (bool, error) {
	a := fenced(t, lost)
	a.update, a.names["#lease"], a.values[":until"] = "SET #lease = :until", "lease", str(keys.Instant(until))
	err := db.transact(ctx, []action{a}, idempotency.Key{})
	if errors.Is(err, errLost) {
		return false, nil
	}
	return err == nil, err
}

// FinishTask removes the task, or moves it to when it comes back, on condition of the token.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key = task:<due>:<kind>:<id>, and the same with
// the new due. Cost: 1 TransactWriteItems of 1 or 2 rows.
func (db Tasks) FinishTask(ctx context.Context, t task.Task, again time.Time) error {
	a := fenced(t, lost)
	actions := []action{a}
	next := t
	next.Due, next.Tries = again, t.Tries+1 // this claim was a try, too
	switch {
	case again.IsZero():
		actions[0].remove = true
	case taskKey(next) == taskKey(t): // within the same millisecond: a transaction takes one action per row
		actions[0].update, actions[0].names["#lease"] = "REMOVE #token, #lease", "lease"
	default:
		actions[0].remove = true
		actions = append(actions, taskAction(next))
	}
	err := db.transact(ctx, actions, idempotency.Key{})
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}
