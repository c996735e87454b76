package entities_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// Whatever is at the path of an index, an entity can be set, and changed in its other attributes: before the index was declared, while it
// is being built, and later. What the index leaves out is counted.
func TestAnIndexKeepsNoEntityFromBeingChanged(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	store := entities.Store{DB: db}
	rules := entity.NewService(entity.Options{Store: store, Now: clock.Now, NewID: func() string { return "s" }})
	asAda := viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: "ada"}, UserID: "ada"})
	dynamotest.PutByHand(t, db, dynamo.NotesTable, `[{"PK": "USER#ada", "SK": "PROFILE"}]`)
	_, err := rules.CreateScope(asAda, entity.CreateScope{Name: "s"})
	require.NoError(t, err)
	many := make([]any, 41)
	for i := range many {
		many[i] = fmt.Sprintf("value %02d", i)
	}
	var deep any = "deep"
	for range 28 {
		deep = map[string]any{"d": deep}
	}
	values := map[string]struct {
		value   any
		leftOut int
	}{
		"long": {strings.Repeat("x", 600), 1}, "many": {many, 1}, "number": {12, 1}, "empty": {"", 1}, "deep": {deep, 1},
		"object": {map[string]any{"x": "y"}, 1}, "null": {nil, 0}, "fine": {"fine", 0}, "some": {[]any{strings.Repeat("x", 513), "a", true}, 2},
	}
	id := func(name string) entity.ID { return entity.ID{Scope: "s", Type: "thing", ID: name} }
	set := func() {
		for name, of := range values {
			_, err := rules.Set(asAda, entity.Set{Scope: "s", Type: "thing", ID: &name, Attributes: map[string]any{"at": of.value}})
			require.NoError(t, err, name)
		}
	}
	change := func(when string) {
		for name := range values {
			_, err := rules.Update(asAda, entity.Update{Entity: id(name), Attributes: map[string]any{"other": when}})
			require.NoError(t, err, "%s %s", name, when)
		}
	}
	leftOut := func() entity.LeftOut {
		scopes, errs := rules.ScopesByID(asAda, []string{"s"})
		require.NoError(t, errors.Join(errs...))
		left, errs := rules.LeftOut(asAda, []entity.LeftOutRequest{scopes[0].Declared()[0].LeftOut()})
		require.NoError(t, errors.Join(errs...))
		return left[0]["by-at"]
	}
	set()
	_, err = rules.DeclareIndex(asAda, entity.DeclareIndex{Scope: "s", Name: "by-at", Type: "thing", Path: []string{"at"}, Kind: entity.StringKey})
	require.NoError(t, err)
	build := func() {
		clock.Advance(2 * time.Minute)
		due, err := dynamo.Tasks{DB: db}.ListDueTasks(asAda, clock.Now(), 10)
		require.NoError(t, err)
		for _, one := range due {
			if one.Kind == entity.RebuildIndex {
				_, err = rules.Handlers()[one.Kind](asAda, task.Task{Kind: one.Kind, ID: one.ID, Scope: one.Scope, Due: one.Due})
				require.NoError(t, err)
			}
		}
	}
	build()
	left := leftOut()
	assert.Equal(t, 8, left.Values, "what was there before")
	assert.Equal(t, 7, left.Entities)
	assert.Len(t, left.Examples, 7)
	change("built")
	set()
	change("set")
	assert.Equal(t, 8, leftOut().Values)
	for name, of := range values {
		found, errs := rules.ListByID(asAda, []entity.ID{id(name)})
		require.NoError(t, errors.Join(errs...))
		assert.Equal(t, of.leftOut > 0, len(found[0].Index) > len(found[0].Entries()), name)
		assert.Equal(t, "set", found[0].Attributes["other"])
	}
	found, err := store.ListByIndex(asAda, "s", "by-at", entity.Range{BeginsWith: dynamotest.Ptr("value")}, dynamotest.WholeList)
	require.NoError(t, err)
	assert.Len(t, found.Items, entity.MaxIndexEntries)

	// What fits again, and what is deleted, does not count any more.
	_, err = rules.Set(asAda, entity.Set{Scope: "s", Type: "thing", ID: dynamotest.Ptr("some"), Attributes: map[string]any{"at": "short"}})
	require.NoError(t, err)
	require.NoError(t, rules.Delete(asAda, entity.Delete{Entity: id("long")}))
	assert.Equal(t, entity.LeftOut{Values: 5, Entities: 5}, func() entity.LeftOut { l := leftOut(); l.Examples = nil; return l }())
}
