package entities

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// What a scope has is under keys that begin with its id, but in no index: nothing tells which types it has. So it is looked for in whole tables, at once
// for all scopes that are being erased.

const (
	sweepLease = 2 * time.Minute // of the server that goes over the tables, counted from its last sign
	sweepSign  = sweepLease / 4  // between two signs
	sweepShare = 10              // of the time, one part in so many is spent on it at most

	sweepWrites = 500 // rows that are removed together
)

// scopeTasks are the tasks that are about a scope.
var scopeTasks = []task.Kind{entity.ChangeRelations, entity.DeleteEntities, entity.RebuildIndex, entity.EraseScope}

// sweepKey is the row that says until when nobody else goes over the tables.
func sweepKey() dynamo.Key { return dynamo.Key{PK: RelationKey(erased("")).PK, SK: "sweep"} }

// sweeping says until when others wait.
type sweeping struct{ until time.Time }

func (sweeping) Error() string { return "another run goes over the tables, or has just done so" }

// EraseScopes goes over the tables, one server at a time and for a tenth of the time at most, and removes all that scopes have that are being erased.
// Entities go first: whoever changes one writes on condition that it is there.
//
// Index: primary. Key: _subject_key = taggie:Erasures:scopes AND begins_with(_predicate_key, scope:), and the row sweep of that partition. Cost: 1 Query and
// 2 TransactWriteItems of 1 row, and 1 more each 30 seconds; 1 Scan per megabyte of entities_master, relationship_entries and index_entries, with a pause after
// each, and ⌈n/25⌉ BatchWriteItem; ⌈n/100⌉ TransactWriteItems for the n relations of other scopes to their entities, and 1 of 1 row for each marker that
// names one; for each scope as eraseScope. Of a scope that is gone: 1 Query, and 1 per shard of tasks (4).
func (db Store) EraseScopes(ctx context.Context, id string) (time.Time, error) {
	settled, err := db.erasures(ctx)
	if err != nil {
		return time.Time{}, err
	}
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(settled)), func(id string) bool { return settled[id].After(db.Now()) })
	if at, there := settled[id]; !there {
		return time.Time{}, db.ForgetTasks(ctx, id, scopeTasks...)
	} else if !slices.Contains(ids, id) {
		return at, nil
	}
	began := db.Now()
	err = db.holdSweep(ctx, began.Add(sweepLease), began)
	if busy, is := errors.AsType[sweeping](err); is {
		return busy.until, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if err := db.eraseRows(ctx, ids); err != nil {
		return time.Time{}, err
	}
	others := slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })
	for _, id := range append(others, id) { // this one last: its task goes with it
		if err := db.eraseScope(ctx, id); err != nil {
			return time.Time{}, err
		}
	}
	now := db.Now()
	return time.Time{}, db.holdSweep(ctx, now.Add((sweepShare-1)*now.Sub(began)), time.Time{})
}

// erasures returns the scopes that are being erased, and from when on nobody works with them any more.
func (db Store) erasures(ctx context.Context) (map[string]time.Time, error) {
	settled := map[string]time.Time{}
	s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: sweepKey().PK}
	s.Low, s.High = dynamo.Prefixed(RelationKey(erased("")).SK)
	_, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
		var r RelationRecord
		err := DecodeRelation(row, &r, nil)
		settled[r.Object.ID] = r.Created.Add(entity.Settle)
		return true, err
	})
	return settled, err
}

// holdSweep says until when nobody else goes over the tables; sweeping when somebody does at the time free, unless that is zero.
func (db Store) holdSweep(ctx context.Context, until, free time.Time) error {
	a := dynamo.Action{
		Table: dynamo.RelationshipEntries, Key: sweepKey(), Update: "SET #until = :until", Names: map[string]string{"#until": "until"},
		Values: dynamo.Attrs{":until": dynamo.Str(keys.Instant(until))},
	}
	if !free.IsZero() {
		a.Condition, a.Values[":free"] = "attribute_not_exists(#until) OR #until <= :free OR #until = :until", dynamo.Str(keys.Instant(free))
		a.Failed = func(row dynamo.Attrs) error {
			var held sweeping
			err := dynamo.Attributes(dynamo.ItemOf(row), func(name []byte, v dynamo.Value) (err error) {
				if string(name) == "until" {
					held.until, err = v.Instant()
				}
				return err
			})
			return errors.Join(err, held)
		}
	}
	return db.Transact(ctx, []dynamo.Action{a}, idempotency.Key{})
}

