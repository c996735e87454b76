package projecttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// OpenOriginals returns empty stores of items and of projects, on the same rows, that take their time from now.
type OpenOriginals func(t *testing.T, now func() time.Time) (scoretest.ItemStores, Stores)

// World opens stores, and returns a world over them.
func (open OpenOriginals) World(t *testing.T, clock *storetest.Clock) *OriginalWorld {
	items, projects := open(t, clock.Now)
	return NewOriginalWorld(t, items, projects, clock)
}

// OriginalWorld is a set of stores in which Ada has both a library and a project.
type OriginalWorld struct {
	*World
	Library *scoretest.ItemWorld
	Service *project.Service

	t testing.TB
}

// NewOriginalWorld returns a world over empty stores that show the time of the clock.
func NewOriginalWorld(t testing.TB, i scoretest.ItemStores, p Stores, clock *storetest.Clock) *OriginalWorld {
	w := &OriginalWorld{World: NewWorld(t, p, clock), Library: scoretest.NewItemWorld(t, i, clock), t: t}
	w.Library.Ada = w.Ada
	w.Service = w.serving(p.Projects, nil)
	return w
}

// serving returns the rules of projects over a store, and over where files are uploaded.
func (w *OriginalWorld) serving(store project.Store, uploads project.Uploads) *project.Service {
	return project.NewService(project.Options{Store: store, Uploads: uploads, Originals: w.Library.Rules, Now: w.Clock.Now, NewID: uuid.NewString})
}

// OriginalsSuite is the contract of stores of items and of projects towards one another: items of users are imported into projects.
func OriginalsSuite(t *testing.T, open OpenOriginals) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *OriginalWorld){
		"items are imported and used":           importedOriginals,
		"an item goes before it is imported":    goneOriginals,
		"an item goes while it is imported":     goneMeanwhile,
		"an item is used before it is imported": usedOriginals,
		"projects of items are for members":     projectsOfItems,
	})
	OriginalsTogether(t, open)
}

// OriginalsTogether tests what [OriginalsSuite] does at the same time, which is to keep many items. See [Together].
func OriginalsTogether(t *testing.T, open OpenOriginals) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *OriginalWorld){
		"a library is imported": importedLibrary,
	})
}

// Keep puts n items as completed uploads do, without bytes.
func (w *OriginalWorld) Keep(of score.ID, n int) []score.Item {
	w.t.Helper()
	items := make([]score.Item, n)
	storetest.Together(n, func(n int) {
		ref := score.ItemRef{Owner: w.Ada, Score: of, ID: score.ItemID(uuid.NewString())}
		u := score.Upload{ItemRef: ref, Name: "n", Type: "image/png", Size: 10, State: score.UploadOpen, CreatedAt: w.Clock.Now(), ExpiresAt: w.Clock.Now().Add(time.Hour)}
		items[n] = score.Item{ItemRef: ref, Name: fmt.Sprint("page ", n), Type: u.Type, Size: 10, Total: 10, Object: "o", CreatedAt: u.CreatedAt}
		assert.NoError(w.t, w.Library.Items.OpenUpload(w.t.Context(), u, 1<<40, nil, idempotency.Key{}))
		assert.NoError(w.t, w.Library.Items.CompleteUpload(w.t.Context(), u, items[n], 1<<40, idempotency.Key{}))
	})
	return items
}

// Importer returns what runs imports.
func (w *OriginalWorld) Importer() project.Importer {
	return project.Importer{Store: w.Projects, Files: w.Library.Files, Now: w.Clock.Now, Originals: w.Library.Rules}
}

// Take imports items of Ada.
func (w *OriginalWorld) Take(in project.ImportItems) project.Import {
	w.t.Helper()
	w.Clock.Advance(time.Second)
	in.Project = w.Project.ID
	i, err := w.Service.ImportItems(w.Library.As(w.Ada), in)
	require.NoError(w.t, err)
	return w.Run(i)
}

// Run runs an import to its end.
func (w *OriginalWorld) Run(i project.Import) project.Import {
	w.t.Helper()
	_, err := w.Importer().Run(storetest.Patient(w.t), task.Task{Kind: project.RunImport, ID: i.ID, Scope: string(i.Project)})
	require.NoError(w.t, err)
	return w.Imported(i)
}

// Imported returns an import as it is.
func (w *OriginalWorld) Imported(i project.Import) project.Import {
	w.t.Helper()
	found, errs := w.Projects.ImportsByID(w.t.Context(), []project.TransferID{i.TransferID})
	require.Nil(w.t, errs)
	return found[0]
}

func named(items ...score.Item) project.ImportItems {
	var in project.ImportItems
	for _, i := range items {
		in.Items = append(in.Items, i.Original())
	}
	return in
}

