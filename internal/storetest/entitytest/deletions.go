package entitytest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest"
)

// EntityDeletionsSuite tests how an implementation of [entity.Store] deletes.
func EntityDeletionsSuite(t *testing.T, open OpenRelations) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *RelationWorld){
		"delete a record":                              deleteRecord,
		"deleting needs the current version":           deleteConflict,
		"a deletion is repeated safely":                deleteOnce,
		"nothing can be related to what is deleted":    relateDeleted,
		"an entity is made anew under the same id":     deleteMadeAnew,
		"an id is not free before all is removed":      deleteNotFree,
		"deleting what many things are related to":     deleteHub,
		"a deletion that is done is not done any more": finishNothing,
	})
	EntityDeletionsTogether(t, open)
}

// EntityDeletionsTogether tests what [EntityDeletionsSuite] does at the same time. See [Together].
func EntityDeletionsTogether(t *testing.T, open OpenRelations) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *RelationWorld){
		"deleting twice, one entity after the other": deleteTwice,
	})
}

func (w *RelationWorld) get(id entity.ID) (entity.Entity, error) {
	entities, errs := w.EntitiesByID(w.Ctx, []entity.ID{id})
	if errs != nil && errs[0] != nil {
		return entity.Entity{}, errs[0]
	}
	return entities[0], nil
}

// Delete deletes an entity as it is.
func (w *RelationWorld) Delete(id entity.ID) {
	w.t.Helper()
	e, err := w.get(id)
	require.NoError(w.t, err)
	require.NoError(w.t, w.DeleteEntity(w.Ctx, e, idempotency.Key{}))
}

// WorkLater carries out what is to be done within some minutes.
func (w *RelationWorld) WorkLater() {
	w.t.Helper()
	for range 5 {
		w.Clock.Advance(time.Minute)
		w.settle()
		w.Work()
	}
}

func deleteRecord(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 4)
	e := w.entity(w.Thing("gone"), 1)
	e.Index = []entity.IndexEntry{{Name: "colour", Key: "red"}, {Name: "size", Key: "1"}}
	require.NoError(t, w.PutEntity(w.Ctx, nil, e, map[string][]entity.Object{"knows": Objects(things...), "is": Objects(e.ID)}, idempotency.Key{}))
	w.Replace(things[0], "knows", things[1], e.ID, things[2], e.ID)
	w.Add(things[3], "likes", e.ID)
	w.Delete(e.ID)
	check := func() {
		_, err := w.get(e.ID)
		assert.True(t, fault.Is(err, fault.NotFound), "got %v", err)
		assert.Empty(t, w.ObjectsOf(e.ID, ""))
		assert.Equal(t, []string{"t1", "t2"}, w.ObjectsOf(things[0], "knows"))
		assert.Empty(t, w.ObjectsOf(things[3], "likes"))
		w.settle()
		for _, thing := range append(things, e.ID) {
			s, err := w.Reverse(w.Ctx, thing, "", all)
			require.NoError(t, err)
			assert.NotContains(t, subjectIDs(s.Items), "gone")
		}
		for _, index := range []string{"colour", "size"} {
			s, err := w.ListByIndex(w.Ctx, "scope", index, entity.Range{}, all)
			require.NoError(t, err)
			assert.Empty(t, s.Items)
		}
		s, err := w.ListEntities(w.Ctx, "scope", "thing", all)
		require.NoError(t, err)
		assert.Len(t, s.Items, 4)
	}
	w.WorkLater() // under faults the first attempt may have been left to the task
	check()
}

func deleteConflict(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 2)
	w.Add(things[0], "knows", things[1])
	e, err := w.get(things[1])
	require.NoError(t, err)
	next := w.entity(things[1], 2)
	require.NoError(t, w.PutEntity(w.Ctx, &e, next, nil, idempotency.Key{}))
	var conflict *entity.VersionConflict
	require.ErrorAs(t, w.DeleteEntity(w.Ctx, e, idempotency.Key{}), &conflict)
	require.NotNil(t, conflict.Current)
	assert.Equal(t, 2, conflict.Current.Version)
	w.WorkLater()
	assert.Equal(t, []string{"t1"}, w.ObjectsOf(things[0], "knows"))
}

