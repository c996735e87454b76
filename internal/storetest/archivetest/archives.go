// Package archivetest holds a store of archives to its contract.
//
// It knows archive.Store and what the rules rely on. It must not know how things are kept. Start reading at [Suite].
package archivetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

// Stores is one empty implementation of each store that archives need.
type Stores struct {
	storetest.Stores
	Archives archive.Store
	Tasks    task.Store
}

// Open returns empty stores that take their time from now.
type Open func(t *testing.T, now func() time.Time) Stores

// World opens stores, and returns a world over them.
func (open Open) World(t *testing.T, clock *storetest.Clock) *World {
	s := open(t, clock.Now)
	w := &World{World: storetest.NewWorld(t, s.Stores, clock), Archives: s.Archives, Tasks: s.Tasks}
	w.Ada, _ = w.SignUp("ada")
	return w
}

// World is a set of stores with a user.
type World struct {
	*storetest.World
	Archives archive.Store
	Tasks    task.Store
	Ada      archive.UserID
}

// Suite tests an implementation of archive.Store.
func Suite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"archives are listed":        listed,
		"one at a time":              oneAtATime,
		"so many are kept":           bounded,
		"a key counts once":          oncePerKey,
		"changes know what they saw": changed,
		"everything is kept":         kept,
		"expired ones are left out":  expired,
		"nobody has none":            nobody,
	})
}

// archive returns a new archive of the user.
func (w *World) archive(of archive.UserID) archive.Archive {
	return archive.Archive{ID: archive.ID{User: of, ID: uuid.Must(uuid.NewV7()).String()}, State: archive.Queued, CreatedAt: w.Clock.Now(), Version: 1}
}

func run(a archive.Archive) task.Task {
	return task.Task{Kind: archive.RunArchive, ID: a.ID.ID, Scope: string(a.User), Due: a.CreatedAt}
}

// create creates an archive.
func (w *World) create(of archive.UserID) archive.Archive {
	w.T.Helper()
	a := w.archive(of)
	require.NoError(w.T, w.Archives.CreateArchive(storetest.Patient(w.T), a, run(a), idempotency.Key{}))
	return a
}

// done ends an archive.
func (w *World) done(a archive.Archive) archive.Archive {
	w.T.Helper()
	after, ok := a.Finish(archive.Written{Entries: 1}, 10, w.Clock.Now())
	require.True(w.T, ok)
	require.NoError(w.T, w.Archives.ChangeArchive(storetest.Patient(w.T), a, after))
	return after
}

// get returns an archive as it is kept.
func (w *World) get(id archive.ID) (archive.Archive, error) {
	found, errs := w.Archives.ArchivesByID(storetest.Patient(w.T), []archive.ID{id})
	if errs != nil {
		return found[0], errs[0]
	}
	return found[0], nil
}

// list returns the archives of a user, read in pages of two, there and back.
func (w *World) list(of archive.UserID) []string {
	return storetest.Pages(w.T, 2, func(win page.Window) (page.Slice[archive.Archive], error) {
		return w.Archives.ListArchives(storetest.Patient(w.T), of, win)
	})
}

func listed(t *testing.T, w *World) {
	bob, _ := w.SignUp("bob")
	var want []string
	for range archive.MaxKept {
		want = append(want, w.done(w.create(w.Ada)).ID.ID)
		w.Clock.Advance(time.Minute)
	}
	his := w.create(bob)
	slices.Reverse(want)
	assert.Equal(t, want, w.list(w.Ada), "the newest first")
	assert.Equal(t, []string{his.ID.ID}, w.list(bob))

	ids := []archive.ID{{User: w.Ada, ID: want[0]}, {User: bob, ID: want[0]}, his.ID, {User: w.Ada, ID: uuid.NewString()}}
	found, errs := w.Archives.ArchivesByID(storetest.Patient(t), ids)
	require.Len(t, errs, len(ids))
	assert.Equal(t, want[0], found[0].ID.ID)
	assert.Equal(t, his, found[2])
	for i, err := range errs {
		if i%2 == 0 {
			assert.NoError(t, err)
		} else {
			storetest.IsFault(t, err, fault.NotFound)
		}
	}
}

// Each is recorded with the task that writes it, and a refused one with none.
func oneAtATime(t *testing.T, w *World) {
	bob, _ := w.SignUp("bob")
	first := w.create(w.Ada)
	refused := w.archive(w.Ada)
	storetest.IsFault(t, w.Archives.CreateArchive(storetest.Patient(t), refused, run(refused), idempotency.Key{}), fault.Exhausted)
	_, err := w.get(refused.ID)
	storetest.IsFault(t, err, fault.NotFound)
	his := w.create(bob)
	w.done(first)
	second := w.create(w.Ada)
	failed, _ := second.Fail("why", w.Clock.Now())
	require.NoError(t, w.Archives.ChangeArchive(storetest.Patient(t), second, failed))
	third := w.create(w.Ada)

	due, err := w.Tasks.ListDueTasks(storetest.Patient(t), w.Clock.Now(), 10)
	require.NoError(t, err)
	var tasks []string
	for _, d := range due {
		assert.Equal(t, archive.RunArchive, d.Kind)
		tasks = append(tasks, d.Scope+"/"+d.ID)
	}
	var want []string
	for _, a := range []archive.Archive{first, his, second, third} {
		want = append(want, string(a.User)+"/"+a.ID.ID)
	}
	assert.ElementsMatch(t, want, tasks)
}

