package projecttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
)

// ItemIDs are the ids of items.
func ItemIDs(items []project.Item) []project.ItemID {
	ids := make([]project.ItemID, len(items))
	for i, item := range items {
		ids[i] = item.ItemID
	}
	return ids
}

// Get returns an item as it is.
func (w *World) Get(id project.ItemID) project.Item {
	w.T.Helper()
	items, _, errs := w.Projects.ItemsByID(w.T.Context(), "", []project.ItemID{id})
	require.Nil(w.T, errs)
	return items[0]
}

func importedOnce(t *testing.T, w *World) {
	first := w.Import()
	items := w.Draw(first, 1, 120)
	created, there, err := w.Projects.ImportItems(t.Context(), items[:70])
	require.NoError(t, err)
	assert.Equal(t, 70, created)
	assert.Empty(t, there)
	created, there, err = w.Projects.ImportItems(t.Context(), items)
	require.NoError(t, err)
	assert.Equal(t, 120, created, "those that the import created before count again")
	assert.Empty(t, there)

	w.Clock.Advance(time.Minute)
	second := w.Import()
	again := w.Draw(first, 1, 130)
	for i := range again {
		again[i].Import, again[i].Name = second.ID, "another name"
	}
	created, there, err = w.Projects.ImportItems(t.Context(), again)
	require.NoError(t, err)
	assert.Equal(t, 10, created)
	assert.Equal(t, again[:120], there)
	assert.Equal(t, items[0], w.Get(items[0].ItemID), "what was there is as it was")
	assert.Len(t, w.Items(project.New), 130)

	twice := w.Draw(first, 7, 1)[0]
	twice.Line = 5_000
	created, there, err = w.Projects.ImportItems(t.Context(), []project.Item{twice})
	require.NoError(t, err)
	assert.Zero(t, created, "another line of the same import")
	assert.Equal(t, []project.Item{twice}, there)
	fresh := w.Draw(second, 900, 1)[0]
	created, there, err = w.Projects.ImportItems(t.Context(), []project.Item{fresh, fresh})
	require.NoError(t, err)
	assert.Equal(t, 1, created, "twice in one call")
	assert.Equal(t, []project.Item{fresh}, there)
}

func importedTogether(t *testing.T, w *World) {
	ctx := storetest.Patient(t)
	items := w.Draw(w.Import(), 1, 60)
	var created atomic.Int64
	other := w.Import()
	others := w.Draw(other, 1, 60)
	for i := range others {
		others[i].ItemID, others[i].ExternalID, others[i].Import = items[i].ItemID, items[i].ExternalID, other.ID
	}
	storetest.Together(4, func(i int) { // two servers that believe the import to be theirs, and two with another one
		if i%2 == 0 {
			n, _, err := w.Projects.ImportItems(ctx, items)
			assert.NoError(t, err)
			if i == 0 {
				created.Add(int64(n))
			}
			return
		}
		n, there, err := w.Projects.ImportItems(ctx, others)
		assert.NoError(t, err)
		assert.Equal(t, 60, n+len(there))
		if i == 1 {
			created.Add(int64(n))
		}
	})
	assert.EqualValues(t, 60, created.Load(), "each item was created by one of the two")
	assert.Len(t, w.Items(project.New), 60)
	for _, item := range w.Items("") {
		assert.Contains(t, []project.Item{items[item.Line-1], others[item.Line-1]}, item)
	}
}

func finishedMeanwhile(t *testing.T, w *World) {
	items := w.Fill(10)
	done, _ := w.Finish(items[3], w.Ada, w.Label("owl").ID, "")
	created, there, err := w.Projects.ImportItems(t.Context(), items)
	require.NoError(t, err)
	assert.Equal(t, 10, created)
	assert.Empty(t, there)
	assert.Equal(t, done, w.Get(done.ItemID))
	assert.Equal(t, []project.Item{done}, w.Items(project.Finished))
	assert.Len(t, w.Items(project.New), 9)
}

