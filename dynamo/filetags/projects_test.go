package filetags_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// projectWorld is a project with Bob as a member, files of Ada, and the rules of tags.
type projectWorld struct {
	*projecttest.World
	t        testing.TB
	db       *dynamo.DB
	inj      *faultinject.Injector
	rules    *filetag.Service
	shows    *project.Service
	files    *score.Items
	bob, eve viewer.UserID
}

func openProjectWorld(t testing.TB, wrap func(filetag.Store) filetag.Store) *projectWorld {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := &projectWorld{World: projecttest.NewWorld(t, dynamotest.ProjectStores(db), clock), t: t, db: db, inj: inj}
	w.bob, w.eve = w.SignUp("bob"), w.SignUp("eve")
	member := project.Member{Project: w.Project.ID, User: w.bob, Team: w.Team.ID, Type: w.Team.Type, AddedAt: clock.Now()}
	require.NoError(t, w.Projects.PutMember(t.Context(), "", member, idempotency.Key{}))
	music, kept := scores.Store{DB: db}, scores.Items{DB: db}
	w.shows = project.NewService(project.Options{Store: w.Projects, Now: clock.Now, NewID: uuid.NewString})
	w.files = score.NewItems(score.ItemsOptions{Store: kept, Scores: music, Observer: nobody{}, Quota: 1 << 40, Now: clock.Now, NewID: uuid.NewString})
	var tags filetag.Store = filetags.Store{DB: db}
	if wrap != nil {
		tags = wrap(tags)
	}
	w.rules = filetag.NewService(filetag.Options{
		Store: tags, Items: w.files, Scores: score.NewService(score.Options{Store: music, Now: clock.Now, NewID: uuid.NewString}),
		Kept: filetag.Kept{Items: kept, Scores: music}, Projects: w.shows, Now: clock.Now, NewID: uuid.NewString,
	})
	return w
}

// nobody hears that files are withdrawn.
type nobody struct{}

func (nobody) FileWithdrawn(context.Context, project.ItemID, score.UserID) error { return nil }

func (w *projectWorld) as(id viewer.UserID) context.Context {
	return viewer.With(storetest.Patient(w.t), viewer.Viewer{Identity: viewer.Identity{Issuer: "issuer", Subject: string(id)}, UserID: id})
}

// file makes a file of Ada's library.
func (w *projectWorld) file() score.ItemRef {
	w.t.Helper()
	ref := score.ItemRef{Owner: w.Ada, Score: score.Library, ID: score.ItemID(uuid.NewString())}
	row := scores.ScoreItemRow(score.Item{ItemRef: ref, Name: "n", CreatedAt: w.Clock.Now()})
	require.NoError(w.t, w.db.Transact(w.t.Context(), []dynamo.Action{{Table: dynamo.ScoresTable, Item: row}}, idempotency.Key{}))
	return ref
}

// draft returns items of the project that are made of files.
func (w *projectWorld) draft(files ...score.ItemRef) []project.Item {
	w.t.Helper()
	items := w.Draw(w.Import(), 1, len(files))
	for n, file := range files {
		items[n].Original, items[n].ExternalID = file.Original(), file.Original().ExternalID()
		items[n].ItemID = project.ItemIDOf(w.Project.ID, items[n].ExternalID)
	}
	return items
}

// imports makes items of the project of files.
func (w *projectWorld) imports(files ...score.ItemRef) []project.Item {
	w.t.Helper()
	items := w.draft(files...)
	created, _, err := w.Projects.ImportItems(w.t.Context(), items)
	require.NoError(w.t, err)
	require.Equal(w.t, len(files), created)
	return items
}

// put makes these the tags of the author on the file.
func (w *projectWorld) put(author viewer.UserID, file score.ItemRef, values ...string) error {
	_, err := w.rules.PutTags(w.as(author), filetag.PutTags{Item: file, Tags: typed(values...)})
	return err
}

func typed(values ...string) []filetag.NewTag {
	tags := make([]filetag.NewTag, len(values))
	for i, v := range values {
		tags[i] = filetag.NewTag{Value: strings.TrimPrefix(v, "!"), Public: !strings.HasPrefix(v, "!")}
	}
	return tags
}

