package notetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

func testSharedNotesBeyond100(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	const many = 300
	var created [many]note.ID
	storetest.Together(many, func(i int) { created[i] = w.Create(asAda, note.Create{Title: fmt.Sprint(i)}).ID })
	w.Share(asAda, created[0], grace, note.View)
	w.Open(asGrace, created[0])
	storetest.Together(many-1, func(i int) { w.Share(asAda, created[i+1], grace, note.View) })
	ids := map[note.ID]bool{}
	for _, id := range created {
		ids[id] = true
	}
	s, err := w.Rules.ListShared(asGrace, grace, page.Window{Limit: many})
	require.NoError(t, err)
	assert.False(t, s.More)
	require.Len(t, s.Items, many)
	for _, item := range s.Items {
		require.NoError(t, item.Err)
		assert.True(t, ids[item.ID])
		assert.Equal(t, item.ID, item.Found.Note.ID)
		assert.Equal(t, ada, item.Found.Note.Owner)
		assert.Equal(t, note.View, item.Found.Note.Permission)
	}
	assert.Len(t, storetest.Pages(t, 130, func(win page.Window) (page.Slice[note.SharedNote], error) {
		return w.Rules.ListShared(asGrace, grace, win)
	}), many)
}

func testSharingIsIdempotent(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n"})
	for _, p := range []note.Permission{note.View, note.View, note.Edit, note.Edit, note.View} {
		w.Share(asAda, n.ID, grace, p)
		assert.Equal(t, []note.UserID{grace}, w.Access(n))
		seen, err := w.Get(asGrace, n.ID)
		require.NoError(t, err)
		assert.Equal(t, p, seen.Permission)
	}
	for range 2 { // ending a share twice is as good as once
		require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
		assert.Empty(t, w.Access(n))
		_, err := w.Get(asGrace, n.ID)
		storetest.IsFault(t, err, fault.NotFound)
	}
}

func testSharingChecksNoteAndUser(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n"})
	_, err := w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: "nobody", Permission: note.View})
	unknown, ok := errors.AsType[*note.UnknownUser](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, "input.userId", unknown.Field)
	share := note.Share{Note: n.ID, Owner: grace, User: ada, Permission: note.Edit, SharedAt: w.Clock.Now()}
	_, err = w.Notes.PutShare(t.Context(), n, share, idempotency.Key{})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: ada, Permission: note.View})
	storetest.IsFault(t, err, fault.Invalid)
	_, err = w.Rules.Share(asGrace, note.PutShare{Note: n.ID, User: grace, Permission: note.Edit})
	storetest.IsFault(t, err, fault.NotFound)
	w.Share(asAda, n.ID, grace, note.Edit)
	_, err = w.Rules.Share(asGrace, note.PutShare{Note: n.ID, User: ada, Permission: note.Edit})
	storetest.IsFault(t, err, fault.Forbidden)
	_, err = w.Rules.Delete(asAda, note.Delete{ID: n.ID})
	require.NoError(t, err)
	share = note.Share{Note: n.ID, Owner: ada, User: grace, Permission: note.Edit, SharedAt: w.Clock.Now()}
	_, err = w.Notes.PutShare(t.Context(), n, share, idempotency.Key{})
	storetest.IsFault(t, err, fault.NotFound)
}

