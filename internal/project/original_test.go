package project

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// closet is a library of items.
type closet struct {
	items  []Original
	grows  bool // between two lists
	asked  []Import
	failed error
}

func (c *closet) OriginalsByID(_ context.Context, ids []OriginalID) ([]Original, []error) {
	originals, errs := make([]Original, len(ids)), make([]error, len(ids))
	for n, id := range ids {
		errs[n] = notFound("item")
		for _, o := range c.items {
			if o.OriginalID == id {
				originals[n], errs[n] = o, nil
			}
		}
	}
	return originals, errs
}

func (c *closet) OwnScore(_ context.Context, owner UserID, score string) error {
	if owner != "man" || score != "suite" {
		return notFound("score")
	}
	return nil
}

func (c *closet) ListOriginals(_ context.Context, i Import, each func(Original) error) error {
	c.asked = append(c.asked, i)
	if c.grows {
		c.items = append([]Original{original(fmt.Sprint("new ", len(c.items)))}, c.items...)
	}
	for _, o := range c.items {
		if err := each(o); err != nil {
			return err
		}
	}
	return c.failed
}

func original(id string) Original {
	return Original{OriginalID: OriginalID{Owner: "man", Score: "library", ID: id}, Name: "name of " + id, Type: "image/png"}
}

// newTaking returns a warehouse whose import brings n items.
func newTaking(t require.TestingT, n int) (*warehouse, *closet) {
	w, c := newWarehouse(t, JSONLines, ""), &closet{}
	for i := range n {
		c.items = append(c.items, original(fmt.Sprint("item ", i)))
	}
	w.originals, w.files = c, map[string]string{}
	w.current.Source, w.current.CreatedBy = FromLibrary, "man"
	return w, c
}

func TestItemsOfAUserAreImported(t *testing.T) {
	w, c := newTaking(t, 120)
	c.items[3].Name, c.items[3].Type = strings.Repeat("é", 255), strings.Repeat("x", 127)
	c.items[7] = Original{OriginalID: c.items[7].OriginalID} // deleted
	w.rows["item:item 9"] = Item{ExternalID: "item:item 9", Import: "another"}
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, Done, w.current.State)
	assert.Equal(t, []int{120, 118, 1, 1}, []int{w.current.Lines, w.current.Imported, w.current.Duplicates, w.current.Mistakes})
	assert.Equal(t, w.current.Bytes, w.current.Read)
	assert.Equal(t, []LineFault{{Line: 8, Message: "is of an item that does not exist any more"}}, w.current.Faults)
	item := w.rows["item:item 5"]
	assert.Equal(t, original("item 5").OriginalID, item.Original)
	assert.Equal(t, []any{"name of item 5", "image/png", 6, New}, []any{item.Name, item.Type, item.Line, item.Status})
	assert.Equal(t, strings.Repeat("é", MaxItemNameRunes), w.rows["item:item 3"].Name)
	assert.Equal(t, strings.Repeat("x", MaxItemTypeRunes), w.rows["item:item 3"].Type)
	assert.Empty(t, w.files, "the list is removed")
}

func TestALibraryWithoutItemsIsImported(t *testing.T) {
	w, _ := newTaking(t, 0)
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, Done, w.current.State)
	assert.Zero(t, w.current.Progress)
	assert.Empty(t, w.files)
}

func TestALineOfAClientNamesNoItem(t *testing.T) {
	w := newWarehouse(t, JSONLines, `{"externalId":"item:a","name":"A","original":"a"}
{"id":"a","score":"s","name":"A"}
{"externalId":"item:a","name":"A"}`)
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, 2, w.current.Mistakes)
	assert.Zero(t, w.rows["item:a"].Original)
}

// The library grows whenever it is listed, and the server is killed at each of its calls: what is imported is one list, and counted
// exactly.
func TestItemsOfAUserAreImportedWheneverTheServerIsKilled(t *testing.T) {
	for killAt := 1; ; killAt++ {
		w, c := newTaking(t, 700)
		c.grows, w.tick = true, 5*time.Millisecond
		runs := 0
		for w.killAt = killAt; !w.current.State.Ended(); runs++ {
			w.calls = 0
			err := w.run(t.Context(), 0)
			require.Equal(t, w.calls >= w.killAt, err != nil, err)
			w.killAt += 15
		}
		require.Equal(t, Done, w.current.State)
		require.Len(t, w.rows, w.current.Imported)
		require.Equal(t, []int{w.current.Lines, 0, 0}, []int{w.current.Imported, w.current.Duplicates, w.current.Mistakes}, "killed at %d", killAt)
		require.GreaterOrEqual(t, w.current.Imported, 701)
		require.LessOrEqual(t, w.current.Imported, 700+len(c.asked))
		if runs == 1 {
			require.Len(t, c.asked, 1)
			return
		}
	}
}

func TestWhoIsShownAnItemIsShownItsOriginal(t *testing.T) {
	i := Item{ItemID: ItemID{Project: "p", ID: "i"}, Original: original("a").OriginalID}
	_, shown := i.ShownOriginal()
	assert.False(t, shown, "nobody was shown it")
	id, shown := (Project{ID: "p", Member: Member{Type: Taggie}}).Item(i).ShownOriginal()
	assert.True(t, shown)
	assert.Equal(t, i.Original, id)
	_, shown = (Project{ID: "p"}).Item(i).ShownOriginal()
	assert.False(t, shown)
}