// found are the tags that the user finds in the project.
func (w *projectWorld) found(user viewer.UserID, begin string) []string {
	w.t.Helper()
	p, errs := w.shows.ListByID(w.as(user), []project.ID{w.Project.ID})
	if errs != nil {
		p[0] = project.Project{ID: w.Project.ID} // who is no member is not shown the project
	}
	found, err := w.rules.SearchProject(w.as(user), p[0], begin, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	values := []string{}
	for _, t := range found.Items {
		assert.True(w.t, t.Item.Allowed(w.as(user)))
		values = append(values, t.Value)
	}
	return values
}

// works carries out the tasks that there are.
func (w *projectWorld) works() {
	w.t.Helper()
	w.Clock.Advance(time.Hour)
	due, err := w.Tasks.ListDueTasks(w.t.Context(), w.Clock.Now(), 1000)
	require.NoError(w.t, err)
	for _, t := range due {
		t, _, err := w.Tasks.ClaimTask(w.t.Context(), t, uuid.NewString(), w.Clock.Now().Add(task.Lease))
		require.NoError(w.t, err)
		switch t.Kind {
		case score.FollowUses:
			_, err = w.rules.FollowUses(w.as(""), t)
		case score.EndUses:
			_, err = w.files.EndUses(w.as(""), t)
		case score.FollowItem:
			err = w.rules.FollowItems(w.as(""), []score.ItemRef{score.Followed(t)}, "")
		}
		require.NoError(w.t, err)
		require.NoError(w.t, w.Tasks.FinishTask(w.t.Context(), t, time.Time{}))
	}
}

// placed are the rows by which files are found in projects.
func (w *projectWorld) placed() []string {
	w.t.Helper()
	var all []string
	for key, row := range dynamotest.RowsOf(w.t, w.db, dynamo.TagsTable) {
		if strings.HasPrefix(key.PK, keys.ProjectFilePrefix) {
			all = append(all, dynamo.Text(row["value"]))
		}
	}
	slices.Sort(all)
	return all
}

// status changes whether an item is removed, as its removal does.
func (w *projectWorld) status(i project.Item, status project.Status) project.Item {
	w.t.Helper()
	i = w.Get(i.ItemID)
	i.Status, i.Removal = status, "r"
	row, err := projects.ItemRow(i)
	require.NoError(w.t, err)
	require.NoError(w.t, w.db.Transact(w.t.Context(), []dynamo.Action{{Table: dynamo.EntitiesMaster, Item: row}}, idempotency.Key{}))
	return i
}

func TestTagsAreFoundInAProjectByItsMembers(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	file, other := w.file(), w.file()
	require.NoError(t, w.put(w.Ada, file, "Owl", "!owned"))
	require.NoError(t, w.put(w.Ada, other, "owls"))
	storetest.IsFault(t, w.put(w.bob, file, "owlet"), fault.NotFound)
	item := w.imports(file)[0]
	w.works()
	assert.Equal(t, []string{"Owl"}, w.found(w.bob, "o"))

	require.NoError(t, w.put(w.bob, file, "owlet", "!ow"), "a member may tag the file")
	assert.Equal(t, []string{"Owl", "owlet"}, w.found(w.Ada, "ow"), "at once")
	assert.Empty(t, w.found(w.eve, "ow"))
	storetest.IsFault(t, w.put(w.eve, file, "owl"), fault.NotFound)
	storetest.IsFault(t, w.put(w.bob, other, "owl"), fault.NotFound)
	require.NoError(t, w.put(w.Ada, file, "eagle", "!owl"), "it is private now")
	assert.Equal(t, []string{"owlet"}, w.found(w.bob, "o"))

	w.status(item, project.Removed)
	assert.Empty(t, w.found(w.bob, "e"), "what is removed is not shown")
	storetest.IsFault(t, w.put(w.bob, file, "another"), fault.NotFound)
	w.status(item, project.New)
	assert.Equal(t, []string{"eagle"}, w.found(w.bob, "e"), "an undo brings it back")

	require.NoError(t, w.Projects.(projects.Store).PurgeItem(t.Context(), w.status(item, project.Purged), nil))
	w.works()
	assert.Empty(t, w.placed())
	require.NoError(t, w.put(w.bob, file, "owlet"), "his tags stay his: he takes some off")
	storetest.IsFault(t, w.put(w.bob, file, "owlet", "more"), fault.NotFound)
	w.imports(file)
	w.works()
	assert.Equal(t, []string{"owlet"}, w.found(w.bob, "o"), "and they are back with the file")
	assert.Empty(t, w.inj.Recorder().Violations())
}

func TestWhatIsWithdrawnOrErasedLeavesNoTagsInAProject(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	one, two := w.file(), w.file()
	w.imports(one, two)
	require.NoError(t, w.put(w.bob, one, "first"))
	require.NoError(t, w.put(w.Ada, two, "second"))
	assert.Equal(t, []string{"first", "second"}, w.placed())
	_, err := w.files.Withdraw(w.as(w.Ada), score.WithdrawItem{Item: one})
	require.NoError(t, err)
	assert.Empty(t, w.found(w.bob, "f"), "at once")
	storetest.IsFault(t, w.put(w.bob, one, "first", "more"), fault.NotFound)
	w.works()
	assert.Equal(t, []string{"second"}, w.placed())
	_, err = w.Projects.(projects.Store).EraseItems(t.Context(), w.Project.ID)
	require.NoError(t, err)
	assert.Empty(t, w.placed())
	require.NoError(t, w.put(w.Ada, two, "second", "third"))
	w.works()
	assert.Empty(t, w.placed(), "no project uses it")
}

// A server is killed at each of its calls while a file is imported and while its tags are changed. The tasks make it right.
func TestTagsInProjectsKilledAtEachCall(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	for _, name := range []string{"imported", "tagged"} {
		for n := 0; ; n++ {
			require.Less(t, n, 50)
			file, old, fresh := w.file(), fmt.Sprint("old", n, name), fmt.Sprint("new", n, name)
			require.NoError(t, w.put(w.Ada, file, old))
			do := func() error { return w.put(w.Ada, file, fresh) }
			if name == "tagged" {
				w.imports(file)
				w.works()
			} else {
				items := w.draft(file)
				do = func() error { _, _, err := w.Projects.ImportItems(t.Context(), items); return err }
			}
			dead := w.inj.KillAfter(n)
			err := do()
			dead.Stop()
			w.works()
			sets, errs := filetags.Store{DB: w.db}.FindSets(t.Context(), []filetag.Key{{Item: file, Author: w.Ada}})
			require.Nil(t, errs)
			want := []string{}
			if i, errs := (scores.Items{DB: w.db}).ItemsByID(t.Context(), []score.ItemRef{file}); assert.Nil(t, errs) && i[0].Refs > 0 {
				want = sets[0].Found()
			}
			assert.ElementsMatch(t, want, slices.Concat(w.found(w.bob, old), w.found(w.bob, fresh)), "%s, killed after %d calls", name, n)
			if err == nil {
				break
			}
		}
	}
}

// A file is imported between what the change of a tag has read and what it writes.
func TestAFileIsImportedWhileItIsTagged(t *testing.T) {
	t.Parallel()
	meanwhile := &between{}
	w := openProjectWorld(t, func(s filetag.Store) filetag.Store { meanwhile.Store = s; return meanwhile })
	for _, tags := range [][]string{nil, {"before"}} { // the first tag of all, and another one
		file := w.file()
		if tags != nil {
			require.NoError(t, w.put(w.Ada, file, tags...))
		}
		meanwhile.before = func() {
			w.imports(file)
			w.works()
		}
		value := fmt.Sprint("owl", len(tags))
		require.NoError(t, w.put(w.Ada, file, value))
		assert.Equal(t, []string{value}, w.found(w.bob, value))
	}
}

// Files are tagged by two while they are imported and their tags are followed, in any order.
func TestFilesAreTaggedAndImportedAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	const n = 8
	for round := range n {
		file, value := w.file(), fmt.Sprint("v", round)
		storetest.Together(3, func(i int) {
			switch i {
			case 0:
				w.imports(file)
				assert.NoError(t, w.follow(file))
			case 1:
				assert.NoError(t, w.put(w.Ada, file, value+"-1"))
				assert.NoError(t, w.put(w.Ada, file, value+"-2"))
			default:
				assert.NoError(t, w.follow(file))
			}
		})
		w.works()
		assert.Equal(t, []string{value + "-2"}, w.found(w.bob, value+"-"))
	}
	assert.Len(t, w.placed(), n)
}

