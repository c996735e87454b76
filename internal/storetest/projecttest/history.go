package projecttest

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// history is what was changed in the project, the newest first.
func (w *World) history() []project.Change {
	w.T.Helper()
	found, err := w.Projects.ListHistory(w.T.Context(), w.Project.ID, page.Window{Limit: 100})
	require.NoError(w.T, err)
	return found.Items
}

// added is the only change that is there now and was not before.
func (w *World) added(before []project.Change) project.Change {
	w.T.Helper()
	all := w.history()
	require.Len(w.T, all, len(before)+1)
	at := slices.IndexFunc(all, func(c project.Change) bool {
		return !slices.ContainsFunc(before, func(b project.Change) bool { return b.ID == c.ID })
	})
	c := all[at]
	c.ID, c.At = "", time.Time{}
	return c
}

// Each change is in the history together with who made it, and nothing is that nobody asked for.
func keptHistory(t *testing.T, w *World) {
	ctx, id, none := t.Context(), w.Project.ID, idempotency.Key{}
	yes := true
	w.Clock.Advance(time.Second) // the project was created before everything else
	grace := w.SignUp("grace")
	day := project.Team{TeamID: project.TeamID{Project: id, ID: uuid.NewString()}, Name: "Day", Type: project.Taggie, CreatedAt: w.Clock.Now()}
	night := project.Team{TeamID: project.TeamID{Project: id, ID: uuid.NewString()}, Name: "Night", Type: project.Taggie, CreatedAt: w.Clock.Now()}
	renamed, deleted := day, night
	renamed.Name = "Sun"
	labels := append(Labels(id, project.Category, "hen"), Labels(id, project.Category, "newt")...)
	named := w.Project
	named.Name, named.Paused, named.Version, named.UpdatedAt = "owls", true, w.Project.Version+1, w.Clock.Now()
	i := project.Import{TransferID: project.TransferID{Project: id, ID: uuid.NewString()}, Source: project.FromFile, Format: project.CSV, State: project.Awaiting, CreatedAt: w.Clock.Now(), Version: 1}
	started, _ := i.Start()
	cancelled, _ := started.Cancel(w.Clock.Now())
	r := project.Removal{TransferID: project.TransferID{Project: id, ID: uuid.NewString()}, Items: []string{"a", "b"}, State: project.Removing, CreatedAt: w.Clock.Now(), Version: 1}
	e := project.Export{TransferID: project.TransferID{Project: id, ID: uuid.NewString()}, Format: project.CSV, State: project.Queued, CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1}
	invited := project.Invitation{
		InvitationID: project.InvitationID{Project: id, Created: w.Clock.Now().UnixMilli(), ID: uuid.NewString()}, Team: day.ID, Type: day.Type, Hash: "hash",
		CreatedBy: w.Ada, ExpiresAt: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), Uses: 3,
	}
	field := func(name, before, after string) project.ChangedField {
		return project.ChangedField{Name: name, Old: before, New: after}
	}
	for n, step := range []struct {
		do   func() error
		want project.Change
	}{
		{func() error { return w.Projects.UpdateProject(ctx, w.Project, named, none) },
			project.Change{Type: project.ProjectUpdated, Fields: []project.ChangedField{field("name", w.Project.Name, "owls"), field("paused", "false", "true")}}},
		{func() error { return w.Projects.PutTeam(ctx, w.Ada, day, true, none) },
			project.Change{Type: project.TeamCreated, Name: "Day", Fields: []project.ChangedField{field("type", "", "TAGGIE")}}},
		{func() error { return w.Projects.PutTeam(ctx, w.Ada, night, true, none) },
			project.Change{Type: project.TeamCreated, Name: "Night", Fields: []project.ChangedField{field("type", "", "TAGGIE")}}},
		{func() error { return w.Projects.PutTeam(ctx, w.Ada, renamed, false, none) },
			project.Change{Type: project.TeamRenamed, Name: "Day", Fields: []project.ChangedField{field("name", "Day", "Sun")}}},
		{func() error { return w.Projects.PutMember(ctx, w.Ada, w.member(grace, night), none) },
			project.Change{Type: project.MemberAdded, Member: grace, Fields: []project.ChangedField{field("team", "", night.ID)}}},
		{func() error { return w.Projects.PutMember(ctx, w.Ada, w.member(grace, day), none) },
			project.Change{Type: project.MemberMoved, Member: grace, Fields: []project.ChangedField{field("team", night.ID, day.ID)}}},
		{func() error {
			deleted.DeletedAt, deleted.Into = w.Clock.Now(), day.ID
			_, _, err := w.Projects.DeleteTeam(ctx, w.Ada, deleted, nil, none)
			return err
		}, project.Change{Type: project.TeamDeleted, Name: "Night", Fields: []project.ChangedField{field("membersTo", "", day.ID)}}},
		{func() error { return w.Projects.DeleteMember(ctx, w.Ada, id, grace, none) },
			project.Change{Type: project.MemberRemoved, Member: grace, Fields: []project.ChangedField{field("team", day.ID, "")}}},
		{func() error { return w.Projects.CreateInvitation(ctx, w.Project.Member, invited, nil, none) },
			project.Change{Type: project.InvitationCreated, Fields: []project.ChangedField{field("team", "", day.ID), field("uses", "", "3"), field("expiresAt", "", "2027-01-02T03:04:05Z")}}},
		{func() error { _, _, err := w.accepts(invited, grace); return err },
			project.Change{Type: project.MemberJoined, By: grace, Member: grace, Fields: []project.ChangedField{field("team", "", day.ID)}}},
		{func() error {
			_, err := w.Projects.RevokeInvitation(ctx, w.Ada, invited.InvitationID, w.Clock.Now(), none)
			return err
		}, project.Change{Type: project.InvitationRevoked, Fields: []project.ChangedField{field("team", "", day.ID)}}},
		{func() error { _, err := w.writes(project.Guidelines{}, "t"); return err },
			project.Change{Type: project.GuidelinesUpdated, Fields: []project.ChangedField{field("version", "", "1")}}},
		{func() error { return w.Projects.AddLabels(ctx, w.Ada, id, labels, nil, none) },
			project.Change{Type: project.CategoriesAdded, Fields: []project.ChangedField{field("categories", "", "hen, newt")}}},
		{func() error {
			_, err := w.Projects.UpdateLabel(ctx, labels[0].LabelID, project.LabelChange{Name: "cock", By: w.Ada}, nil, none)
			return err
		}, project.Change{Type: project.CategoryUpdated, Name: "hen", Fields: []project.ChangedField{field("name", "hen", "cock")}}},
		{func() error {
			_, err := w.Projects.UpdateLabel(ctx, labels[0].LabelID, project.LabelChange{Retired: &yes, At: w.Clock.Now(), By: w.Ada}, nil, none)
			return err
		}, project.Change{Type: project.CategoryUpdated, Name: "cock", Fields: []project.ChangedField{field("retired", "false", "true")}}},
		{func() error {
			_, err := w.Projects.UpdateLabel(ctx, labels[0].LabelID, project.LabelChange{Into: labels[1].ID, By: w.Ada}, nil, none)
			return err
		}, project.Change{Type: project.CategoryUpdated, Name: "cock", Fields: []project.ChangedField{field("mergedInto", "", "newt")}}},
		{func() error { return w.Projects.PutImport(ctx, w.Ada, nil, i, nil, none) },
			project.Change{Type: project.ImportCreated, Fields: []project.ChangedField{field("source", "", "FILE"), field("format", "", "CSV")}}},
		{func() error { return w.Projects.PutImport(ctx, w.Ada, &i, started, nil, none) },
			project.Change{Type: project.ImportStarted, Fields: []project.ChangedField{field("source", "", "FILE"), field("format", "", "CSV")}}},
		{func() error { return w.Projects.PutImport(ctx, w.Ada, &started, cancelled, nil, none) },
			project.Change{Type: project.ImportCancelled, Fields: []project.ChangedField{field("source", "", "FILE"), field("format", "", "CSV")}}},
		{func() error { return w.Projects.PutExport(ctx, nil, e, nil, none) },
			project.Change{Type: project.ExportCreated, Fields: []project.ChangedField{field("format", "", "CSV")}}},
		{func() error { return w.Projects.PutRemoval(ctx, w.Ada, nil, r, nil, none) },
			project.Change{Type: project.ItemsRemoved, Fields: []project.ChangedField{field("items", "", "2")}}},
	} {
		before := w.history()
		w.Clock.Advance(time.Second)
		require.NoError(t, step.do(), "step %d", n)
		step.want.Project = id
		if step.want.By == "" {
			step.want.By = w.Ada
		}
		require.Equal(t, step.want, w.added(before), "step %d", n)
	}
	before := w.history()
	undoable := r.Next(project.Undoable)
	require.NoError(t, w.Projects.PutRemoval(ctx, "", &r, undoable, nil, none), "a task does that")
	require.NoError(t, w.Projects.UpdateProject(ctx, named, named, none), "which changes nothing")
	assert.Equal(t, before, w.history())
	created := before[len(before)-1]
	assert.Equal(t, []any{project.ProjectCreated, w.Ada, w.Project.CreatedAt}, []any{created.Type, created.By, created.At.UTC()}, "the oldest")
}

