package project

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

func TestWhoCreatesAProjectManagesIt(t *testing.T) {
	w := newWorld()
	in := Create{Name: " Owls ", Categories: []string{"Snowy", "Barn"}, Subcategories: []string{"snowy"}, IdempotencyKey: ptr("k")}
	p, err := w.Create(as(t, "new"), in)
	require.NoError(t, err)
	assert.Equal(t, "Owls", p.Name)
	assert.Equal(t, 1, p.Version)
	assert.Equal(t, Manager, p.Member.Type)
	assert.Equal(t, "Managers", w.store.teams[TeamID{p.ID, p.Member.Team}].Name)
	labels, err := domain.First(w.ListLabels(as(t, "new"), []Ref[ID]{p.Ref()}))
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
	delete(w.store.members[p.ID], "new")
	again, err = w.Create(as(t, "new"), in)
	require.NoError(t, err)
	assert.Zero(t, again, "who left does not see it again")
	_, err = w.Create(as(t, ""), Create{Name: "n"})
	assert.Equal(t, "unauthenticated", kindOf(err))
}

func TestUpdateChangesWhatIsGiven(t *testing.T) {
	w := newWorld()
	ctx := as(t, "man")
	p, err := w.Update(ctx, Update{ID: "p", Description: ptr("all of them"), Keywords: &[]string{"wing"}})
	require.NoError(t, err)
	assert.Equal(t, []any{"birds", "all of them", []string{"wing"}, 4, morning}, []any{p.Name, p.Description, p.Keywords, p.Version, p.UpdatedAt})
	same, err := w.Update(ctx, Update{ID: "p", Name: ptr("birds"), Keywords: &[]string{"wing"}})
	require.NoError(t, err)
	assert.Equal(t, 4, same.Version, "what is not different is no change")
	bare, err := w.Update(ctx, Update{ID: "p", Description: ptr(""), Keywords: &[]string{}})
	require.NoError(t, err)
	assert.Empty(t, bare.Description)
	assert.Empty(t, bare.Keywords)
	assert.Equal(t, morning.Add(time.Millisecond), bare.UpdatedAt, "time goes on with each change")
}

func TestUpdateMeetsOthers(t *testing.T) {
	other := func(w world) func() {
		return func() {
			p := w.store.projects["p"]
			p.Version, p.Description = 9, "theirs"
			w.store.projects["p"] = p
		}
	}
	w := newWorld()
	w.store.before = other(w)
	p, err := w.Update(as(t, "man"), Update{ID: "p", Name: ptr("n")})
	require.NoError(t, err)
	assert.Equal(t, []any{10, "n", "theirs"}, []any{p.Version, p.Name, p.Description}, "both changes hold")

	w = newWorld()
	w.store.before = other(w)
	_, err = w.Update(as(t, "man"), Update{ID: "p", Name: ptr("n"), ExpectedVersion: ptr(3)})
	conflict, ok := errors.AsType[*VersionConflict](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, 9, conflict.Current.Version)
	assert.Equal(t, Manager, conflict.Current.Member.Type)

	_, err = newWorld().Update(as(t, "man"), Update{ID: "p", Name: ptr("n"), ExpectedVersion: ptr(2)})
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, 3, conflict.Current.Version)
}

