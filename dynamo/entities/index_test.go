package entities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// openEntityWorld returns a world on a DB of its own.
func openEntityWorld(t *testing.T) (*entitytest.World, *dynamo.DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	return entitytest.NewWorld(t, entityStores(db), clock), db, inj
}

func entries(index string, keys ...string) []entity.IndexEntry {
	var all []entity.IndexEntry
	for _, key := range keys {
		all = append(all, entity.IndexEntry{Name: index, Key: key})
	}
	return all
}

func TestCallsOfEntities(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	store := entities.Store{DB: db}
	scope := w.ID("").Scope
	var ids []entity.ID
	for n := range 120 {
		ids = append(ids, w.ID(fmt.Sprintf("p:%03d", n)))
		w.Set(ids[n], map[string]any{"n": json.Number("1")}, entries("k", fmt.Sprintf("%03d", n))...)
	}
	assert.Equal(t, map[string]int{"BatchGetItem": 2}, dynamotest.Calls(inj, func() {
		_, errs := store.EntitiesByID(t.Context(), append(ids, ids[:50]...))
		assert.Nil(t, errs)
	}), "⌈distinct/100⌉")
	assert.Equal(t, map[string]int{"Query": 1}, dynamotest.Calls(inj, func() {
		s, err := store.ListEntities(t.Context(), scope, "person", page.Window{Limit: 100})
		require.NoError(t, err)
		assert.Len(t, s.Items, 100)
		assert.True(t, s.More)
	}))
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, dynamotest.Calls(inj, func() {
		s, err := store.ListByIndex(t.Context(), scope, "k", entity.Range{}, page.Window{Limit: 99})
		require.NoError(t, err)
		assert.Len(t, s.Items, 99)
		assert.True(t, s.More)
	}), "entries, then entities")
	assert.Empty(t, dynamotest.Calls(inj, func() {
		s, err := store.ListByIndex(t.Context(), scope, "k", entity.Range{Before: &[]string{""}[0]}, page.Window{Limit: 99})
		require.NoError(t, err)
		assert.Empty(t, s.Items)
	}), "no key can be in the range")
	before, err := w.Find(ids[0])
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"TransactWriteItems": 1}, dynamotest.Calls(inj, func() {
		after := *before
		after.Version, after.Index = 2, append(entries("k", "000", "new"), entries("l", "1")...)
		require.NoError(t, store.PutEntity(t.Context(), before, after, nil, idempotency.Key{}))
	}))
	assert.Equal(t, 3, inj.Recorder().Calls()[0].Writes, "the entity and the entries that come; not the one that stays")
	before, err = w.Find(ids[0])
	require.NoError(t, err)
	dynamotest.Calls(inj, func() {
		after := *before
		after.Version, after.Index = 3, entries("k", "new")
		require.NoError(t, store.PutEntity(t.Context(), before, after, nil, idempotency.Key{}))
	})
	assert.Equal(t, 3, inj.Recorder().Calls()[0].Writes, "the entity and the entries that go")
	mapper := func(e entity.Entity) []entity.IndexEntry {
		if e.ID.ID == "p:007" {
			return nil
		}
		return e.Index
	}
	assert.Equal(t, map[string]int{"Query": 3, "BatchGetItem": 3, "TransactWriteItems": 1}, dynamotest.Calls(inj, func() {
		require.NoError(t, store.Reindex(t.Context(), scope, "person", time.Time{}, "", mapper, func(context.Context, string, int) error { return nil }))
	}), "a Query and a BatchGetItem per 50, and a write per change")
	assert.Empty(t, inj.Recorder().Violations())
}

// What an index shows that lags behind is asked of the entity: nothing is listed under a key that it does not have any more,
// nor when it is gone, and pages are full all the same.
func TestQueryObjectsFromALaggingIndex(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	for n := range 30 {
		w.Set(w.ID(fmt.Sprintf("p:%02d", n)), map[string]any{"group": "old"}, append(entries("group", fmt.Sprintf("k%02d", n)), entries("all", "x")...)...)
	}
	lag := inj.LagIndexes()
	t.Cleanup(func() { assert.NoError(t, lag.Stop(context.WithoutCancel(t.Context()))) })
	for n := range 30 {
		if n%3 == 0 {
			w.Set(w.ID(fmt.Sprintf("p:%02d", n)), map[string]any{"group": "new"}, append(entries("group", "z"), entries("all", "x")...)...)
		}
	}
	_, err := db.Client.DeleteItem(t.Context(), deleteItem(db, dynamo.EntitiesMaster, entities.EntityKey(w.ID("p:01"))))
	require.NoError(t, err)
	var want []string
	for n := range 30 {
		if n%3 != 0 && n != 1 {
			want = append(want, fmt.Sprintf("k%02d p:%02d", n, n))
		}
	}
	assert.Equal(t, want, w.ByIndex("group", entity.Range{}), "new entries are not shown yet, old ones no more")
	for _, limit := range []int{1, 2, 5} {
		var found []string
		for win := (page.Window{Limit: limit, Probe: true}); ; {
			s, err := entities.Store{DB: db}.ListByIndex(t.Context(), w.ID("").Scope, "group", entity.Range{}, win)
			require.NoError(t, err)
			assert.Equal(t, win.From != "", s.Other)
			for _, i := range s.Items {
				found = append(found, i.Key+" "+i.Entity.ID.ID)
			}
			if !s.More {
				break
			}
			require.Len(t, s.Items, limit, "the page is full")
			win.From = s.Positions[limit-1]
		}
		assert.Equal(t, want, found)
	}
	s, err := entities.Store{DB: db}.ListByIndex(t.Context(), w.ID("").Scope, "all", entity.Range{}, page.Window{Limit: 100})
	require.NoError(t, err)
	require.Len(t, s.Items, 29)
	for _, i := range s.Items {
		is, err := w.Find(i.Entity.ID)
		require.NoError(t, err)
		assert.Equal(t, is, &i.Entity, "entities are shown as they are now")
	}
	require.NoError(t, lag.Settle(t.Context()))
	assert.Len(t, w.ByIndex("group", entity.Range{}), 29)
}

