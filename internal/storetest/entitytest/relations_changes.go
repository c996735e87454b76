package entitytest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
)

func addRelations(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 8)
	added := w.Add(things[0], "knows", things[1])
	require.Len(t, added, 1)
	assert.Equal(t, things[1], added[0].Object)
	assert.Equal(t, things[0], added[0].Subject)
	assert.Equal(t, "knows", added[0].Predicate)
	added = w.Add(things[0], "knows", things[3], things[1], things[2], things[3])
	assert.Equal(t, []string{"t3", "t2"}, objectIDs(added), "none that is there already, each once")
	assert.Empty(t, w.Add(things[0], "knows", things[2], things[1]))
	w.Add(things[0], "knows", things[4])
	assert.Equal(t, []string{"t1", "t3", "t2", "t4"}, w.ObjectsOf(things[0], "knows"))
	s, err := w.List(w.Ctx, things[0], "knows", all)
	require.NoError(t, err)
	assert.Equal(t, added, s.Items[1:3], "what was returned is what is listed")
	_, err = w.AddRelations(w.Ctx, things[0], "knows", []entity.Object{{ID: things[5], Attributes: map[string]any{"since": "2026", "close": true}}}, idempotency.Key{})
	require.NoError(t, err)
	s, err = w.List(w.Ctx, things[0], "knows", page.Window{Limit: 1, Backward: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"since": "2026", "close": true}, s.Items[0].Attributes)
}

func addUnknown(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 4)
	var unknown *entity.UnknownObject
	for _, objects := range [][]entity.ID{{w.Thing("gone")}, {things[1], w.Thing("gone"), things[2]}} {
		_, err := w.AddRelations(w.Ctx, things[0], "knows", Objects(objects...), idempotency.Key{})
		require.ErrorAs(t, err, &unknown)
		assert.Equal(t, w.Thing("gone"), unknown.ID)
		_, err = w.AddRelations(w.Ctx, w.Thing("gone"), "knows", Objects(things[1:len(objects)+1]...), idempotency.Key{})
		assert.True(t, fault.Is(err, fault.NotFound), "got %v", err)
	}
	_, err := w.RemoveRelations(w.Ctx, w.Thing("gone"), "knows", things, idempotency.Key{})
	assert.True(t, fault.Is(err, fault.NotFound), "got %v", err)
	assert.Empty(t, w.ObjectsOf(things[0], ""))
	assert.Empty(t, w.ObjectsOf(w.Thing("gone"), ""))
	assert.Equal(t, []string{"t1"}, objectIDs(w.Add(things[0], "knows", things[1])))
}

func removeRelations(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 6)
	w.Add(things[0], "knows", things[1:]...)
	removed, err := w.RemoveRelations(w.Ctx, things[0], "knows", []entity.ID{things[2], w.Thing("nobody")}, idempotency.Key{})
	require.NoError(t, err)
	assert.Equal(t, []string{"t2"}, objectIDs(removed))
	assert.Equal(t, []string{"t1", "t3", "t4", "t5"}, w.ObjectsOf(things[0], "knows"))
	removed, err = w.RemoveRelations(w.Ctx, things[0], "knows", []entity.ID{things[5], things[2], things[1]}, idempotency.Key{})
	require.NoError(t, err)
	assert.Equal(t, []string{"t1", "t5"}, objectIDs(removed))
	removed, err = w.RemoveRelations(w.Ctx, things[0], "knows", []entity.ID{things[5]}, idempotency.Key{})
	require.NoError(t, err)
	assert.Empty(t, removed)
	w.Add(things[0], "knows", things[1])
	assert.Equal(t, []string{"t3", "t4", "t1"}, w.ObjectsOf(things[0], "knows"), "what comes back comes last")
}

func replaceRelations(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 6)
	for _, list := range [][]entity.ID{{things[1]}, {things[2], things[1]}, {things[1], things[2]}, {things[5], things[4], things[3]}, {}, {things[1], things[1]}, {things[1]}} {
		w.Replace(things[0], "knows", list...)
		assert.Equal(t, names(list...), w.ObjectsOf(things[0], "knows"))
		for _, thing := range things[1:] {
			s, err := w.Reverse(w.Ctx, thing, "knows", all)
			require.NoError(t, err)
			want := 0
			for _, id := range list {
				if id == thing {
					want++
				}
			}
			assert.Len(t, s.Items, want)
		}
	}
}

