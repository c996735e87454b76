package projecttest

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

func namesOfLabels(labels []project.Label) []string {
	all := []string{}
	for _, l := range labels {
		all = append(all, l.Name)
	}
	return all
}

// due are the tasks that are due.
func (w *World) due() []task.Task {
	w.T.Helper()
	due, err := w.Tasks.ListDueTasks(w.T.Context(), w.Clock.Now(), 20)
	require.NoError(w.T, err)
	return due
}

func addedLabels(t *testing.T, w *World) {
	id := w.Project.ID
	added := append(Labels(id, project.Category, "dog", "Straße"), Labels(id, project.Subcategory, "owl")...)
	require.NoError(t, w.Projects.AddLabels(t.Context(), "", id, added, nil, idempotency.Key{}))
	assert.Equal(t, []string{"owl", "cat", "dog", "Straße", "asleep", "owl"}, namesOfLabels(w.Lists()))
	found, errs := w.Projects.LabelsByID(t.Context(), []project.LabelID{added[1].LabelID, {Project: id, Kind: project.Subcategory, ID: added[0].ID}, added[2].LabelID})
	assert.Equal(t, added[1], found[0])
	storetest.IsFault(t, errs[1], fault.NotFound) // it is a category
	assert.Equal(t, added[2], found[2])
	for _, taken := range []string{"OWL", "strasse", "dog"} {
		err := w.Projects.AddLabels(t.Context(), "", id, Labels(id, project.Category, "new of "+taken, taken), []task.Task{{Kind: project.RunTelling, ID: taken, Scope: string(id), Due: w.Clock.Now()}}, idempotency.Key{})
		require.ErrorIs(t, err, project.NameTaken, taken)
	}
	assert.Empty(t, w.due(), "what did not happen is not told")
	assert.Len(t, w.Lists(), 6, "all are added or none")
	for what, labels := range map[string][]project.Label{"few": Labels(id, project.Category, "newt"), "many": Labels(id, project.Category, storetest.Numbered("bat", 90)...)} {
		told := task.Task{Kind: project.RunTelling, ID: what, Scope: string(id), Due: w.Clock.Now()}
		require.NoError(t, w.Projects.AddLabels(t.Context(), "", id, labels, []task.Task{told}, idempotency.Key{}))
		assert.Contains(t, w.due(), told)
	}
}

func changedLabels(t *testing.T, w *World) {
	id := w.Project.ID
	require.NoError(t, w.Projects.AddLabels(t.Context(), "", id, append(Labels(id, project.Category, "dog"), Labels(id, project.Subcategory, "owl")...), nil, idempotency.Key{}))
	all := w.Lists()
	owl, cat, dog, sub := all[0].LabelID, all[1].LabelID, all[2].LabelID, all[4].LabelID
	at, yes, no := w.Clock.Now(), true, false
	change := func(of project.LabelID, c project.LabelChange) (project.Label, error) {
		c.At = at
		return w.Projects.UpdateLabel(t.Context(), of, c, []task.Task{{Kind: project.RunRelabel, ID: of.ID, Scope: string(id), Due: at}}, idempotency.Key{})
	}
	must := func(of project.LabelID, c project.LabelChange) project.Label {
		t.Helper()
		l, err := change(of, c)
		require.NoError(t, err)
		found, errs := w.Projects.LabelsByID(t.Context(), []project.LabelID{of})
		require.Nil(t, errs)
		assert.Equal(t, l, found[0])
		return l
	}
	for _, taken := range []string{"CAT", "dog"} {
		_, err := change(owl, project.LabelChange{Name: taken})
		require.ErrorIs(t, err, project.NameTaken)
	}
	assert.Equal(t, project.Label{LabelID: owl, Name: "OWL"}, must(owl, project.LabelChange{Name: "OWL"}))
	assert.Equal(t, project.Label{LabelID: cat, Name: "lynx", RetiredAt: at}, must(cat, project.LabelChange{Name: "lynx", Retired: &yes}))
	assert.Equal(t, []string{"OWL", "lynx", "dog", "asleep", "owl"}, namesOfLabels(w.Lists()))
	assert.Equal(t, at, w.Lists()[1].RetiredAt)
	for _, into := range []string{cat.ID, sub.ID, owl.ID + "x"} {
		_, err := change(owl, project.LabelChange{Into: into})
		require.ErrorIs(t, err, project.ErrNoTarget, into)
	}
	assert.Equal(t, project.Label{LabelID: cat, Name: "lynx"}, must(cat, project.LabelChange{Retired: &no}))

	merged := must(owl, project.LabelChange{Into: dog.ID})
	assert.Equal(t, project.Label{LabelID: owl, Name: "OWL", Into: dog.ID}, merged)
	assert.Equal(t, merged, must(owl, project.LabelChange{Into: dog.ID}), "an attempt whose answer was lost")
	for _, c := range []project.LabelChange{{Into: cat.ID}, {Name: "x"}, {Retired: &yes}} {
		_, err := change(owl, c)
		require.ErrorIs(t, err, project.ErrMerged)
	}
	_, err := change(cat, project.LabelChange{Into: owl.ID})
	require.ErrorIs(t, err, project.ErrNoTarget)
	assert.Equal(t, []string{"lynx", "dog", "asleep", "owl"}, namesOfLabels(w.Lists()))
	require.NoError(t, w.Projects.AddLabels(t.Context(), "", id, Labels(id, project.Category, "owl"), nil, idempotency.Key{}), "its name is free")
	merged.MergedAt = at
	require.NoError(t, w.Projects.LabelMerged(t.Context(), merged))
	found, _ := w.Projects.LabelsByID(t.Context(), []project.LabelID{owl})
	assert.Equal(t, merged, found[0])

	for _, none := range []project.LabelID{{Project: id, Kind: project.Category, ID: "none"}, {Project: id, Kind: project.Subcategory, ID: dog.ID}, {Project: "nothing", Kind: project.Category, ID: dog.ID}} {
		_, err := change(none, project.LabelChange{Name: "x"})
		storetest.IsFault(t, err, fault.NotFound)
	}
	assert.Contains(t, w.due(), task.Task{Kind: project.RunRelabel, ID: owl.ID, Scope: string(id), Due: at})
}