// Refs returns how often each item is used; -1 for one that does not exist.
func (w *OriginalWorld) Refs(items []score.Item) []int {
	w.t.Helper()
	refs := make([]score.ItemRef, len(items))
	for n, i := range items {
		refs[n] = i.ItemRef
	}
	found, errs := w.Library.Items.ItemsByID(w.t.Context(), refs)
	counts := make([]int, len(items))
	for n := range items {
		if counts[n] = found[n].Refs; errs != nil && errs[n] != nil {
			storetest.IsFault(w.t, errs[n], fault.NotFound)
			counts[n] = -1
		}
	}
	return counts
}

func (w *OriginalWorld) uses(i score.Item) []score.Use {
	w.t.Helper()
	uses, errs := w.Library.Items.ListUsesOf(w.t.Context(), []score.UsesRequest{i.Uses(page.Window{Limit: page.Max})})
	require.NoError(w.t, errs[0])
	return uses[0].Items
}

func importedOriginals(t *testing.T, w *OriginalWorld) {
	items := w.Keep(score.Library, 3)
	i := w.Take(named(items...))
	assert.Equal(t, []any{project.Done, 3, 0, project.FromItems}, []any{i.State, i.Imported, i.Mistakes, i.Source})
	assert.Nil(t, i.Items, "they are listed")
	assert.Len(t, w.Items(project.New), 3)
	assert.Equal(t, []int{1, 1, 1}, w.Refs(items))
	assert.Equal(t, []score.Use{{Item: items[1].ItemRef, Kind: score.UsedByProject, By: string(w.Project.ID)}}, w.uses(items[1]))
	var used *score.ItemInUse
	require.ErrorAs(t, w.Library.Rules.Delete(w.Library.As(w.Ada), score.DeleteItem{Item: items[0].ItemRef}), &used)

	again := w.Take(named(items...))
	assert.Equal(t, []int{0, 3}, []int{again.Imported, again.Duplicates})
	twice := w.Take(named(items[0], items[0]))
	assert.Equal(t, []int{0, 2}, []int{twice.Imported, twice.Duplicates})
	assert.Equal(t, []int{1, 1, 1}, w.Refs(items))

	member, stranger := viewer.UserID(uuid.NewString()), viewer.UserID(uuid.NewString())
	for who, p := range map[viewer.UserID]project.Project{
		w.Ada: w.Project, stranger: {}, member: {ID: w.Project.ID, Member: project.Member{Project: w.Project.ID, User: member, Type: project.Taggie}},
	} {
		shown := p.Item(w.Get(project.ItemIDOf(w.Project.ID, items[2].Original().ExternalID())))
		assert.Equal(t, []string{items[2].Name, "image/png"}, []string{shown.Name, shown.Type})
		request, there := score.OfProject(shown)
		assert.Equal(t, who != stranger, there)
		found, errs := w.Library.Rules.ItemsByID(w.Library.As(who), []score.ItemRequest{request})
		if who == stranger {
			storetest.IsFault(t, errs[0], fault.NotFound)
			continue
		}
		require.NoError(t, errs[0])
		_, err := w.Library.Rules.Download(w.Library.As(who), found[0])
		require.NoError(t, err)
	}
	done, _ := w.Finish(w.Items(project.New)[0], w.Ada, w.Label("owl").ID, "")
	assert.NotZero(t, done.Original)
	assert.Equal(t, done, w.Get(done.ItemID), "what happens to it changes nothing about what it is")
}

func importedLibrary(t *testing.T, w *OriginalWorld) {
	items := w.Keep(score.Library, 60)
	s := w.Library.Score(score.Private)
	pages := w.Keep(s.ID, 3)
	i := w.Take(project.ImportItems{Library: true})
	assert.Equal(t, []any{project.Done, 60, 60}, []any{i.State, i.Imported, i.Lines})
	assert.Equal(t, []int{0, 0, 0}, w.Refs(pages))
	i = w.Take(project.ImportItems{Score: &project.OriginalID{Owner: w.Ada, Score: string(s.ID)}})
	assert.Equal(t, []any{project.Done, 3}, []any{i.State, i.Imported})
	for _, n := range w.Refs(append(items, pages...)) {
		assert.Equal(t, 1, n)
	}
	kept, _ := w.Library.Kept()
	assert.Empty(t, kept, "lists are removed")
	_, err := w.Service.ImportItems(w.Library.As(w.Ada), project.ImportItems{Project: w.Project.ID, Score: &project.OriginalID{Owner: w.Ada, Score: uuid.NewString()}})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Service.ImportItems(w.Library.As(w.Ada), project.ImportItems{Project: w.Project.ID, Score: &project.OriginalID{Owner: viewer.UserID(uuid.NewString()), Score: string(s.ID)}})
	storetest.IsFault(t, err, fault.NotFound)
	var unknown *project.UnknownOriginal
	_, err = w.Service.ImportItems(w.Library.As(w.Ada), project.ImportItems{Project: w.Project.ID, Items: []project.OriginalID{{Owner: w.Ada, Score: string(score.Library), ID: uuid.NewString()}}})
	require.ErrorAs(t, err, &unknown)
}

