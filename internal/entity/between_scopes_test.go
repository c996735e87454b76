package entity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
)

// Whoever relates entities of two scopes has to be able to write in both, under the field of the object that says so.
func TestRelationsBetweenScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setBook(t, w, "1", nil)
	theirs := entity.ID{Scope: "other", Type: "Book", ID: "1"} // with the type and the key of one of ours
	_, err := w.Set(as(t, writer), entity.Set{Scope: "other", Type: "Book", ID: ptr("1")})
	require.NoError(t, err)
	both := []entity.Object{{ID: entityID("1")}, {ID: theirs}}
	relates := map[string]func(context.Context, []entity.Object) error{
		"input.objects.1.entityId": func(ctx context.Context, objects []entity.Object) error {
			_, err := w.Service.AddRelations(ctx, entity.PutRelations{Subject: entityID("1"), Predicate: "like", Objects: objects})
			if replaced := w.Service.ReplaceRelations(ctx, entity.PutRelations{Subject: entityID("1"), Predicate: "like", Objects: objects}); err == nil || replaced == nil {
				return replaced
			}
			return err
		},
		"input.relations.0.objects.1.entityId": func(ctx context.Context, objects []entity.Object) error {
			_, err := w.Set(ctx, entity.Set{Scope: "s", Type: "Book", ID: ptr("2"), Relations: []entity.PredicateObjects{{Predicate: "like", Objects: objects}}})
			return err
		},
	}
	fieldOf := func(err error) string {
		failed, _ := errors.AsType[*fault.Error](err)
		require.NotNil(t, failed, "%v", err)
		return failed.Field
	}
	for field, relate := range relates {
		err := relate(as(t, owner), both)
		assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
		assert.Equal(t, field, fieldOf(err))
		_, err = w.Service.PutMember(as(t, somebody), entity.PutMember{Scope: "other", User: owner, Role: entity.ReaderRole})
		require.NoError(t, err)
		err = relate(as(t, owner), both)
		assert.True(t, fault.Is(err, fault.Forbidden), "%v", err)
		assert.Equal(t, field, fieldOf(err))
		require.NoError(t, w.Service.RemoveMember(as(t, somebody), entity.RemoveMember{Scope: "other", User: owner}))
		require.NoError(t, relate(as(t, writer), both))
		var unknown *entity.UnknownObject
		none := entity.ID{Scope: "other", Type: "Book", ID: "none"}
		require.ErrorAs(t, relate(as(t, writer), []entity.Object{{ID: entityID("1")}, {ID: none}}), &unknown)
		assert.Equal(t, none, unknown.ID)
		many := make([]entity.Object, entity.MaxOtherScopes+1)
		for i := range many {
			many[i].ID = entity.ID{Scope: fmt.Sprint("o", i), Type: "Book", ID: "1"}
		}
		entity.Invalid(t, relate(as(t, writer), many), strings.Replace(field, "objects.1.", "objects.10.", 1), "at most 10 other scopes")
	}

	// Both hold, and only their scopes tell them apart. Who has left the other scope still takes the relation away.
	list := func(who entity.UserID, of entity.ID) (all []entity.ID) {
		t.Helper()
		e, err := w.Get(as(t, who), of)
		require.NoError(t, err)
		lists, errs := w.Service.ListRelations(as(t, who), []entity.RelationsRequest{e.Relations("like", page.Window{Limit: 10})})
		require.Nil(t, errs)
		for _, r := range lists[0].Items {
			all = append(all, r.Object)
		}
		return all
	}
	assert.Equal(t, []entity.ID{entityID("1"), theirs}, list(reader, entityID("1")))
	removed, err := w.Service.RemoveRelations(as(t, owner), entity.RemoveRelations{Subject: entityID("1"), Predicate: "like", Objects: []entity.ID{theirs}})
	require.NoError(t, err)
	assert.Len(t, removed, 1)
	assert.Equal(t, []entity.ID{entityID("1")}, list(reader, entityID("1")))
	assert.Equal(t, []entity.ID{entityID("1"), theirs}, list(reader, entityID("2")))

	// They keep what is there when they replace it, in any order, but do not relate to that scope once more.
	kept := []entity.Object{{ID: theirs}, {ID: entityID("1")}}
	require.NoError(t, w.Service.ReplaceRelations(as(t, owner), entity.PutRelations{Subject: entityID("2"), Predicate: "like", Objects: kept}))
	assert.Equal(t, []entity.ID{theirs, entityID("1")}, list(reader, entityID("2")))
	_, err = w.Set(as(t, owner), entity.Set{Scope: "s", Type: "Book", ID: ptr("2"), Relations: []entity.PredicateObjects{{Predicate: "like", Objects: both}}})
	require.NoError(t, err)
	assert.Equal(t, []entity.ID{entityID("1"), theirs}, list(reader, entityID("2")))
	added, err := w.Service.AddRelations(as(t, owner), entity.PutRelations{Subject: entityID("2"), Predicate: "like", Objects: kept})
	require.NoError(t, err)
	assert.Empty(t, added, "they are there")
	for _, more := range []entity.ID{theirs, {Scope: "other", Type: "Book", ID: "none"}} {
		err = w.Service.ReplaceRelations(as(t, owner), entity.PutRelations{Subject: entityID("2"), Predicate: "like", Objects: append(both, entity.Object{ID: more})})
		assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
		assert.Equal(t, "input.objects.2.entityId", fieldOf(err))
	}
	err = w.Service.ReplaceRelations(as(t, owner), entity.PutRelations{Subject: entityID("2"), Predicate: "love", Objects: kept})
	assert.True(t, fault.Is(err, fault.NotFound), "another predicate does not lead there: %v", err)

	// Who deletes an entity takes the relations to it from all scopes.
	require.NoError(t, w.Service.Delete(as(t, somebody), entity.Delete{Entity: theirs}))
	assert.Equal(t, []entity.ID{entityID("1")}, list(reader, entityID("2")))
}