func testPermissionIsTheShareRow(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	viewer, asViewer := w.SignUp("viewer")
	editor, asEditor := w.SignUp("editor")
	_, asStranger := w.SignUp("stranger")
	n := w.Create(asAda, note.Create{Title: "n"})
	w.Share(asAda, n.ID, viewer, note.View)
	w.Share(asAda, n.ID, editor, note.Edit)
	title := "changed"
	_, err := w.Rules.Update(asViewer, note.Update{ID: n.ID, Title: &title})
	storetest.IsFault(t, err, fault.Forbidden)
	_, err = w.Rules.Update(asStranger, note.Update{ID: n.ID, Title: &title})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.Update(w.As(""), note.Update{ID: n.ID, Title: &title})
	storetest.IsFault(t, err, fault.Unauthenticated)
	changed, err := w.Rules.Update(asEditor, note.Update{ID: n.ID, Title: &title})
	require.NoError(t, err)
	assert.Equal(t, note.Edit, changed.Permission)
	_, err = w.Rules.Delete(asEditor, note.Delete{ID: n.ID})
	storetest.IsFault(t, err, fault.Forbidden)
	require.NoError(t, w.Rules.Unshare(asViewer, note.DeleteShare{Note: n.ID, User: viewer}), "a user may leave")
	storetest.IsFault(t, w.Rules.Unshare(asEditor, note.DeleteShare{Note: n.ID, User: viewer}), fault.Forbidden)
	_, err = w.Get(asViewer, n.ID)
	storetest.IsFault(t, err, fault.NotFound)
}

// The share is gone or weaker between the editor's read and the write: the share is a condition of the write itself.
func testRevokedEditor(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"a"}})
	after := n
	after.Title, after.Version = "by grace", n.Version+1
	moved := after
	moved.Deadline = storetest.Day(1, 1)
	key := idempotency.Key{Viewer: string(grace), Key: "k", Hash: []byte{1}, ExpiresAt: w.Clock.Now().Add(time.Hour)}
	for _, next := range []note.Note{after, moved, n} {
		w.Share(asAda, n.ID, grace, note.View)
		storetest.IsFault(t, w.Notes.UpdateNote(t.Context(), grace, n, next, nil, key), fault.Forbidden)
		require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
		storetest.IsFault(t, w.Notes.UpdateNote(t.Context(), grace, n, next, nil, key), fault.NotFound)
	}
	require.NoError(t, w.Notes.FindIdempotencyKey(t.Context(), key), "what was refused is not recorded")
	read, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, n, read)
	_, err = w.Get(asGrace, n.ID)
	storetest.IsFault(t, err, fault.NotFound)
	assert.Equal(t, []string{"n"}, w.Titles(asAda, ada, note.Due{}))
}

// One note's access list is read through one index, those of several through another: they say the same.
func testAccessListsPageLikeOneAnother(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	_, asOther := w.SignUp("other")
	n, second, empty := w.Create(asAda, note.Create{Title: "n"}), w.Create(asAda, note.Create{Title: "2"}), w.Create(asAda, note.Create{Title: "3"})
	foreign := w.Create(asOther, note.Create{Title: "foreign"})
	for i := range 7 {
		id, _ := w.SignUp(fmt.Sprint("reader ", i))
		w.Share(asAda, n.ID, id, note.View)
		w.Share(asOther, foreign.ID, id, note.Edit)
		if i < 3 {
			w.Share(asAda, second.ID, id, note.Edit)
		}
	}
	var windows []page.Window
	all, err := access(w, n, page.Window{Limit: 100}, nil)
	require.NoError(t, err)
	require.Len(t, all.Items, 7)
	for _, from := range append(all.Positions, "", "0", "zz") {
		for limit := 1; limit <= 8; limit += 3 {
			windows = append(windows, page.Window{Limit: limit, From: from, Probe: true}, page.Window{Limit: limit, From: from, Probe: true, Backward: true})
		}
	}
	for _, win := range windows {
		alone, err := access(w, n, win, nil)
		require.NoError(t, err)
		lists, errs := w.Notes.AccessLists(t.Context(), []note.AccessRequest{
			{Note: second.ID, Owner: second.Owner, Window: win}, {Note: n.ID, Owner: n.Owner, Window: win},
			{Note: foreign.ID, Owner: foreign.Owner, Window: win}, {Note: empty.ID, Owner: empty.Owner, Window: win},
		})
		require.Nil(t, errs)
		assert.Equal(t, alone.Positions, lists[1].Positions, "%+v", win)
		assert.ElementsMatch(t, alone.Items, lists[1].Items, "%+v", win)
		assert.Equal(t, []bool{alone.More, alone.Other}, []bool{lists[1].More, lists[1].Other}, "%+v", win)
		assert.Equal(t, alone.Positions, lists[2].Positions, "%+v", win)
		assert.Empty(t, lists[3].Items)
		for _, s := range lists[0].Items {
			assert.Equal(t, second.ID, s.Note)
			assert.Equal(t, note.Edit, s.Permission)
		}
	}
}