func TestNamesThatAreTaken(t *testing.T) {
	w := newWorld()
	ctx := as(t, "man")
	taken := func(err error, field string) {
		t.Helper()
		require.ErrorIs(t, err, NameTaken)
		f, ok := errors.AsType[*fault.Error](err)
		require.True(t, ok)
		assert.Equal(t, field, f.Field)
	}
	_, err := w.AddLabels(ctx, AddLabels{Project: "p", Categories: []string{"Kite", "OWL"}})
	taken(err, "input.categories")
	_, err = w.AddLabels(ctx, AddLabels{Project: "p", Categories: []string{"Kite"}, Subcategories: []string{"night"}})
	taken(err, "input.subcategories")
	_, err = w.AddLabels(ctx, AddLabels{Project: "p", Categories: []string{"Night"}, Subcategories: []string{"Owl"}})
	require.NoError(t, err, "the lists are two")
	_, err = w.CreateTeam(ctx, CreateTeam{Project: "p", Name: "TAGGERS", Type: Reviewer})
	taken(err, "input.name")
	team, err := w.CreateTeam(ctx, CreateTeam{Project: "p", Name: "Others", Type: Reviewer})
	require.NoError(t, err, "another project's team has the name")
	_, err = w.ListMembers(ctx, team.Members(page.Window{}))
	require.NoError(t, err, "a new team was shown")
	_, err = w.RenameTeam(ctx, RenameTeam{Team: team.TeamID, Name: "taggers"})
	taken(err, "input.name")
	renamed, err := w.RenameTeam(ctx, RenameTeam{Team: team.TeamID, Name: "OTHERS"})
	require.NoError(t, err, "its own name is not taken")
	assert.Equal(t, Reviewer, renamed.Type)
}

func TestMembersComeAndGo(t *testing.T) {
	w := newWorld()
	ctx := as(t, "man")
	_, err := w.PutMember(ctx, PutMember{Team: TeamID{"p", "taggers"}, Email: ptr("nobody@example.com")})
	unknown, ok := errors.AsType[*UnknownUser](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, "input.email", unknown.Field)
	_, err = w.PutMember(ctx, PutMember{Team: TeamID{"p", "taggers"}, User: "nobody"})
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, "input.userId", unknown.Field)
	_, err = w.PutMember(ctx, PutMember{Team: TeamID{"p", "lost"}, User: "new"})
	assert.Equal(t, "not found", kindOf(err))

	in := PutMember{Team: TeamID{"p", "taggers"}, Email: ptr("new@example.com"), IdempotencyKey: ptr("k")}
	m, err := w.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, Member{Project: "p", User: "new", Team: "taggers", Type: Taggie, AddedAt: morning, as: proof(Manager)}, m)
	again, err := w.PutMember(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, m, again)
	assert.Equal(t, 2, w.people.asked, "once for each of the two")

	early := morning.Add(-time.Hour)
	for user, want := range map[UserID]time.Time{"rev": morning, "old": early} {
		w.store.members["p"][user] = Member{Project: "p", User: user, Team: map[UserID]string{"rev": "reviewers", "old": "taggers"}[user], AddedAt: early}
		m, err := w.PutMember(ctx, PutMember{Team: TeamID{"p", "taggers"}, User: user})
		require.NoError(t, err)
		assert.Equal(t, want, m.AddedAt, "since when somebody is in this team")
	}

	require.NoError(t, w.RemoveMember(ctx, RemoveMember{Project: "p", User: "old"}))
	require.NoError(t, w.RemoveMember(as(t, "tag"), RemoveMember{Project: "p", User: "tag"}), "anybody may leave")
	require.NoError(t, w.RemoveMember(as(t, "tag"), RemoveMember{Project: "p", User: "tag"}), "and has left then")
	assert.NotContains(t, w.store.members["p"], UserID("tag"))
	assert.Equal(t, "not found", kindOf(w.RemoveMember(as(t, "tag"), RemoveMember{Project: "p", User: "man"})))
}