// Two labels are merged into one another at the same time, and one of them is renamed: one merge is made, and no name is lost.
func mergedTogether(t *testing.T, w *World) {
	all := w.Lists()
	owl, cat := all[0].LabelID, all[1].LabelID
	errs := make([]error, 3)
	storetest.Together(3, func(i int) {
		c, of := project.LabelChange{Into: cat.ID}, owl
		switch i {
		case 1:
			c, of = project.LabelChange{Into: owl.ID}, cat
		case 2:
			c = project.LabelChange{Name: "eagle owl"}
		}
		_, errs[i] = w.Projects.UpdateLabel(t.Context(), of, c, nil, idempotency.Key{})
	})
	left := w.Lists()[0]
	if errs[0] == nil {
		require.ErrorIs(t, errs[1], project.ErrNoTarget)
		assert.Equal(t, cat, left.LabelID)
		return
	}
	require.ErrorIs(t, errs[0], project.ErrNoTarget)
	require.NoError(t, errs[1])
	require.NoError(t, errs[2])
	assert.Equal(t, project.Label{LabelID: owl, Name: "eagle owl"}, left)
}

func sameCategory(t *testing.T, w *World) {
	var added atomic.Int64
	storetest.Together(6, func(int) {
		err := w.Projects.AddLabels(t.Context(), "", w.Project.ID, Labels(w.Project.ID, project.Category, "dog"), nil, idempotency.Key{})
		if err == nil {
			added.Add(1)
			return
		}
		assert.ErrorIs(t, err, project.NameTaken)
	})
	assert.EqualValues(t, 1, added.Load())
	assert.Equal(t, []string{"owl", "cat", "dog", "asleep"}, namesOfLabels(w.Lists()))
}

func manyCategories(t *testing.T, w *World) {
	dogs := storetest.Numbered("dog", 6)
	storetest.Together(len(dogs), func(i int) {
		assert.NoError(t, w.Projects.AddLabels(t.Context(), "", w.Project.ID, Labels(w.Project.ID, project.Category, dogs[i]), nil, idempotency.Key{}))
	})
	assert.ElementsMatch(t, append([]string{"owl", "cat", "asleep"}, dogs...), namesOfLabels(w.Lists()))
}

func fullLists(t *testing.T, w *World) {
	id := w.Project.ID
	add := func(n int) error {
		return w.Projects.AddLabels(t.Context(), "", id, Labels(id, project.Category, storetest.Numbered("dog", n)...), nil, idempotency.Key{})
	}
	storetest.IsFault(t, add(project.MaxCategories-1), fault.Exhausted)
	assert.Len(t, w.Lists(), 3)
	require.NoError(t, add(project.MaxCategories-2))
	assert.Len(t, w.Lists(), project.MaxCategories+1)
}
