package entities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
)

// Relations count without the rows at the ends of a predicate, entities unless they are being deleted.
func TestRecountCountsEntitiesAndRelations(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 6)
	w.Add(things[0], "p", things[1:]...)
	w.Replace(things[0], "p", things[2:]...)
	w.Add(things[1], "q", things[2])
	inj.Fail(500, "InternalServerError", faultinject.Always, faultinject.Operation("Query")) // so that it stays
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	all, errs := w.EntitiesByID(t.Context(), []entity.ID{things[5]})
	require.Nil(t, errs)
	require.NoError(t, w.DeleteEntity(soon, all[0], idempotency.Key{}))
	inj.Clear()
	foreign := dynamo.EntitiesMaster.Key(entities.EntityKey(entity.ID{Scope: "another", Type: "t", ID: "foreign"}))
	foreign["_meta"] = dynamo.Str("of another program")
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.EntitiesMaster, Item: foreign}}, idempotency.Key{}))
	for what, count := range map[string]func(*dynamo.DB, context.Context, map[string]int) error{"entities": entities.CountEntities, "relations": entities.CountRelations} {
		found := map[string]int{"scope": 0, "another": 0}
		require.NoError(t, count(db, t.Context(), found))
		assert.Equal(t, map[string]int{"scope": 5, "another": map[string]int{"entities": 1}[what]}, found, what)
	}
}

// A relation counts in the scope of its subject, also where it goes with an object in another scope.
func TestRelationsCountInTheScopeOfTheSubject(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenRelationWorld(t)
	here, there := entity.ID{Scope: "scope", Type: "thing", ID: "t"}, entity.ID{Scope: "another", Type: "thing", ID: "t"}
	w.Make(here, there)
	counted := func() map[string]int {
		t.Helper()
		w.Clock.Advance(2 * time.Minute) // after which counts are due
		require.NoError(t, db.CountAllowances(t.Context()))
		found := map[string]int{}
		for _, scope := range []string{"scope", "another"} {
			n, err := db.ReadTally(t.Context(), dynamo.Allowed{Kind: "relations", Of: scope})
			require.NoError(t, err)
			found[scope] = n
		}
		return found
	}
	w.Add(here, "likes", there, here)
	assert.Equal(t, map[string]int{"scope": 2, "another": 0}, counted())
	w.Delete(there)
	assert.Equal(t, map[string]int{"scope": 1, "another": 0}, counted())
}