// Files that an earlier version imported are found once they are followed.
func TestFilesFromBeforeAreFound(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	files := []score.ItemRef{w.file(), w.file()}
	w.imports(files...)
	for _, file := range files {
		require.NoError(t, w.db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.ScoresTable, Key: uses.ItemKey(file), Update: "REMOVE " + uses.ImportedAttribute}}, idempotency.Key{}))
		require.NoError(t, w.put(w.Ada, file, "owl"))
	}
	require.NoError(t, w.Projects.(projects.Store).ForgetTasks(t.Context(), string(w.Ada)+"/"+string(score.Library)+"/"+string(files[0].ID)+"/"+string(score.Library)+"/"+string(files[1].ID)+"/"+string(w.Project.ID), score.FollowUses))
	w.works()
	require.Empty(t, w.placed())
	for range 2 { // at last of files that say that they were imported, and lack rows
		done, err := w.Projects.(projects.Store).FollowFiles(t.Context(), w.rules.FollowUse)
		require.NoError(t, err)
		assert.Equal(t, projects.FilesFollowed{Files: 2, Followed: 2}, done)
		assert.Equal(t, []string{"owl", "owl"}, w.found(w.bob, "o"))
		for _, file := range files {
			require.NoError(t, filetags.Store{DB: w.db}.Unplace(t.Context(), file.ID))
		}
		require.Empty(t, w.placed())
	}
}