func deleteOnce(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 2)
	e, err := w.get(things[1])
	require.NoError(t, err)
	key := w.key()
	require.NoError(t, w.DeleteEntity(w.Ctx, e, key))
	var replayed *idempotency.Replayed
	require.ErrorAs(t, w.DeleteEntity(w.Ctx, e, key), &replayed)
	w.WorkLater()
	require.ErrorAs(t, w.DeleteEntity(w.Ctx, e, key), &replayed)
	_, err = w.get(things[1])
	assert.True(t, fault.Is(err, fault.NotFound), "got %v", err)
}

func relateDeleted(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 4)
	w.Delete(things[1])
	var unknown *entity.UnknownObject
	for _, objects := range [][]entity.ID{{things[1]}, {things[2], things[1], things[3]}} {
		_, err := w.AddRelations(w.Ctx, things[0], "knows", Objects(objects...), idempotency.Key{})
		require.ErrorAs(t, err, &unknown)
		_, err = w.AddRelations(w.Ctx, things[1], "knows", Objects(things[2:4]...), idempotency.Key{})
		assert.True(t, fault.Is(err, fault.NotFound), "got %v", err)
	}
	assert.Empty(t, w.ObjectsOf(things[0], ""))
}

func deleteMadeAnew(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 4)
	w.Replace(things[0], "knows", things[1], things[2])
	w.Replace(things[1], "likes", things[3], things[2])
	w.Delete(things[1])
	w.WorkLater()
	w.Make(things[1])
	assert.Empty(t, w.ObjectsOf(things[1], "likes"), "nothing of the old one's is the new one's")
	assert.Equal(t, []string{"t2"}, w.ObjectsOf(things[0], "knows"))
	w.Add(things[3], "knows", things[1], things[2])
	w.Replace(things[1], "likes", things[2], things[3], things[1])
	w.WorkLater()
	assert.Equal(t, []string{"t1", "t2"}, w.ObjectsOf(things[3], "knows"))
	assert.Equal(t, []string{"t2", "t3", "t1"}, w.ObjectsOf(things[1], "likes"))
}

func deleteNotFree(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 3)
	w.Replace(things[0], "knows", things[1], things[2])
	w.Delete(things[1])
	for _, relations := range []map[string][]entity.Object{nil, {"knows": Objects(things[0], things[2])}} {
		err := w.PutEntity(w.Ctx, nil, w.entity(things[1], 1), relations, idempotency.Key{})
		assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
		assert.False(t, errors.As(err, new(*entity.VersionConflict)))
	}
	w.WorkLater()
	w.Make(things[1])
	assert.Equal(t, []string{"t2"}, w.ObjectsOf(things[0], "knows"))
	assert.Len(t, w.Add(things[0], "knows", things[1]), 1)
	w.WorkLater()
	assert.Equal(t, []string{"t2", "t1"}, w.ObjectsOf(things[0], "knows"))
	assert.Empty(t, w.ObjectsOf(things[1], ""))
}

func deleteHub(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 3)
	many := make([]entity.ID, 130)
	for i := range many {
		many[i] = things[1+i%2]
	}
	w.Replace(things[0], "knows", many...)
	w.Replace(things[1], "knows", many...)
	w.Delete(things[1])
	w.WorkLater()
	assert.Len(t, w.ObjectsOf(things[0], "knows"), 65)
	assert.NotContains(t, w.ObjectsOf(things[0], "knows"), "t1")
	s, err := w.Reverse(w.Ctx, things[2], "", all)
	require.NoError(t, err)
	assert.Len(t, s.Items, 65)
}

func deleteTwice(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 3)
	w.Replace(things[0], "knows", things[1], things[2])
	w.Replace(things[1], "knows", things[0], things[2])
	errs := storetest.Attempts(2, func(i int) error {
		e, err := w.get(things[i])
		if err != nil {
			return err
		}
		return w.DeleteEntity(w.Ctx, e, idempotency.Key{})
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	w.WorkLater()
	s, err := w.Reverse(w.Ctx, things[2], "", all)
	require.NoError(t, err)
	assert.Empty(t, s.Items)
}

func finishNothing(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 2)
	w.Delete(things[0])
	due, err := w.Tasks.ListDueTasks(w.Ctx, w.Clock.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	w.WorkLater()
	again, err := w.FinishDelete(w.Ctx, due[0])
	require.NoError(t, err)
	assert.Zero(t, again)
	left, err := w.Tasks.ListDueTasks(w.Ctx, w.Clock.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	assert.Empty(t, left)
}