func testSharesByAnOwner(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	lin, _ := w.SignUp("lin")
	var all []note.ID
	for range 25 {
		n := w.Create(asAda, note.Create{Title: "n"})
		w.Share(asAda, n.ID, lin, note.View)
		w.Share(asAda, n.ID, grace, note.Edit)
		all = append(all, n.ID)
	}
	other := w.Create(asGrace, note.Create{Title: "other"})
	w.Share(asGrace, other.ID, lin, note.View)
	w.Delete(asAda, all[3])
	slices.Sort(all)
	list := func(owner note.UserID, limit int) (ids []note.ID) {
		t.Helper()
		shares, err := w.Notes.ListSharesBy(t.Context(), lin, owner, limit)
		require.NoError(t, err)
		for _, s := range shares {
			assert.Equal(t, []note.UserID{lin, owner}, []note.UserID{s.User, s.Owner})
			ids = append(ids, s.Note)
		}
		return ids
	}
	assert.Equal(t, all, list(ada, 100), "those of deleted notes, too")
	assert.Equal(t, all[:7], list(ada, 7))
	assert.Equal(t, []note.ID{other.ID}, list(grace, 100))
	assert.Empty(t, list(lin, 100))
}

func testBlockedUsersShareNothing(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	lin, _ := w.SignUp("lin")
	n, before := w.Create(asAda, note.Create{Title: "n"}), w.Create(asAda, note.Create{Title: "before"})
	w.Share(asAda, before.ID, grace, note.View)
	require.NoError(t, w.Users.BlockUser(t.Context(), grace, user.Block{User: ada, At: w.Clock.Now()}, idempotency.Key{}))
	refused := func(of note.ID) {
		t.Helper()
		_, err := w.Rules.Share(asAda, note.PutShare{Note: of, User: grace, Permission: note.Edit})
		_, ok := errors.AsType[*note.UnknownUser](err)
		require.True(t, ok, "got %v", err)
	}
	refused(n.ID)
	refused(before.ID)
	assert.Empty(t, w.Access(n))
	assert.Equal(t, []note.UserID{grace}, w.Access(before), "a block ends nothing by itself")
	w.Share(asAda, n.ID, lin, note.View)
	w.Share(asGrace, w.Create(asGrace, note.Create{Title: "other"}).ID, ada, note.View)
	require.NoError(t, w.Users.UnblockUser(t.Context(), grace, ada, idempotency.Key{}))
	w.Share(asAda, n.ID, grace, note.Edit)

	// Whoever comes first, a share of one who is blocked is not there when the shares that there are have ended.
	for range 8 {
		var group sync.WaitGroup
		group.Go(func() {
			_, _ = w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: grace, Permission: note.View})
		})
		group.Go(func() {
			assert.NoError(t, w.Users.BlockUser(t.Context(), grace, user.Block{User: ada, At: w.Clock.Now()}, idempotency.Key{}))
			_, _, err := w.Rules.EndShares(asGrace, note.EndShares{By: ada})
			assert.NoError(t, err)
		})
		group.Wait()
		_, err := w.Get(asGrace, n.ID)
		storetest.IsFault(t, err, fault.NotFound)
		require.NoError(t, w.Users.UnblockUser(t.Context(), grace, ada, idempotency.Key{}))
	}
}

