package projecttest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
)

// Named imports an item of each name.
func (w *World) Named(names ...string) []project.Item {
	w.T.Helper()
	items := w.Draw(w.Import(), 1, len(names))
	for i, name := range names {
		items[i].Name = name
	}
	_, _, err := w.Projects.ImportItems(w.T.Context(), items)
	require.NoError(w.T, err)
	return items
}

// found returns the names of the items that a text finds, read two at a time, there and back.
func (w *World) found(t *testing.T, prefix string, status project.Status) []string {
	t.Helper()
	names := map[string]string{}
	places := storetest.Pages(t, 2, func(win page.Window) (page.Slice[project.Item], error) {
		s, err := w.Projects.FindItems(t.Context(), w.Project.ID, project.FoldItemName(prefix), status, win)
		for i, one := range s.Items {
			names[s.Positions[i]] = one.Name
		}
		return s, err
	})
	all := []string{}
	for _, place := range places {
		all = append(all, names[place])
	}
	return all
}

func namedItems(t *testing.T, w *World) {
	items := w.Named("owl at night", "Owl", "OWLET", "Étude", "E\u0301tude 2", "zebra", "owl", ": colon")
	other, _ := w.Create(w.Ada, nil, nil)
	mine := w.Project
	w.Project = other
	w.Named("owl of another project")
	w.Project = mine
	for prefix, want := range map[string][]string{
		"ow": {"Owl", "owl", "owl at night", "OWLET"}, " OWL ": {"owl at night"}, "owlet": {"OWLET"}, "\u00c9t": {"Étude", "E\u0301tude 2"}, "e": {}, "wl": {}, ":": {": colon"}, "zebras": {},
	} {
		assert.ElementsMatch(t, want, w.found(t, prefix, ""), "%q", prefix)
	}
	assert.Equal(t, []string{"owl at night", "OWLET"}, w.found(t, "owl", "")[2:], "by name")
	night, _ := w.Finish(items[0], w.Ada, w.Label("owl").ID, "")
	assert.Equal(t, []string{"owl at night"}, w.found(t, "owl", project.Finished))
	assert.Len(t, w.found(t, "owl", project.New), 3)
	assert.Empty(t, w.found(t, "zebra", project.Finished))
	assert.Len(t, w.found(t, "owl", ""), 4)

	gone := night
	gone.Status, gone.Was, gone.Removal, gone.Version = project.Removed, night.Status, "r", night.Version+1
	move := func(before, after project.Item) {
		t.Helper()
		require.NoError(t, w.Mover.MoveItem(t.Context(), labelling.Move{Before: before, After: after}, idempotency.Key{}))
	}
	move(night, gone)
	assert.Empty(t, w.found(t, "owl at", ""), "who is removed is not found")
	back := night
	back.Version = gone.Version + 1
	move(gone, back)
	assert.Equal(t, []string{"owl at night"}, w.found(t, "owl at", project.Finished))
}
