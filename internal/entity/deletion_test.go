package entity_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

// deletes deletes a scope, and returns the task that goes on with it.
func (w *world) deletes(in entity.DeleteScope) (entity.DeletedScope, task.Task) {
	w.t.Helper()
	deleted, err := w.DeleteScope(as(w.t, owner), in)
	require.NoError(w.t, err)
	return deleted, w.tasks[len(w.tasks)-1]
}

// erases does what a task of a deletion does.
func (w *world) erases(ctx context.Context, of task.Task) (time.Time, error) {
	return w.Handlers()[entity.EraseScope](ctx, of)
}

// deletedOf are the ids of the deleted scopes that a user is shown.
func (w *world) deletedOf(who entity.UserID) (ids []string) {
	w.t.Helper()
	found, err := w.Service.ListDeletedScopes(as(w.t, who), who, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	for _, s := range found.Items {
		ids = append(ids, s.ID)
	}
	return ids
}

// scopesOf are the ids of the scopes that a user is shown.
func (w *world) scopesOf(who entity.UserID) (ids []string) {
	w.t.Helper()
	found, err := w.Service.ListScopes(as(w.t, who), who, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	for _, s := range found.Items {
		ids = append(ids, s.ID)
	}
	return ids
}

// left are the keys of the rows that have to do with a scope, in the tables of entities and among the counts.
func (w *world) left(scope string) (found []string) {
	w.t.Helper()
	for _, table := range []dynamo.Table{dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries, dynamo.NotesTable} {
		for key, row := range dynamotest.RowsOf(w.t, w.db, table) {
			if !strings.HasPrefix(key.PK, "IDEM#") && strings.Contains(string(dynamo.RowJSON(row)), scope) {
				found = append(found, key.PK+" "+key.SK)
			}
		}
	}
	return found
}

// furnished makes a scope with a name of its own, with members, indexes that are built, entities with relations, and an entity that is being deleted.
func (w *world) furnished() string {
	w.t.Helper()
	ctx := as(w.t, owner)
	made, err := w.CreateScope(ctx, entity.CreateScope{Name: "furnished"})
	require.NoError(w.t, err)
	_, err = w.Service.PutMember(ctx, entity.PutMember{Scope: made.ID, User: writer, Role: entity.WriterRole})
	require.NoError(w.t, err)
	_, err = w.DeclareIndex(ctx, entity.DeclareIndex{Scope: made.ID, Name: "by-title", Type: "Book", Path: []string{"title"}, Kind: entity.StringKey})
	require.NoError(w.t, err)
	var books []entity.Object
	for n := range 30 {
		e, err := w.Set(as(w.t, writer), entity.Set{Scope: made.ID, Type: "Book", ID: ptr(fmt.Sprint(n)), Attributes: map[string]any{"title": "t"}})
		require.NoError(w.t, err)
		books = append(books, entity.Object{ID: e.ID})
	}
	_, err = w.AddRelations(as(w.t, writer), entity.PutRelations{Subject: books[0].ID, Predicate: "like", Objects: books[1:]})
	require.NoError(w.t, err)
	require.NoError(w.t, w.Store.DeleteEntity(w.t.Context(), w.entity(books[1].ID), idempotency.Key{}))
	return made.ID
}

func TestAScopeIsDeletedAndBroughtBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.furnished()
	before := w.scope(scope)
	rows := w.left(scope)
	for _, who := range []entity.UserID{writer, somebody} {
		_, err := w.DeleteScope(as(t, who), entity.DeleteScope{Scope: scope})
		require.Error(t, err)
		assert.Equal(t, who == writer, fault.Is(err, fault.Forbidden), "who knows the scope is told")
	}
	var conflict *entity.ScopeConflict
	_, err := w.DeleteScope(as(t, owner), entity.DeleteScope{Scope: scope, ExpectedVersion: ptr(before.Version + 1)})
	require.ErrorAs(t, err, &conflict)

	deleted, order := w.deletes(entity.DeleteScope{Scope: scope, ExpectedVersion: ptr(before.Version), IdempotencyKey: ptr("once")})
	assert.Equal(t, domain.Deletion{State: domain.Deleted, By: owner, At: began.Add(2 * time.Millisecond), UndoUntil: began.Add(2*time.Millisecond + domain.UndoDeletion)}, deleted.Deletion)
	again, err := w.DeleteScope(as(t, owner), entity.DeleteScope{Scope: scope, ExpectedVersion: ptr(before.Version), IdempotencyKey: ptr("once")})
	require.NoError(t, err)
	assert.Equal(t, deleted, again, "the same request")

	// Nobody sees it, or does anything with it.
	book := entity.ID{Scope: scope, Type: "Book", ID: "0"}
	for _, who := range []entity.UserID{owner, writer} {
		ctx := as(t, who)
		_, errs := w.Service.ScopesByID(ctx, []string{scope})
		assert.True(t, fault.Is(errs[0], fault.NotFound))
		_, errs = w.ListByID(ctx, []entity.ID{book})
		assert.True(t, fault.Is(errs[0], fault.NotFound))
		_, err = w.Set(ctx, entity.Set{Scope: scope, Type: "Book"})
		assert.True(t, fault.Is(err, fault.NotFound))
		_, err = w.Service.PutMember(ctx, entity.PutMember{Scope: scope, User: reader, Role: entity.ReaderRole})
		assert.True(t, fault.Is(err, fault.NotFound))
		assert.NotContains(t, w.scopesOf(who), scope)
	}
	_, err = w.DeleteScope(as(t, owner), entity.DeleteScope{Scope: scope})
	assert.True(t, fault.Is(err, fault.NotFound))
	assert.Equal(t, []string{scope}, w.deletedOf(owner))
	assert.Empty(t, w.deletedOf(writer), "for owners")
	_, err = w.Service.ListDeletedScopes(as(t, writer), owner, page.Window{Limit: 1})
	assert.True(t, fault.Is(err, fault.Forbidden))
	for _, who := range []entity.UserID{writer, somebody} {
		_, err = w.UndoDeleteScope(as(t, who), entity.ChangeDeletion{Scope: scope})
		assert.True(t, fault.Is(err, fault.NotFound))
		_, err = w.PurgeDeletedScope(as(t, who), entity.ChangeDeletion{Scope: scope})
		assert.True(t, fault.Is(err, fault.NotFound))
	}

	// What builds an index goes on.
	at, err := w.run(t.Context(), w.tasks[len(w.tasks)-2])
	require.NoError(t, err)
	w.until(at)
	_, err = w.run(t.Context(), w.tasks[len(w.tasks)-2])
	require.NoError(t, err)
	assert.True(t, w.scope(scope).Indexes[0].Ready)

	undone, err := w.UndoDeleteScope(as(t, owner), entity.ChangeDeletion{Scope: scope, IdempotencyKey: ptr("undo")})
	require.NoError(t, err)
	assert.Equal(t, []any{scope, entity.OwnerRole, domain.Deletion{}}, []any{undone.ID, undone.Role, undone.Deletion})
	assert.Empty(t, w.deletedOf(owner))
	assert.Contains(t, w.scopesOf(writer), scope)
	assert.Subset(t, w.left(scope), rows)
	undone, err = w.UndoDeleteScope(as(t, owner), entity.ChangeDeletion{Scope: scope})
	require.NoError(t, err)
	assert.Equal(t, scope, undone.ID, "it is there")
	_, err = w.PurgeDeletedScope(as(t, owner), entity.ChangeDeletion{Scope: scope})
	assert.True(t, fault.Is(err, fault.NotFound))
	at, err = w.erases(t.Context(), order)
	require.NoError(t, err)
	assert.Zero(t, at, "it was brought back")

	w.deletes(entity.DeleteScope{Scope: scope})
	_, err = w.UndoDeleteScope(as(t, owner), entity.ChangeDeletion{Scope: scope, IdempotencyKey: ptr("undo")})
	assert.True(t, fault.Is(err, fault.NotFound), "the same request after it was deleted again shows nothing of it: %v", err)
}

// After 30 days, by the clock that is passed in, a deleted scope goes by itself, a minute after nobody can bring it back; others stay as they are.
func TestADeletedScopeLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope, other := w.furnished(), w.furnished()
	stays, counted := w.left(other), w.created(owner)
	_, order := w.deletes(entity.DeleteScope{Scope: scope})
	at, err := w.erases(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, order.Due, at)
	w.until(order.Due.Add(-time.Second))
	at, err = w.erases(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, order.Due, at)
	w.until(order.Due)
	_, err = w.UndoDeleteScope(as(t, owner), entity.ChangeDeletion{Scope: scope})
	require.ErrorIs(t, err, entity.ErrErasing)
	at, err = w.erases(t.Context(), order)
	require.NoError(t, err)
	assert.WithinDuration(t, w.clock.Now().Add(entity.Settle), at, time.Second)
	_, err = w.UndoDeleteScope(as(t, owner), entity.ChangeDeletion{Scope: scope})
	require.ErrorIs(t, err, entity.ErrErasing)
	assert.Equal(t, domain.Erasing, w.scope(scope).Deletion.State)

	purged, err := w.PurgeDeletedScope(as(t, owner), entity.ChangeDeletion{Scope: scope})
	require.NoError(t, err)
	assert.Equal(t, domain.Erasing, purged.State(), "as it is")
	w.until(at)
	at, err = w.erases(t.Context(), order)
	require.NoError(t, err)
	assert.Zero(t, at)
	assert.Empty(t, w.left(scope))
	assert.ElementsMatch(t, stays, w.left(other))
	assert.Empty(t, w.deletedOf(owner))
	assert.Equal(t, counted-1, w.created(owner))
	_, err = w.UndoDeleteScope(as(t, owner), entity.ChangeDeletion{Scope: scope})
	assert.True(t, fault.Is(err, fault.NotFound))
	at, err = w.erases(t.Context(), order)
	require.NoError(t, err)
	assert.Zero(t, at, "it is gone")
}