// eraseRows removes all rows under keys that begin with the id of one of these scopes, what tasks about them were told, and what other
// scopes have of them: relations to their entities.
func (db Store) eraseRows(ctx context.Context, ids []string) error {
	e := eraser{db: db, erasing: make(map[string]bool, len(ids)), signed: db.Now()}
	for _, id := range ids {
		e.erasing[id] = true
	}
	for _, t := range []dynamo.Table{dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries} {
		if err := db.ScanAll(ctx, t, []string{t.PK, t.SK, "scope", "_object_scope", "_of_scope"}, func(row dynamo.Item) error {
			if err := e.see(t, row); err != nil {
				return err
			}
			if len(e.writes)+len(e.pointing)+len(e.naming) >= sweepWrites {
				if err := e.flush(ctx); err != nil {
					return err
				}
			}
			return e.sign(ctx)
		}); err != nil {
			return err
		}
		if err := e.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// eraser goes over the tables for scopes that are being erased.
type eraser struct {
	db       Store
	erasing  map[string]bool
	signed   time.Time
	writes   []dynamo.RowID  // rows that are theirs
	pointing []dynamo.Key    // rows of relations of others to their entities
	naming   []dynamo.Action // on markers of others that name such a row
}

// sign tells the others now and then that this run is going on.
func (e *eraser) sign(ctx context.Context) error {
	now := e.db.Now()
	if now.Sub(e.signed) < sweepSign {
		return nil
	}
	e.signed = now
	return e.db.holdSweep(ctx, now.Add(sweepLease), time.Time{})
}

func (e *eraser) see(t dynamo.Table, row dynamo.Item) error {
	key, err := dynamo.KeyOf(row, t)
	if err != nil {
		return err
	}
	of := keys.Split(key.PK)
	in := of[0]
	switch {
	case t == dynamo.EntitiesMaster:
		in = keys.Split(key.SK)[0]
	case key == orderKey(of[len(of)-1]):
		if in, err = orderedIn(row); err != nil {
			return err
		}
	}
	switch named := dynamo.TextOf(row, "_of_scope"); {
	case e.erasing[in]:
		e.writes = append(e.writes, dynamo.RowID{Table: t, Key: key})
	case t != dynamo.RelationshipEntries:
	case e.erasing[dynamo.TextOf(row, "_object_scope")]:
		e.pointing = append(e.pointing, key)
	case e.erasing[named]:
		e.naming = append(e.naming, unnamed(key, named))
	}
	return nil
}

// unnamed takes from a marker the row that came or went last, of a scope. All transactions with that scope have ended, so nobody has to be told
// that they may be shown in part.
func unnamed(head dynamo.Key, scope string) dynamo.Action {
	return dynamo.Action{
		Table: dynamo.RelationshipEntries, Key: head, Update: "REMOVE #came, #went, #of", Condition: "#of = :scope",
		Names:  map[string]string{"#came": "_came", "#went": "_went", "#of": "_of_scope"},
		Values: dynamo.Attrs{":scope": dynamo.Str(scope)}, Failed: dynamo.Moved,
	}
}

// flush removes what was seen. What is in scopes that stay may be changed by others at the same time, so transactions remove it.
func (e *eraser) flush(ctx context.Context) error {
	if err := e.db.BatchDelete(ctx, e.writes); err != nil {
		return err
	}
	for some := range slices.Chunk(e.pointing, dynamo.MaxActions) {
		actions, fewer := make([]dynamo.Action, len(some)), map[string]int{}
		for i, key := range some {
			actions[i] = dynamo.Action{Table: dynamo.RelationshipEntries, Key: key, Remove: true}
			fewer[keys.Split(key.PK)[0]]++
		}
		if err := e.db.Transact(ctx, actions, idempotency.Key{}); err != nil {
			return err
		}
		for scope, n := range fewer {
			e.db.Release(allowedRelations, scope, n)
		}
	}
	if err := errors.Join(e.db.Each(len(e.naming), func(i int) error {
		return dynamo.UnlessMoved(e.db.Transact(ctx, e.naming[i:i+1], idempotency.Key{}))
	})...); err != nil {
		return err
	}
	e.writes, e.pointing, e.naming = e.writes[:0], e.pointing[:0], e.naming[:0]
	return nil
}

// orderedIn returns the scope that a task's order is about.
func orderedIn(row dynamo.Item) (scope string, err error) {
	err = dynamo.Attributes(row, func(name []byte, v dynamo.Value) (err error) {
		if string(name) == "scope" {
			scope, err = v.Str()
		}
		return err
	})
	return scope, err
}

// eraseScope removes what is left of a scope without entities: its members, its counts, and at last the scope itself. Who created it may create another one then.
//
// Index: primary. Key: _subject_key = taggie:Scope:<scope>, and taggie:User:<user>/scope:0000000000000000:Scope:<scope> of each member;
// COUNT#entities#<scope>/COUNT and COUNT#relations#<scope>/COUNT; taggie:Tasks:<shard>; _id = <scope> AND _scope_type_key = taggie:Scope~<shard>,
// taggie:Erasures:scopes/scope:0000000000000000:Scope:<scope> and USER#<user>/PROFILE of its count. Cost: 1 GetItem, 1 Query, 1 more per shard of tasks (4),
// ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 3 rows.
func (db Store) eraseScope(ctx context.Context, id string) error {
	var scope entity.Scope
	there, err := db.Get(ctx, dynamo.EntitiesMaster, scopeKey(id), func(row dynamo.Item) error { return decodeScope(row, &scope) })
	if err != nil {
		return err
	}
	var mine, members []dynamo.RowID
	if _, err := db.Query(ctx, dynamo.Span{Table: dynamo.RelationshipEntries, PK: RelationKey(scopeMember(id, "")).PK}, func(row dynamo.Item) (bool, error) {
		var m entity.Member
		err := decodeScopeMember(row, &m)
		mine = append(mine, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: RelationKey(scopeOf(m.User, id))})
		members = append(members, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: scopeMemberKey(id, m.User)})
		return true, err
	}); err != nil {
		return err
	}
	for _, writes := range [][]dynamo.RowID{mine, members} { // these last: by them the others are found again
		if err := db.BatchDelete(ctx, writes); err != nil {
			return err
		}
	}
	for _, a := range Allowances() {
		if err := db.ForgetTally(ctx, dynamo.Allowed{Kind: a.Kind, Of: id}); err != nil {
			return err
		}
	}
	actions := []dynamo.Action{
		{Table: dynamo.EntitiesMaster, Key: scopeKey(id), Remove: true},
		{Table: dynamo.RelationshipEntries, Key: RelationKey(erased(id)), Remove: true, Condition: "attribute_exists(#key)", Names: map[string]string{"#key": dynamo.RelationshipEntries.PK},
			Failed: func(dynamo.Attrs) error { return dynamo.ErrDone }},
	}
	err = dynamo.ErrMissing
	if there && scope.CreatedBy != "" {
		err = db.Transact(ctx, append(actions, users.CreatedOneLess(scope.CreatedBy, dynamo.ErrMissing, "scopes")), idempotency.Key{})
	}
	if errors.Is(err, dynamo.ErrMissing) { // nobody knows who created it, or the user is gone
		err = db.Transact(ctx, actions, idempotency.Key{})
	}
	if err != nil && !errors.Is(err, dynamo.ErrDone) {
		return err
	}
	return db.ForgetTasks(ctx, id, scopeTasks...)
}
