package project_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

func TestARemovalIsRecordedWithItsTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "man")
	in := project.Remove{Project: "p", Items: []project.ItemID{{Project: "p", ID: "a"}, {Project: "p", ID: "b"}}, IdempotencyKey: ptr("k")}
	r, err := w.Remove(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, []any{[]string{"a", "b"}, project.Removing, project.UserID("man"), 1}, []any{r.Items, r.State, r.CreatedBy, r.Version})
	again, err := w.Remove(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, r, again)
	require.Len(t, w.store.tasks, 1)
	assert.Equal(t, r.TransferID, project.RemovalOf(w.store.tasks[0]))
	found, errs := w.RemovalsByID(as(t, "tag"), []project.TransferID{r.TransferID})
	assert.Equal(t, "forbidden", kindOf(errs[0]))
	assert.Zero(t, found[0])

	// While it goes on, the one that does it notices.
	r, err = w.UndoRemoval(ctx, project.ChangeRemoval{Removal: r.TransferID})
	require.NoError(t, err)
	assert.Equal(t, project.Restoring, r.State)
	assert.Len(t, w.store.tasks, 1)

	for _, in := range []project.Remove{
		{Project: "p"}, {Project: "p", Items: []project.ItemID{}}, {Project: "p", Items: make([]project.ItemID, project.MaxRemovedItems+1)},
		{Project: "p", Items: []project.ItemID{{Project: "q", ID: "a"}}}, {Project: "p", Import: &project.TransferID{Project: "q", ID: "i"}},
		{Project: "p", Import: &project.TransferID{Project: "p", ID: "m"}, Status: ptr(project.New)},
	} {
		_, err := w.Remove(ctx, in)
		assert.Equal(t, "invalid", kindOf(err))
	}
	_, err = w.Remove(as(t, "rev"), project.Remove{Project: "p", Status: ptr(project.New)})
	assert.Equal(t, "forbidden", kindOf(err))
	_, err = w.Remove(as(t, "other"), project.Remove{Project: "p", Status: ptr(project.New)})
	assert.Equal(t, "not found", kindOf(err))
}

func TestWhatAnImportBringsIsRemovedWhenItIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, id := as(t, "man"), project.TransferID{Project: "p", ID: "m"}
	_, err := w.Remove(ctx, project.Remove{Project: "p", Import: &id})
	require.ErrorIs(t, err, project.ErrImporting)
	w.moves(id, func(i *project.Import) { i.State, i.EndedAt = project.Cancelled, morning })
	r, err := w.Remove(ctx, project.Remove{Project: "p", Import: &id})
	require.NoError(t, err)
	assert.Equal(t, id, r.ImportID())
}

func TestARemovalIsUndoneInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	change := func(what string, r project.Removal) (project.Removal, error) {
		n++
		r.TransferID, r.CreatedBy, r.CreatedAt, r.Version = project.TransferID{Project: "p", ID: "r" + string(rune('a'+n))}, "man", early, 1
		require.NoError(t, w.store.Store.PutRemoval(t.Context(), "", nil, r, nil, idempotency.Key{}))
		w.store.tasks = nil
		do := w.UndoRemoval
		if what == "purge" {
			do = w.PurgeRemoval
		}
		_, err := do(as(t, "rev"), project.ChangeRemoval{Removal: r.TransferID})
		assert.Equal(t, "forbidden", kindOf(err))
		return do(as(t, "man"), project.ChangeRemoval{Removal: r.TransferID})
	}
	for state, want := range map[project.RemovalState]map[string]any{ // the state then, or the error
		project.Removing:  {"undo": project.Restoring, "purge": project.Removing},
		project.Undoable:  {"undo": project.Restoring, "purge": project.Purging},
		project.Restoring: {"undo": project.Restoring, "purge": project.ErrNoUndo},
		project.Restored:  {"undo": project.Restored, "purge": project.ErrNoUndo},
		project.Purging:   {"undo": project.ErrNoUndo, "purge": project.Purging},
		project.Gone:      {"undo": project.ErrNoUndo, "purge": project.Gone},
	} {
		for what, want := range want {
			r, err := change(what, project.Removal{State: state, UndoUntil: morning.Add(time.Hour), Removed: 7})
			if refused, ok := want.(error); ok {
				require.ErrorIs(t, err, refused, "%s %s", what, state)
				assert.Empty(t, w.store.tasks)
				continue
			}
			require.NoError(t, err, "%s %s", what, state)
			assert.Equal(t, want, r.State, "%s %s", what, state)
			if state == project.Undoable {
				assert.Equal(t, 7, r.Left)
				require.Len(t, w.store.tasks, 1)
				assert.Equal(t, r.TransferID, project.RemovalOf(w.store.tasks[0]))
				assert.NotEqual(t, r.ID, w.store.tasks[0].ID, "the task that waits is another one")
			} else {
				assert.Empty(t, w.store.tasks, "%s %s", what, state)
			}
		}
	}
	_, err := change("undo", project.Removal{State: project.Undoable, UndoUntil: morning})
	require.ErrorIs(t, err, project.ErrNoUndo, "too late")
}