// A history is listed in pages in both directions, over the ends of quarters, and forgets what is older than a year.
func historyInPages(t *testing.T, w *World) {
	guided := project.Guidelines{}
	const changes = 30 // one in two weeks: those of the last year are fewer
	for n := range changes {
		if n > 0 {
			w.Clock.Advance(14 * 24 * time.Hour)
		}
		var err error
		guided, err = w.writes(guided, "text "+strconv.Itoa(n))
		require.NoError(t, err)
	}
	kept := w.history()
	require.Len(t, kept, 365/14+1)
	for n, c := range kept {
		assert.Equal(t, w.Clock.Now().Add(-14*24*time.Hour*time.Duration(n)), c.At)
	}
	read := func(w *World, win page.Window) page.Slice[project.Change] {
		s, err := w.Projects.ListHistory(w.T.Context(), w.Project.ID, win)
		require.NoError(w.T, err)
		return s
	}
	var paged []project.Change
	from := ""
	for {
		s := read(w, page.Window{Limit: 4, From: from, Probe: true})
		assert.Equal(t, from != "", s.Other)
		paged = append(paged, s.Items...)
		if !s.More {
			break
		}
		from = s.Positions[len(s.Positions)-1]
	}
	assert.Equal(t, kept, paged)
	oldest := read(w, page.Window{Limit: 4, Backward: true})
	assert.Equal(t, kept[len(kept)-4:], oldest.Items)
	back := read(w, page.Window{Limit: 5, Backward: true, From: oldest.Positions[0], Probe: true})
	assert.Equal(t, kept[len(kept)-9:len(kept)-4], back.Items)
	assert.True(t, back.Other)
	w.Clock.Advance(366 * 24 * time.Hour)
	assert.Empty(t, w.history(), "all are older than a year")
	assert.Empty(t, read(w, page.Window{Limit: 4, From: from}).Items)
	assert.Empty(t, read(w, page.Window{Limit: 4, Backward: true, From: from}).Items)
}
