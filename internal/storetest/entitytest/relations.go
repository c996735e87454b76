package entitytest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

// RelationStore is the part of [entity.Store] that the suites of relationships and deletions are about.
type RelationStore interface {
	entity.Reader
	entity.Writer
	entity.Relations
}

// RelationStores is one empty implementation of each store that relationships need.
type RelationStores struct {
	RelationStore
	Tasks task.Store
	// Settle lets indexes that lag behind show all that was written; nil where none does.
	Settle func()
}

// OpenRelations returns empty stores that take their time from now.
type OpenRelations func(t *testing.T, now func() time.Time) RelationStores

// World opens stores, and returns a world over them.
func (open OpenRelations) World(t *testing.T, clock *storetest.Clock) *RelationWorld {
	return NewRelationWorld(t, open(t, clock.Now), clock)
}

// RelationWorld is a store with what makes relationships in it.
type RelationWorld struct {
	RelationStores
	Clock *storetest.Clock
	Ctx   context.Context // of the test, with as much time as a busy machine may need

	t testing.TB
}

// NewRelationWorld returns a world over empty stores that show the time of the clock.
func NewRelationWorld(t testing.TB, s RelationStores, clock *storetest.Clock) *RelationWorld {
	return &RelationWorld{RelationStores: s, Clock: clock, Ctx: storetest.Patient(t), t: t}
}

// Work carries out the tasks that are due, once each, as a server does.
func (w *RelationWorld) Work() {
	w.t.Helper()
	due, err := w.Tasks.ListDueTasks(w.Ctx, w.Clock.Now(), 1000)
	require.NoError(w.t, err)
	for _, t := range due {
		t, mine, err := w.Tasks.ClaimTask(w.Ctx, t, uuid.NewString(), w.Clock.Now().Add(task.Lease))
		require.NoError(w.t, err)
		require.True(w.t, mine)
		var again time.Time
		switch t.Kind {
		case entity.ChangeRelations:
			err = w.SettleRelations(w.Ctx, t)
		case entity.DeleteEntities:
			again, err = w.FinishDelete(w.Ctx, t)
		default:
			require.Fail(w.t, "a task of another kind", t.Kind)
		}
		require.NoError(w.t, err)
		require.NoError(w.t, w.Tasks.FinishTask(w.Ctx, t, again))
	}
}

// RelationsSuite tests an implementation of [entity.Relations].
func RelationsSuite(t *testing.T, open OpenRelations) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *RelationWorld){
		"get relationship keys for subject":                    relationsOfSubject,
		"get relationship objects for subject":                 relationObjects,
		"get relationship keys by predicate for subject":       relationsByPredicate,
		"get relationship objects by predicate for subject":    relationObjectsByPredicate,
		"a predicate is not the prefix of another":             predicatePrefixes,
		"an object is there more than once":                    objectTwice,
		"pages are full in both directions":                    relationPages,
		"add some relationships on subject":                    addRelations,
		"adding needs subject and objects":                     addUnknown,
		"remove some relationships from subject":               removeRelations,
		"replace relationships on subject":                     replaceRelations,
		"replacing keeps what old and new begin with":          replaceCommon,
		"replacing many":                                       replaceMany,
		"reverse relationships":                                reverseRelations,
		"pages of reverse relationships with equal indexes":    reversePages,
		"ids of all kinds":                                     oddIDs,
		"cyclic relations":                                     cyclicRelations,
		"relations between scopes":                             betweenScopes,
		"changes are repeated safely":                          relationsOnce,
		"setting a record that was changed meanwhile":          putConflict,
		"nothing is changed when one object does not exist":    replaceUnknown,
		"what is listed of several subjects is in their order": severalSubjects,
	})
	RelationsTogether(t, open)
}

// RelationsTogether tests what [RelationsSuite] does at the same time, also with several predicates in one change. See [Together].
func RelationsTogether(t *testing.T, open OpenRelations) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *RelationWorld){
		"two writers":                     twoWriters,
		"many writers add together":       addTogether,
		"set a record with relationships": putWithRelations,
	})
}

func relationsOfSubject(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 4)
	w.Replace(things[0], "owns", things[3], things[1])
	w.Replace(things[0], "likes", things[2], things[1])
	w.Add(things[1], "likes", things[0])
	s, err := w.List(w.Ctx, things[0], "", all)
	require.NoError(t, err)
	assert.Equal(t, []string{"t2", "t1", "t3", "t1"}, objectIDs(s.Items), "by predicate, then in order")
	for i, r := range s.Items {
		assert.Equal(t, things[0], r.Subject)
		assert.Equal(t, []string{"likes", "likes", "owns", "owns"}[i], r.Predicate)
	}
	assert.Empty(t, w.ObjectsOf(things[2], ""))
	assert.Empty(t, w.ObjectsOf(w.Thing("nobody"), ""))
}

func relationObjects(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 3)
	w.Replace(things[0], "owns", things[2])
	w.Replace(things[0], "likes", things[1], things[2])
	w.objects(t, things[0], "", "t1", "t2", "t2")
}

