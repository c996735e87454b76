package project_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

// TestMain runs eight tests at a time: they wait for the engine, not for a processor. Property tests of this room call no engine, so they make
// all their checks.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run()) // parses the flags, so the command line has the last word
}

// watched is the store of the server, which lets a test look at what is asked of it and do something in between.
type watched struct {
	project.Store
	tasks  []task.Task    // that were recorded
	writes int            // that were stored, or were none because nothing was to be done
	asked  [][]project.ID // for memberships, or that of an item
	reads  int            // of anything but memberships and projects
	racing func()         // runs once, before a write
}

// wrote lets somebody else be faster, and counts a write that succeeds.
func (w *watched) wrote(write func() error) error {
	if racing := w.racing; racing != nil {
		w.racing = nil
		racing()
	}
	err := write()
	if err == nil {
		w.writes++
	}
	return err
}

// following does the same for a write that records tasks.
func (w *watched) following(follow []task.Task, write func() error) error {
	return w.wrote(func() error {
		err := write()
		if err == nil {
			w.tasks = append(w.tasks, follow...)
		}
		return err
	})
}

func (w *watched) Memberships(ctx context.Context, user project.UserID, ids []project.ID) ([]project.Member, []error) {
	w.asked = append(w.asked, ids)
	return w.Store.Memberships(ctx, user, ids)
}

func (w *watched) CreateProject(ctx context.Context, p project.Project, labels []project.Label, t project.Team, m project.Member, once idempotency.Key) error {
	return w.wrote(func() error { return w.Store.CreateProject(ctx, p, labels, t, m, once) })
}

func (w *watched) UpdateProject(ctx context.Context, before, after project.Project, once idempotency.Key) error {
	return w.wrote(func() error { return w.Store.UpdateProject(ctx, before, after, once) })
}

func (w *watched) GuidelinesOf(ctx context.Context, ids []project.ID) ([]project.Guidelines, []error) {
	w.reads++
	return w.Store.GuidelinesOf(ctx, ids)
}

func (w *watched) PutGuidelines(ctx context.Context, m project.Member, before, after project.Guidelines, follow []task.Task, once idempotency.Key) error {
	return w.following(follow, func() error { return w.Store.PutGuidelines(ctx, m, before, after, follow, once) })
}

func (w *watched) AddLabels(ctx context.Context, by project.UserID, id project.ID, labels []project.Label, follow []task.Task, once idempotency.Key) error {
	return w.following(follow, func() error { return w.Store.AddLabels(ctx, by, id, labels, follow, once) })
}

func (w *watched) UpdateLabel(ctx context.Context, id project.LabelID, c project.LabelChange, follow []task.Task, once idempotency.Key) (after project.Label, err error) {
	err = w.following(follow, func() (err error) { after, err = w.Store.UpdateLabel(ctx, id, c, follow, once); return err })
	return after, err
}

func (w *watched) PutTeam(ctx context.Context, by project.UserID, t project.Team, create bool, once idempotency.Key) error {
	return w.wrote(func() error { return w.Store.PutTeam(ctx, by, t, create, once) })
}

func (w *watched) PutMember(ctx context.Context, by project.UserID, m project.Member, once idempotency.Key) error {
	return w.wrote(func() error { return w.Store.PutMember(ctx, by, m, once) })
}

func (w *watched) DeleteMember(ctx context.Context, by project.UserID, id project.ID, user project.UserID, once idempotency.Key) error {
	return w.wrote(func() error { return w.Store.DeleteMember(ctx, by, id, user, once) })
}

func (w *watched) PutImport(ctx context.Context, by project.UserID, before *project.Import, after project.Import, follow []task.Task, once idempotency.Key) error {
	return w.following(follow, func() error { return w.Store.PutImport(ctx, by, before, after, follow, once) })
}

func (w *watched) PutExport(ctx context.Context, before *project.Export, after project.Export, follow []task.Task, once idempotency.Key) error {
	return w.following(follow, func() error { return w.Store.PutExport(ctx, before, after, follow, once) })
}

func (w *watched) PutRemoval(ctx context.Context, by project.UserID, before *project.Removal, after project.Removal, follow []task.Task, once idempotency.Key) error {
	return w.following(follow, func() error { return w.Store.PutRemoval(ctx, by, before, after, follow, once) })
}

