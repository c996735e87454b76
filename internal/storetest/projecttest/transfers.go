package projecttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

func keptTransfers(t *testing.T, w *World) {
	ctx := t.Context()
	var imports []project.Import
	var exports []project.Export
	for n := range 5 {
		if n != 3 { // two at the same millisecond
			w.Clock.Advance(time.Second)
		}
		i := w.Import()
		after, ok := i.Advance(project.Progress{Read: 5 << 30, Lines: 7, Imported: 4, Duplicates: 2, Mistakes: 1, Faults: []project.LineFault{{Line: 3, Message: "no name"}}})
		require.True(t, ok)
		require.NoError(t, w.Projects.PutImport(ctx, "", &i, after, nil, idempotency.Key{}))
		imports = append(imports, after)

		e := project.Export{TransferID: project.TransferID{Project: w.Project.ID, ID: uuid.NewString()}, Format: project.JSONLines, Status: project.Finished,
			State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}
		require.NoError(t, w.Projects.PutExport(ctx, nil, e, nil, idempotency.Key{}))
		done, ok := e.Finish(12, 5<<30, w.Clock.Now().Add(time.Second))
		require.True(t, ok)
		require.NoError(t, w.Projects.PutExport(ctx, &e, done, nil, idempotency.Key{}))
		exports = append(exports, done)
	}
	failed, _ := imports[0].Fail("no file", w.Clock.Now())
	require.NoError(t, w.Projects.PutImport(ctx, "", &imports[0], failed, nil, idempotency.Key{}))
	imports[0] = failed

	gotImports, errs := w.Projects.ImportsByID(ctx, []project.TransferID{imports[0].TransferID, {Project: w.Project.ID, ID: exports[0].ID}, imports[4].TransferID})
	assert.Equal(t, imports[0], gotImports[0])
	storetest.IsFault(t, errs[1], fault.NotFound)
	assert.Equal(t, imports[4], gotImports[2])
	gotExports, errs := w.Projects.ExportsByID(ctx, []project.TransferID{exports[2].TransferID})
	require.Nil(t, errs)
	assert.Equal(t, exports[2], gotExports[0])

	listed, err := w.Projects.ListImports(ctx, w.Project.ID, page.Window{Limit: 2})
	require.NoError(t, err)
	assert.Equal(t, imports[4], listed.Items[0], "the newest first")
	assert.Len(t, storetest.Pages(t, 2, func(win page.Window) (page.Slice[project.Import], error) {
		return w.Projects.ListImports(ctx, w.Project.ID, win)
	}), 5)
	assert.Len(t, storetest.Pages(t, 2, func(win page.Window) (page.Slice[project.Export], error) {
		return w.Projects.ListExports(ctx, w.Project.ID, win)
	}), 5)
	none, err := w.Projects.ListExports(ctx, "nothing", page.Window{Limit: 2})
	require.NoError(t, err)
	assert.Empty(t, none.Items)
}

func transferConflict(t *testing.T, w *World) {
	i := w.Import()
	after, _ := i.Advance(project.Progress{Lines: 1})
	require.NoError(t, w.Projects.PutImport(t.Context(), "", &i, after, nil, idempotency.Key{}))
	cancelled, _ := i.Cancel(w.Clock.Now())
	var conflict *project.TransferConflict
	require.ErrorAs(t, w.Projects.PutImport(t.Context(), "", &i, cancelled, nil, idempotency.Key{}), &conflict)
	require.ErrorAs(t, w.Projects.PutImport(t.Context(), "", nil, i, nil, idempotency.Key{}), &conflict)
	found, errs := w.Projects.ImportsByID(t.Context(), []project.TransferID{i.TransferID})
	require.Nil(t, errs)
	assert.Equal(t, after, found[0])
	e := project.Export{TransferID: project.TransferID{Project: w.Project.ID, ID: "nothing"}, Version: 3}
	require.ErrorAs(t, w.Projects.PutExport(t.Context(), &e, e, nil, idempotency.Key{}), &conflict)
}

func followingTasks(t *testing.T, w *World) {
	i := w.Import()
	due := task.Task{Kind: project.RunImport, ID: i.ID, Scope: string(i.Project), Due: w.Clock.Now()}
	after, _ := i.Advance(project.Progress{Lines: 1})
	require.NoError(t, w.Projects.PutImport(t.Context(), "", &i, after, []task.Task{due}, idempotency.Key{}))
	lost := due
	lost.ID = "lost"
	require.Error(t, w.Projects.PutImport(t.Context(), "", &i, after, []task.Task{lost}, idempotency.Key{}), "a conflict")
	tasks, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	assert.Equal(t, i.TransferID, project.TransferOf(tasks[0]))
}

