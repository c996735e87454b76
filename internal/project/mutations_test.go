package project_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

func TestWhoCreatesAProjectManagesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := project.Create{Name: " Owls ", Categories: []string{"Snowy", "Barn"}, Subcategories: []string{"snowy"}, IdempotencyKey: ptr("k")}
	p, err := w.Create(as(t, "new"), in)
	require.NoError(t, err)
	assert.Equal(t, "Owls", p.Name)
	assert.Equal(t, 1, p.Version)
	assert.Equal(t, project.Manager, p.Member.Type)
	assert.Equal(t, "Managers", w.team(project.TeamID{Project: p.ID, ID: p.Member.Team}).Name)
	labels, err := domain.First(w.ListLabels(as(t, "new"), []project.Ref[project.ID]{p.Ref()}))
	require.NoError(t, err)
	require.Len(t, labels, 3, "a name may be in both lists")
	assert.NotEqual(t, labels[0].ID, labels[1].ID)
	for _, l := range labels {
		assert.Equal(t, p.ID, l.Project)
	}

	again, err := w.Create(as(t, "new"), in)
	require.NoError(t, err)
	assert.Equal(t, p, again)
	assert.Equal(t, 1, w.store.writes)
	w.put("man", project.TeamID{Project: p.ID, ID: p.Member.Team}, project.Manager) // one has to be left
	require.NoError(t, w.store.Store.DeleteMember(t.Context(), "", p.ID, "new", idempotency.Key{}))
	again, err = w.Create(as(t, "new"), in)
	require.NoError(t, err)
	assert.Zero(t, again, "who left does not see it again")
	_, err = w.Create(as(t, ""), project.Create{Name: "n"})
	assert.Equal(t, "unauthenticated", kindOf(err))
}

func TestUpdateChangesWhatIsGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "man")
	p, err := w.Update(ctx, project.Update{ID: "p", Description: ptr("all of them"), Keywords: &[]string{"wing"}})
	require.NoError(t, err)
	assert.Equal(t, []any{"birds", "all of them", []string{"wing"}, 4, morning}, []any{p.Name, p.Description, p.Keywords, p.Version, p.UpdatedAt})
	same, err := w.Update(ctx, project.Update{ID: "p", Name: ptr("birds"), Keywords: &[]string{"wing"}})
	require.NoError(t, err)
	assert.Equal(t, 4, same.Version, "what is not different is no change")
	bare, err := w.Update(ctx, project.Update{ID: "p", Description: ptr(""), Keywords: &[]string{}})
	require.NoError(t, err)
	assert.Empty(t, bare.Description)
	assert.Empty(t, bare.Keywords)
	assert.Equal(t, morning.Add(time.Millisecond), bare.UpdatedAt, "time goes on with each change")
}

func TestUpdateMeetsOthers(t *testing.T) {
	t.Parallel()
	other := func(w *world) func() {
		return func() {
			_, err := w.Update(as(t, "man"), project.Update{ID: "p", Description: ptr("theirs")})
			require.NoError(t, err)
		}
	}
	w := newWorld(t)
	w.store.racing = other(w)
	p, err := w.Update(as(t, "man"), project.Update{ID: "p", Name: ptr("n")})
	require.NoError(t, err)
	assert.Equal(t, []any{5, "n", "theirs"}, []any{p.Version, p.Name, p.Description}, "both changes hold")

	w = newWorld(t)
	w.store.racing = other(w)
	_, err = w.Update(as(t, "man"), project.Update{ID: "p", Name: ptr("n"), ExpectedVersion: ptr(3)})
	conflict, ok := errors.AsType[*project.VersionConflict](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, 4, conflict.Current.Version)
	assert.Equal(t, project.Manager, conflict.Current.Member.Type)

	_, err = newWorld(t).Update(as(t, "man"), project.Update{ID: "p", Name: ptr("n"), ExpectedVersion: ptr(2)})
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, 3, conflict.Current.Version)
}

func TestNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "man")
	taken := func(err error, field string) {
		t.Helper()
		require.ErrorIs(t, err, project.NameTaken)
		f, ok := errors.AsType[*fault.Error](err)
		require.True(t, ok)
		assert.Equal(t, field, f.Field)
	}
	_, err := w.AddLabels(ctx, project.AddLabels{Project: "p", Categories: []string{"Kite", "OWL"}})
	taken(err, "input.categories")
	_, err = w.AddLabels(ctx, project.AddLabels{Project: "p", Categories: []string{"Kite"}, Subcategories: []string{"night"}})
	taken(err, "input.subcategories")
	_, err = w.AddLabels(ctx, project.AddLabels{Project: "p", Categories: []string{"Night"}, Subcategories: []string{"Owl"}})
	require.NoError(t, err, "the lists are two")
	_, err = w.CreateTeam(ctx, project.CreateTeam{Project: "p", Name: "TAGGERS", Type: project.Reviewer})
	taken(err, "input.name")
	team, err := w.CreateTeam(ctx, project.CreateTeam{Project: "p", Name: "Others", Type: project.Reviewer})
	require.NoError(t, err, "another project's team has the name")
	_, err = w.ListMembers(ctx, team.Members(every))
	require.NoError(t, err, "a new team was shown")
	_, err = w.RenameTeam(ctx, project.RenameTeam{Team: team.TeamID, Name: "taggers"})
	taken(err, "input.name")
	renamed, err := w.RenameTeam(ctx, project.RenameTeam{Team: team.TeamID, Name: "OTHERS"})
	require.NoError(t, err, "its own name is not taken")
	assert.Equal(t, project.Reviewer, renamed.Type)
}

func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "man")
	_, err := w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, Email: ptr("nobody@example.com")})
	unknown, ok := errors.AsType[*project.UnknownUser](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, "input.email", unknown.Field)
	_, err = w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: "nobody"})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, "input.userId", unknown.Field)
	_, err = w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "lost"}, User: "new"})
	assert.Equal(t, "not found", kindOf(err))

	in := project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, Email: ptr("new@example.com"), IdempotencyKey: ptr("k")}
	m, err := w.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, project.Member{Project: "p", User: "new", Team: "taggers", Type: project.Taggie, AddedAt: morning}.ShownTo(project.Manager), m)
	again, err := w.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, m, again)
	assert.Equal(t, 2, w.people.asked, "once for each of the two")

	w.put("old", project.TeamID{Project: "p", ID: "taggers"}, project.Taggie)
	for user, want := range map[project.UserID]time.Time{"rev": morning, "old": early} {
		m, err := w.PutMember(ctx, project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: user})
		require.NoError(t, err)
		assert.Equal(t, want, m.AddedAt, "since when somebody is in this team")
	}

	require.NoError(t, w.RemoveMember(ctx, project.RemoveMember{Project: "p", User: "old"}))
	require.NoError(t, w.RemoveMember(as(t, "tag"), project.RemoveMember{Project: "p", User: "tag"}), "anybody may leave")
	require.NoError(t, w.RemoveMember(as(t, "tag"), project.RemoveMember{Project: "p", User: "tag"}), "and has left then")
	_, err = domain.First(w.store.Store.Memberships(t.Context(), "tag", []project.ID{"p"}))
	assert.Equal(t, "not found", kindOf(err))
	assert.Equal(t, "not found", kindOf(w.RemoveMember(as(t, "tag"), project.RemoveMember{Project: "p", User: "man"})))
}

func TestAnImportStartsWhenItsFileIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, in := as(t, "man"), project.ChangeImport{Import: project.TransferID{Project: "p", ID: "m"}, IdempotencyKey: ptr("k")}
	_, err := w.having(func(o *project.Options) { o.Uploads = nil }).StartImport(ctx, in)
	assert.Equal(t, "unavailable", kindOf(err))
	_, err = w.StartImport(ctx, in)
	require.ErrorIs(t, err, project.ErrNotUploaded)
	w.files[project.ImportKey(in.Import)] = 9
	_, err = w.StartImport(ctx, in)
	assert.Equal(t, "conflict", kindOf(err), "another size was announced")
	assert.ErrorContains(t, err, "9 bytes")
	assert.Zero(t, w.store.writes)

	w.files[project.ImportKey(in.Import)] = 10
	for range 2 {
		i, err := w.StartImport(ctx, in)
		require.NoError(t, err)
		assert.Equal(t, project.Queued, i.State)
	}
	in.IdempotencyKey = nil
	i, err := w.StartImport(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, project.Queued, i.State, "it was started")
	assert.Equal(t, []task.Task{{Kind: project.RunImport, ID: "m", Scope: "p", Due: morning}}, w.store.tasks)
	assert.Equal(t, in.Import, project.TransferOf(w.store.tasks[0]))

	for _, state := range []project.TransferState{project.Failed, project.Cancelled} {
		w.moves(in.Import, func(i *project.Import) { i.State = state })
		_, err = w.StartImport(ctx, in)
		assert.Equal(t, "conflict", kindOf(err), state)
	}
}

func TestARunningImportIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := project.TransferID{Project: "p", ID: "m"}
	w.store.racing = func() {
		w.moves(id, func(i *project.Import) { i.State, i.Version, i.Imported = project.Running, 7, 3 })
	}
	i, err := w.CancelImport(as(t, "man"), project.ChangeImport{Import: id})
	require.NoError(t, err)
	assert.Equal(t, []any{project.Cancelled, 8, 3, morning}, []any{i.State, i.Version, i.Imported, i.EndedAt}, "what is imported stays")

	w.moves(id, func(i *project.Import) { i.State = project.Done })
	i, err = w.CancelImport(as(t, "man"), project.ChangeImport{Import: id})
	require.NoError(t, err)
	assert.Equal(t, project.Done, i.State, "one that has ended is left as it is")
	assert.Equal(t, 1, w.store.writes)
}

func TestTransfersBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "man")
	in := project.CreateImport{Project: "p", Format: project.JSONLines, Bytes: 5, IdempotencyKey: ptr("i")}
	i, err := w.CreateImport(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, project.Import{TransferID: project.TransferID{Project: "p", ID: "id1"}, Source: project.FromFile, Format: project.JSONLines, Bytes: 5, State: project.Awaiting, CreatedBy: "man", CreatedAt: morning, Version: 1}, i)
	end := task.Task{Kind: project.RunImport, ID: "id1-end", Scope: "p", Due: morning.Add(project.UploadTime)}
	assert.Equal(t, []task.Task{end}, w.store.tasks)
	again, err := w.CreateImport(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, i, again)

	out := project.CreateExport{Project: "p", Format: project.CSV, Status: project.Finished, IdempotencyKey: ptr("e")}
	e, err := w.CreateExport(ctx, out)
	require.NoError(t, err)
	assert.Equal(t, project.Queued, e.State)
	assert.Equal(t, []task.Task{end, {Kind: project.RunExport, ID: e.ID, Scope: "p", Due: morning}}, w.store.tasks)
	other, err := w.CreateExport(ctx, out)
	require.NoError(t, err)
	assert.Equal(t, e, other)
	assert.Equal(t, 2, w.store.writes)
}

func TestTransfersUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := as(t, "man")
	var err error
	for range project.MaxTransfers + 1 {
		_, err = w.CreateExport(ctx, project.CreateExport{Project: "p", Format: project.CSV})
	}
	assert.Equal(t, "exhausted", kindOf(err))
	exports, err := w.store.Store.ListExports(ctx, "p", every)
	require.NoError(t, err)
	assert.Len(t, exports.Items, project.MaxTransfers+1, "one has ended")
	for range project.MaxTransfers { // one awaits its file already
		_, err = w.CreateImport(ctx, project.CreateImport{Project: "p", Format: project.CSV, Bytes: 1})
	}
	assert.Equal(t, "exhausted", kindOf(err))
	busy, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok)
	assert.Equal(t, project.TransfersEvery, busy.RetryAfter, "it passes")
	imports, err := w.store.Store.ListImports(ctx, "p", every)
	require.NoError(t, err)
	assert.Len(t, imports.Items, project.MaxTransfers)
	_, err = w.CancelImport(ctx, project.ChangeImport{Import: project.TransferID{Project: "p", ID: "m"}})
	require.NoError(t, err)
	_, err = w.CreateImport(ctx, project.CreateImport{Project: "p", Format: project.CSV, Bytes: 1})
	require.NoError(t, err)
}

// Those of one server go one after the other once they have met: no change is lost, and nobody is told to try again.
func TestTwentyManagersOfOneProject(t *testing.T) {
	t.Parallel()
	const managers, changes = 20, 5
	w := newWorld(t)
	before := one[project.Project](t)(domain.First(w.store.Store.ProjectsByID(t.Context(), "man", []project.ID{"p"})))
	var group sync.WaitGroup
	for n := range managers {
		group.Go(func() {
			for i := range changes {
				_, err := w.Update(as(t, "man"), project.Update{ID: "p", QueueSize: ptr(1 + n*changes + i)})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	after := one[project.Project](t)(domain.First(w.store.Store.ProjectsByID(t.Context(), "man", []project.ID{"p"})))
	assert.Equal(t, before.Version+managers*changes, after.Version)
}
