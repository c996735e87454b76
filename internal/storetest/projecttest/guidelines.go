package projecttest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

// guidelines returns those of the project.
func (w *World) guidelines() project.Guidelines {
	w.T.Helper()
	found, errs := w.Projects.GuidelinesOf(w.T.Context(), []project.ID{w.Project.ID})
	for _, err := range errs {
		require.NoError(w.T, err)
	}
	return found[0]
}

// writes puts guidelines in the place of others.
func (w *World) writes(before project.Guidelines, text string) (project.Guidelines, error) {
	after := project.Guidelines{Project: w.Project.ID, Text: text, Version: before.Version + 1, UpdatedAt: w.Clock.Now(), UpdatedBy: w.Ada}
	return after, w.Projects.PutGuidelines(w.T.Context(), w.Project.Member, before, after, nil, idempotency.Key{})
}

func keptGuidelines(t *testing.T, w *World) {
	assert.Zero(t, w.guidelines(), "nobody has written any")
	first, err := w.writes(project.Guidelines{}, strings.Repeat("é", project.MaxGuidelinesBytes/2))
	require.NoError(t, err)
	assert.Equal(t, first, w.guidelines())
	w.Clock.Advance(time.Second)
	second, err := w.writes(first, "")
	require.NoError(t, err)
	assert.Equal(t, second, w.guidelines(), "an empty text is one")

	var conflict *project.GuidelinesConflict
	for _, before := range []project.Guidelines{{}, first, {Version: 7}} {
		_, err = w.writes(before, "late")
		require.ErrorAs(t, err, &conflict, "%d", before.Version)
		assert.Equal(t, second, conflict.Current)
	}
	told := task.Task{Kind: project.RunTelling, ID: "third", Scope: string(w.Project.ID), Due: w.Clock.Now()}
	third := second
	third.Text, third.Version = "told", second.Version+1
	require.ErrorAs(t, w.Projects.PutGuidelines(t.Context(), w.Project.Member, first, third, []task.Task{told}, idempotency.Key{}), &conflict)
	assert.NotContains(t, w.due(), told)
	require.NoError(t, w.Projects.PutGuidelines(t.Context(), w.Project.Member, second, third, []task.Task{told}, idempotency.Key{}))
	assert.Contains(t, w.due(), told)
	other, _ := w.Create(w.Ada, nil, nil)
	found, errs := w.Projects.GuidelinesOf(t.Context(), []project.ID{other.ID, w.Project.ID, "nothing"})
	for _, err := range errs {
		require.NoError(t, err)
	}
	assert.Equal(t, []project.Guidelines{{}, third, {}}, found)
}

// Who is no member any more, or another one than when it was decided, changes nothing.
func guidelinesOfFormerMembers(t *testing.T, w *World) {
	moved := w.Project.Member
	moved.Team = "other"
	var conflict *project.GuidelinesConflict
	after := project.Guidelines{Project: w.Project.ID, Text: "t", Version: 1, UpdatedAt: w.Clock.Now(), UpdatedBy: w.Ada}
	require.ErrorAs(t, w.Projects.PutGuidelines(t.Context(), moved, project.Guidelines{}, after, nil, idempotency.Key{}), &conflict)
	w.enters(w.Project, project.Deleting)
	_, err := w.writes(project.Guidelines{}, "t")
	require.ErrorAs(t, err, &conflict, "the project is being deleted")
	assert.Zero(t, w.guidelines())
}

// Of those who replace the same guidelines at the same time, one does.
func guidelinesTogether(t *testing.T, w *World) {
	texts := storetest.Numbered("text", 6)
	errs := make([]error, len(texts))
	storetest.Together(len(texts), func(i int) { _, errs[i] = w.writes(project.Guidelines{}, texts[i]) })
	written := w.guidelines()
	assert.Equal(t, 1, written.Version)
	for i, err := range errs {
		if texts[i] == written.Text {
			assert.NoError(t, err)
			continue
		}
		var conflict *project.GuidelinesConflict
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, written, conflict.Current)
	}
}