// What an eraser removes without looking at the file is not found in projects either.
func TestErasedTagsLeaveProjects(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	file := w.file()
	w.imports(file)
	require.NoError(t, w.put(w.Ada, file, "kept"))
	require.NoError(t, w.put(w.bob, file, "erased", "!too"))
	w.works()
	require.Equal(t, []string{"erased", "kept"}, w.placed())
	store := filetags.Store{DB: w.db}
	sets, errs := store.FindSets(t.Context(), []filetag.Key{{Item: file, Author: w.bob}})
	require.Nil(t, errs)
	_, err := store.PutSet(t.Context(), sets[0], filetag.Set{Key: sets[0].Key, Version: uuid.NewString()}, filetag.Proof{}, idempotency.Key{})
	require.NoError(t, err)
	w.works()
	assert.Equal(t, []string{"kept"}, w.placed())
}

func (w *projectWorld) follow(file score.ItemRef) error {
	_, err := w.rules.FollowUses(w.as(""), score.FollowingUses("f", w.Clock.Now(), file))
	return err
}

// What it costs: nothing more for files that no project uses.
func TestCallsOfTagsInProjects(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	files := make([]score.ItemRef, 30)
	for i := range files {
		files[i] = w.file()
		require.NoError(t, w.put(w.Ada, files[i], "typeahead"))
	}
	items := w.draft(files...)
	p, errs := w.shows.ListByID(w.as(w.bob), []project.ID{w.Project.ID})
	require.Nil(t, errs)
	for _, test := range []struct {
		what string
		do   func() error
		want map[string]int
	}{
		{"a tag on a file that no project uses", func() error { return w.put(w.Ada, files[0], "typeahead", "more") }, map[string]int{"BatchGetItem": 2, "Query": 2, "TransactWriteItems": 2}},
		{"30 files imported", func() error { _, _, err := w.Projects.ImportItems(t.Context(), items); return err }, map[string]int{"TransactWriteItems": 2}},
		{"30 files followed after their import, in no other project", func() error {
			_, err := w.rules.FollowUses(w.as(""), score.FollowingImport("f", w.Clock.Now(), w.Project.ID, files...))
			return err
		}, map[string]int{"BatchGetItem": 30, "Query": 60, "TransactWriteItems": 30}},
		{"30 files followed again", func() error {
			_, err := w.rules.FollowUses(w.as(""), score.FollowingUses("f", w.Clock.Now(), files...))
			return err
		}, map[string]int{"BatchGetItem": 30, "Query": 90}},
		{"a search", func() error {
			found, err := w.rules.SearchProject(w.as(w.bob), p[0], "type", page.Window{Limit: 10})
			assert.Len(t, found.Items, 10)
			assert.True(t, found.More)
			return err
		}, map[string]int{"Query": 1, "BatchGetItem": 3}},
		{"a tag on a file of a project", func() error { return w.put(w.Ada, files[0], "typeahead") }, map[string]int{"BatchGetItem": 5, "Query": 4, "TransactWriteItems": 5}},
		{"a member's tag", func() error { return w.put(w.bob, files[1], "his") }, map[string]int{"BatchGetItem": 10, "Query": 6, "TransactWriteItems": 4}},
	} {
		w.inj.Recorder().Reset()
		require.NoError(t, test.do(), test.what)
		assert.Equal(t, test.want, w.inj.Recorder().Operations(), test.what)
	}
}

// A file that is hidden costs a stranger as much as one that does not exist.
func TestAHiddenFileOfAProjectCostsAsMuchAsNone(t *testing.T) {
	t.Parallel()
	w := openProjectWorld(t, nil)
	hidden := w.file()
	w.imports(hidden)
	w.works()
	var cost []map[string]int
	for _, file := range []score.ItemRef{hidden, {Owner: w.Ada, Score: score.Library, ID: score.ItemID(uuid.NewString())}} {
		_ = w.put(w.eve, w.file(), "warm") // the layout is known
		w.inj.Recorder().Reset()
		storetest.IsFault(t, w.put(w.eve, file, "owl"), fault.NotFound)
		cost = append(cost, w.inj.Recorder().Operations())
	}
	assert.Equal(t, cost[0], cost[1])
}
