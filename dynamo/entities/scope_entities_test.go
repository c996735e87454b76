package entities_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// ofScope returns the ids of all entities of a scope.
func ofScope(t *testing.T, db entities.Store, scope string) (ids []string) {
	t.Helper()
	require.NoError(t, db.EachEntity(t.Context(), scope, func(page []entity.Entity) error {
		for _, e := range page {
			ids = append(ids, e.ID.ID)
		}
		return nil
	}))
	return ids
}

// oldEntity is the row of the document for an entity: another program, or an earlier version of Taggie, put it.
func oldEntity(scope, typ, id string) string {
	return fmt.Sprintf(`{"_id": "%[3]s", "_scope_type_key": "%[1]s:%[2]s", "_scope": "%[1]s", "_type": "%[2]s", "_created": "2026-01-01T00:00:00.000Z",
		"_updated": "2026-01-01T00:00:00.000Z", "_meta": {}, "_index_entries": {}}`, scope, typ, id)
}

func TestEntitiesWithoutAPlaceAreIndexed(t *testing.T) {
	t.Parallel()
	w, engine, inj := dynamotest.OpenWorld(t)
	db := entities.Store{DB: engine}
	ada, _ := w.SignUp("ada")
	now := w.Clock.Now()
	scope := entity.Scope{ID: "films", Name: "Films", Version: 1, CreatedAt: now, UpdatedAt: now}
	require.NoError(t, db.PutScope(t.Context(), nil, scope, &entity.Member{Scope: "films", User: ada, Role: entity.OwnerRole, AddedAt: now}, nil, idempotency.Key{}))
	const others = 230
	for i := range others {
		dynamotest.PutByHand(t, engine, dynamo.EntitiesMaster, "["+oldEntity("films", fmt.Sprint("Film", i%2), fmt.Sprint("f", i))+"]")
	}
	dynamotest.PutByHand(t, engine, dynamo.EntitiesMaster, "["+oldEntity("birds", "Team", "t1")+", "+oldEntity("birds", "ProjectItem~07", "i1")+"]")
	assert.Empty(t, ofScope(t, db, "films"))
	for _, want := range []int{others, 0} {
		inj.Recorder().Reset()
		done, err := db.IndexEntities(t.Context())
		require.NoError(t, err)
		assert.Equal(t, entities.Indexing{Entities: others, Indexed: want}, done)
		assert.Equal(t, want, inj.Recorder().Count(faultinject.Operation("TransactWriteItems")))
	}
	assert.Len(t, ofScope(t, db, "films"), others)
	assert.Empty(t, ofScope(t, db, "birds"), "a project is no scope of entities")
	found, errs := db.EntitiesByID(t.Context(), []entity.ID{{Scope: "films", Type: "Film0", ID: "f0"}})
	require.Nil(t, errs)
	assert.Empty(t, found[0].Attributes)
}

// A change keeps the place, and writes nothing into the index; it gives a place to an entity that has none.
func TestAChangeKeepsThePlaceOfAnEntity(t *testing.T) {
	t.Parallel()
	db, _ := dynamotest.OpenDB(t, nil)
	store := entities.Store{DB: db}
	dynamotest.PutByHand(t, db, dynamo.EntitiesMaster, "["+oldEntity("films", "Film", "f1")+"]")
	w := entitytest.NewWorld(t, entityStores(db), storetest.NewClock())
	w.Set(entity.ID{Scope: "films", Type: "Film", ID: "f1"}, map[string]any{"title": "Alien"})
	w.Set(entity.ID{Scope: "films", Type: "Film", ID: "f2"}, nil)
	w.Set(entity.ID{Scope: "films", Type: "Film", ID: "f2"}, map[string]any{"title": "Aliens"})
	assert.ElementsMatch(t, []string{"f1", "f2"}, ofScope(t, store, "films"))
}

// A Query finds some thousand keys, and a hundred entities are read at once.
func TestReadingAScopeCostsFewCalls(t *testing.T) {
	t.Parallel()
	db, inj := dynamotest.OpenDB(t, nil)
	w := entitytest.NewWorld(t, entityStores(db), storetest.NewClock())
	storetest.Together(250, func(i int) { w.Set(entity.ID{Scope: "films", Type: fmt.Sprint("Film", i%3), ID: fmt.Sprint(i)}, nil) })
	inj.Recorder().Reset()
	assert.Len(t, ofScope(t, entities.Store{DB: db}, "films"), 250)
	assert.Equal(t, 1, inj.Recorder().Count(faultinject.Operation("Query")))
	assert.Equal(t, 3, inj.Recorder().Count(faultinject.Operation("BatchGetItem")))
}