func (w *watched) ListLabels(ctx context.Context, ids []project.ID) ([][]project.Label, []error) {
	w.reads++
	return w.Store.ListLabels(ctx, ids)
}

func (w *watched) LabelsByID(ctx context.Context, ids []project.LabelID) ([]project.Label, []error) {
	w.reads++
	return w.Store.LabelsByID(ctx, ids)
}

func (w *watched) ListTeams(ctx context.Context, ids []project.ID) ([][]project.Team, []error) {
	w.reads++
	return w.Store.ListTeams(ctx, ids)
}

func (w *watched) TeamsByID(ctx context.Context, ids []project.TeamID) ([]project.Team, []error) {
	w.reads++
	return w.Store.TeamsByID(ctx, ids)
}

func (w *watched) ListMembers(ctx context.Context, id project.ID, team string, win page.Window) (page.Slice[project.Member], error) {
	w.reads++
	return w.Store.ListMembers(ctx, id, team, win)
}

func (w *watched) ItemsByID(ctx context.Context, user project.UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error) {
	w.reads++
	if user != "" {
		for _, id := range ids {
			w.asked = append(w.asked, []project.ID{id.Project})
		}
	}
	return w.Store.ItemsByID(ctx, user, ids)
}

func (w *watched) ListItems(ctx context.Context, id project.ID, status project.Status, win page.Window) (page.Slice[project.Item], error) {
	w.reads++
	return w.Store.ListItems(ctx, id, status, win)
}

func (w *watched) FindItems(ctx context.Context, id project.ID, begin string, status project.Status, win page.Window) (page.Slice[project.Item], error) {
	w.reads++
	return w.Store.FindItems(ctx, id, begin, status, win)
}

func (w *watched) ListItemsOf(ctx context.Context, requests []project.LabelItemsRequest) ([]page.Slice[project.Item], []error) {
	w.reads++
	return w.Store.ListItemsOf(ctx, requests)
}

func (w *watched) EffortsByID(ctx context.Context, ids []project.EffortID) ([]project.Effort, []error) {
	w.reads++
	return w.Store.EffortsByID(ctx, ids)
}

func (w *watched) ListEffortsOfItems(ctx context.Context, requests []project.ItemEffortsRequest) ([]page.Slice[project.Effort], []error) {
	w.reads++
	return w.Store.ListEffortsOfItems(ctx, requests)
}

func (w *watched) ListEffortsOfMembers(ctx context.Context, requests []project.MemberEffortsRequest) ([]page.Slice[project.Effort], []error) {
	w.reads++
	return w.Store.ListEffortsOfMembers(ctx, requests)
}

func (w *watched) ImportsByID(ctx context.Context, ids []project.TransferID) ([]project.Import, []error) {
	w.reads++
	return w.Store.ImportsByID(ctx, ids)
}

func (w *watched) ExportsByID(ctx context.Context, ids []project.TransferID) ([]project.Export, []error) {
	w.reads++
	return w.Store.ExportsByID(ctx, ids)
}

func (w *watched) ListImports(ctx context.Context, id project.ID, win page.Window) (page.Slice[project.Import], error) {
	w.reads++
	return w.Store.ListImports(ctx, id, win)
}

func (w *watched) ListExports(ctx context.Context, id project.ID, win page.Window) (page.Slice[project.Export], error) {
	w.reads++
	return w.Store.ListExports(ctx, id, win)
}

// people knows one address.
type people struct{ asked int }

func (p *people) Lookup(_ context.Context, email string) (project.UserID, error) {
	p.asked++
	if email == "new@example.com" {
		return "new", nil
	}
	return "", project.NotFound("user")
}

// sizes are the uploaded files.
type sizes map[string]int64

func (s sizes) Size(_ context.Context, key string) (int64, error) {
	if n, ok := s[key]; ok {
		return n, nil
	}
	return 0, project.NotFound("file")
}

var (
	morning = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	early   = morning.Add(-time.Hour)
	every   = page.Window{Limit: page.Max}

	bird = project.ItemIDOf("p", "bird") // the item of "p"
	cat  = project.ItemIDOf("q", "cat")  // the item of "q"
)