func largeItems(t *testing.T, w *World) {
	items := w.Draw(w.Import(), 1, 45)
	for i := range items {
		items[i].Metadata = map[string]any{"text": strings.Repeat("x", 99_000), "n": json.Number(fmt.Sprint(i))}
	}
	created, _, err := w.Projects.ImportItems(t.Context(), items)
	require.NoError(t, err)
	assert.Equal(t, 45, created)
	assert.Equal(t, items[44], w.Get(items[44].ItemID))
	assert.Len(t, w.Items(project.New), 45)
}

func itemsByStatus(t *testing.T, w *World) {
	items := w.Fill(30)
	var done []string
	for i := range 6 {
		after, _ := w.Finish(items[i*5], w.Ada, w.Label("cat").ID, "")
		done = append(done, after.ID)
	}
	var found []string
	for _, i := range w.Items(project.Finished) {
		assert.Equal(t, project.Finished, i.Status)
		found = append(found, i.ID)
	}
	assert.ElementsMatch(t, done, found)
	assert.Len(t, w.Items(project.New), 24)
	assert.Empty(t, w.Items(project.Claimed))
	all := w.Items("")
	assert.ElementsMatch(t, ItemIDs(items), ItemIDs(all))
	assert.Equal(t, project.New, all[0].Status)
	assert.Equal(t, project.Finished, all[29].Status)
	s, err := w.Projects.ListItems(t.Context(), "nothing", "", page.Window{Limit: 3})
	require.NoError(t, err)
	assert.Empty(t, s.Items)
}

func itemsInPages(t *testing.T, w *World) {
	items := w.Fill(60)
	for i := range 5 {
		w.Finish(items[i*9], w.Ada, w.Label("cat").ID, "")
	}
	for _, limit := range []int{1, 7, 100} {
		for status, want := range map[project.Status]int{project.New: 55, project.Finished: 5, project.Claimed: 0, "": 60} {
			if limit == 1 && want > 5 {
				continue // it is slow, and tells nothing new
			}
			all := storetest.Pages(t, limit, func(win page.Window) (page.Slice[project.Item], error) {
				return w.Projects.ListItems(t.Context(), w.Project.ID, status, win)
			})
			assert.Len(t, all, want, "%s in pages of %d", status, limit)
			assert.True(t, status == "" || isSorted(all), "in the order of shard and import")
		}
	}
}

func isSorted(texts []string) bool {
	for i := range texts {
		if i > 0 && texts[i-1] > texts[i] {
			return false
		}
	}
	return true
}

func itemsWithMembers(t *testing.T, w *World) {
	items := w.Fill(3)
	mine := w.Project
	p, _ := w.Create(w.SignUp("grace"), nil, nil)
	w.Project = p
	others := w.Fill(2)
	ids := append(ItemIDs(items), project.ItemID{Project: p.ID, ID: "nothing"}, others[0].ItemID, items[0].ItemID)
	found, members, errs := w.Projects.ItemsByID(t.Context(), w.Ada, ids)
	require.Len(t, errs, 6)
	storetest.IsFault(t, errs[3], fault.NotFound)
	assert.Equal(t, append(append([]project.Item{}, items...), project.Item{}, others[0], items[0]), found)
	assert.Equal(t, map[project.ID]project.Member{mine.ID: mine.Member}, members)
	_, members, errs = w.Projects.ItemsByID(t.Context(), "", ids[:2])
	require.Nil(t, errs)
	assert.Empty(t, members)
}

func itemsWhole(t *testing.T, w *World) {
	item := w.Draw(w.Import(), 1, 1)[0]
	item.URL = "https://example.com/owl.jpg"
	item.Metadata = map[string]any{
		"n": json.Number("1.5"), "b": true, "none": nil, "list": []any{"a", json.Number("2"), []any{}}, "map": map[string]any{"": "", "x": map[string]any{}},
	}
	_, _, err := w.Projects.ImportItems(t.Context(), []project.Item{item})
	require.NoError(t, err)
	assert.Equal(t, item, w.Get(item.ItemID))
	broken := w.Draw(w.Import(), 2, 1)[0]
	broken.Metadata = map[string]any{"n": json.Number("1e999")}
	_, _, err = w.Projects.ImportItems(t.Context(), []project.Item{broken})
	storetest.IsFault(t, err, fault.Invalid)
}
