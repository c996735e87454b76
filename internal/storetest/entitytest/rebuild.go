package entitytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest"
)

// reindex rebuilds the indexes of a type in the world's scope.
func (w *World) reindex(typ string, since time.Time, from string, emit entity.Mapper, report func(context.Context, string, int) error) error {
	w.settle()
	return w.Entities.Reindex(w.Ctx, w.scope, typ, since, from, emit, report)
}

// newName returns a mapping function that adds an index of the attribute "name".
func newName(e entity.Entity) []entity.IndexEntry {
	entries := slices.DeleteFunc(slices.Clone(e.Index), func(i entity.IndexEntry) bool { return i.Name == "name" })
	if name, ok := e.Attributes["name"].(string); ok {
		entries = append(entries, entity.IndexEntry{Name: "name", Key: name})
	}
	return entries
}

func rebuild(t *testing.T, w *World) {
	made := map[string]entity.Entity{}
	for n := range 7 {
		id := fmt.Sprint("n:", n)
		made[id] = w.Set(w.ID(id), map[string]any{"name": fmt.Sprint("name ", n)}, emit("other", fmt.Sprint(n))...)
	}
	made["none"] = w.Set(w.ID("none"), map[string]any{"name": json.Number("1")}, emit("name", "old")...)
	w.Set(entity.ID{Scope: w.scope, Type: "city", ID: "x"}, map[string]any{"name": "x"})
	for range 2 { // the second time there is nothing to do
		looked := 0
		require.NoError(t, w.reindex("person", time.Time{}, "", newName, func(_ context.Context, at string, n int) error {
			assert.NotEmpty(t, at)
			looked = n
			return nil
		}))
		assert.Equal(t, 8, looked)
		assert.Equal(t, []string{"name 0 n:0", "name 1 n:1", "name 2 n:2", "name 3 n:3", "name 4 n:4", "name 5 n:5", "name 6 n:6"}, w.ByIndex("name", entity.Range{}))
		assert.Len(t, w.ByIndex("other", entity.Range{}), 7, "other indexes stay")
	}
	for id, e := range made {
		is, err := w.Find(w.ID(id))
		require.NoError(t, err)
		assert.Equal(t, []any{e.Version, e.UpdatedAt, e.Attributes}, []any{is.Version, is.UpdatedAt, is.Attributes}, "a rebuild is no update")
	}
	var conflict *entity.VersionConflict
	stale := made["n:1"]
	require.ErrorAs(t, w.Entities.PutEntity(w.Ctx, &stale, stale, nil, idempotency.Key{}), &conflict, "what was read before the rebuild has lost entries")
	assert.Contains(t, conflict.Current.Index, entity.IndexEntry{Name: "name", Key: "name 1"})
	w.Set(w.ID("n:1"), nil)
	assert.NotContains(t, w.ByIndex("name", entity.Range{}), "name 1 n:1")
}

func rebuildSteps(t *testing.T, w *World) {
	const n = 120
	start := w.Clock.Now()
	storetest.Together(n, func(i int) { w.Set(w.ID(fmt.Sprintf("n:%03d", i)), map[string]any{"name": fmt.Sprintf("%03d", i)}) })
	w.Clock.Advance(time.Minute)
	w.Set(w.ID("late"), map[string]any{"name": "late"})
	stop := errors.New("stop")
	runs, looked, at := 0, 0, ""
	for ; ; runs++ {
		require.Less(t, runs, n)
		steps := 0
		err := w.reindex("person", start, at, newName, func(_ context.Context, now string, done int) error {
			if steps++; steps > 1 {
				return stop // the work of this step is done, and done again
			}
			looked += done
			at = now
			return nil
		})
		if err == nil {
			break
		}
		require.ErrorIs(t, err, stop)
	}
	assert.Equal(t, n+1, looked, "each step is counted once")
	assert.Positive(t, runs)
	assert.Len(t, w.ByIndex("name", entity.Range{}), n+1)

	looked = 0
	require.NoError(t, w.reindex("person", w.Clock.Now(), "", func(e entity.Entity) []entity.IndexEntry {
		assert.Equal(t, "late", e.ID.ID)
		return nil
	}, func(_ context.Context, _ string, done int) error {
		looked = done
		return nil
	}))
	assert.Equal(t, 1, looked, "only what was updated since")
	assert.Len(t, w.ByIndex("name", entity.Range{}), n)

	require.NoError(t, w.reindex(uuidType(), time.Time{}, "", newName, func(_ context.Context, _ string, done int) error {
		assert.Zero(t, done)
		return nil
	}))
}

// uuidType returns a type of which there is nothing.
func uuidType() string { return "t" + uuid.NewString() }