// Setting a record shows its rows one after another; no list has it under a key that it does not emit at that moment, and it
// never has attributes of one version and keys of another.
func TestSettingARecordShownRowByRow(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	id := w.ID("a")
	w.Set(id, map[string]any{"k": "1"}, entries("k", "1")...)
	looks := 0
	inj.RowByRow(func(ctx context.Context, _, _ int) {
		looks++
		s, err := entities.Store{DB: db}.ListByIndex(ctx, id.Scope, "k", entity.Range{}, page.Window{Limit: 10})
		if !assert.NoError(t, err) {
			return
		}
		assert.LessOrEqual(t, len(s.Items), 1)
		for _, i := range s.Items {
			assert.Equal(t, i.Key, i.Entity.Attributes["k"])
			assert.Equal(t, entries("k", i.Key), i.Entity.Index)
		}
	})
	for n := range 4 {
		key := fmt.Sprint(n + 2)
		w.Set(id, map[string]any{"k": key}, entries("k", key)...)
		assert.Equal(t, []string{key + " a"}, w.ByIndex("k", entity.Range{}))
	}
	assert.Equal(t, 8, looks, "the entity, the entry that comes, the entry that goes: four times, two looks each")
}

// An entity that is being deleted is nowhere, and its id is not free yet.
func TestAnEntityThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	clock := w.Clock
	for n := range 6 {
		clock.Advance(time.Millisecond)
		w.Set(w.ID(fmt.Sprint("p", n)), nil, entries("k", "1")...)
	}
	gone := w.ID("p3")
	before, err := w.Find(gone)
	require.NoError(t, err)
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{
		Table: dynamo.EntitiesMaster, Key: entities.EntityKey(gone), Update: "SET #meta.#deleting = :now", Names: map[string]string{"#meta": "_meta", "#deleting": "deleting"},
		Values: dynamo.Attrs{":now": dynamo.Str("2026-11-20T08:00:00.000Z")},
	}}, idempotency.Key{}))
	_, errs := entities.Store{DB: db}.EntitiesByID(t.Context(), []entity.ID{gone, w.ID("p4")})
	assert.True(t, fault.Is(errs[0], fault.NotFound))
	require.NoError(t, errs[1])
	assert.Len(t, w.ByIndex("k", entity.Range{}), 5)
	s, err := entities.Store{DB: db}.ListEntities(t.Context(), gone.Scope, "person", page.Window{Limit: 3})
	require.NoError(t, err)
	var ids []string
	for _, e := range s.Items {
		ids = append(ids, e.ID.ID)
	}
	assert.Equal(t, []string{"p5", "p4", "p2"}, ids, "the page is full")
	var conflict *entity.VersionConflict
	require.ErrorAs(t, entities.Store{DB: db}.PutEntity(t.Context(), before, *before, nil, idempotency.Key{}), &conflict)
	assert.Nil(t, conflict.Current)
	err = entities.Store{DB: db}.PutEntity(t.Context(), nil, *before, nil, idempotency.Key{})
	assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
	require.NoError(t, entities.Store{DB: db}.Reindex(t.Context(), gone.Scope, "person", time.Time{}, "", func(e entity.Entity) []entity.IndexEntry {
		assert.NotEqual(t, gone, e.ID)
		return e.Index
	}, func(context.Context, string, int) error { return nil }))
	assert.Empty(t, inj.Recorder().Violations())
}

