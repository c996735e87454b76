package notetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/tag"
)

func testDeleteLeavesNoDanglingRow(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	const kept, each = 7, 5
	storetest.Together(kept*each, func(i int) {
		n := w.Create(asAda, note.Create{Title: fmt.Sprint(i), Tags: []string{"work"}, Deadline: storetest.Day(1, 1)})
		w.Share(asAda, n.ID, grace, note.View)
		if i%each != 0 {
			w.Delete(asAda, n.ID)
		}
	})
	// pages checks that every page but the last is full, whatever lies between the rows that count.
	assert.Len(t, storetest.Pages(t, 3, func(win page.Window) (page.Slice[note.SharedNote], error) {
		return w.Rules.ListShared(asGrace, grace, win)
	}), kept)
	assert.Len(t, storetest.Pages(t, 3, func(win page.Window) (page.Slice[note.Found], error) {
		return w.ListByTag(asAda, tag.ID{Author: ada, Key: "work"}, win)
	}), kept)
	assert.Len(t, storetest.Pages(t, 3, func(win page.Window) (page.Slice[note.Note], error) {
		return w.Rules.ListByDeadline(asAda, ada, note.Due{}, win)
	}), kept)
	s, err := w.Rules.ListTags(asAda, ada, "", page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Len(t, s.Items, 1)
}

func testDeletedNotesDoNotCountBesideAPage(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	ids := make([]note.ID, 3)
	for i := range ids {
		n := w.Create(asAda, note.Create{Title: fmt.Sprint(i)})
		w.Share(asAda, n.ID, grace, note.View)
		ids[i] = n.ID
	}
	slices.Sort(ids)
	before := page.Window{Limit: 2, From: string(ids[2]), Backward: true, Probe: true}
	s, err := w.Rules.ListShared(asGrace, grace, before)
	require.NoError(t, err)
	assert.True(t, s.Other)
	w.Delete(asAda, ids[2])
	s, err = w.Rules.ListShared(asGrace, grace, before)
	require.NoError(t, err)
	assert.Len(t, s.Items, 2)
	assert.False(t, s.Other, "there is no next page")
}

func testUndeleteRestores(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "first", Tags: []string{"Work", "#"}, Deadline: storetest.Day(1, 1)})
	n, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("second")})
	require.NoError(t, err)
	w.Share(asAda, n.ID, grace, note.Edit)

	w.Delete(asAda, n.ID)
	for _, as := range []context.Context{asAda, asGrace} {
		_, err = w.Get(as, n.ID)
		storetest.IsFault(t, err, fault.NotFound)
	}
	assert.Empty(t, w.Tagged(asAda, ada, "work"))
	_, err = w.Rules.Undelete(asGrace, note.Undelete{ID: n.ID})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("x")})
	storetest.IsFault(t, err, fault.NotFound)

	restored, err := w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	require.NoError(t, err)
	read, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, restored, read)
	want := n
	want.Version, want.UpdatedAt = read.Version, read.UpdatedAt
	assert.Equal(t, want, read, "all is as it was")
	assert.Greater(t, read.Version, n.Version)
	assert.True(t, read.UpdatedAt.After(n.UpdatedAt))
	assert.Equal(t, []string{"second"}, w.Tagged(asAda, ada, "work"))
	assert.Equal(t, []string{"second"}, w.Tagged(asAda, ada, "#"))
	assert.Equal(t, []int{1}, w.Versions(asAda, read))
	assert.Equal(t, []note.UserID{grace}, w.Access(read))
	seen, err := w.Get(asGrace, n.ID)
	require.NoError(t, err)
	assert.Equal(t, note.Edit, seen.Permission)
	_, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	storetest.IsFault(t, err, fault.NotFound)
	w.Delete(asAda, n.ID) // and once more
	_, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	require.NoError(t, err)
}

func testUndoEndsAfter30Days(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n"})
	w.Delete(asAda, n.ID)
	_, deleted, err := w.Notes.FindDeleted(t.Context(), ada, n.ID)
	require.NoError(t, err)
	w.Clock.Advance(deleted.UndoUntil().Sub(w.Clock.Now()))
	_, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	storetest.IsFault(t, err, fault.NotFound)
	w.Clock.Advance(-time.Millisecond)
	_, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	require.NoError(t, err, "until the last millisecond")
}

