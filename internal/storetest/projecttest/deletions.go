package projecttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

// enters puts the project in a state of its deletion, and returns it.
func (w *World) enters(before project.Project, state project.DeletionState, follow ...task.Task) project.Project {
	w.T.Helper()
	after := before
	after.Deletion = project.Deletion{State: state, By: w.Ada, At: w.Clock.Now(), UndoUntil: w.Clock.Now().Add(time.Hour)}
	if state == "" {
		after.Deletion = project.Deletion{}
	}
	after.Version++
	after.UpdatedAt = w.Clock.Now()
	require.NoError(w.T, w.Projects.PutDeletion(w.T.Context(), before, after, follow, idempotency.Key{}))
	return after
}

// moves moves members until all are, and returns how many that were.
func (w *World) moves(p project.Project) int {
	w.T.Helper()
	for moved := 0; ; {
		some, err := w.Projects.MoveMembers(w.T.Context(), p)
		require.NoError(w.T, err)
		if len(some) == 0 {
			return moved
		}
		moved += len(some)
	}
}

// seen tells whether a user sees the project, and whether as a deleted one.
func (w *World) seen(user project.UserID) (member, former bool) {
	w.T.Helper()
	found, errs := w.Projects.ProjectsByID(w.T.Context(), user, []project.ID{w.Project.ID})
	require.Nil(w.T, errs)
	_, errs = w.Projects.DeletedByID(w.T.Context(), user, []project.ID{w.Project.ID})
	if errs != nil {
		storetest.IsFault(w.T, errs[0], fault.NotFound)
	}
	return found[0].Member.Team != "", errs == nil
}

func deletedProject(t *testing.T, w *World) {
	day := w.team("Day", project.Taggie)
	var others []project.UserID
	for i := range 60 { // more than one transaction moves
		others = append(others, w.SignUp(fmt.Sprint("other", i)))
		require.NoError(t, w.put(others[i], day))
	}
	stranger := w.SignUp("stranger")
	list := func(user project.UserID) (there, deleted int) {
		mine, err := w.Projects.ListProjects(t.Context(), user, page.Window{Limit: 5})
		require.NoError(t, err)
		gone, err := w.Projects.ListDeleted(t.Context(), user, page.Window{Limit: 5})
		require.NoError(t, err)
		return len(mine.Items), len(gone.Items)
	}
	before, errs := w.Projects.ProjectsByID(t.Context(), w.Ada, []project.ID{w.Project.ID})
	require.Nil(t, errs)
	_, err := w.Projects.MoveMembers(t.Context(), before[0])
	var conflict *project.VersionConflict
	require.ErrorAs(t, err, &conflict, "it is not being deleted")

	follow := task.Task{Kind: project.RunDeletion, ID: "d", Scope: string(w.Project.ID), Due: w.Clock.Now()}
	deleting := w.enters(before[0], project.Deleting, follow)
	due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 5)
	require.NoError(t, err)
	assert.Equal(t, []task.Task{follow}, due)
	member, former := w.seen(w.Ada)
	assert.Equal(t, []bool{false, true}, []bool{member, former}, "at once")
	require.ErrorAs(t, w.Projects.PutDeletion(t.Context(), before[0], deleting, nil, idempotency.Key{}), &conflict)
	storetest.IsFault(t, w.put(stranger, day), fault.NotFound)
	assert.Equal(t, len(others), w.moves(deleting))
	for _, user := range others {
		member, former = w.seen(user)
		assert.Equal(t, []bool{false, true}, []bool{member, former})
	}
	there, deleted := list(others[0])
	assert.Equal(t, []int{0, 0}, []int{there, deleted}, "no manager")
	there, deleted = list(w.Ada)
	assert.Equal(t, []int{0, 1}, []int{there, deleted})
	all, err := w.Projects.ListMembers(t.Context(), w.Project.ID, "", page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Empty(t, all.Items)

	gone := w.enters(deleting, project.Deleted)
	_, err = w.Projects.MoveMembers(t.Context(), deleting)
	require.NoError(t, err, "nobody is there to be moved")
	back := w.enters(gone, project.Reinstating)
	member, former = w.seen(w.Ada)
	assert.Equal(t, []bool{true, false}, []bool{member, former}, "at once")
	assert.Equal(t, len(others), w.moves(back))
	w.enters(back, "")
	there, deleted = list(w.Ada)
	assert.Equal(t, []int{1, 0}, []int{there, deleted})
	after, errs := w.Projects.ProjectsByID(t.Context(), w.Ada, []project.ID{w.Project.ID})
	require.Nil(t, errs)
	after[0].Version, after[0].UpdatedAt = before[0].Version, before[0].UpdatedAt
	assert.Equal(t, before, after)
	require.NoError(t, w.put(stranger, day), "there is room for as many as before")
	require.ErrorIs(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, w.Ada, idempotency.Key{}), project.ErrLastManager)
}

// Somebody brings a project back while its members are still made former ones: all are members in the end.
func deletionThatIsUndone(t *testing.T, w *World) {
	day := w.team("Day", project.Taggie)
	var others []project.UserID
	for i := range 60 {
		others = append(others, w.SignUp(fmt.Sprint("other", i)))
		require.NoError(t, w.put(others[i], day))
	}
	deleting := w.enters(w.Project, project.Deleting)
	_, err := w.Projects.MoveMembers(t.Context(), deleting)
	require.NoError(t, err)
	back := w.enters(deleting, project.Reinstating)
	var conflict *project.VersionConflict
	_, err = w.Projects.MoveMembers(t.Context(), deleting)
	require.ErrorAs(t, err, &conflict, "a slow server")
	w.moves(back)
	for _, user := range append(others, w.Ada) {
		member, former := w.seen(user)
		assert.Equal(t, []bool{true, false}, []bool{member, former})
	}
}