// An entity that is set while it is being indexed is read again: the entries are of what it is, and nothing that was set is lost.
func TestRebuildMeetsAWriter(t *testing.T) {
	t.Parallel()
	w, db, _ := openEntityWorld(t)
	id := w.ID("a")
	w.Set(id, map[string]any{"name": "old"})
	emitted := 0
	mapper := func(e entity.Entity) []entity.IndexEntry {
		if emitted++; emitted == 1 {
			w.Set(id, map[string]any{"name": "new"}, entries("other", "1")...)
		}
		return append(e.Index, entries("name", e.Attributes["name"].(string))...)
	}
	require.NoError(t, entities.Store{DB: db}.Reindex(t.Context(), id.Scope, "person", time.Time{}, "", mapper, func(context.Context, string, int) error { return nil }))
	assert.Equal(t, 2, emitted)
	assert.Equal(t, []string{"new a"}, w.ByIndex("name", entity.Range{}))
	assert.Equal(t, []string{"1 a"}, w.ByIndex("other", entity.Range{}))
	is, err := w.Find(id)
	require.NoError(t, err)
	assert.Equal(t, 2, is.Version)
}

// A rebuild that is killed at any call and begun again where it last reported indexes everything.
func TestRebuildKilledAtEachCall(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	const n = 60
	for i := range n {
		w.Set(w.ID(fmt.Sprintf("%02d", i)), nil)
	}
	at, done := "", false
	for kill := 0; !done; kill++ {
		require.Less(t, kill, 2*n)
		dead := inj.KillAfter(kill % 9)
		err := entities.Store{DB: db}.Reindex(t.Context(), w.ID("").Scope, "person", time.Time{}, at, func(e entity.Entity) []entity.IndexEntry {
			return entries("id", e.ID.ID)
		}, func(_ context.Context, now string, _ int) error {
			at = now
			return nil
		})
		dead.Stop()
		done = err == nil
	}
	assert.Len(t, w.ByIndex("id", entity.Range{}), n)
}

// Of many rows with the same sort key only those that stand before the cursor are on its other side, also when the row at the
// cursor is gone.
func TestTheOtherSideOfTiedPositions(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	for n := range 4 {
		w.Set(w.ID(fmt.Sprint("p", n)), nil, entries("k", "same")...)
	}
	scope := w.ID("").Scope
	byIndex := func(win page.Window) (page.Slice[entity.Indexed], error) {
		return entities.Store{DB: db}.ListByIndex(t.Context(), scope, "k", entity.Range{}, win)
	}
	byType := func(win page.Window) (page.Slice[entity.Entity], error) {
		return entities.Store{DB: db}.ListEntities(t.Context(), scope, "person", win)
	}
	index, err := byIndex(page.Window{Limit: 1})
	require.NoError(t, err)
	typed, err := byType(page.Window{Limit: 1})
	require.NoError(t, err)
	other := func(want bool, from string, read func(page.Window) (bool, error)) {
		t.Helper()
		is, err := read(page.Window{Limit: 1, From: from, Probe: true})
		require.NoError(t, err)
		assert.Equal(t, want, is)
	}
	ofIndex := func(win page.Window) (bool, error) { s, err := byIndex(win); return s.Other, err }
	ofType := func(win page.Window) (bool, error) { s, err := byType(win); return s.Other, err }
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 2}, dynamotest.Calls(inj, func() { other(true, index.Positions[0], ofIndex) }))
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, dynamotest.Calls(inj, func() { other(true, typed.Positions[0], ofType) }))
	for _, id := range []entity.ID{index.Items[0].Entity.ID, typed.Items[0].ID} {
		_, err = db.Client.DeleteItem(t.Context(), deleteItem(db, dynamo.EntitiesMaster, entities.EntityKey(id)))
		require.NoError(t, err)
	}
	other(false, typed.Positions[0], ofType)
	other(false, index.Positions[0], ofIndex)
}

// Entities that are updated while a run goes on move to its end, and another one follows each of them: a run that went after
// them would never end. What was there when it began is indexed.
func TestARebuildDoesNotChaseUpdates(t *testing.T) {
	t.Parallel()
	w, db, _ := openEntityWorld(t)
	for i := range 2 * entities.ReindexStep {
		w.Set(w.ID(fmt.Sprintf("%03d", i)), nil)
		w.Clock.Advance(time.Millisecond)
	}
	w.Clock.Advance(-entities.ReindexAhead / 2) // this server's is behind: it finds what others stored
	at := ""
	reindex := func() error {
		return entities.Store{DB: db}.Reindex(t.Context(), w.ID("").Scope, "person", time.Time{}, at, func(e entity.Entity) []entity.IndexEntry {
			return entries("id", e.ID.ID)
		}, func(_ context.Context, now string, n int) error {
			at = now
			if n > 9*entities.ReindexStep {
				return errors.New("it goes on and on")
			}
			w.Clock.Advance(2 * entities.ReindexAhead)
			for i := range entities.ReindexStep {
				w.Set(w.ID(fmt.Sprintf("%03d", i)), nil)
			}
			return nil
		})
	}
	require.NoError(t, reindex())
	s, err := entities.Store{DB: db}.ListByIndex(t.Context(), w.ID("").Scope, "id", entity.Range{}, page.Window{Limit: 500})
	require.NoError(t, err)
	assert.Len(t, s.Items, entities.ReindexStep, "those that were not updated; who updates indexes what he updates")

	// Another server, whose clock is far behind, goes on where this one stopped.
	w.Clock.Advance(-24 * time.Hour)
	require.NoError(t, reindex())
}