// What was in a note before it was shared is the owner's until the owner says otherwise.
func testSharesHideVersionsFromBefore(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "secret"})
	rename := func(as context.Context, title string) {
		t.Helper()
		_, err := w.Rules.Update(as, note.Update{ID: n.ID, Title: &title})
		require.NoError(t, err)
	}
	sees := func(numbers ...int) {
		t.Helper()
		read, err := w.Get(asGrace, n.ID)
		require.NoError(t, err)
		assert.Equal(t, numbers, w.Versions(asGrace, read))
		last, err := w.ListVersions(asGrace, read, page.Window{Limit: page.Max, Backward: true})
		require.NoError(t, err)
		assert.Len(t, last.Items, len(numbers))
		for number := 1; number <= 6; number++ {
			_, errs := w.Rules.VersionsByID(asGrace, []note.VersionRequest{read.VersionAt(number)})
			shown := errs == nil
			assert.Equal(t, slices.Contains(numbers, number), shown, "version %d", number)
		}
		shared, err := w.Rules.ListShared(asGrace, grace, page.Window{Limit: 1})
		require.NoError(t, err)
		assert.Equal(t, numbers, w.Versions(asGrace, shared.Items[0].Found.Note), "in the list of what is shared")
		changes, _, err := w.Rules.ListChanges(asGrace, grace, time.Time{}, page.Window{Limit: 1})
		require.NoError(t, err)
		assert.Equal(t, numbers, w.Versions(asGrace, *changes.Items[0].Note), "in the list of changes")
		mine, err := w.Get(asAda, n.ID)
		require.NoError(t, err)
		assert.Len(t, w.Versions(asAda, mine), mine.Version-1, "the owner sees all")
	}
	share := func(p note.Permission, all bool) {
		t.Helper()
		_, err := w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: grace, Permission: p, ShowEarlier: all})
		require.NoError(t, err)
	}
	rename(asAda, "without it") // version 1 is kept
	share(note.View, false)
	sees()
	rename(asAda, "third") // version 2 is kept, which grace has read
	sees(2)
	_, err := w.Rules.Restore(asGrace, note.Restore{Version: note.VersionID{Note: n.ID, Number: 2}})
	storetest.IsFault(t, err, fault.Forbidden)
	share(note.Edit, false)
	sees(2)
	_, err = w.Rules.Restore(asGrace, note.Restore{Version: note.VersionID{Note: n.ID, Number: 1}})
	storetest.IsFault(t, err, fault.NotFound)
	rename(asGrace, "fourth")
	sees(3, 2)
	share(note.Edit, true)
	sees(3, 2, 1)
	share(note.View, false)
	sees(3, 2, 1)
	require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
	share(note.View, false)
	sees()
	read, err := w.Get(asGrace, n.ID)
	require.NoError(t, err)
	before, err := w.ListVersions(asAda, n, page.Window{Limit: page.Max})
	require.NoError(t, err)
	rename(asAda, "fifth")
	sees(4)
	older, err := w.ListVersions(asGrace, read, page.Window{Limit: 5, From: before.Positions[1], Probe: true})
	require.NoError(t, err)
	assert.Empty(t, older.Items, "behind a position from when it showed more")
	newer, err := w.ListVersions(asGrace, read, page.Window{Limit: 5, From: before.Positions[1], Backward: true})
	require.NoError(t, err)
	assert.Len(t, newer.Items, 1)
	_, err = w.Rules.Restore(asAda, note.Restore{Version: note.VersionID{Note: n.ID, Number: 1}})
	require.NoError(t, err)
	sees(5, 4)
}

