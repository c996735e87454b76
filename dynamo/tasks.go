package dynamo

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
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

// TaskKey is the key of the row of a task.
func TaskKey(t task.Task) Key {
	return Key{keys.TaskSubjectKey(t.ID), keys.TaskKey(t.Due, string(t.Kind), t.ID)}
}

// TaskNames are the attributes of a task that writes mention.
func TaskNames(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, name := range names {
		m["#"+name] = name
	}
	return m
}

// TaskAction puts the task unless it is there: it never fails, so that it can be part of any transaction, and one that
// is worked on stays as it is.
func TaskAction(t task.Task) Action {
	return Action{
		Table: RelationshipEntries, Key: TaskKey(t), task: true,
		Update: "SET #scope = if_not_exists(#scope, :scope), #tries = if_not_exists(#tries, :tries)",
		Names:  TaskNames("scope", "tries"),
		Values: Attrs{":scope": Str(t.Scope), ":tries": Number(int64(t.Tries))},
	}
}

// fenced is a change of a task on condition that it is its token's still.
func fenced(t task.Task, lost func(row Attrs) error) Action {
	return Action{Table: RelationshipEntries, Key: TaskKey(t), Condition: "#token = :token", Names: TaskNames("token"),
		Values: Attrs{":token": Str(t.Token)}, Failed: lost}
}