func relationObjectsByPredicate(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 3)
	w.Replace(things[0], "owns", things[2], things[1])
	w.Replace(things[0], "likes", things[1])
	w.objects(t, things[0], "owns", "t2", "t1")
}

// objects reads the objects themselves.
func (w *RelationWorld) objects(t *testing.T, subject entity.ID, predicate string, want ...string) {
	t.Helper()
	s, err := w.List(w.Ctx, subject, predicate, all)
	require.NoError(t, err)
	var ids []entity.ID
	for _, r := range s.Items {
		ids = append(ids, r.Object)
	}
	entities, errs := w.EntitiesByID(w.Ctx, ids)
	require.Nil(t, errs)
	var got []string
	for _, e := range entities {
		got = append(got, fmt.Sprint(e.Attributes["id"]))
	}
	assert.Equal(t, want, got)
}

func relationsByPredicate(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 13)
	w.Replace(things[0], "owns", things[1:]...)
	w.Replace(things[0], "likes", things[2])
	assert.Equal(t, names(things[1:]...), w.ObjectsOf(things[0], "owns"), "more than ten: indexes sort as numbers")
	assert.Equal(t, []string{"t2"}, w.ObjectsOf(things[0], "likes"))
	assert.Empty(t, w.ObjectsOf(things[0], "hates"))
	s, err := w.List(w.Ctx, things[0], "owns", all)
	require.NoError(t, err)
	for i := range s.Items[1:] {
		assert.Less(t, s.Items[i].Index, s.Items[i+1].Index)
	}
}

func predicatePrefixes(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 4)
	w.Replace(things[0], "likes", things[1], things[2])
	w.Replace(things[0], "likes_not", things[3])
	w.Replace(things[0], "like", things[2], things[3])
	w.Add(things[0], "likes-more", things[1])
	assert.Equal(t, []string{"t1", "t2"}, w.ObjectsOf(things[0], "likes"))
	assert.Equal(t, []string{"t3"}, w.ObjectsOf(things[0], "likes_not"))
	assert.Equal(t, []string{"t2", "t3"}, w.ObjectsOf(things[0], "like"))
	w.Replace(things[0], "likes")
	assert.Empty(t, w.ObjectsOf(things[0], "likes"))
	assert.Equal(t, []string{"t3"}, w.ObjectsOf(things[0], "likes_not"))
	assert.Equal(t, []string{"t2", "t3", "t1", "t3"}, w.ObjectsOf(things[0], ""))
	s, err := w.Reverse(w.Ctx, things[3], "likes_not", all)
	require.NoError(t, err)
	assert.Equal(t, []string{"t0"}, subjectIDs(s.Items))
	s, err = w.Reverse(w.Ctx, things[3], "likes", all)
	require.NoError(t, err)
	assert.Empty(t, s.Items)
}

func objectTwice(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 3)
	require.NoError(t, w.ReplaceRelations(w.Ctx, things[0], "plays", []entity.Object{
		{ID: things[1], Attributes: map[string]any{"at": "morning"}}, {ID: things[2]}, {ID: things[1], Attributes: map[string]any{"at": "night"}}, {ID: things[1]},
	}, idempotency.Key{}))
	s, err := w.List(w.Ctx, things[0], "plays", all)
	require.NoError(t, err)
	assert.Equal(t, []string{"t1", "t2", "t1", "t1"}, objectIDs(s.Items))
	assert.Equal(t, map[string]any{"at": "morning"}, s.Items[0].Attributes)
	assert.Empty(t, s.Items[1].Attributes)
	assert.Equal(t, map[string]any{"at": "night"}, s.Items[2].Attributes)
	s, err = w.Reverse(w.Ctx, things[1], "plays", all)
	require.NoError(t, err)
	assert.Len(t, s.Items, 3)
	removed, err := w.RemoveRelations(w.Ctx, things[0], "plays", []entity.ID{things[1]}, idempotency.Key{})
	require.NoError(t, err)
	assert.Len(t, removed, 3, "as often as it is there")
	assert.Equal(t, []string{"t2"}, w.ObjectsOf(things[0], "plays"))
}

// walkRelations follows the positions of a list in both directions, with pages of n, and looks at both flags.
func walkRelations(t *testing.T, n int, list func(page.Window) (page.Slice[entity.Relation], error), id func([]entity.Relation) []string) []string {
	t.Helper()
	whole, err := list(all)
	require.NoError(t, err)
	want := id(whole.Items)
	for _, backward := range []bool{false, true} {
		got := []string{}
		window := page.Window{Limit: n, Backward: backward}
		for {
			s, err := list(window)
			require.NoError(t, err)
			if len(s.Items) == 0 {
				break
			}
			require.Len(t, s.Positions, len(s.Items))
			assert.Equal(t, window.From != "", s.Other, "what was listed is still there")
			if backward {
				got, window.From = append(id(s.Items), got...), s.Positions[0]
			} else {
				got, window.From = append(got, id(s.Items)...), s.Positions[len(s.Positions)-1]
			}
			require.Equal(t, len(got) < len(want), s.More, "after %d of %d", len(got), len(want))
			window.Probe = true
			if s.More {
				require.Len(t, s.Items, n, "pages are full")
			}
		}
		require.Equal(t, want, got, "backward: %v", backward)
	}
	return want
}