func replaceCommon(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 6)
	w.Replace(things[0], "knows", things[1], things[2], things[3])
	before, err := w.List(w.Ctx, things[0], "knows", all)
	require.NoError(t, err)
	w.Replace(things[0], "knows", things[1], things[2], things[4], things[5])
	after, err := w.List(w.Ctx, things[0], "knows", all)
	require.NoError(t, err)
	assert.Equal(t, before.Items[:2], after.Items[:2])
	assert.Equal(t, []string{"t1", "t2", "t4", "t5"}, objectIDs(after.Items))
	w.Replace(things[0], "knows", things[1], things[2], things[4], things[5])
	again, err := w.List(w.Ctx, things[0], "knows", all)
	require.NoError(t, err)
	assert.Equal(t, after, again)
}

func replaceMany(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 3)
	var list []entity.ID
	for i := range 250 {
		list = append(list, things[1+i%2])
	}
	w.Replace(things[0], "knows", list...)
	assert.Equal(t, names(list...), w.ObjectsOf(things[0], "knows"))
	slices.Reverse(list)
	w.Replace(things[0], "knows", list...)
	assert.Equal(t, names(list...), w.ObjectsOf(things[0], "knows"))
	removed, err := w.RemoveRelations(w.Ctx, things[0], "knows", things[1:2], idempotency.Key{})
	require.NoError(t, err)
	assert.Len(t, removed, 125)
	assert.Len(t, w.ObjectsOf(things[0], "knows"), 125)
}

func relationsOnce(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 5)
	var replayed *idempotency.Replayed
	for n := 1; n < 4; n += 2 { // in one step, and in several
		key := w.key()
		_, err := w.AddRelations(w.Ctx, things[0], "knows", Objects(things[1:n+1]...), key)
		require.NoError(t, err)
		w.Replace(things[0], "knows")
		_, err = w.AddRelations(w.Ctx, things[0], "knows", Objects(things[1:n+1]...), key)
		require.ErrorAs(t, err, &replayed)
		assert.Empty(t, w.ObjectsOf(things[0], "knows"))

		key = w.key()
		require.NoError(t, w.ReplaceRelations(w.Ctx, things[0], "knows", Objects(things[1:n+1]...), key))
		w.Replace(things[0], "knows", things[4])
		require.ErrorAs(t, w.ReplaceRelations(w.Ctx, things[0], "knows", Objects(things[1:n+1]...), key), &replayed)
		assert.Equal(t, []string{"t4"}, w.ObjectsOf(things[0], "knows"))

		key = w.key()
		w.Add(things[0], "knows", things[1:n+1]...)
		_, err = w.RemoveRelations(w.Ctx, things[0], "knows", things[1:n+1], key)
		require.NoError(t, err)
		w.Add(things[0], "knows", things[1:n+1]...)
		_, err = w.RemoveRelations(w.Ctx, things[0], "knows", things[1:n+1], key)
		require.ErrorAs(t, err, &replayed)
		assert.Len(t, w.ObjectsOf(things[0], "knows"), n+1)
		w.Replace(things[0], "knows")
	}
	key := w.key()
	_, err := w.RemoveRelations(w.Ctx, things[0], "knows", things[1:2], key)
	require.NoError(t, err)
	_, err = w.RemoveRelations(w.Ctx, things[0], "knows", things[1:2], key)
	require.ErrorAs(t, err, &replayed, "also of what had no effect")
}

func twoWriters(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 5)
	lists := [][]entity.ID{{things[1], things[2], things[1]}, {things[3], things[4]}}
	for range 4 {
		errs := storetest.Attempts(2, func(i int) error {
			return w.ReplaceRelations(w.Ctx, things[0], "knows", Objects(lists[i]...), idempotency.Key{})
		})
		for _, err := range errs {
			require.NoError(t, err, "both get through, one after the other")
		}
		assert.Contains(t, [][]string{names(lists[0]...), names(lists[1]...)}, w.ObjectsOf(things[0], "knows"))
	}
}

