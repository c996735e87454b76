package entitytest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
)

// betweenScopes relates entities that only their scopes tell apart.
func betweenScopes(t *testing.T, w *RelationWorld) {
	in := func(scope, id string) entity.ID { return entity.ID{Scope: scope, Type: "thing", ID: id} }
	here, there, beyond := in("scope", "t"), in("another:scope", "t"), in("another", "scope:thing:t")
	w.Make(here, there, beyond)
	held := func(subject entity.ID) (objects []entity.ID) {
		t.Helper()
		s, err := w.List(w.Ctx, subject, "likes", all)
		require.NoError(t, err)
		for _, r := range s.Items {
			assert.Equal(t, subject, r.Subject)
			objects = append(objects, r.Object)
		}
		return objects
	}
	back := func(object entity.ID) (subjects []entity.ID) {
		t.Helper()
		s, err := w.Reverse(w.Ctx, object, "likes", all)
		require.NoError(t, err)
		for _, r := range s.Items {
			assert.Equal(t, object, r.Object)
			subjects = append(subjects, r.Subject)
		}
		return subjects
	}
	assert.Len(t, w.Add(here, "likes", there), 1)
	assert.Len(t, w.Add(here, "likes", here, there), 1, "one is there already")
	w.Replace(there, "likes", beyond, here, there)
	assert.Equal(t, []entity.ID{there, here}, held(here))
	assert.Equal(t, []entity.ID{beyond, here, there}, held(there))
	assert.ElementsMatch(t, []entity.ID{here, there}, back(there))
	assert.ElementsMatch(t, []entity.ID{here, there}, back(here))
	assert.Equal(t, []entity.ID{there}, back(beyond))

	removed, err := w.RemoveRelations(w.Ctx, here, "likes", []entity.ID{here}, idempotency.Key{})
	require.NoError(t, err)
	assert.Len(t, removed, 1)
	assert.Equal(t, []entity.ID{there}, held(here))
	var unknown *entity.UnknownObject
	none := in("another:scope", "none")
	_, err = w.AddRelations(w.Ctx, here, "likes", Objects(none), idempotency.Key{})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, none, unknown.ID)

	// The deletion of an object takes the relations to it from all scopes.
	w.Delete(there)
	w.WorkLater()
	assert.Empty(t, held(here))
	assert.Empty(t, back(beyond))
	w.Add(here, "likes", beyond)
	assert.Equal(t, []entity.ID{beyond}, held(here))
}
