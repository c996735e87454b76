package entity_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
)

func ptr[T any](of T) *T { return &of }

func entityID(id string) entity.ID { return entity.ID{Scope: "s", Type: "Book", ID: id} }

func setBook(t *testing.T, w *world, id string, attributes map[string]any) entity.Entity {
	t.Helper()
	e, err := w.Set(as(t, writer), entity.Set{Scope: "s", Type: "Book", ID: &id, Attributes: attributes})
	require.NoError(t, err)
	return e
}

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	actions := map[string]struct {
		need entity.Role
		do   func(ctx context.Context, book entity.ID) error
	}{
		"read": {entity.ReaderRole, func(ctx context.Context, book entity.ID) error {
			_, err := w.Service.Get(ctx, book)
			return err
		}},
		"scope": {entity.ReaderRole, func(ctx context.Context, book entity.ID) error {
			_, errs := w.Service.ScopesByID(ctx, []string{book.Scope})
			return errors.Join(errs...)
		}},
		"set": {entity.WriterRole, func(ctx context.Context, book entity.ID) error {
			_, err := w.Set(ctx, entity.Set{Scope: book.Scope, Type: "Book"})
			return err
		}},
		"update": {entity.WriterRole, func(ctx context.Context, book entity.ID) error {
			_, err := w.Update(ctx, entity.Update{Entity: book})
			return err
		}},
		"delete": {entity.WriterRole, func(ctx context.Context, book entity.ID) error { return w.Delete(ctx, entity.Delete{Entity: book}) }},
		"add": {entity.WriterRole, func(ctx context.Context, book entity.ID) error {
			_, err := w.Service.AddRelations(ctx, entity.PutRelations{Subject: book, Predicate: "likes", Objects: []entity.Object{{ID: book}}})
			return err
		}},
		"rename": {entity.OwnerRole, func(ctx context.Context, book entity.ID) error {
			_, err := w.RenameScope(ctx, entity.RenameScope{Scope: book.Scope, Name: "n"})
			return err
		}},
		"declare": {entity.OwnerRole, func(ctx context.Context, book entity.ID) error {
			_, err := w.DeclareIndex(ctx, entity.DeclareIndex{Scope: book.Scope, Name: "n", Type: "Book", Path: []string{"a"}, Kind: entity.StringKey})
			return err
		}},
		"member": {entity.OwnerRole, func(ctx context.Context, book entity.ID) error {
			_, err := w.Service.PutMember(ctx, entity.PutMember{Scope: book.Scope, Email: ptr("reader@example.org"), Role: entity.WriterRole})
			return err
		}},
		"remove another": {entity.OwnerRole, func(ctx context.Context, book entity.ID) error {
			return w.RemoveMember(ctx, entity.RemoveMember{Scope: book.Scope, User: "else"})
		}},
	}
	roles := map[entity.UserID]entity.Role{owner: entity.OwnerRole, writer: entity.WriterRole, reader: entity.ReaderRole, nobody: entity.NoRole, "": entity.NoRole}
	for name, action := range actions {
		for user, role := range roles {
			book := entity.ID{Scope: name + " as " + string(user), Type: "Book", ID: "1"}
			w.addScope(book.Scope, owner, crew)
			_, err := w.Set(as(t, writer), entity.Set{Scope: book.Scope, Type: book.Type, ID: &book.ID})
			require.NoError(t, err)
			err = action.do(as(t, user), book)
			switch {
			case role >= action.need:
				assert.NoError(t, err, "%s as %s", name, user)
			case user == "" && action.need > entity.ReaderRole:
				assert.True(t, fault.Is(err, fault.Unauthenticated), "%s as a stranger: %v", name, err)
			case role == entity.NoRole:
				assert.True(t, fault.Is(err, fault.NotFound), "%s as %q: %v", name, user, err)
			default:
				assert.True(t, fault.Is(err, fault.Forbidden), "%s as %s: %v", name, user, err)
			}
		}
	}
}

func TestEntitiesAreReadInOneBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setBook(t, w, "1", nil)
	hidden := entity.ID{Scope: "other", Type: "Book", ID: "1"}
	_, err := w.Set(as(t, writer), entity.Set{Scope: hidden.Scope, Type: hidden.Type, ID: &hidden.ID})
	require.NoError(t, err)
	w.calls = nil
	entities, errs := w.ListByID(as(t, reader), []entity.ID{hidden, entityID("1"), entityID("none"), {Scope: "s", Type: "no type"}, {Scope: "unknown", Type: "Book", ID: "1"}})
	assert.Equal(t, []string{"scopes [other s unknown]", "entities 2"}, w.calls, "one look at the scopes, one at what may be read")
	assert.Equal(t, "1", entities[1].ID.ID)
	require.NoError(t, errs[1])
	for _, i := range []int{0, 2, 3, 4} {
		assert.Equal(t, entity.NotFound(), errs[i], "what is hidden looks like what is not there")
		assert.Empty(t, entities[i].Version)
	}
	w.calls = nil
	_, errs = w.ListByID(as(t, ""), []entity.ID{entityID("1")})
	assert.True(t, fault.Is(errs[0], fault.NotFound))
	assert.Empty(t, w.calls)
}

func TestWhatWasNotShownIsNotListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	one := setBook(t, w, "1", nil)
	_, err := w.Service.AddRelations(ctx, entity.PutRelations{Subject: one.ID, Predicate: "likes", Objects: []entity.Object{{ID: one.ID}}})
	require.NoError(t, err, "an entity may like itself")

	window := page.Window{Limit: 1}
	slices, errs := w.Service.ListRelations(ctx, []entity.RelationsRequest{
		entity.Entity{ID: one.ID}.Relations("likes", window), one.Relations("likes", window), one.Relations("no name", window), one.Relations("", window),
	})
	assert.True(t, fault.Is(errs[0], fault.NotFound), "made from an id, not from what was shown")
	assert.True(t, fault.Is(errs[2], fault.Invalid))
	assert.Len(t, slices[1].Items, 1)
	assert.Len(t, slices[3].Items, 1)
	_, errs = w.ListReverseRelations(ctx, []entity.RelationsRequest{entity.Entity{ID: one.ID}.ReverseRelations("likes", window)})
	assert.True(t, fault.Is(errs[0], fault.NotFound))

	_, err = w.List(ctx, (&entity.Scope{ID: "s"}).Entities("Book", window))
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.Service.ListMembers(ctx, entity.Scope{ID: "s"}.Members(window))
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.Query(ctx, entity.Scope{ID: "s", Indexes: []entity.Index{entity.Texts("a")}}.Query("words", entity.Condition{}, window))
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = w.Service.ListScopes(ctx, reader, window)
	assert.True(t, fault.Is(err, fault.Forbidden))

	found, err := w.List(ctx, (&entity.Scope{ID: "s", Role: entity.ReaderRole}).Entities("Book", window))
	require.NoError(t, err)
	assert.True(t, found.Items[0].WasShown())
	_, err = w.List(ctx, (&entity.Scope{ID: "s", Role: entity.ReaderRole}).Entities("Book:", window))
	entity.Invalid(t, err, "type", "a type is a letter")
}

func TestSetCreatesAndReplaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	made, err := w.Set(ctx, entity.Set{Scope: "s", Type: "Book", Attributes: map[string]any{"a": 1}})
	require.NoError(t, err)
	assert.Equal(t, entity.Entity{ID: entityID("made-1"), Attributes: map[string]any{"a": json.Number("1")}, Version: 1, CreatedAt: began, UpdatedAt: began}.AsShown(), made)

	again, err := w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("made-1"), ExpectedVersion: ptr(1), Attributes: map[string]any{"b": "x"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"b": "x"}, again.Attributes)
	assert.Equal(t, 2, again.Version)
	assert.Equal(t, began, again.CreatedAt)
	assert.True(t, again.UpdatedAt.After(began), "the clock stands still, and time goes on")

	var conflict *entity.VersionConflict
	for _, expected := range []int{0, 1, 3} {
		_, err = w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("made-1"), ExpectedVersion: &expected})
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, again, *conflict.Current)
	}
	_, err = w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("none"), ExpectedVersion: ptr(1)})
	require.ErrorAs(t, err, &conflict)
	assert.Nil(t, conflict.Current)
	_, err = w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("a:b#c"), ExpectedVersion: ptr(0)})
	require.NoError(t, err)
}

func TestUpdateMergesAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	setBook(t, w, "1", map[string]any{"keep": "k", "change": map[string]any{"x": "old"}, "remove": true})
	got, err := w.Update(ctx, entity.Update{Entity: entityID("1"), Attributes: map[string]any{"change": map[string]any{"y": "new"}, "remove": nil, "absent": nil}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"keep": "k", "change": map[string]any{"y": "new"}}, got.Attributes)
	assert.Equal(t, 2, got.Version)

	_, err = w.Update(ctx, entity.Update{Entity: entityID("1"), Attributes: map[string]any{"more": strings.Repeat("x", entity.MaxAttributeBytes-20)}})
	entity.Invalid(t, err, "input.attributes", "at most 350000 bytes")
	for _, expected := range []*int{nil, ptr(1)} {
		_, err = w.Update(ctx, entity.Update{Entity: entityID("none"), ExpectedVersion: expected})
		assert.True(t, fault.Is(err, fault.NotFound))
		assert.True(t, fault.Is(w.Delete(ctx, entity.Delete{Entity: entityID("none"), ExpectedVersion: expected}), fault.NotFound))
	}
	var conflict *entity.VersionConflict
	require.ErrorAs(t, w.Delete(ctx, entity.Delete{Entity: entityID("1"), ExpectedVersion: ptr(1)}), &conflict)
	require.NoError(t, w.Delete(ctx, entity.Delete{Entity: entityID("1"), ExpectedVersion: ptr(2)}))
	assert.Empty(t, w.books())
}

// What another program noted may be more than Taggie keeps. The error names meta, whatever is changed, and tells how to clear it.
func TestMetaThatCannotBeKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	deep := map[string]any{}
	for range entity.MaxDepth {
		deep = map[string]any{"d": deep}
	}
	for id, meta := range map[string]map[string]any{"deep": deep, "large": {"x": strings.Repeat("x", entity.MaxAttributeBytes)}} {
		e := entity.Entity{ID: entityID(id), Meta: meta, Version: 1, CreatedAt: began, UpdatedAt: began}
		require.NoError(t, w.Store.PutEntity(ctx, nil, e, nil, idempotency.Key{}))
		var failed *fault.Error
		_, err := w.Update(ctx, entity.Update{Entity: e.ID, Attributes: map[string]any{"a": 1}})
		require.ErrorAs(t, err, &failed, id)
		assert.Regexp(t, `^input\.meta(\.d)*$`, failed.Field)
		assert.Contains(t, failed.Message, "`meta: {}` in setEntity clears it")
		set := entity.Set{Scope: "s", Type: "Book", ID: ptr(id), Attributes: map[string]any{"a": 1}}
		_, err = w.Set(ctx, set)
		require.ErrorAs(t, err, &failed, id)
		assert.Regexp(t, `^input\.meta(\.d)*$`, failed.Field)
		set.Meta = map[string]any{}
		got, err := w.Set(ctx, set)
		require.NoError(t, err)
		assert.Nil(t, got.Meta)
	}
}

func TestMetaStandsBesideAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	set := func(meta map[string]any) (entity.Entity, error) {
		return w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("1"), Attributes: map[string]any{"a": "1"}, Meta: meta})
	}
	got, err := set(map[string]any{"source": "import", "run": 7})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"source": "import", "run": json.Number("7")}, got.Meta)
	got, err = set(nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"source": "import", "run": json.Number("7")}, got.Meta, "who does not know it leaves it as it is")

	update := func(attributes, meta map[string]any) (entity.Entity, error) {
		return w.Update(ctx, entity.Update{Entity: entityID("1"), Attributes: attributes, Meta: meta})
	}
	got, err = update(map[string]any{"b": "2"}, nil)
	require.NoError(t, err)
	assert.Len(t, got.Meta, 2)
	got, err = update(nil, map[string]any{"run": nil, "checked": true, "absent": nil})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"source": "import", "checked": true}, got.Meta)
	assert.Equal(t, map[string]any{"a": "1", "b": "2"}, got.Attributes)
	assert.Equal(t, 4, got.Version)

	for _, name := range []string{"version", "deleting", "deletion"} {
		_, err = set(map[string]any{name: 1})
		entity.Invalid(t, err, "input.meta."+name, "reserved")
		_, err = update(nil, map[string]any{name: nil})
		entity.Invalid(t, err, "input.meta."+name, "reserved")
	}
	_, err = set(map[string]any{"": 1})
	entity.Invalid(t, err, "input.meta", "may not be empty")

	// Attributes and meta share the room of one row, whichever of them grows.
	half := map[string]any{"x": strings.Repeat("x", entity.MaxAttributeBytes/2)}
	_, err = w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("1"), Attributes: half, Meta: half})
	entity.Invalid(t, err, "input.meta", "together at most 350000 bytes")
	_, err = set(half)
	require.NoError(t, err)
	_, err = update(half, nil)
	entity.Invalid(t, err, "input.attributes", "together at most 350000 bytes")
	_, err = w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("1"), Attributes: half})
	entity.Invalid(t, err, "input.attributes", "together at most 350000 bytes")
	_, err = update(nil, map[string]any{"y": half})
	entity.Invalid(t, err, "input.meta", "together at most 350000 bytes")

	got, err = update(nil, map[string]any{"x": nil})
	require.NoError(t, err)
	assert.Nil(t, got.Meta)
	_, err = set(map[string]any{"a": 1})
	require.NoError(t, err)
	got, err = set(map[string]any{})
	require.NoError(t, err)
	assert.Nil(t, got.Meta)
}

func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	setBook(t, w, "1", map[string]any{"a": "1"})
	w.racing = func() { setBook(t, w, "1", map[string]any{"b": "2"}) }
	got, err := w.Update(ctx, entity.Update{Entity: entityID("1"), Attributes: map[string]any{"c": "3"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"b": "2", "c": "3"}, got.Attributes, "made again from the state after the other change")

	w.racing = func() { setBook(t, w, "1", nil) }
	_, err = w.Update(ctx, entity.Update{Entity: entityID("1"), ExpectedVersion: ptr(3)})
	var conflict *entity.VersionConflict
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, 4, conflict.Current.Version)
	assert.True(t, conflict.Current.WasShown())

	w.racing = func() { w.emit(entityID("1"), entity.IndexEntry{Name: "n", Key: "k"}) } // as a rebuild does
	_, err = w.Update(ctx, entity.Update{Entity: entityID("1"), ExpectedVersion: ptr(4)})
	require.NoError(t, err, "a rebuild is no change that a client could have expected")

	w.faster = true
	hurried, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	_, err = w.Update(hurried, entity.Update{Entity: entityID("1")})
	assert.True(t, fault.Is(err, fault.Unavailable), "it gives up when the time is nearly over, and trying again may help")
	require.NoError(t, hurried.Err(), "there is time to answer")
}

func TestMutationsHappenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	in := entity.Set{Scope: "s", Type: "Book", Attributes: map[string]any{"a": "1"}, IdempotencyKey: ptr("k")}
	one, err := w.Set(ctx, in)
	require.NoError(t, err)
	two, err := w.Set(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, one, two)
	assert.Len(t, w.books(), 1)
	in.Attributes = nil
	_, err = w.Set(ctx, in)
	require.ErrorIs(t, err, idempotency.ErrMismatch)

	add := entity.PutRelations{Subject: one.ID, Predicate: "likes", Objects: []entity.Object{{ID: one.ID}}, IdempotencyKey: ptr("add")}
	added, err := w.Service.AddRelations(ctx, add)
	require.NoError(t, err)
	again, err := w.Service.AddRelations(ctx, add)
	require.NoError(t, err)
	assert.Len(t, added, 1)
	assert.Empty(t, again)
	assert.Equal(t, 1, w.relations(one.ID))

	remove := entity.Delete{Entity: one.ID, IdempotencyKey: ptr("delete")}
	require.NoError(t, w.Delete(ctx, remove))
	require.NoError(t, w.Delete(ctx, remove))
	in.Attributes = map[string]any{"a": "1"}
	gone, err := w.Set(ctx, in)
	require.NoError(t, err)
	assert.Zero(t, gone)
}

func TestRelationsThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, writer)
	setBook(t, w, "1", nil)
	many := make([]entity.Object, entity.MaxRelationsAdded+1)
	for i := range many {
		many[i].ID = entityID("1")
	}
	for _, c := range []struct {
		field     string
		predicate string
		objects   []entity.Object
	}{
		{"input.predicate", "likes:", []entity.Object{{ID: entityID("1")}}},
		{"input.predicate", "", []entity.Object{{ID: entityID("1")}}},
		{"input.objects", "likes", many},
		{"input.objects", "likes", nil},
		{"input.objects.1.entityId", "likes", []entity.Object{{ID: entityID("1")}, {ID: entity.ID{Type: "Book", ID: "1"}}}},
		{"input.objects.0.entityId", "likes", []entity.Object{{ID: entity.ID{Scope: "s", ID: "1"}}}},
		{"input.objects.0.entityId", "likes", []entity.Object{{ID: entityID("")}}},
	} {
		_, err := w.Service.AddRelations(ctx, entity.PutRelations{Subject: entityID("1"), Predicate: c.predicate, Objects: c.objects})
		entity.Invalid(t, err, c.field, "")
		var ids []entity.ID
		for _, o := range c.objects {
			ids = append(ids, o.ID)
		}
		_, err = w.Service.RemoveRelations(ctx, entity.RemoveRelations{Subject: entityID("1"), Predicate: c.predicate, Objects: ids})
		entity.Invalid(t, err, strings.TrimSuffix(strings.Replace(c.field, "objects", "objectIds", 1), ".entityId"), "")
	}
	_, err := w.Service.AddRelations(ctx, entity.PutRelations{Subject: entityID("1"), Predicate: "likes", Objects: []entity.Object{{ID: entityID("1"), Attributes: map[string]any{"_index": 1}}}})
	entity.Invalid(t, err, "input.objects.0.attributes._index", "reserved")

	set := func(relations ...entity.PredicateObjects) error {
		_, err := w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("set"), Relations: relations})
		return err
	}
	entity.Invalid(t, set(entity.PredicateObjects{"likes:", nil}), "input.relations.0.predicate", "a predicate is")
	entity.Invalid(t, set(entity.PredicateObjects{"a", nil}, entity.PredicateObjects{"a", nil}), "input.relations.1.predicate", "given once")
	entity.Invalid(t, set(entity.PredicateObjects{"a", many[:600]}, entity.PredicateObjects{"b", many[:600]}), "input.relations.1.objects", "at most 1000 objects")
	require.NoError(t, set(entity.PredicateObjects{"a", many[:600]}, entity.PredicateObjects{"b", many[:400]}))
	assert.Equal(t, 1000, w.relations(entityID("set")))
}

func TestQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, reader)
	price := entity.Index{Name: "price", Type: "Book", Path: []string{"price"}, Kind: entity.NumberKey, Ready: true}
	building := entity.Index{Name: "building", Type: "Book", Path: []string{"price"}, Kind: entity.NumberKey, Done: 7}
	gone := entity.Index{Name: "gone", Type: "Book", Path: []string{"price"}, Kind: entity.NumberKey, Ready: true, RemovedAt: began}
	before := w.scope("s")
	declared := before
	declared.Version, declared.Indexes = before.Version+1, []entity.Index{price, building, gone}
	require.NoError(t, w.Store.PutScope(t.Context(), &before, declared, nil, nil, idempotency.Key{}))
	setBook(t, w, "1", map[string]any{"price": 12.5})
	assert.ElementsMatch(t, []entity.IndexEntry{{Name: "price", Key: "2502125"}, {Name: "building", Key: "2502125"}}, w.entity(entityID("1")).Index, "an index that is being built takes what is set")

	scopes, _ := w.Service.ScopesByID(ctx, []string{"s"})
	found, err := w.Query(ctx, scopes[0].Query("price", entity.Condition{Equals: json.Number("1.25e1")}, page.Window{Limit: 10}))
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	assert.True(t, found.Items[0].Entity.WasShown())
	_, err = w.Query(ctx, scopes[0].Query("building", entity.Condition{}, page.Window{Limit: 10}))
	assert.True(t, fault.Is(err, fault.Unavailable))
	assert.ErrorContains(t, err, "7 entities")
	for _, name := range []string{"gone", "none"} {
		_, err = w.Query(ctx, scopes[0].Query(name, entity.Condition{}, page.Window{Limit: 10}))
		entity.Invalid(t, err, "index", "no index of this name")
	}
}