func (w *OriginalWorld) remove(i score.Item) error {
	return w.Library.Rules.Delete(w.Library.As(w.Ada), score.DeleteItem{Item: i.ItemRef})
}

func goneOriginals(t *testing.T, w *OriginalWorld) {
	items := w.Keep(score.Library, 30)
	in := named(items...)
	in.Project = w.Project.ID
	i, err := w.Service.ImportItems(w.Library.As(w.Ada), in)
	require.NoError(t, err)
	assert.Equal(t, i, w.Imported(i))
	require.NoError(t, w.remove(items[4]))
	i = w.Run(i)
	assert.Equal(t, []any{project.Done, 29, 1}, []any{i.State, i.Imported, i.Mistakes})
	assert.Equal(t, 5, i.Faults[0].Line)
}

func goneMeanwhile(t *testing.T, w *OriginalWorld) {
	items := w.Keep(score.Library, 30)
	i, err := w.Service.ImportItems(w.Library.As(w.Ada), project.ImportItems{Project: w.Project.ID, Library: true})
	require.NoError(t, err)
	im := w.Importer()
	im.Originals = deleting{im.Originals, func() { require.NoError(t, w.remove(items[4])) }}
	_, err = im.Run(storetest.Patient(t), task.Task{Kind: project.RunImport, ID: i.ID, Scope: string(i.Project)})
	require.NoError(t, err)
	i = w.Imported(i)
	assert.Equal(t, []any{project.Done, 29, 1}, []any{i.State, i.Imported, i.Mistakes})
	require.Len(t, i.Faults, 1)
	assert.Equal(t, "the item does not exist any more", i.Faults[0].Message)
	for n, refs := range w.Refs(items) {
		assert.Equal(t, map[bool]int{true: -1, false: 1}[n == 4], refs)
	}
}

// deleting are originals of which something happens to one when they are listed.
type deleting struct {
	project.Originals
	then func()
}

func usedOriginals(t *testing.T, w *OriginalWorld) {
	items := w.Keep(score.Library, 2)
	s := w.Library.Score(score.Private, items[0].ItemRef, items[1].ItemRef)
	w.Take(named(items...))
	p := w.Project
	w.Project, _ = w.Create(w.Ada, nil, nil)
	w.Take(named(items[0]))
	assert.Equal(t, []int{3, 2}, w.Refs(items))
	assert.Len(t, w.uses(items[0]), 3)
	require.NoError(t, w.Library.ScoreRules().Delete(w.Library.As(w.Ada), score.Delete{Score: s.Ref}))
	assert.Equal(t, []int{2, 1}, w.Refs(items))
	assert.Equal(t, []score.Use{{Item: items[1].ItemRef, Kind: score.UsedByProject, By: string(p.ID)}}, w.uses(items[1]))
	var used *score.ItemInUse
	require.ErrorAs(t, w.remove(items[1]), &used)
}

func projectsOfItems(t *testing.T, w *OriginalWorld) {
	items := w.Keep(score.Library, 2)
	for range 3 { // in the way
		w.Library.Score(score.Private, items[0].ItemRef)
	}
	grace := w.SignUp("grace")
	var want []string
	for n := range 7 {
		if n > 0 {
			w.Project, w.Team = w.Create(w.Ada, nil, nil)
		}
		w.Take(named(items[0]))
		if n%2 == 1 {
			require.NoError(t, w.Projects.PutMember(t.Context(), "", project.Member{Project: w.Project.ID, User: grace, Team: w.Team.ID, Type: project.Manager, AddedAt: w.Clock.Now()}, idempotency.Key{}))
			want = append(want, string(w.Project.ID))
		}
	}
	list := func(who viewer.UserID) []string {
		return storetest.Pages(t, 2, func(win page.Window) (page.Slice[project.Project], error) {
			lists, errs := w.Library.Items.ListProjectsOf(t.Context(), who, []score.ProjectsRequest{items[1].Projects(win), items[0].Projects(win)})
			require.NoError(t, errs[0])
			assert.Empty(t, lists[0].Items)
			for _, p := range lists[1].Items {
				assert.Equal(t, []any{who, p.ID}, []any{p.Member.User, p.Member.Project})
			}
			return lists[1], errs[1]
		})
	}
	assert.Len(t, list(w.Ada), 7)
	assert.ElementsMatch(t, want, list(grace))
	assert.Empty(t, list(w.SignUp("bob")))
	_, errs := w.Library.Rules.ListProjects(w.Library.As(grace), []score.ProjectsRequest{items[0].Projects(page.Window{Limit: 2})})
	storetest.IsFault(t, errs[0], fault.NotFound)
}