// Other scopes keep nothing of a scope that is erased: no relation to its entities, also none that was the last one to come or go. Their other
// relations stay, and can be changed.
func TestAScopeThatIsErasedLeavesNothingInOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.furnished()
	theirs := func(n int) entity.Object {
		return entity.Object{ID: entity.ID{Scope: scope, Type: "Book", ID: fmt.Sprint(10 + n)}}
	}
	setBook(t, w, "mine", nil)
	for _, id := range []string{"one", "came", "went", "many"} {
		setBook(t, w, id, nil)
		_, err := w.Service.AddRelations(as(t, owner), entity.PutRelations{Subject: entityID(id), Predicate: "like", Objects: []entity.Object{{ID: entityID("mine")}}})
		require.NoError(t, err)
	}
	add := func(id string, objects ...entity.Object) {
		t.Helper()
		_, err := w.Service.AddRelations(as(t, owner), entity.PutRelations{Subject: entityID(id), Predicate: "like", Objects: objects})
		require.NoError(t, err)
	}
	add("one", theirs(0))
	add("one", entity.Object{ID: entityID("one")})
	add("came", theirs(1))
	add("went", theirs(2))
	_, err := w.Service.RemoveRelations(as(t, owner), entity.RemoveRelations{Subject: entityID("went"), Predicate: "like", Objects: []entity.ID{theirs(2).ID}})
	require.NoError(t, err)
	add("many", theirs(3), theirs(4), theirs(5))
	_, err = w.Service.AddRelations(as(t, owner), entity.PutRelations{Subject: theirs(0).ID, Predicate: "like", Objects: []entity.Object{{ID: entityID("mine")}}})
	require.NoError(t, err)
	objects := func(id string) (all []string) {
		t.Helper()
		lists, errs := w.Store.ListRelations(t.Context(), []entity.RelationsRequest{entity.Entity{ID: entityID(id)}.Relations("like", page.Window{Limit: 10})})
		require.Nil(t, errs)
		for _, r := range lists[0].Items {
			all = append(all, r.Object.Scope+" "+r.Object.ID)
		}
		return all
	}
	assert.Equal(t, []string{"s mine", scope + " 10", "s one"}, objects("one"))

	// While it can be brought back, they stay.
	_, order := w.deletes(entity.DeleteScope{Scope: scope})
	assert.Equal(t, []string{"s mine", scope + " 11"}, objects("came"))
	_, err = w.Service.AddRelations(as(t, owner), entity.PutRelations{Subject: entityID("one"), Predicate: "like", Objects: []entity.Object{theirs(6)}})
	assert.True(t, fault.Is(err, fault.NotFound), "to what is deleted nothing is related: %v", err)
	w.until(order.Due)
	for calls := 0; ; calls++ {
		require.Less(t, calls, 1_000)
		rule := w.faults.KillAfter(calls)
		at, err := w.erases(t.Context(), order)
		rule.Stop()
		if err == nil && at.IsZero() {
			break
		}
		if err == nil {
			w.until(at)
		}
	}
	assert.Empty(t, w.left(scope))
	for id, want := range map[string][]string{"one": {"s mine", "s one"}, "came": {"s mine"}, "went": {"s mine"}, "many": {"s mine"}} {
		assert.Equal(t, want, objects(id), id)
		add(id, entity.Object{ID: entityID("came")}, entity.Object{ID: entityID("went")})
		assert.Equal(t, append(want, "s came", "s went"), objects(id), id)
	}
}