// world is a project "p" with a member of each role, an item with the effort "e", a category and a subcategory, an import that awaits its
// file and an export that has ended; and one "q" of somebody else with an item and the effort "f".
type world struct {
	*project.Service
	store   *watched
	t       *testing.T
	options project.Options
	people  *people
	files   sizes
	users   user.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, inj := dynamotest.OpenDB(t, func() time.Time { return morning })
	stores := dynamotest.ProjectStores(db)
	w := &world{store: &watched{Store: stores.Projects}, t: t, people: &people{}, files: sizes{}, users: stores.Users}
	w.signUp("tag", "rev", "man", "other", "new", "old")
	w.create(project.Project{ID: "p", Name: "birds", Version: 3}, "man", "managers", []project.Label{
		{LabelID: project.LabelID{Project: "p", Kind: project.Category, ID: "owl"}, Name: "Owl"},
		{LabelID: project.LabelID{Project: "p", Kind: project.Subcategory, ID: "night"}, Name: "Night"},
	})
	w.create(project.Project{ID: "q", Name: "cats", Version: 1}, "other", "others", []project.Label{
		{LabelID: project.LabelID{Project: "q", Kind: project.Category, ID: "cat"}, Name: "Cat"},
	})
	w.join("tag", project.Team{TeamID: project.TeamID{Project: "p", ID: "taggers"}, Name: "Taggers", Type: project.Taggie, CreatedAt: early})
	w.join("rev", project.Team{TeamID: project.TeamID{Project: "p", ID: "reviewers"}, Name: "Reviewers", Type: project.Reviewer, CreatedAt: early})
	w.finish(stores, bird, "bird", "e", "tag", "taggers", "owl")
	w.finish(stores, cat, "cat", "f", "other", "others", "cat")
	require.NoError(t, w.store.Store.PutImport(t.Context(), "", nil, project.Import{
		TransferID: project.TransferID{Project: "p", ID: "m"}, Source: project.FromFile, Format: project.CSV, Bytes: 10, State: project.Awaiting, CreatedBy: "man", CreatedAt: early, Version: 1,
	}, nil, idempotency.Key{}))
	x := project.Export{TransferID: project.TransferID{Project: "p", ID: "x"}, Format: project.CSV, State: project.Queued, CreatedBy: "man", CreatedAt: early, Version: 1}
	require.NoError(t, w.store.Store.PutExport(t.Context(), nil, x, nil, idempotency.Key{}))
	done := x
	done.State, done.Version, done.EndedAt = project.Done, 2, early
	require.NoError(t, w.store.Store.PutExport(t.Context(), &x, done, nil, idempotency.Key{}))
	ids := 0
	w.options = project.Options{
		Store: w.store, People: w.people, Uploads: w.files, Now: func() time.Time { return morning }, NewID: func() string { ids++; return fmt.Sprint("id", ids) },
	}
	w.Service = project.NewService(w.options)
	t.Cleanup(func() { require.Empty(t, inj.Recorder().Violations()) })
	return w
}

// signUp stores users.
func (w *world) signUp(ids ...user.ID) {
	w.t.Helper()
	for _, id := range ids {
		u := user.User{ID: id, Name: string(id), Email: string(id) + "@example.com", Version: 1, CreatedAt: early, UpdatedAt: early}
		require.NoError(w.t, w.users.CreateUser(w.t.Context(), u, "i", string(id), idempotency.Key{}))
	}
}

// create stores a project with its first manager.
func (w *world) create(p project.Project, manager project.UserID, team string, labels []project.Label) {
	w.t.Helper()
	p.CreatedAt, p.UpdatedAt = early, early
	managers := project.Team{TeamID: project.TeamID{Project: p.ID, ID: team}, Name: team, Type: project.Manager, CreatedAt: early}
	p.Member = project.Member{Project: p.ID, User: manager, Team: team, Type: project.Manager, AddedAt: early}
	require.NoError(w.t, w.store.Store.CreateProject(w.t.Context(), p, labels, managers, p.Member, idempotency.Key{}))
}

// join stores a team with somebody in it.
func (w *world) join(who project.UserID, t project.Team) {
	w.t.Helper()
	require.NoError(w.t, w.store.Store.PutTeam(w.t.Context(), "", t, true, idempotency.Key{}))
	w.put(who, t.TeamID, t.Type)
}

