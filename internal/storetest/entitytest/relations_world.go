package entitytest

import (
	"context"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
)

// Thing returns the id of a thing.
func (w *RelationWorld) Thing(id string) entity.ID {
	return entity.ID{Scope: "scope", Type: "thing", ID: id}
}

// Make makes entities.
func (w *RelationWorld) Make(ids ...entity.ID) {
	w.t.Helper()
	errs := storetest.Attempts(len(ids), func(i int) error {
		return w.PutEntity(w.Ctx, nil, w.entity(ids[i], 1), nil, idempotency.Key{})
	})
	for _, err := range errs {
		require.NoError(w.t, err)
	}
}

func (w *RelationWorld) entity(id entity.ID, version int) entity.Entity {
	return entity.Entity{ID: id, Attributes: map[string]any{"id": id.ID}, Version: version, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now()}
}

// Things makes n things and returns their ids.
func (w *RelationWorld) Things(prefix string, n int) []entity.ID {
	w.t.Helper()
	ids := make([]entity.ID, n)
	for i := range ids {
		ids[i] = w.Thing(prefix + strconv.Itoa(i))
	}
	w.Make(ids...)
	return ids
}

// Objects are the objects of relations without attributes.
func Objects(ids ...entity.ID) []entity.Object {
	objects := make([]entity.Object, len(ids))
	for i, id := range ids {
		objects[i] = entity.Object{ID: id}
	}
	return objects
}

// Add adds objects.
func (w *RelationWorld) Add(subject entity.ID, predicate string, objects ...entity.ID) []entity.Relation {
	w.t.Helper()
	added, err := w.AddRelations(w.Ctx, subject, predicate, Objects(objects...), idempotency.Key{})
	require.NoError(w.t, err)
	return added
}

// Replace replaces objects.
func (w *RelationWorld) Replace(subject entity.ID, predicate string, objects ...entity.ID) {
	w.t.Helper()
	require.NoError(w.t, w.ReplaceRelations(w.Ctx, subject, predicate, Objects(objects...), idempotency.Key{}))
}

// List lists the relations of a subject.
func (w *RelationWorld) List(ctx context.Context, subject entity.ID, predicate string, window page.Window) (page.Slice[entity.Relation], error) {
	return one(w.ListRelations(ctx, []entity.RelationsRequest{{Entity: subject, Predicate: predicate, Window: window}}))
}

// settle waits for indexes. What is said to see every acknowledged write is read without it.
func (w *RelationWorld) settle() {
	if w.Settle != nil {
		w.Settle()
	}
}

// Reverse lists the relations of an object, as indexes show them when they have settled.
func (w *RelationWorld) Reverse(ctx context.Context, object entity.ID, predicate string, window page.Window) (page.Slice[entity.Relation], error) {
	w.settle()
	return one(w.ListReverseRelations(ctx, []entity.RelationsRequest{{Entity: object, Predicate: predicate, Window: window}}))
}

func one(slices []page.Slice[entity.Relation], errs []error) (page.Slice[entity.Relation], error) {
	if errs != nil && errs[0] != nil {
		return page.Slice[entity.Relation]{}, errs[0]
	}
	return slices[0], nil
}

// all is a window on more than any list here has.
var all = page.Window{Limit: page.Max}

// ObjectsOf returns the ids of the objects under the predicate, in order.
func (w *RelationWorld) ObjectsOf(subject entity.ID, predicate string) []string {
	w.t.Helper()
	s, err := w.List(w.Ctx, subject, predicate, all)
	require.NoError(w.t, err)
	return objectIDs(s.Items)
}

func objectIDs(relations []entity.Relation) []string {
	ids := []string{}
	for _, r := range relations {
		ids = append(ids, r.Object.ID)
	}
	return ids
}

func subjectIDs(relations []entity.Relation) []string {
	ids := []string{}
	for _, r := range relations {
		ids = append(ids, r.Subject.ID)
	}
	return ids
}

func names(ids ...entity.ID) []string {
	all := []string{}
	for _, id := range ids {
		all = append(all, id.ID)
	}
	return all
}