func addTogether(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 9)
	errs := storetest.Attempts(4, func(i int) error {
		_, err := w.AddRelations(w.Ctx, things[0], "knows", Objects(things[1+2*i:3+2*i]...), idempotency.Key{})
		return err
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	assert.ElementsMatch(t, names(things[1:]...), w.ObjectsOf(things[0], "knows"), "none overwrites another")
}

func putWithRelations(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 4)
	id := w.Thing("new")
	first := w.entity(id, 1)
	require.NoError(t, w.PutEntity(w.Ctx, nil, first, map[string][]entity.Object{
		"knows": Objects(things[1], things[2], id), "likes": Objects(things[3]), "owns": nil,
	}, w.key()))
	assert.Equal(t, []string{"t1", "t2", "new"}, w.ObjectsOf(id, "knows"))
	assert.Equal(t, []string{"t3"}, w.ObjectsOf(id, "likes"))
	assert.Empty(t, w.ObjectsOf(id, "owns"))
	key := w.key()
	second := w.entity(id, 2)
	require.NoError(t, w.PutEntity(w.Ctx, &first, second, map[string][]entity.Object{
		"knows": Objects(things[1], things[3]), "likes": Objects(things[3]), "owns": Objects(things[1]),
	}, key))
	assert.Equal(t, []string{"t1", "t3"}, w.ObjectsOf(id, "knows"))
	assert.Equal(t, []string{"t3"}, w.ObjectsOf(id, "likes"))
	assert.Equal(t, []string{"t1"}, w.ObjectsOf(id, "owns"))
	entities, errs := w.EntitiesByID(w.Ctx, []entity.ID{id})
	require.Nil(t, errs)
	assert.Equal(t, 2, entities[0].Version)
	third := w.entity(id, 3)
	require.NoError(t, w.PutEntity(w.Ctx, &second, third, map[string][]entity.Object{"likes": nil}, idempotency.Key{}))
	assert.Equal(t, []string{"t1", "t3", "t1"}, w.ObjectsOf(id, ""), "what is not given stays")
}

func putConflict(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 5)
	id := w.Thing("new")
	first := w.entity(id, 1)
	require.NoError(t, w.PutEntity(w.Ctx, nil, first, map[string][]entity.Object{"knows": Objects(things[1], things[2])}, idempotency.Key{}))
	var conflict *entity.VersionConflict
	for _, before := range []*entity.Entity{nil, {ID: id, Version: 7}} {
		for _, list := range [][]entity.ID{{things[1]}, {things[3], things[4]}, {things[1], things[2]}} {
			err := w.PutEntity(w.Ctx, before, w.entity(id, 8), map[string][]entity.Object{"knows": Objects(list...)}, idempotency.Key{})
			require.ErrorAs(t, err, &conflict)
			assert.Equal(t, 1, conflict.Current.Version)
			assert.Equal(t, []string{"t1", "t2"}, w.ObjectsOf(id, "knows"))
		}
	}
	var unknown *entity.UnknownObject
	err := w.PutEntity(w.Ctx, nil, w.entity(w.Thing("newer"), 1), map[string][]entity.Object{
		"knows": Objects(things[1], things[2]), "likes": Objects(w.Thing("nobody")),
	}, idempotency.Key{})
	require.ErrorAs(t, err, &unknown)
	_, errs := w.EntitiesByID(w.Ctx, []entity.ID{w.Thing("newer")})
	require.NotNil(t, errs)
	assert.Empty(t, w.ObjectsOf(w.Thing("newer"), ""))
}

func replaceUnknown(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 120)
	w.Replace(things[0], "knows", things[1], things[2], things[3])
	var unknown *entity.UnknownObject
	list := append(slices.Clone(things[4:]), w.Thing("gone"))
	require.ErrorAs(t, w.ReplaceRelations(w.Ctx, things[0], "knows", Objects(list...), idempotency.Key{}), &unknown)
	assert.Equal(t, []string{"t1", "t2", "t3"}, w.ObjectsOf(things[0], "knows"))
	w.Replace(things[0], "knows", things[4:]...)
	assert.Equal(t, names(things[4:]...), w.ObjectsOf(things[0], "knows"), "at once: nothing was left in the way")
}
