package entity

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
)

func ptr[T any](of T) *T { return &of }

func entityID(id string) ID { return ID{Scope: "s", Type: "Book", ID: id} }

func setBook(t *testing.T, w *world, id string, attributes map[string]any) Entity {
	t.Helper()
	e, err := w.Set(as(t, writer), Set{Scope: "s", Type: "Book", ID: &id, Attributes: attributes})
	require.NoError(t, err)
	return e
}

func TestWhoMayDoWhat(t *testing.T) {
	book := []Object{{ID: entityID("1")}}
	actions := map[string]struct {
		need Role
		do   func(ctx context.Context, w *world) error
	}{
		"read": {ReaderRole, func(ctx context.Context, w *world) error { _, err := w.get(ctx, entityID("1")); return err }},
		"scope": {ReaderRole, func(ctx context.Context, w *world) error {
			_, errs := w.Service.ScopesByID(ctx, []string{"s"})
			return first(errs)
		}},
		"set": {WriterRole, func(ctx context.Context, w *world) error {
			_, err := w.Set(ctx, Set{Scope: "s", Type: "Book"})
			return err
		}},
		"update": {WriterRole, func(ctx context.Context, w *world) error {
			_, err := w.Update(ctx, Update{Entity: entityID("1")})
			return err
		}},
		"delete": {WriterRole, func(ctx context.Context, w *world) error { return w.Delete(ctx, Delete{Entity: entityID("1")}) }},
		"add": {WriterRole, func(ctx context.Context, w *world) error {
			_, err := w.Service.AddRelations(ctx, PutRelations{Subject: entityID("1"), Predicate: "likes", Objects: book})
			return err
		}},
		"rename": {OwnerRole, func(ctx context.Context, w *world) error {
			_, err := w.RenameScope(ctx, RenameScope{Scope: "s", Name: "n"})
			return err
		}},
		"declare": {OwnerRole, func(ctx context.Context, w *world) error {
			_, err := w.DeclareIndex(ctx, DeclareIndex{Scope: "s", Name: "n", Type: "Book", Path: []string{"a"}, Kind: StringKey})
			return err
		}},
		"member": {OwnerRole, func(ctx context.Context, w *world) error {
			_, err := w.Service.PutMember(ctx, PutMember{Scope: "s", Email: ptr("reader@example.org"), Role: WriterRole})
			return err
		}},
		"remove another": {OwnerRole, func(ctx context.Context, w *world) error {
			return w.RemoveMember(ctx, RemoveMember{Scope: "s", User: "else"})
		}},
	}
	roles := map[UserID]Role{owner: OwnerRole, writer: WriterRole, reader: ReaderRole, nobody: NoRole, "": NoRole}
	for name, action := range actions {
		for user, role := range roles {
			w := newWorld()
			setBook(t, w, "1", nil)
			err := action.do(as(t, user), w)
			switch {
			case role >= action.need:
				assert.NoError(t, err, "%s as %s", name, user)
			case user == "" && action.need > ReaderRole:
				assert.True(t, fault.Is(err, fault.Unauthenticated), "%s as a stranger: %v", name, err)
			case role == NoRole:
				assert.True(t, fault.Is(err, fault.NotFound), "%s as %q: %v", name, user, err)
			default:
				assert.True(t, fault.Is(err, fault.Forbidden), "%s as %s: %v", name, user, err)
			}
		}
	}
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestEntitiesAreReadInOneBatch(t *testing.T) {
	w := newWorld()
	setBook(t, w, "1", nil)
	hidden := ID{Scope: "other", Type: "Book", ID: "1"}
	w.entities[hidden] = Entity{ID: hidden, Version: 1}
	w.calls = nil
	entities, errs := w.ListByID(as(t, reader), []ID{hidden, entityID("1"), entityID("none"), {Scope: "s", Type: "no type"}, {Scope: "unknown", Type: "Book", ID: "1"}})
	assert.Equal(t, []string{"scopes [other s unknown]", "entities 2"}, w.calls, "one look at the scopes, one at what may be read")
	assert.Equal(t, "1", entities[1].ID.ID)
	require.NoError(t, errs[1])
	for _, i := range []int{0, 2, 3, 4} {
		assert.Equal(t, notFound(), errs[i], "what is hidden looks like what is not there")
		assert.Empty(t, entities[i].Version)
	}
	w.calls = nil
	_, errs = w.ListByID(as(t, ""), []ID{entityID("1")})
	assert.True(t, fault.Is(errs[0], fault.NotFound))
	assert.Empty(t, w.calls)
}

func TestWhatWasNotShownIsNotListed(t *testing.T) {
	w := newWorld()
	ctx := as(t, writer)
	one := setBook(t, w, "1", nil)
	_, err := w.Service.AddRelations(ctx, PutRelations{Subject: one.ID, Predicate: "likes", Objects: []Object{{ID: one.ID}}})
	require.NoError(t, err, "an entity may like itself")

	window := page.Window{Limit: 1}
	slices, errs := w.Service.ListRelations(ctx, []RelationsRequest{
		Entity{ID: one.ID}.Relations("likes", window), one.Relations("likes", window), one.Relations("no name", window), one.Relations("", window),
	})
	assert.True(t, fault.Is(errs[0], fault.NotFound), "made from an id, not from what was shown")
	assert.True(t, fault.Is(errs[2], fault.Invalid))
	assert.Len(t, slices[1].Items, 1)
	assert.Len(t, slices[3].Items, 1)
	_, errs = w.ListReverseRelations(ctx, []RelationsRequest{Entity{ID: one.ID}.ReverseRelations("likes", window)})
	assert.True(t, fault.Is(errs[0], fault.NotFound))

	_, err = w.List(ctx, Scope{ID: "s"}.Entities("Book", window))
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.Service.ListMembers(ctx, Scope{ID: "s"}.Members(window))
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.Query(ctx, Scope{ID: "s", Indexes: []Index{texts("a")}}.Query("words", Condition{}, window))
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.Service.ListScopes(ctx, reader, window)
	assert.True(t, fault.Is(err, fault.Forbidden))

	found, err := w.List(ctx, Scope{ID: "s", Role: ReaderRole}.Entities("Book", window))
	require.NoError(t, err)
	assert.True(t, found.Items[0].shown)
	_, err = w.List(ctx, Scope{ID: "s", Role: ReaderRole}.Entities("Book:", window))
	invalid(t, err, "type", "a type is a letter")
}

func TestSetCreatesAndReplaces(t *testing.T) {
	w := newWorld()
	ctx := as(t, writer)
	made, err := w.Set(ctx, Set{Scope: "s", Type: "Book", Attributes: map[string]any{"a": 1}})
	require.NoError(t, err)
	assert.Equal(t, Entity{ID: entityID("made-1"), Attributes: map[string]any{"a": json.Number("1")}, Version: 1, CreatedAt: began, UpdatedAt: began, shown: true}, made)

	again, err := w.Set(ctx, Set{Scope: "s", Type: "Book", ID: ptr("made-1"), ExpectedVersion: ptr(1), Attributes: map[string]any{"b": "x"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"b": "x"}, again.Attributes)
	assert.Equal(t, 2, again.Version)
	assert.Equal(t, began, again.CreatedAt)
	assert.True(t, again.UpdatedAt.After(began), "the clock stands still, and time goes on")

	var conflict *VersionConflict
	for _, expected := range []int{0, 1, 3} {
		_, err = w.Set(ctx, Set{Scope: "s", Type: "Book", ID: ptr("made-1"), ExpectedVersion: &expected})
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, again, *conflict.Current)
	}
	_, err = w.Set(ctx, Set{Scope: "s", Type: "Book", ID: ptr("none"), ExpectedVersion: ptr(1)})
	require.ErrorAs(t, err, &conflict)
	assert.Nil(t, conflict.Current)
	_, err = w.Set(ctx, Set{Scope: "s", Type: "Book", ID: ptr("a:b#c"), ExpectedVersion: ptr(0)})
	require.NoError(t, err)
}

func TestUpdateMergesAttributes(t *testing.T) {
	w := newWorld()
	ctx := as(t, writer)
	setBook(t, w, "1", map[string]any{"keep": "k", "change": map[string]any{"x": "old"}, "remove": true})
	got, err := w.Update(ctx, Update{Entity: entityID("1"), Attributes: map[string]any{"change": map[string]any{"y": "new"}, "remove": nil, "absent": nil}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"keep": "k", "change": map[string]any{"y": "new"}}, got.Attributes)
	assert.Equal(t, 2, got.Version)

	_, err = w.Update(ctx, Update{Entity: entityID("1"), Attributes: map[string]any{"more": strings.Repeat("x", MaxAttributeBytes-20)}})
	invalid(t, err, "input.attributes", "at most 350000 bytes")
	for _, expected := range []*int{nil, ptr(1)} {
		_, err = w.Update(ctx, Update{Entity: entityID("none"), ExpectedVersion: expected})
		assert.True(t, fault.Is(err, fault.NotFound))
		assert.True(t, fault.Is(w.Delete(ctx, Delete{Entity: entityID("none"), ExpectedVersion: expected}), fault.NotFound))
	}
	var conflict *VersionConflict
	require.ErrorAs(t, w.Delete(ctx, Delete{Entity: entityID("1"), ExpectedVersion: ptr(1)}), &conflict)
	require.NoError(t, w.Delete(ctx, Delete{Entity: entityID("1"), ExpectedVersion: ptr(2)}))
	assert.Empty(t, w.entities)
}

func TestChangesMeanwhile(t *testing.T) {
	w := newWorld()
	ctx := as(t, writer)
	setBook(t, w, "1", map[string]any{"a": "1"})
	w.racing = func() { setBook(t, w, "1", map[string]any{"b": "2"}) }
	got, err := w.Update(ctx, Update{Entity: entityID("1"), Attributes: map[string]any{"c": "3"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"b": "2", "c": "3"}, got.Attributes, "made again from the state after the other change")

	w.racing = func() { setBook(t, w, "1", nil) }
	_, err = w.Update(ctx, Update{Entity: entityID("1"), ExpectedVersion: ptr(3)})
	var conflict *VersionConflict
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, 4, conflict.Current.Version)
	assert.True(t, conflict.Current.shown)

	w.racing = func() { // as a rebuild does
		e := w.entities[entityID("1")]
		e.Index = []IndexEntry{{Name: "n", Key: "k"}}
		w.entities[e.ID] = e
	}
	_, err = w.Update(ctx, Update{Entity: entityID("1"), ExpectedVersion: ptr(4)})
	require.NoError(t, err, "a rebuild is no change that a client could have expected")

	var race func()
	race = func() {
		e := w.entities[entityID("1")]
		e.Version++
		w.entities[e.ID] = e
		w.racing = race
	}
	w.racing = race
	hurried, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err = w.Update(hurried, Update{Entity: entityID("1")})
	assert.True(t, fault.Is(err, fault.Unavailable), "it gives up when the time is nearly over, and trying again may help")
	require.NoError(t, hurried.Err(), "there is time to answer")
}

func TestMutationsHappenOnce(t *testing.T) {
	w := newWorld()
	ctx := as(t, writer)
	in := Set{Scope: "s", Type: "Book", Attributes: map[string]any{"a": "1"}, IdempotencyKey: ptr("k")}
	one, err := w.Set(ctx, in)
	require.NoError(t, err)
	two, err := w.Set(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, one, two)
	assert.Len(t, w.entities, 1)
	in.Attributes = nil
	_, err = w.Set(ctx, in)
	require.ErrorIs(t, err, idempotency.ErrMismatch)

	add := PutRelations{Subject: one.ID, Predicate: "likes", Objects: []Object{{ID: one.ID}}, IdempotencyKey: ptr("add")}
	added, err := w.Service.AddRelations(ctx, add)
	require.NoError(t, err)
	again, err := w.Service.AddRelations(ctx, add)
	require.NoError(t, err)
	assert.Len(t, added, 1)
	assert.Empty(t, again)
	assert.Len(t, w.relations, 1)

	remove := Delete{Entity: one.ID, IdempotencyKey: ptr("delete")}
	require.NoError(t, w.Delete(ctx, remove))
	require.NoError(t, w.Delete(ctx, remove))
	in.Attributes = map[string]any{"a": "1"}
	gone, err := w.Set(ctx, in)
	require.NoError(t, err)
	assert.Zero(t, gone)
}

func TestRelationsThatCannotBe(t *testing.T) {
	w := newWorld()
	ctx := as(t, writer)
	setBook(t, w, "1", nil)
	many := make([]Object, MaxRelationsAdded+1)
	for i := range many {
		many[i].ID = entityID("1")
	}
	for _, c := range []struct {
		field     string
		predicate string
		objects   []Object
	}{
		{"input.predicate", "likes:", []Object{{ID: entityID("1")}}},
		{"input.predicate", "", []Object{{ID: entityID("1")}}},
		{"input.objects", "likes", many},
		{"input.objects", "likes", nil},
		{"input.objects.1.entityId", "likes", []Object{{ID: entityID("1")}, {ID: ID{Scope: "other", Type: "Book", ID: "1"}}}},
		{"input.objects.0.entityId", "likes", []Object{{ID: ID{Scope: "s", ID: "1"}}}},
		{"input.objects.0.entityId", "likes", []Object{{ID: entityID("")}}},
	} {
		_, err := w.Service.AddRelations(ctx, PutRelations{Subject: entityID("1"), Predicate: c.predicate, Objects: c.objects})
		invalid(t, err, c.field, "")
		var ids []ID
		for _, o := range c.objects {
			ids = append(ids, o.ID)
		}
		_, err = w.Service.RemoveRelations(ctx, RemoveRelations{Subject: entityID("1"), Predicate: c.predicate, Objects: ids})
		invalid(t, err, strings.TrimSuffix(strings.Replace(c.field, "objects", "objectIds", 1), ".entityId"), "")
	}
	_, err := w.Service.AddRelations(ctx, PutRelations{Subject: entityID("1"), Predicate: "likes", Objects: []Object{{ID: entityID("1"), Attributes: map[string]any{"_index": 1}}}})
	invalid(t, err, "input.objects.0.attributes._index", "reserved")

	set := func(relations ...PredicateObjects) error {
		_, err := w.Set(ctx, Set{Scope: "s", Type: "Book", Relations: relations})
		return err
	}
	invalid(t, set(PredicateObjects{"likes:", nil}), "input.relations.0.predicate", "a predicate is")
	invalid(t, set(PredicateObjects{"a", nil}, PredicateObjects{"a", nil}), "input.relations.1.predicate", "given once")
	invalid(t, set(PredicateObjects{"a", many[:600]}, PredicateObjects{"b", many[:600]}), "input.relations.1.objects", "at most 1000 objects")
	require.NoError(t, set(PredicateObjects{"a", many[:600]}, PredicateObjects{"b", many[:400]}))
	assert.Len(t, w.relations, 1000)
}

func TestQueries(t *testing.T) {
	w := newWorld()
	ctx := as(t, reader)
	price := Index{Name: "price", Type: "Book", Path: []string{"price"}, Kind: NumberKey, Ready: true}
	building := Index{Name: "building", Type: "Book", Path: []string{"price"}, Kind: NumberKey, Done: 7}
	gone := Index{Name: "gone", Type: "Book", Path: []string{"price"}, Kind: NumberKey, Ready: true, RemovedAt: began}
	scope := w.scopes["s"]
	scope.Indexes = []Index{price, building, gone}
	w.scopes["s"] = scope
	setBook(t, w, "1", map[string]any{"price": 12.5})
	assert.Equal(t, []IndexEntry{{Name: "price", Key: "2502125"}, {Name: "building", Key: "2502125"}}, w.entities[entityID("1")].Index, "an index that is being built takes what is set")

	scopes, _ := w.Service.ScopesByID(ctx, []string{"s"})
	found, err := w.Query(ctx, scopes[0].Query("price", Condition{Equals: json.Number("1.25e1")}, page.Window{}))
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	assert.True(t, found.Items[0].Entity.shown)
	_, err = w.Query(ctx, scopes[0].Query("building", Condition{}, page.Window{}))
	assert.True(t, fault.Is(err, fault.Unavailable))
	assert.ErrorContains(t, err, "7 entities")
	for _, name := range []string{"gone", "none"} {
		_, err = w.Query(ctx, scopes[0].Query(name, Condition{}, page.Window{}))
		invalid(t, err, "index", "no index of this name")
	}
}