// created is how many scopes count as created by a user.
func (w *world) created(who entity.UserID) int {
	w.t.Helper()
	row := dynamotest.RowsOf(w.t, w.db, dynamo.NotesTable)[dynamo.Key{PK: "USER#" + string(who), SK: "PROFILE"}]
	var n int
	require.NoError(w.t, dynamo.Attributes(dynamo.ItemOf(row), func(name []byte, v dynamo.Value) (err error) {
		if string(name) == "scopes" {
			n, err = v.Int()
		}
		return err
	}))
	return n
}

// Purged scopes are removed together, by whoever comes first.
func TestPurgedScopesAreRemovedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var orders []task.Task
	var scopes []string
	for range 3 {
		scope := w.furnished()
		_, order := w.deletes(entity.DeleteScope{Scope: scope})
		scopes, orders = append(scopes, scope), append(orders, order)
	}
	for i, scope := range scopes[:2] {
		purged, err := w.PurgeDeletedScope(as(t, owner), entity.ChangeDeletion{Scope: scope})
		require.NoError(t, err)
		assert.Equal(t, domain.Erasing, purged.State())
		orders[i] = w.tasks[len(w.tasks)-1]
		assert.Equal(t, purged.UndoUntil(), orders[i].Due)
	}
	at, err := w.erases(t.Context(), orders[0])
	require.NoError(t, err)
	w.until(at.Add(time.Second))
	at, err = w.erases(t.Context(), orders[0])
	require.NoError(t, err)
	assert.Zero(t, at)
	assert.Empty(t, append(w.left(scopes[0]), w.left(scopes[1])...))
	assert.NotEmpty(t, w.left(scopes[2]))
	at, err = w.erases(t.Context(), orders[1])
	require.NoError(t, err)
	assert.Zero(t, at)
	assert.Equal(t, []string{scopes[2]}, w.deletedOf(owner))
}

