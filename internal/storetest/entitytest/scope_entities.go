package entitytest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
)

// all returns the entities of a scope, page by page.
func (w *World) all(scope string) (all []entity.Entity) {
	w.t.Helper()
	w.settle()
	require.NoError(w.t, w.Entities.EachEntity(w.Ctx, scope, func(page []entity.Entity) error {
		assert.NotEmpty(w.t, page)
		all = append(all, page...)
		return nil
	}))
	return all
}

func pageScope(t *testing.T, w *World) {
	assert.Empty(t, w.all(w.scope))
	want := map[entity.ID]entity.Entity{}
	for n := range 230 {
		id := w.ID(fmt.Sprintf("p:%03d", n))
		if id.Type = "person"; n%2 == 0 {
			id.Type = "film:1"
		}
		want[id] = w.Set(id, map[string]any{"n": fmt.Sprint(n)}, emit("name", id.ID)...)
	}
	for _, scope := range []string{w.scope + "2", "scope"} {
		w.Set(entity.ID{Scope: scope, Type: "person", ID: "other"}, nil)
	}
	changed, deleted := w.ID("p:001"), w.ID("p:003")
	want[changed] = w.Set(changed, map[string]any{"changed": true})
	require.NoError(t, w.Entities.DeleteEntity(w.Ctx, want[deleted], idempotency.Key{}))
	delete(want, deleted)

	all := w.all(w.scope)
	got := map[entity.ID]entity.Entity{}
	for _, e := range all {
		got[e.ID] = e
	}
	assert.Equal(t, want, got)
	assert.Len(t, all, len(want), "each once")
	types := slices.Compact(slices.Collect(func(yield func(string) bool) {
		for _, e := range all {
			if !yield(e.Type) {
				return
			}
		}
	}))
	assert.Len(t, types, 2, "those of a type come together")

	enough, pages := errors.New("enough"), 0
	assert.ErrorIs(t, w.Entities.EachEntity(w.Ctx, w.scope, func([]entity.Entity) error {
		pages++
		return enough
	}), enough)
	assert.Equal(t, 1, pages)
}
