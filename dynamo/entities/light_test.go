package entities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
)

func TestWithoutOwnLacksWhatClientsChoseOnly(t *testing.T) {
	e := entity.Entity{
		ID: entity.ID{Scope: "s", Type: "t", ID: "i"}, Attributes: map[string]any{"a": "b", "name": "c"}, Meta: map[string]any{"d": "e"}, Version: 3, CreatedAt: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime,
		Index: []entity.IndexEntry{{Name: "n", Key: "k"}},
	}
	dynamotest.Full(t, e)
	row, err := entities.RowOfEntity(entities.EntityKey(e.ID), e)
	require.NoError(t, err)
	var light entities.EntityRecord
	require.NoError(t, entities.DecodeEntity(dynamotest.SeenThrough(entities.WithoutOwn, row), &light))
	e.Attributes, e.Meta = map[string]any{}, nil
	assert.Equal(t, e, light.Entity())

	for alias, attribute := range entities.WithoutOwn.Names {
		if strings.Contains(alias, "_") { // an element of _meta
			assert.True(t, entity.ReservedInMeta(attribute), "%s is not ours", attribute)
			continue
		}
		assert.True(t, entities.Ours([]byte(attribute)), "%s is not ours", attribute)
		if attribute != dynamo.FormatAttribute { // which rows of the first format lack
			assert.Contains(t, row, attribute)
		}
	}
}

// A light view of entities shows the same ones, wherever it reads them, and never what is in them; the store that it is a view
// of is as it was.
func TestLightViewsShowTheSameThings(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	store := entities.Store{DB: db}
	light := store.WithoutAttributes()
	for _, id := range []string{"a", "b", "c"} {
		before := w.Set(w.ID(id), map[string]any{"secret": "value"}, entity.IndexEntry{Name: "n", Key: id})
		after := before
		after.Meta = map[string]any{"noted": "value"}
		require.NoError(t, store.PutEntity(t.Context(), &before, after, nil, idempotency.Key{}))
	}
	inj.Recorder().Reset()
	ids := []entity.ID{w.ID("b"), w.ID("none"), w.ID("a")}
	whole, _ := store.EntitiesByID(t.Context(), ids)
	shown, errs := light.EntitiesByID(t.Context(), ids)
	require.Error(t, errs[1])
	listed, err := light.ListEntities(t.Context(), w.ID("a").Scope, w.ID("a").Type, page.Window{Limit: 2})
	require.NoError(t, err)
	found, err := light.ListByIndex(t.Context(), w.ID("a").Scope, "n", entity.Range{}, page.Window{Limit: 5})
	require.NoError(t, err)
	require.Len(t, found.Items, 3)
	require.Len(t, listed.Items, 2)
	assert.True(t, listed.More)
	for _, e := range []entity.Entity{shown[0], shown[2], listed.Items[0], listed.Items[1], found.Items[0].Entity} {
		assert.Empty(t, e.Attributes)
		assert.Empty(t, e.Meta)
		assert.Equal(t, 1, e.Version)
		assert.Len(t, e.Index, 1)
	}
	assert.Equal(t, map[string]any{"secret": "value"}, whole[0].Attributes)
	assert.Equal(t, map[string]any{"noted": "value"}, whole[0].Meta)
	whole[0].Attributes, shown[0].Attributes, whole[0].Meta = nil, nil, nil
	assert.Equal(t, whole[0], shown[0])
	assert.Empty(t, inj.Recorder().Violations())
}