func TestAnImportStartsWhenItsFileIsThere(t *testing.T) {
	w := newWorld()
	ctx, in := as(t, "man"), ChangeImport{Import: TransferID{"p", "m"}, IdempotencyKey: ptr("k")}
	_, err := w.having(func(o *Options) { o.Uploads = nil }).StartImport(ctx, in)
	assert.Equal(t, "unavailable", kindOf(err))
	_, err = w.StartImport(ctx, in)
	require.ErrorIs(t, err, ErrNotUploaded)
	w.files[ImportKey(in.Import)] = 9
	_, err = w.StartImport(ctx, in)
	assert.Equal(t, "conflict", kindOf(err), "another size was announced")
	assert.ErrorContains(t, err, "9 bytes")
	assert.Zero(t, w.store.writes)

	w.files[ImportKey(in.Import)] = 10
	for range 2 {
		i, err := w.StartImport(ctx, in)
		require.NoError(t, err)
		assert.Equal(t, Queued, i.State)
	}
	in.IdempotencyKey = nil
	i, err := w.StartImport(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, Queued, i.State, "it was started")
	assert.Equal(t, []task.Task{{Kind: RunImport, ID: "m", Scope: "p", Due: morning}}, w.store.tasks)
	assert.Equal(t, in.Import, TransferOf(w.store.tasks[0]))

	for _, state := range []TransferState{Failed, Cancelled} {
		w.store.imports[in.Import] = Import{TransferID: in.Import, Bytes: 10, State: state, Version: 1}
		_, err = w.StartImport(ctx, in)
		assert.Equal(t, "conflict", kindOf(err), state)
	}
}

func TestARunningImportIsCancelled(t *testing.T) {
	w := newWorld()
	id := TransferID{"p", "m"}
	w.store.before = func() {
		w.store.imports[id] = Import{TransferID: id, State: Running, Version: 7, Progress: Progress{Imported: 3}}
	}
	i, err := w.CancelImport(as(t, "man"), ChangeImport{Import: id})
	require.NoError(t, err)
	assert.Equal(t, []any{Cancelled, 8, 3, morning}, []any{i.State, i.Version, i.Imported, i.EndedAt}, "what is imported stays")

	w.store.imports[id] = Import{TransferID: id, State: Done, Version: 9}
	i, err = w.CancelImport(as(t, "man"), ChangeImport{Import: id})
	require.NoError(t, err)
	assert.Equal(t, Done, i.State, "one that has ended is left as it is")
	assert.Equal(t, 1, w.store.writes)
}

func TestTransfersBegin(t *testing.T) {
	w := newWorld()
	ctx := as(t, "man")
	in := CreateImport{Project: "p", Format: JSONLines, Bytes: 5, IdempotencyKey: ptr("i")}
	i, err := w.CreateImport(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, Import{TransferID: TransferID{"p", "id1"}, Source: FromFile, Format: JSONLines, Bytes: 5, State: Awaiting, CreatedBy: "man", CreatedAt: morning, Version: 1}, i)
	end := task.Task{Kind: RunImport, ID: "id1-end", Scope: "p", Due: morning.Add(UploadTime)}
	assert.Equal(t, []task.Task{end}, w.store.tasks)
	again, err := w.CreateImport(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, i, again)

	out := CreateExport{Project: "p", Format: CSV, Status: Finished, IdempotencyKey: ptr("e")}
	e, err := w.CreateExport(ctx, out)
	require.NoError(t, err)
	assert.Equal(t, Queued, e.State)
	assert.Equal(t, []task.Task{end, {Kind: RunExport, ID: e.ID, Scope: "p", Due: morning}}, w.store.tasks)
	other, err := w.CreateExport(ctx, out)
	require.NoError(t, err)
	assert.Equal(t, e, other)
	assert.Equal(t, 2, w.store.writes)
}

func TestTransfersUnderWayAreBounded(t *testing.T) {
	w := newWorld()
	ctx := as(t, "man")
	var err error
	for range MaxTransfers + 1 {
		_, err = w.CreateExport(ctx, CreateExport{Project: "p", Format: CSV})
	}
	assert.Equal(t, "exhausted", kindOf(err))
	assert.Len(t, w.store.exports, MaxTransfers+1, "one has ended")
	for range MaxTransfers { // one awaits its file already
		_, err = w.CreateImport(ctx, CreateImport{Project: "p", Format: CSV, Bytes: 1})
	}
	assert.Equal(t, "exhausted", kindOf(err))
	assert.Len(t, w.store.imports, MaxTransfers)
	_, err = w.CancelImport(ctx, ChangeImport{Import: TransferID{"p", "m"}})
	require.NoError(t, err)
	_, err = w.CreateImport(ctx, CreateImport{Project: "p", Format: CSV, Bytes: 1})
	require.NoError(t, err)
}