// put stores a member who was added early.
func (w *world) put(who project.UserID, team project.TeamID, typ project.TeamType) {
	w.t.Helper()
	require.NoError(w.t, w.store.Store.PutMember(w.t.Context(), "", project.Member{Project: team.Project, User: who, Team: team.ID, Type: typ, AddedAt: early}, idempotency.Key{}))
}

// finish stores an item that somebody has finished.
func (w *world) finish(stores projecttest.Stores, id project.ItemID, external, effort string, by project.UserID, team, category string) {
	w.t.Helper()
	item := project.Item{
		ItemID: id, ExternalID: external, Name: external, Status: project.New, Seq: fmt.Sprintf("%013d%07d", early.UnixMilli(), 1), Version: 1,
		CreatedAt: early, UpdatedAt: early, Import: "before", Line: 1,
	}
	_, _, err := w.store.Store.ImportItems(w.t.Context(), []project.Item{item})
	require.NoError(w.t, err)
	from := projecttest.World{Stores: stores, Clock: storetest.NewClock(), Team: project.Team{TeamID: project.TeamID{Project: id.Project, ID: team}}, T: w.t}
	m := from.Finishing(item, by, category, "")
	m.Effort.ID, m.After.LastEffort, m.Transition.Effort = effort, effort, effort
	require.NoError(w.t, stores.Mover.MoveItem(w.t.Context(), m, idempotency.Key{}))
}

// having returns the service with other options.
func (w *world) having(change func(o *project.Options)) *project.Service {
	o := w.options
	change(&o)
	return project.NewService(o)
}

func as(t *testing.T, user project.UserID) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{UserID: user})
}

// shown returns the project "p" as the member sees it.
func (w *world) shown(user project.UserID) project.Project {
	w.t.Helper()
	return one[project.Project](w.t)(domain.First(w.ListByID(as(w.t, user), []project.ID{"p"})))
}

// shownOrDeleted returns the project "p" as its manager has it, or had it when it was deleted.
func (w *world) shownOrDeleted() project.Project {
	w.t.Helper()
	p, err := domain.First(w.store.Store.DeletedByID(w.t.Context(), "man", []project.ID{"p"}))
	if err != nil {
		p, err = domain.First(w.store.Store.ProjectsByID(w.t.Context(), "man", []project.ID{"p"}))
	}
	require.NoError(w.t, err)
	return p
}

// item is an item as it is stored.
func (w *world) item(id project.ItemID) project.Item {
	w.t.Helper()
	items, _, errs := w.store.Store.ItemsByID(w.t.Context(), "", []project.ItemID{id})
	return one[project.Item](w.t)(domain.First(items, errs))
}

// effort is an effort as it is stored.
func (w *world) effort(id project.EffortID) project.Effort {
	w.t.Helper()
	return one[project.Effort](w.t)(domain.First(w.store.Store.EffortsByID(w.t.Context(), []project.EffortID{id})))
}

// team is a team as it is stored.
func (w *world) team(id project.TeamID) project.Team {
	w.t.Helper()
	return one[project.Team](w.t)(domain.First(w.store.Store.TeamsByID(w.t.Context(), []project.TeamID{id})))
}

// label is a label as it is stored.
func (w *world) label(id project.LabelID) project.Label {
	w.t.Helper()
	return one[project.Label](w.t)(domain.First(w.store.Store.LabelsByID(w.t.Context(), []project.LabelID{id})))
}

// moves changes an import as somebody else does.
func (w *world) moves(id project.TransferID, change func(*project.Import)) {
	w.t.Helper()
	before := one[project.Import](w.t)(domain.First(w.store.Store.ImportsByID(w.t.Context(), []project.TransferID{id})))
	after := before
	after.Version++
	change(&after)
	require.NoError(w.t, w.store.Store.PutImport(w.t.Context(), "", &before, after, nil, idempotency.Key{}))
}

// one takes the value that is there.
func one[V any](t *testing.T) func(V, error) V {
	return func(v V, err error) V { require.NoError(t, err); return v }
}

func kindOf(err error) string {
	if err == nil {
		return "fine"
	}
	return fault.KindOf(err).String()
}

func refused(t require.TestingT, err error, field string) {
	e, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, "got %v", err)
	require.Equal(t, fault.Invalid, e.Kind)
	require.Equal(t, field, e.Field)
}

func ptr[T any](v T) *T { return &v }
