package entity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
)

// fresh makes a scope of which it is known that it has no entities.
func (w *world) fresh() string {
	w.t.Helper()
	made, err := w.CreateScope(as(w.t, owner), entity.CreateScope{Name: "fresh"})
	require.NoError(w.t, err)
	return made.ID
}

func (w *world) declares(scope, name string) {
	w.t.Helper()
	_, err := w.DeclareIndex(as(w.t, owner), entity.DeclareIndex{Scope: scope, Name: name, Type: "Book", Path: []string{"title"}, Kind: entity.StringKey})
	require.NoError(w.t, err)
}

// builds does what the background does for the index that was declared last, and reports whether it is ready.
func (w *world) builds(scope string) bool {
	w.t.Helper()
	_, err := w.run(w.t.Context(), w.tasks[len(w.tasks)-1])
	require.NoError(w.t, err)
	indexes := w.scope(scope).Indexes
	return indexes[len(indexes)-1].Ready
}

func (w *world) sets(scope, key string) entity.Entity {
	w.t.Helper()
	e, err := w.Set(as(w.t, owner), entity.Set{Scope: scope, Type: "Book", ID: &key, Attributes: map[string]any{"title": "t"}})
	require.NoError(w.t, err)
	return e
}

func (w *world) indexed(scope, name string) (keys []string) {
	w.t.Helper()
	found, err := w.ListByIndex(w.t.Context(), scope, name, entity.Range{}, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	for _, i := range found.Items {
		keys = append(keys, i.Entity.ID.ID)
	}
	return keys
}

func TestAnIndexOfANewTypeIsReadyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.fresh()
	version := w.scope(scope).Version
	w.declares(scope, "first")
	assert.True(t, w.builds(scope))
	w.sets(scope, "1")
	w.sets(scope, "2")
	assert.Equal(t, []string{"1", "2"}, w.indexed(scope, "first"))
	assert.Equal(t, map[string]bool{"Book": true}, w.scope(scope).Types)
	assert.Equal(t, version+2, w.scope(scope).Version, "entities are no new version of their scope")

	// From then on a type may have entities, also when they are deleted.
	for _, key := range []string{"1", "2"} {
		require.NoError(t, w.Service.Delete(as(t, owner), entity.Delete{Entity: entity.ID{Scope: scope, Type: "Book", ID: key}}))
	}
	w.declares(scope, "second")
	assert.False(t, w.builds(scope))
	_, err := w.DeclareIndex(as(t, owner), entity.DeclareIndex{Scope: scope, Name: "other", Type: "Film", Path: []string{"title"}, Kind: entity.StringKey})
	require.NoError(t, err)
	assert.True(t, w.builds(scope))

	// Of a scope from before, nobody knows it.
	w.declares("s", "first")
	assert.False(t, w.builds("s"))
}

// A server that has read the declarations before, and writes when the index is ready, is refused: it reads them again.
func TestALateWriteOfAnOldDeclarationIsRefused(t *testing.T) {
	t.Parallel()
	for name, relations := range map[string][]entity.PredicateObjects{"alone": nil, "with relations": {{Predicate: "like", Objects: []entity.Object{{ID: entityID("one")}, {ID: entityID("two")}}}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			setBook(t, w, "one", nil)
			setBook(t, w, "two", nil)
			scope := w.fresh()
			stale := w.scope(scope)
			w.racing = func() {
				w.declares(scope, "first")
				assert.True(t, w.builds(scope))
			}
			_, err := w.Set(as(t, owner), entity.Set{Scope: scope, Type: "Book", ID: ptr("1"), Attributes: map[string]any{"title": "t"}, Relations: relations})
			require.NoError(t, err)
			assert.Equal(t, []string{"1"}, w.indexed(scope, "first"))

			late := entity.Entity{ID: entity.ID{Scope: scope, Type: "Book", ID: "2"}, Attributes: map[string]any{"title": "t"}, Version: 1, CreatedAt: began, UpdatedAt: began}
			var conflict *entity.VersionConflict
			require.ErrorAs(t, w.Store.PutFirstEntity(t.Context(), stale, late, nil, idempotency.Key{}), &conflict)
			assert.Equal(t, []string{"1"}, w.indexed(scope, "first"))
		})
	}
}

// The other way round: an entity comes while the index is declared. Then the declaration is not fresh, and the index takes its minute.
func TestADeclarationBesideAFirstEntityTakesTheMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.fresh()
	w.racing = func() { w.sets(scope, "1") }
	w.declares(scope, "first")
	x := w.scope(scope).Indexes[0]
	assert.False(t, x.Fresh)
	assert.False(t, w.builds(scope))
	w.until(x.DeclaredAt.Add(entity.Settle))
	assert.True(t, w.builds(scope))
	assert.Equal(t, []string{"1"}, w.indexed(scope, "first"))
}

// What an earlier version of Taggie or another program has put is older than the declaration, and tells that there may be more of it.
func TestAnEntityThatNobodyNotedTakesTheMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.fresh()
	id := entity.ID{Scope: scope, Type: "Book", ID: "1"}
	old := entity.Entity{ID: id, Attributes: map[string]any{"title": "t"}, Version: 1, CreatedAt: began.Add(-time.Hour), UpdatedAt: began.Add(-time.Hour)}
	require.NoError(t, w.Store.PutEntity(t.Context(), nil, old, nil, idempotency.Key{}))
	w.declares(scope, "first")
	assert.True(t, w.scope(scope).Indexes[0].Fresh)
	assert.False(t, w.builds(scope))
	assert.Equal(t, []string{"1"}, w.indexed(scope, "first"))
}

// A scope notes some types only, so that its row stays small; for others an index takes the minute.
func TestAScopeNotesSomeTypesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.fresh()
	for n := range entity.TypesNoted {
		_, err := w.Set(as(t, owner), entity.Set{Scope: scope, Type: fmt.Sprint("T", n)})
		require.NoError(t, err)
	}
	w.sets(scope, "1")
	assert.Len(t, w.scope(scope).Types, entity.TypesNoted)
	w.declares(scope, "first")
	assert.False(t, w.builds(scope))
}
