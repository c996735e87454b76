package filetagtest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

// PutBy returns the values of all tags that a user has put on items, by item.
func (w *World) PutBy(author viewer.UserID) map[score.ItemID][]string {
	w.t.Helper()
	all := map[score.ItemID][]string{}
	require.NoError(w.t, w.Rules.EachPut(w.As(author), author, func(tags []filetag.ItemTag) error {
		for _, t := range tags {
			assert.Equal(w.t, author, t.Author)
			all[t.Item.ID] = append(all[t.Item.ID], t.Value)
		}
		return nil
	}))
	return all
}

func eachPut(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "set", 103)
	page := w.Show(score.Public, items[0], items[1])
	want := map[score.ItemID][]string{}
	for _, item := range items {
		w.Put(w.Ada, item, "!own", "shown")
		want[item.ID] = []string{"own", "shown"}
	}
	w.Put(w.Bob, items[0], "!his")
	w.Put(w.Bob, items[1], "theirs")
	assert.Equal(t, want, w.PutBy(w.Ada))
	assert.Equal(t, map[score.ItemID][]string{items[0].ID: {"his"}, items[1].ID: {"theirs"}}, w.PutBy(w.Bob))

	w.Put(w.Ada, items[2])
	delete(want, items[2].ID)
	assert.Equal(t, want, w.PutBy(w.Ada), "what is taken off is not there")
	w.Access(page, score.Private)
	assert.Empty(t, w.PutBy(w.Bob), "Bob cannot read the items any more")
	assert.Equal(t, want, w.PutBy(w.Ada))

	storetest.IsFault(t, w.Rules.EachPut(w.As(w.Bob), w.Ada, nil), fault.Forbidden)
	enough := errors.New("enough")
	assert.ErrorIs(t, w.Rules.EachPut(w.As(w.Ada), w.Ada, func([]filetag.ItemTag) error { return enough }), enough)
}
