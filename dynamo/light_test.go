package dynamo

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// A view without content must lack the content and nothing else: an attribute that is missing from the projection would
// be lost silently.
func TestWithoutContentLacksContentOnly(t *testing.T) {
	listed := map[string]bool{}
	for _, attribute := range withoutContent.names {
		listed[attribute] = true
	}
	for _, row := range []attrs{
		noteRow(fullNote), tombstoneRow(fullNote, fullDeleted), versionRow("u1", fullVersion), shareRow(fullShare),
		tagRow(fullNote.Owner, fullNote.ID, fullNote.Tags[0]), locatorRow(fullNote),
	} {
		for attribute := range row {
			switch attribute {
			case "content", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "LSI1SK": // not read by primary key
			default:
				assert.True(t, listed[attribute], "%s is not in the projection", attribute)
			}
		}
	}
	require.False(t, listed["content"])
}

// seenThrough returns the row as the projection shows it.
func seenThrough(p projection, row attrs) []byte {
	shown := attrs{}
	for _, attribute := range p.names {
		if value, there := row[attribute]; there {
			shown[attribute] = value
		}
	}
	return rowJSON(shown)
}

// full asserts that no field of a thing is at its zero value, but for the unexported ones.
func full(t *testing.T, thing any) {
	t.Helper()
	of := reflect.ValueOf(thing)
	for i := range of.NumField() {
		if field := of.Type().Field(i); field.IsExported() {
			assert.False(t, of.Field(i).IsZero(), "%s is not filled", field.Name)
		}
	}
}

func TestWithoutMetadataLacksMetadataOnly(t *testing.T) {
	item := fullItem
	full(t, item)
	row, err := itemRow(item)
	require.NoError(t, err)
	row[effortsMade] = number(5) // moves count them
	var light project.Item
	require.NoError(t, decodeItem(seenThrough(withoutMetadata, row), &light))
	item.Metadata, item.LastTransition = nil, project.TransitionRef{} // only a move needs that
	assert.Equal(t, item, light)
}

func TestWithoutOwnLacksWhatClientsChoseOnly(t *testing.T) {
	e := entity.Entity{
		ID: entity.ID{Scope: "s", Type: "t", ID: "i"}, Attributes: map[string]any{"a": "b", "name": "c"}, Version: 3, CreatedAt: fullTime, UpdatedAt: fullTime,
		Index: []entity.IndexEntry{{Name: "n", Key: "k"}},
	}
	full(t, e)
	row, err := rowOfEntity(entityKey(e.ID), e)
	require.NoError(t, err)
	var light entityRecord
	require.NoError(t, decodeEntity(seenThrough(withoutOwn, row), &light))
	e.Attributes = map[string]any{}
	assert.Equal(t, e, light.entity())

	for _, attribute := range withoutOwn.names {
		assert.True(t, ours([]byte(attribute)), "%s is not ours", attribute)
		assert.Contains(t, row, attribute)
	}
}

// A light view of entities shows the same ones, wherever it reads them, and never what is in them; the store that it is a view
// of is as it was.
func TestLightViewsShowTheSameThings(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	store := Entities{db}
	light := store.WithoutAttributes()
	for _, id := range []string{"a", "b", "c"} {
		w.Set(w.ID(id), map[string]any{"secret": "value"}, entity.IndexEntry{Name: "n", Key: id})
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
		assert.Equal(t, 1, e.Version)
		assert.Len(t, e.Index, 1)
	}
	assert.Equal(t, map[string]any{"secret": "value"}, whole[0].Attributes)
	whole[0].Attributes, shown[0].Attributes = nil, nil
	assert.Equal(t, whole[0], shown[0])
	assert.Empty(t, inj.Recorder().Violations())
}
