package notetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/tag"
)

func testVersionsSortNumerically(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "0"})
	var want []int
	for i := 1; i <= 12; i++ {
		want = append([]int{n.Version}, want...)
		var err error
		n, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr(fmt.Sprint(i))})
		require.NoError(t, err)
	}
	assert.Equal(t, want, w.Versions(asAda, n), "12 comes after 2")
	assert.Equal(t, 13, n.Version)
	assert.Equal(t, 12, n.Snapshot)
	versions, errs := w.Rules.VersionsByID(asAda, []note.VersionRequest{n.VersionAt(10), n.VersionAt(99), n.VersionAt(2)})
	require.Len(t, errs, 3)
	assert.Equal(t, "9", versions[0].Title)
	storetest.IsFault(t, errs[1], fault.NotFound)
	assert.Equal(t, "1", versions[2].Title)
}

func testRestoreKeepsDeadlineAndShares(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "first", Content: "one", Deadline: storetest.Day(1, 1), Tags: []string{"Old"}})
	_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("second"), Content: storetest.Ptr("two")})
	require.NoError(t, err)
	_, err = w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: n.ID, Deadline: storetest.Day(2, 2)})
	require.NoError(t, err)
	_, err = w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"new"}})
	require.NoError(t, err)
	w.Share(asAda, n.ID, grace, note.Edit)

	restored, err := w.Rules.Restore(asAda, note.Restore{Version: note.VersionID{Note: n.ID, Number: 1}})
	require.NoError(t, err)
	read, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, restored, read)
	assert.Equal(t, "first", read.Title)
	assert.Equal(t, "one", read.Content)
	assert.Equal(t, n.Tags, read.Tags)
	assert.Equal(t, storetest.Day(2, 2), read.Deadline, "the deadline stays")
	assert.Equal(t, []note.UserID{grace}, w.Access(n), "shares stay")
	assert.Empty(t, w.Tagged(asAda, ada, "new"))
	assert.Equal(t, []string{"first"}, w.Tagged(asAda, ada, "old"))
	versions, errs := w.Rules.VersionsByID(asAda, []note.VersionRequest{n.VersionAt(read.Snapshot)})
	require.Nil(t, errs)
	assert.Equal(t, "second", versions[0].Title, "what was there before the restore is kept")
	assert.Equal(t, storetest.Day(2, 2), versions[0].Deadline)
}

func testVersionsNameTheAuthor(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"Work"}})
	w.Share(asAda, n.ID, grace, note.Edit)
	n, err := w.Rules.Update(asGrace, note.Update{ID: n.ID, Title: storetest.Ptr("by grace")})
	require.NoError(t, err)
	want := []tag.Tag{{Author: ada, Word: tag.Word{Value: "Work", Key: "work"}}}
	versions, errs := w.Notes.VersionsByID(t.Context(), []note.VersionID{{Note: n.ID, Number: 1}})
	require.Nil(t, errs)
	assert.Equal(t, want, versions[0].Tags)
	s, err := w.ListVersions(t.Context(), n, page.Window{Limit: 1})
	require.NoError(t, err)
	assert.Equal(t, want, s.Items[0].Tags)
	assert.Equal(t, versions[0], s.Items[0])
}

func testConflictReturnsTheCurrentNote(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n"})
	current, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("changed"), ExpectedVersion: storetest.Ptr(1)})
	require.NoError(t, err)
	for name, change := range map[string]func() error{
		"update": func() error {
			_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("late"), ExpectedVersion: storetest.Ptr(1)})
			return err
		},
		"deadline": func() error {
			_, err := w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: n.ID, Deadline: storetest.Day(1, 1), ExpectedVersion: storetest.Ptr(1)})
			return err
		},
		"delete": func() error {
			_, err := w.Rules.Delete(asAda, note.Delete{ID: n.ID, ExpectedVersion: storetest.Ptr(1)})
			return err
		},
		"restore": func() error {
			_, err := w.Rules.Restore(asAda, note.Restore{Version: note.VersionID{Note: n.ID, Number: 1}, ExpectedVersion: storetest.Ptr(1)})
			return err
		},
	} {
		conflict, ok := errors.AsType[*note.VersionConflict](change())
		require.True(t, ok, name)
		assert.Equal(t, current, conflict.Current, name)
	}
	read, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, current, read, "a conflict changes nothing")
}

// Writers without an expected version all get through, each on top of the one before.
func testConcurrentUpdatesLoseNothing(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n"})
	var done atomic.Int32
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			_, err := w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{fmt.Sprint("tag ", i)}})
			if assert.NoError(t, err) {
				done.Add(1)
			}
		})
	}
	group.Wait()
	read, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Len(t, read.Tags, 12, "every writer was told that its tag is there")
	assert.EqualValues(t, 12, done.Load())
	assert.Equal(t, 13, read.Version)
	tags, err := w.Rules.ListTags(asAda, ada, "", page.Window{Limit: 100})
	require.NoError(t, err)
	assert.Len(t, tags.Items, 12)
}

// Version and time of all writers are equal, as happens on several servers; only one may be told that it won.
func testOnlyOneOfTheSameMillisecondWins(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	before := w.Create(asAda, note.Create{Title: "n"})
	for _, moved := range []bool{false, true} {
		var winners []string
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				after := before
				after.Title, after.Version = fmt.Sprint("title ", i), before.Version+1
				if moved {
					after.Deadline = storetest.Day(5, 5)
				}
				err := w.Notes.UpdateNote(t.Context(), before.Owner, before, after, nil, idempotency.Key{})
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					winners = append(winners, after.Title)
				} else if _, conflict := errors.AsType[*note.VersionConflict](err); !conflict {
					t.Error(err)
				}
			})
		}
		group.Wait()
		read, err := w.Get(asAda, before.ID)
		require.NoError(t, err)
		assert.Equal(t, []string{read.Title}, winners, "moved %t", moved)
		before = read
	}
}

func testChangingTheDeadline(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"work"}, Deadline: storetest.Day(1, 1)})
	w.Share(asAda, n.ID, grace, note.Edit)
	for _, change := range []note.ChangeDeadline{{ID: n.ID, Deadline: storetest.Day(3, 3)}, {ID: n.ID}, {ID: n.ID, Deadline: storetest.Day(2, 2)}, {ID: n.ID, Deadline: storetest.Day(2, 2)}} {
		before, err := w.Get(asAda, n.ID)
		require.NoError(t, err)
		after, err := w.Rules.ChangeDeadline(asGrace, change)
		require.NoError(t, err)
		assert.Equal(t, change.Deadline, after.Deadline)
		read, err := w.Get(asAda, n.ID)
		require.NoError(t, err)
		assert.Equal(t, after.Version, read.Version)
		assert.Equal(t, change.Deadline, read.Deadline)
		assert.Equal(t, before.Snapshot, read.Snapshot, "a deadline is no version")
		assert.Equal(t, []string{"n"}, w.Titles(asAda, ada, note.Due{}), "the note is there once")
		assert.Equal(t, []string{"n"}, w.Tagged(asAda, ada, "work"))
		s, err := w.Rules.ListShared(asGrace, grace, page.Window{Limit: 5})
		require.NoError(t, err)
		require.Len(t, s.Items, 1)
		require.NoError(t, s.Items[0].Err)
		assert.Equal(t, change.Deadline, s.Items[0].Found.Note.Deadline)
	}
}