func relationPages(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 9)
	for _, predicate := range []string{"a", "b", "c"} {
		w.Replace(things[0], predicate, things[4:]...)
		w.Replace(things[0], predicate, things[1:8]...)
	}
	w.Replace(things[0], "b", things[5])
	for _, c := range []struct {
		predicate string
		want      int
	}{{"", 15}, {"a", 7}, {"b", 1}, {"c", 7}, {"d", 0}} {
		for n := 1; n < 9; n++ {
			got := walkRelations(t, n, func(window page.Window) (page.Slice[entity.Relation], error) {
				return w.List(w.Ctx, things[0], c.predicate, window)
			}, objectIDs)
			require.Len(t, got, c.want)
		}
	}
}

func reverseRelations(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 6)
	w.Replace(things[0], "knows", things[5], things[1])
	w.Replace(things[1], "knows", things[2], things[5])
	w.Add(things[2], "likes", things[5])
	s, err := w.Reverse(w.Ctx, things[5], "knows", all)
	require.NoError(t, err)
	assert.Equal(t, []string{"t0", "t1"}, subjectIDs(s.Items), "by index")
	s, err = w.Reverse(w.Ctx, things[5], "", all)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"t0", "t1", "t2"}, subjectIDs(s.Items))
	s, err = w.Reverse(w.Ctx, things[0], "", all)
	require.NoError(t, err)
	assert.Empty(t, s.Items)
}

func reversePages(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 12)
	for i, thing := range things[1:] {
		w.Add(thing, []string{"likes", "knows"}[i%2], things[0])
		w.Add(thing, "owns", things[(i+3)%11], things[0])
	}
	for _, predicate := range []string{"", "likes", "owns"} {
		for n := 1; n < 8; n++ {
			walkRelations(t, n, func(window page.Window) (page.Slice[entity.Relation], error) {
				return w.Reverse(w.Ctx, things[0], predicate, window)
			}, subjectIDs)
		}
	}
}

func oddIDs(t *testing.T, w *RelationWorld) {
	var ids []entity.ID
	for _, id := range []string{":", "#", "~", "!", "a:b", "a", "b", "a#b", "%", "%3A", "a~01", "!:~", "ü", "\U0010FFFF"} {
		ids = append(ids, w.Thing(id))
	}
	w.Make(ids...)
	for _, id := range ids {
		w.Replace(id, "knows", ids...)
	}
	for _, id := range ids {
		assert.Equal(t, names(ids...), w.ObjectsOf(id, "knows"))
		assert.Equal(t, names(ids...), w.ObjectsOf(id, ""))
		s, err := w.Reverse(w.Ctx, id, "knows", all)
		require.NoError(t, err)
		assert.ElementsMatch(t, names(ids...), subjectIDs(s.Items))
	}
	w.Add(ids[3], "likes", ids[2], ids[3])
	walkRelations(t, 1, func(window page.Window) (page.Slice[entity.Relation], error) {
		return w.List(w.Ctx, ids[3], "likes", window)
	}, objectIDs)
}

func cyclicRelations(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 2)
	w.Add(things[0], "knows", things[1])
	w.Add(things[1], "knows", things[0])
	w.Add(things[0], "is", things[0])
	w.Replace(things[0], "knows", things[0], things[1], things[0])
	assert.Equal(t, []string{"t0", "t1", "t0"}, w.ObjectsOf(things[0], "knows"))
	assert.Equal(t, []string{"t0"}, w.ObjectsOf(things[1], "knows"))
	assert.Equal(t, []string{"t0"}, w.ObjectsOf(things[0], "is"))
	removed, err := w.RemoveRelations(w.Ctx, things[0], "is", things, idempotency.Key{})
	require.NoError(t, err)
	assert.Len(t, removed, 1)
}

// Key is a new idempotency key.
func (w *RelationWorld) key() idempotency.Key {
	return idempotency.Key{Viewer: "ada", Key: uuid.NewString(), Hash: []byte("input"), ExpiresAt: w.Clock.Now().Add(idempotency.TTL)}
}

func severalSubjects(t *testing.T, w *RelationWorld) {
	things := w.Things("t", 6)
	var requests []entity.RelationsRequest
	for i, thing := range things {
		w.Replace(thing, "knows", things[:i]...)
		requests = append(requests, entity.RelationsRequest{Entity: thing, Predicate: "knows", Window: page.Window{Limit: 3}})
	}
	slices.Reverse(requests)
	lists, errs := w.ListRelations(w.Ctx, requests)
	require.Nil(t, errs)
	for i, list := range lists {
		n := len(things) - 1 - i
		assert.Equal(t, names(things[:min(n, 3)]...), objectIDs(list.Items), fmt.Sprint(n))
		assert.Equal(t, n > 3, list.More)
	}
	w.settle()
	lists, errs = w.ListReverseRelations(w.Ctx, requests)
	require.Nil(t, errs)
	for i, list := range lists {
		assert.Len(t, list.Items, min(i, 3))
		assert.Equal(t, i > 3, list.More)
	}
}