// An erasure is killed after each number of calls, again and again: the next one goes on, once the one that was lost has surely ended.
func TestErasuresAreKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.furnished()
	_, order := w.deletes(entity.DeleteScope{Scope: scope, Purge: true})
	calls, counted := 0, w.created(owner)
	for ; ; calls++ {
		rule := w.faults.KillAfter(calls)
		at, err := w.erases(t.Context(), order)
		rule.Stop()
		if err == nil && at.IsZero() {
			break
		}
		if err == nil {
			w.until(at)
		}
		require.Less(t, calls, 1_000)
	}
	assert.Greater(t, calls, 8)
	assert.Empty(t, w.left(scope))
	assert.Equal(t, counted-1, w.created(owner))
}

// Who purges scope after scope has the tables gone over for a tenth of the time at most.
func TestErasuresRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var orders []task.Task
	for range 2 {
		_, order := w.deletes(entity.DeleteScope{Scope: w.furnished(), Purge: true})
		orders = append(orders, order)
		w.clock.Advance(entity.Settle)
	}
	took := 3 * time.Minute
	rule := w.faults.Throttle(func(n int) bool {
		if n == 1 {
			w.clock.Advance(took)
		}
		return false
	}, faultinject.Operation("Scan"))
	at, err := w.erases(t.Context(), orders[0])
	require.NoError(t, err)
	require.Zero(t, at)
	rule.Stop()
	w.deletes(entity.DeleteScope{Scope: "s", Purge: true})
	ended := w.clock.Now()
	w.clock.Advance(entity.Settle)
	at, err = w.erases(t.Context(), w.tasks[len(w.tasks)-1])
	require.NoError(t, err)
	assert.WithinDuration(t, ended.Add(9*took), at, time.Second)
	w.until(at)
	at, err = w.erases(t.Context(), w.tasks[len(w.tasks)-1])
	require.NoError(t, err)
	assert.Zero(t, at)
	assert.Empty(t, w.deletedOf(owner))
}
