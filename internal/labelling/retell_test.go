package labelling_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/task"
)

// guides has the guidelines of one project.
type guides project.Guidelines

func (g guides) GuidelinesOf(context.Context, []project.ID) ([]project.Guidelines, []error) {
	return []project.Guidelines{project.Guidelines(g)}, nil
}

// A server changes the lists and the guidelines, and is lost before it tells. The tasks tell, once however often they run and whoever told before.
func TestChangesOfLostServersAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, queue.Options{})
	start := w.state().Cursor
	told := func(cause labelling.Cause) (n int) {
		events, err := w.queue.Read(t.Context(), w.project, start, 1000, 0)
		require.NoError(t, err)
		for _, e := range events {
			if e.Cause == cause {
				n++
			}
		}
		return n
	}
	guidelines := guides{Project: w.project, Text: "look twice", Version: 2, UpdatedBy: boss, UpdatedAt: time.Now()}
	retell := w.service.Retell(guidelines)
	run := func(change string) {
		t.Helper()
		again, err := retell(t.Context(), task.Task{Kind: project.RunTelling, ID: string(w.project) + "-" + change, Scope: string(w.project)})
		require.NoError(t, err)
		assert.Zero(t, again)
	}
	run("lists")
	run("guidelines-1")
	assert.Equal(t, []int{0, 0}, []int{told(labelling.CategoriesChanged), told(labelling.GuidelinesChanged)}, "others tell of what came later")
	w.truth.labels = append(w.truth.labels, project.Label{LabelID: project.LabelID{Project: w.project, Kind: project.Category, ID: "cat"}, Name: "Cat"})
	for range 2 {
		run("lists")
		run("guidelines-2")
		assert.Equal(t, []int{1, 1}, []int{told(labelling.CategoriesChanged), told(labelling.GuidelinesChanged)})
	}
	w.service.Guided(t.Context(), project.Guidelines(guidelines))
	assert.Equal(t, 1, told(labelling.GuidelinesChanged), "the server was not lost after all")
}