func projectsOncePerKey(t *testing.T, w *World) {
	ctx, id := t.Context(), w.Project.ID
	grace := w.SignUp("grace")
	labels := Labels(id, project.Category, "dog")
	many := Labels(id, project.Subcategory, storetest.Numbered("sub", 120)...)
	team := project.Team{TeamID: project.TeamID{Project: id, ID: uuid.NewString()}, Name: "Day", Type: project.Taggie, CreatedAt: w.Clock.Now()}
	i := project.Import{TransferID: project.TransferID{Project: id, ID: uuid.NewString()}, State: project.Awaiting, CreatedAt: w.Clock.Now(), Version: 1}
	p, drafted, first := w.Draft(w.Ada, storetest.Numbered("c", 100), nil)
	guided := project.Guidelines{Project: id, Text: "t", Version: 1, UpdatedAt: w.Clock.Now(), UpdatedBy: w.Ada}
	invited := project.Invitation{InvitationID: project.InvitationID{Project: id, Created: 1, ID: uuid.NewString()}, Team: team.ID, Type: team.Type, ExpiresAt: w.Clock.Now().Add(time.Hour), Uses: 1}
	named := w.Project
	named.Name, named.Version = "owls", 2
	for n, step := range []func(idempotency.Key) error{
		func(k idempotency.Key) error { return w.Projects.CreateProject(ctx, p, drafted, first, p.Member, k) },
		func(k idempotency.Key) error { return w.Projects.UpdateProject(ctx, w.Project, named, k) },
		func(k idempotency.Key) error { return w.Projects.UpdateProject(ctx, named, named, k) },
		func(k idempotency.Key) error {
			return w.Projects.PutGuidelines(ctx, w.Project.Member, project.Guidelines{}, guided, nil, k)
		},
		func(k idempotency.Key) error {
			return w.Projects.PutGuidelines(ctx, w.Project.Member, guided, guided, nil, k)
		},
		func(k idempotency.Key) error { return w.Projects.AddLabels(ctx, "", id, labels, nil, k) },
		func(k idempotency.Key) error { return w.Projects.AddLabels(ctx, "", id, many, nil, k) },
		func(k idempotency.Key) error {
			_, err := w.Projects.UpdateLabel(ctx, labels[0].LabelID, project.LabelChange{Name: "hound"}, nil, k)
			return err
		},
		func(k idempotency.Key) error { return w.Projects.PutTeam(ctx, "", team, true, k) },
		func(k idempotency.Key) error { return w.Projects.PutTeam(ctx, "", team, false, k) },
		func(k idempotency.Key) error {
			return w.Projects.CreateInvitation(ctx, w.Project.Member, invited, nil, k)
		},
		func(k idempotency.Key) error {
			_, _, err := w.Projects.AcceptInvitation(ctx, invited.InvitationID, w.member(grace, team), k)
			return err
		},
		func(k idempotency.Key) error {
			_, err := w.Projects.RevokeInvitation(ctx, "", invited.InvitationID, w.Clock.Now(), k)
			return err
		},
		func(k idempotency.Key) error { return w.Projects.PutMember(ctx, "", w.member(grace, team), k) },
		func(k idempotency.Key) error { return w.Projects.PutMember(ctx, "", w.member(grace, w.Team), k) },
		func(k idempotency.Key) error { return w.Projects.DeleteMember(ctx, "", id, grace, k) },
		func(k idempotency.Key) error { return w.Projects.DeleteMember(ctx, "", id, "nobody", k) },
		func(k idempotency.Key) error { return w.Projects.PutImport(ctx, "", nil, i, nil, k) },
	} {
		key := idempotency.Key{Viewer: string(w.Ada), Key: storetest.Numbered("key", 20)[n], Hash: []byte("hash"), ExpiresAt: w.Clock.Now().Add(time.Hour)}.With("result")
		require.NoError(t, step(key), "step %d", n)
		var replayed *idempotency.Replayed
		require.ErrorAs(t, w.Projects.FindIdempotencyKey(ctx, key), &replayed, "step %d", n)
		assert.Equal(t, []string{"result"}, replayed.Result)
		if err := step(key); err != nil {
			require.ErrorAs(t, err, &replayed, "step %d", n)
		}
	}
	assert.Len(t, w.Lists(), 3+1+120)
}