// Whatever an owner removes while sharing, the user sees no version of before that the share did not begin with.
func testSharesBesideAWriter(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	for try := range 8 {
		reader, asReader := w.SignUp(fmt.Sprint("reader ", try))
		n := w.Create(asAda, note.Create{Title: "secret"})
		title := "without it"
		var group sync.WaitGroup
		group.Go(func() {
			_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: &title})
			assert.NoError(t, err)
		})
		group.Go(func() { w.Share(asAda, n.ID, reader, note.View) })
		group.Wait()
		read, err := w.Get(asReader, n.ID)
		require.NoError(t, err)
		w.Share(asAda, n.ID, reader, note.Edit)
		assert.Contains(t, []int{1, 2}, read.FirstVersion)
		assert.Equal(t, read.FirstVersion == 1, len(w.Versions(asReader, read)) == 1)
	}
	// It is told: a share that was read of an earlier state is refused.
	n := w.Create(asAda, note.Create{Title: "secret"})
	_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("without it")})
	require.NoError(t, err)
	share := note.Share{Note: n.ID, Owner: n.Owner, User: grace, Permission: note.View, FirstVersion: n.Version, SharedAt: w.Clock.Now()}
	_, err = w.Notes.PutShare(t.Context(), n, share, idempotency.Key{})
	_, conflict := errors.AsType[*note.VersionConflict](err)
	require.True(t, conflict, "got %v", err)
	_, err = w.Get(asGrace, n.ID)
	storetest.IsFault(t, err, fault.NotFound)
	share.FirstVersion = 0
	_, err = w.Notes.PutShare(t.Context(), n, share, idempotency.Key{})
	require.NoError(t, err, "what hides nothing does not depend on it")
}

// A user can fill the list of somebody who wants nothing of them up to a bound, and no further.
func testSharesThatNobodyOpened(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	_, asBob := w.SignUp("bob")
	grace, asGrace := w.SignUp("grace")
	lin, _ := w.SignUp("lin")
	var notes [note.MaxUnopened + 3]note.ID
	storetest.Together(len(notes), func(i int) { notes[i] = w.Create(asAda, note.Create{Title: fmt.Sprint(i)}).ID })
	give := func(n int, with note.UserID, p note.Permission) error {
		_, err := w.Rules.Share(asAda, note.PutShare{Note: notes[n], User: with, Permission: p})
		return err
	}
	storetest.Together(note.MaxUnopened, func(i int) { assert.NoError(t, give(i, grace, note.View)) })
	require.ErrorIs(t, give(note.MaxUnopened, grace, note.View), note.ErrUnopened)
	require.NoError(t, give(0, grace, note.Edit), "what is there can get another permission")
	require.NoError(t, give(note.MaxUnopened, lin, note.View), "others are not concerned")
	w.Share(asBob, w.Create(asBob, note.Create{Title: "bob's"}).ID, grace, note.View)

	// What ends makes room.
	require.NoError(t, w.Rules.Unshare(asGrace, note.DeleteShare{Note: notes[1], User: grace}))
	require.NoError(t, give(note.MaxUnopened, grace, note.View))
	require.ErrorIs(t, give(note.MaxUnopened+1, grace, note.View), note.ErrUnopened)

	// Opening one lets in more, also when it has ended since.
	_, err := w.Rules.Open(asGrace, note.OpenShare{Note: notes[note.MaxUnopened+1]})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.Open(asAda, note.OpenShare{Note: notes[0]})
	storetest.IsFault(t, err, fault.Invalid)
	at, err := w.Rules.Open(asGrace, note.OpenShare{Note: notes[0]})
	require.NoError(t, err)
	w.Clock.Advance(time.Hour)
	again, err := w.Rules.Open(asGrace, note.OpenShare{Note: notes[0], IdempotencyKey: storetest.Ptr("again")})
	require.NoError(t, err)
	assert.Equal(t, at, again, "when it was first opened")
	require.NoError(t, give(0, grace, note.View))
	require.NoError(t, give(note.MaxUnopened+1, grace, note.View))
	opened := map[note.ID]time.Time{}
	shared, err := w.Rules.ListShared(asGrace, grace, page.Window{Limit: len(notes) + 1})
	require.NoError(t, err)
	for _, s := range shared.Items {
		if !s.OpenedAt.IsZero() {
			opened[s.Share.Note] = s.OpenedAt
		}
	}
	assert.Equal(t, map[note.ID]time.Time{notes[0]: at}, opened, "another permission closes nothing")
	require.NoError(t, w.Rules.Unshare(asGrace, note.DeleteShare{Note: notes[0], User: grace}))
	require.NoError(t, give(note.MaxUnopened+2, grace, note.View))
	require.NoError(t, give(0, grace, note.View))
}