func testCleanUpRunsAgain(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "0"})
	for i := range 30 {
		var err error
		n, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr(fmt.Sprint(i, "th"))})
		require.NoError(t, err)
	}
	readers := w.SignUpMany("reader", 30)
	storetest.Together(30, func(i int) { w.Share(asAda, n.ID, readers[i], note.View) })
	other := w.Create(asAda, note.Create{Title: "other"})
	w.Share(asAda, other.ID, w.Access(n)[0], note.View)
	w.Delete(asAda, n.ID)
	require.NoError(t, w.Clean())
	shares, versions, tombstone := w.Remains(n)
	assert.Equal(t, []any{30, 30, true}, []any{shares, versions, tombstone}, "nothing is due yet")

	w.Clock.Advance(note.UndoFor + time.Second)
	for range 2 {
		require.NoError(t, w.Clean())
		shares, versions, tombstone = w.Remains(n)
		assert.Equal(t, []any{0, 0, true}, []any{shares, versions, tombstone}, "the tombstone waits for the indexes to settle")
	}
	w.Clock.Advance(note.Settle + time.Second)
	for range 2 {
		require.NoError(t, w.Clean())
		shares, versions, tombstone = w.Remains(n)
		assert.Equal(t, []any{0, 0, false}, []any{shares, versions, tombstone})
	}
	due, err := w.Notes.ListCleanups(t.Context(), w.Clock.Now().Add(-60*24*time.Hour), w.Clock.Now().Add(60*24*time.Hour), note.Cleanup{})
	require.NoError(t, err)
	assert.Empty(t, due, "no order is left")
	assert.Len(t, w.Access(other), 1, "other notes are left alone")
}

func testCleanUpsAreListedOnAndOn(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	start := w.Clock.Now()
	for range 4 { // on two days
		for range 3 {
			w.Delete(asAda, w.Create(asAda, note.Create{Title: "n"}).ID)
		}
		w.Clock.Advance(8 * time.Hour)
	}
	w.Clock.Advance(note.UndoFor)
	all, err := w.Notes.ListCleanups(t.Context(), start, w.Clock.Now(), note.Cleanup{})
	require.NoError(t, err)
	require.Len(t, all, 12)
	for i, after := range all {
		rest, err := w.Notes.ListCleanups(t.Context(), start, w.Clock.Now(), after)
		require.NoError(t, err)
		assert.Equal(t, len(all)-i-1, len(rest))
		assert.Equal(t, all[i+1:], append([]note.Cleanup{}, rest...), "what follows, in the same order")
	}
	notDue, err := w.Notes.ListCleanups(t.Context(), start, start, note.Cleanup{})
	require.NoError(t, err)
	assert.Empty(t, notDue)
}

func testCleanUpLeavesUndeletedNotesAlone(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "0"})
	n, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("1")})
	require.NoError(t, err)
	w.Share(asAda, n.ID, grace, note.View)
	w.Delete(asAda, n.ID)
	far := w.Clock.Now().Add(2 * note.UndoFor)
	orders, err := w.Notes.ListCleanups(t.Context(), w.Clock.Now(), far, note.Cleanup{})
	require.NoError(t, err)
	require.Len(t, orders, 1)
	n, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	require.NoError(t, err)
	// A server that read the order before the note came back carries it out now.
	require.NoError(t, w.Notes.CleanUp(t.Context(), orders[0], far))
	shares, versions, _ := w.Remains(n)
	assert.Equal(t, []int{1, 1}, []int{shares, versions})
	// It is deleted again: the old order is not for this deletion.
	w.Clock.Advance(time.Hour)
	w.Delete(asAda, n.ID)
	require.NoError(t, w.Notes.CleanUp(t.Context(), orders[0], far))
	shares, versions, tombstone := w.Remains(n)
	assert.Equal(t, []any{1, 1, true}, []any{shares, versions, tombstone})
	orders, err = w.Notes.ListCleanups(t.Context(), w.Clock.Now(), far, note.Cleanup{})
	require.NoError(t, err)
	assert.Len(t, orders, 1, "the order of the second deletion stands")
}