func decodeTask(item Item, r *taskRecord) error {
	return Attributes(item, func(name []byte, v Value) (err error) {
		switch string(name) {
		case "_predicate_key":
			var key string
			if key, err = v.Str(); err != nil {
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
			r.Scope, err = v.Str()
		case "token":
			r.Token, err = v.Str()
		case "lease":
			r.Lease, err = v.Instant()
		case "tries":
			r.Tries, err = v.Int()
		}
		return err
	})
}

// PutTask records a task.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key = task:<due>:<kind>:<id>.
// Cost: 1 TransactWriteItems of 1 row.
func (db Tasks) PutTask(ctx context.Context, t task.Task) error {
	return db.Transact(ctx, []Action{TaskAction(t)}, idempotency.Key{})
}

// ListDueTasks reads the shards concurrently and leaves out what somebody works on.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key BETWEEN task: AND task:<now>;, for each shard.
// Cost: 1 Query per shard (4); one more of 100, 200, 400, 500 … rows where tasks are worked on.
func (db Tasks) ListDueTasks(ctx context.Context, now time.Time, limit int) ([]task.Task, error) {
	low, high := keys.TaskRange(now)
	shards := keys.TaskSubjectKeys()
	due := make([][]task.Task, len(shards))
	errs := db.Each(len(shards), func(i int) error {
		s := Span{Table: RelationshipEntries, PK: shards[i], Low: low, High: high, Limit: limit}
		for round := 0; ; round++ {
			next, err := db.Query(ctx, s, func(item Item) (bool, error) {
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
			s.Start, s.Limit = next, Further(round, limit-len(due[i]))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(due...)
	slices.SortFunc(all, func(a, b task.Task) int { return a.Due.Compare(b.Due) })
	return all[:min(limit, len(all))], nil
}

// AnyUntil reports whether there is a task that is due at that time, whoever works on it.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key BETWEEN task: AND task:<until>;, for each shard. Cost: 1 Query
// per shard (4).
func (db Tasks) AnyUntil(ctx context.Context, until time.Time) (bool, error) {
	low, high := keys.TaskRange(until)
	shards := keys.TaskSubjectKeys()
	any := make([]bool, len(shards))
	errs := db.Each(len(shards), func(i int) error {
		_, err := db.Query(ctx, Span{Table: RelationshipEntries, PK: shards[i], Low: low, High: high, Limit: 1, Keys: true}, func(Item) (bool, error) {
			any[i] = true
			return false, nil
		})
		return err
	})
	return slices.Contains(any, true), errors.Join(errs...)
}

// errNotClaimed comes with the row that stood in the way; nil for none.
type errNotClaimed struct{ row Attrs }

func (errNotClaimed) Error() string { return "the task is somebody else's, or done" }

// ClaimTask takes the task over on condition that nobody has it. The token has to be a new one for each claim: by it an
// attempt whose answer was lost is known. Numbers of tries count claims, so that two who saw the same row cannot both have it.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key = task:<due>:<kind>:<id>.
// Cost: 1 TransactWriteItems of 1 row; one more when the task was claimed since it was read and is free again.
func (db Tasks) ClaimTask(ctx context.Context, t task.Task, token string, until time.Time) (task.Task, bool, error) {
	for {
		err := db.Transact(ctx, []Action{{
			Table: RelationshipEntries, Key: TaskKey(t), Update: "SET #token = :token, #lease = :until, #tries = :more",
			Condition: "#tries = :tries AND (attribute_not_exists(#lease) OR #lease <= :now)", Names: TaskNames("token", "lease", "tries"),
			Values: Attrs{":token": Str(token), ":until": Str(keys.Instant(until)), ":now": Str(keys.Instant(db.Now())),
				":tries": Number(int64(t.Tries)), ":more": Number(int64(t.Tries + 1))},
			Failed: func(row Attrs) error { return errNotClaimed{row} },
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
		if err := decodeTask(ItemOf(in.row), &r); err != nil {
			return t, false, err
		}
		switch {
		case r.Token == token: // the attempt before
			taken.Tries = r.Tries - 1
			return taken, true, nil
		case r.Lease.After(db.Now()) || r.Tries == t.Tries:
			return t, false, nil
		}
		t.Tries = r.Tries
	}
}

// errLost says that the token is no longer the task's.
var errLost = fault.New(fault.Conflict, "the task is somebody else's by now, or done")

func lost(Attrs) error { return errLost }

// ExtendTask moves the end of the lease on condition of the token.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard> AND _predicate_key = task:<due>:<kind>:<id>.
// Cost: 1 TransactWriteItems of 1 row.
func (db Tasks) ExtendTask(ctx context.Context, t task.Task, until time.Time) (bool, error) {
	a := fenced(t, lost)
	a.Update, a.Names["#lease"], a.Values[":until"] = "SET #lease = :until", "lease", Str(keys.Instant(until))
	err := db.Transact(ctx, []Action{a}, idempotency.Key{})
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
	actions := []Action{a}
	next := t
	next.Due, next.Tries = again, t.Tries+1 // this claim was a try, too
	switch {
	case again.IsZero():
		actions[0].Remove = true
	case TaskKey(next) == TaskKey(t): // within the same millisecond: a transaction takes one action per row
		actions[0].Update, actions[0].Names["#lease"] = "REMOVE #token, #lease", "lease"
	default:
		actions[0].Remove = true
		actions = append(actions, TaskAction(next))
	}
	err := db.Transact(ctx, actions, idempotency.Key{})
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// TaskActions are what puts each of the tasks; see [TaskAction].
func TaskActions(of []task.Task) []Action {
	actions := make([]Action, len(of))
	for i, t := range of {
		actions[i] = TaskAction(t)
	}
	return actions
}

// ForgetTasks removes the tasks of some kinds that are about a scope, also those that somebody works on, who notices when they end.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard>, for each shard. Cost: 1 Query per shard (4), one more per started megabyte, and ⌈n/25⌉ BatchWriteItem.
func (db *DB) ForgetTasks(ctx context.Context, scope string, kinds ...task.Kind) error {
	return db.forgetTasks(ctx, func(t task.Task) bool { return t.Scope == scope && slices.Contains(kinds, t.Kind) })
}

// ForgetEarlier removes the tasks of a kind that are about the scope of a task, but that one.
//
// Index: primary. Key: as ForgetTasks. Cost: as ForgetTasks.
func (db *DB) ForgetEarlier(ctx context.Context, than task.Task) error {
	return db.forgetTasks(ctx, func(t task.Task) bool { return t.Scope == than.Scope && t.Kind == than.Kind && t.ID != than.ID })
}

func (db *DB) forgetTasks(ctx context.Context, forget func(task.Task) bool) error {
	shards := keys.TaskSubjectKeys()
	found := make([][]RowID, len(shards))
	if err := errors.Join(db.Each(len(shards), func(i int) error {
		_, err := db.Query(ctx, Span{Table: RelationshipEntries, PK: shards[i]}, func(item Item) (bool, error) {
			var r taskRecord
			err := decodeTask(item, &r)
			if forget(r.Task) {
				found[i] = append(found[i], RowID{Table: RelationshipEntries, Key: TaskKey(r.Task)})
			}
			return true, err
		})
		return err
	})...); err != nil {
		return err
	}
	return db.BatchDelete(ctx, slices.Concat(found...))
}

// AnyTaskOf reports whether there is a task that is about something whose scope begins so, whoever works on it, but those of a kind.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard>, for each shard. Cost: 1 Query per shard (4), one more per started megabyte.
func (db *DB) AnyTaskOf(ctx context.Context, scope string, but task.Kind) (bool, error) {
	shards := keys.TaskSubjectKeys()
	any := make([]bool, len(shards))
	errs := db.Each(len(shards), func(i int) error {
		_, err := db.Query(ctx, Span{Table: RelationshipEntries, PK: shards[i]}, func(item Item) (bool, error) {
			var r taskRecord
			err := decodeTask(item, &r)
			any[i] = strings.HasPrefix(r.Scope, scope) && r.Kind != but
			return !any[i], err
		})
		return err
	})
	return slices.Contains(any, true), errors.Join(errs...)
}