// Those that are removed or failed make room, each once.
func bounded(t *testing.T, w *World) {
	var all []archive.Archive
	for range archive.MaxKept {
		all = append(all, w.done(w.create(w.Ada)))
	}
	full := func() {
		t.Helper()
		refused := w.archive(w.Ada)
		var full *archive.Full
		require.ErrorAs(t, w.Archives.CreateArchive(storetest.Patient(t), refused, run(refused), idempotency.Key{}), &full)
		_, err := w.get(refused.ID)
		storetest.IsFault(t, err, fault.NotFound)
	}
	full()
	removed, ok := all[0].Remove()
	require.True(t, ok)
	require.NoError(t, w.Archives.ChangeArchive(storetest.Patient(t), all[0], removed))
	var conflict *archive.Conflict
	require.ErrorAs(t, w.Archives.ChangeArchive(storetest.Patient(t), all[0], removed), &conflict)
	got, err := w.get(removed.ID)
	require.NoError(t, err)
	assert.Equal(t, removed, got)
	for range 3 {
		a := w.create(w.Ada)
		failed, _ := a.Fail("why", w.Clock.Now())
		require.NoError(t, w.Archives.ChangeArchive(storetest.Patient(t), a, failed))
	}
	w.done(w.create(w.Ada))
	full()
}

func oncePerKey(t *testing.T, w *World) {
	once := idempotency.Key{Viewer: string(w.Ada), Key: "key", Hash: []byte("hash"), ExpiresAt: w.Clock.Now().Add(time.Hour)}
	a := w.archive(w.Ada)
	require.NoError(t, w.Archives.CreateArchive(storetest.Patient(t), a, run(a), once.With(a.ID.ID)))
	w.done(a)
	again := w.archive(w.Ada)
	var replayed *idempotency.Replayed
	require.ErrorAs(t, w.Archives.CreateArchive(storetest.Patient(t), again, run(again), once.With(again.ID.ID)), &replayed)
	assert.Equal(t, []string{a.ID.ID}, w.list(w.Ada))
}

func changed(t *testing.T, w *World) {
	a := w.create(w.Ada)
	further, ok := a.Advance(7)
	require.True(t, ok)
	require.NoError(t, w.Archives.ChangeArchive(storetest.Patient(t), a, further))
	var conflict *archive.Conflict
	require.ErrorAs(t, w.Archives.ChangeArchive(storetest.Patient(t), a, further), &conflict)
	gone := w.archive(w.Ada)
	after, _ := gone.Advance(1)
	require.ErrorAs(t, w.Archives.ChangeArchive(storetest.Patient(t), gone, after), &conflict)
	got, err := w.get(a.ID)
	require.NoError(t, err)
	assert.Equal(t, further, got)

	// Of servers that end it at the same time, one does, and it is counted once.
	ended, conflicts := 0, 0
	for _, err := range storetest.Attempts(4, func(i int) error {
		after, _ := further.Finish(archive.Written{Entries: i}, 10, w.Clock.Now())
		return w.Archives.ChangeArchive(storetest.Patient(t), further, after)
	}) {
		switch {
		case err == nil:
			ended++
		case errors.As(err, &conflict):
			conflicts++
		default:
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []int{1, 3}, []int{ended, conflicts})
	w.create(w.Ada)
	refused := w.archive(w.Ada)
	storetest.IsFault(t, w.Archives.CreateArchive(storetest.Patient(t), refused, run(refused), idempotency.Key{}), fault.Exhausted)
}

func kept(t *testing.T, w *World) {
	a := w.create(w.Ada)
	w.Clock.Advance(time.Minute)
	after, _ := a.Finish(archive.Written{Entries: 12, Faults: []archive.Fault{{Path: "files/1/a", Message: "the file does not exist"}, {Path: "b", Message: "c"}}, Mistakes: 3}, 1<<40, w.Clock.Now())
	require.NoError(t, w.Archives.ChangeArchive(storetest.Patient(t), a, after))
	got, err := w.get(a.ID)
	require.NoError(t, err)
	assert.Equal(t, after, got)

	b := w.create(w.Ada)
	failed, _ := b.Fail("why", w.Clock.Now())
	require.NoError(t, w.Archives.ChangeArchive(storetest.Patient(t), b, failed))
	got, err = w.get(b.ID)
	require.NoError(t, err)
	assert.Equal(t, failed, got)
}

func expired(t *testing.T, w *World) {
	w.done(w.create(w.Ada))
	w.Clock.Advance(time.Hour)
	second := w.done(w.create(w.Ada))
	w.Clock.Advance(archive.Kept - time.Hour)
	assert.Equal(t, []string{second.ID.ID}, w.list(w.Ada))
	w.Clock.Advance(time.Hour)
	assert.Empty(t, w.list(w.Ada))
	_, err := w.get(second.ID)
	assert.NoError(t, err, "the row stays longer than the file")
}

func nobody(t *testing.T, w *World) {
	nobody := user.ID(uuid.NewString())
	a := w.archive(nobody)
	storetest.IsFault(t, w.Archives.CreateArchive(storetest.Patient(t), a, run(a), idempotency.Key{}), fault.NotFound)
	assert.Empty(t, w.list(nobody))
}
