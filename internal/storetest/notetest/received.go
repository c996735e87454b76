package notetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

// Each run is more than the margin behind the step before it, so that it tells what happened since the one before, and nothing else.
func testSharedChangesAreTold(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	kept := w.Create(asAda, note.Create{Title: "kept"})
	n := w.Create(asAda, note.Create{Title: "n"})
	w.Share(asAda, kept.ID, grace, note.View)
	r := replica{notes: map[note.ID]note.Note{}}
	w.Clock.Advance(2 * note.SyncMargin)
	r.sync(t, w, asGrace, grace, 3)
	for _, step := range []struct {
		name string
		told int
		do   func() error
	}{
		{"nothing", 0, func() error { return nil }},
		{"a note that is not shared", 0, func() error {
			_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("private")})
			return err
		}},
		{"begin", 1, func() error { w.Share(asAda, n.ID, grace, note.View); return nil }},
		{"text", 1, func() error {
			_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("changed")})
			return err
		}},
		{"deadline", 1, func() error {
			_, err := w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: n.ID, Deadline: storetest.Day(1, 1)})
			return err
		}},
		{"permission", 1, func() error { w.Share(asAda, n.ID, grace, note.Edit); return nil }},
		{"the same permission again", 0, func() error { w.Share(asAda, n.ID, grace, note.Edit); return nil }},
		{"tags, by the reader", 1, func() error {
			_, err := w.Rules.AddTags(asGrace, note.ChangeTags{ID: n.ID, Tags: []string{"t"}})
			return err
		}},
		{"deletion", 1, func() error { w.Delete(asAda, n.ID); return nil }},
		{"nothing after a deletion", 0, func() error { return nil }},
		{"undo", 1, func() error {
			_, err := w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
			return err
		}},
		{"end, by the owner", 1, func() error { return w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}) }},
		{"end of what has ended", 0, func() error { return w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}) }},
		{"a change behind the end", 0, func() error {
			_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("secret")})
			return err
		}},
		{"once more", 1, func() error { w.Share(asAda, n.ID, grace, note.View); return nil }},
		{"deletion, and end by the reader", 1, func() error {
			w.Delete(asAda, n.ID)
			return w.Rules.Unshare(asGrace, note.DeleteShare{Note: n.ID, User: grace})
		}},
		{"undo of what is no longer shared", 0, func() error {
			_, err := w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
			return err
		}},
	} {
		require.NoError(t, step.do(), step.name)
		w.Clock.Advance(2 * note.SyncMargin)
		r.reads = 0
		assert.True(t, r.sync(t, w, asGrace, grace, 3).Complete, step.name)
		assert.Equal(t, step.told, r.reads, step.name)
		r.equals(t, w, asGrace, grace)
	}
}

func testEndsOfSharesAreTold(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n"})
	since := w.Clock.Now()
	// Who never had a note is not told that it has ended, whoever says so.
	require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
	require.NoError(t, w.Rules.Unshare(asGrace, note.DeleteShare{Note: "of nobody", User: grace}))
	told := func() (told []note.Change, complete bool) {
		s, synced, err := w.Rules.ListChanges(asGrace, grace, since, page.Window{Limit: 10})
		require.NoError(t, err)
		return s.Items, synced.Complete
	}
	changes, _ := told()
	assert.Empty(t, changes)

	w.Share(asAda, n.ID, grace, note.View)
	w.Clock.Advance(time.Second)
	require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
	ended := []note.Change{{Ended: &note.EndedShare{Note: n.ID, EndedAt: w.Clock.Now()}}}
	changes, _ = told()
	assert.Equal(t, ended, changes, "and nothing of the note")
	w.Clock.Advance(note.UndoFor - 2*time.Second)
	changes, complete := told()
	assert.Equal(t, ended, changes)
	assert.True(t, complete)
	w.Clock.Advance(time.Second)
	_, complete = told()
	assert.False(t, complete, "since then is not known")
	_, _, err := w.Rules.ListChanges(asAda, grace, since, page.Window{Limit: 10})
	storetest.IsFault(t, err, fault.Forbidden)
	s, _, err := w.Rules.ListChanges(asAda, ada, since, page.Window{Limit: 10})
	require.NoError(t, err)
	assert.Len(t, s.Items, 1, "to the owner, nothing has ended")
}

func testSharedChangesComeInPages(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	for i := range 4 {
		w.Create(asGrace, note.Create{Title: fmt.Sprint("own ", i)})
	}
	for i := range 9 {
		n := w.Create(asAda, note.Create{Title: fmt.Sprint(i)})
		w.Share(asAda, n.ID, grace, note.View)
		switch i {
		case 2, 5:
			require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
		case 3:
			w.Delete(asAda, n.ID)
		}
	}
	for _, since := range []time.Time{{}, w.Clock.Now()} {
		for limit := 1; limit <= 14; limit++ {
			positions := storetest.Walk(t, limit, false, func(win page.Window) (page.Slice[note.Change], error) {
				return w.Notes.ListChanges(t.Context(), grace, since, win)
			})
			assert.Len(t, positions, 4+9)
			assert.IsIncreasing(t, positions)
		}
	}
}

// pair are two users who share notes with each other, each of whom has a device.
type pair struct {
	*storetest.World
	ids     [2]viewer.UserID
	as      [2]context.Context
	devices [2]replica
	notes   [2][]note.ID // by owner
}

func newPair(w *storetest.World, each int) *pair {
	p := &pair{World: w}
	for i, name := range []string{"ada", "grace"} {
		p.ids[i], p.as[i] = w.SignUp(name)
		p.devices[i] = replica{notes: map[note.ID]note.Note{}}
		p.notes[i] = make([]note.ID, each)
	}
	storetest.Together(2*each, func(n int) {
		i, k := n%2, n/2
		p.notes[i][k] = w.Create(p.as[i], note.Create{Title: fmt.Sprint(n)}).ID
		w.Share(p.as[i], p.notes[i][k], p.ids[1-i], note.Edit)
	})
	return p
}

// edit lets a user do something with a note of the pair. It may be refused, as the other user may have done anything before.
func (p *pair) edit(t require.TestingT, random *rand.Rand, who int) {
	as, other := p.as[who], p.ids[1-who]
	owner := random.IntN(2)
	id := p.notes[owner][random.IntN(len(p.notes[owner]))]
	var err error
	switch random.IntN(8) {
	case 0, 1:
		_, err = p.Rules.Update(as, note.Update{ID: id, Title: storetest.Ptr(fmt.Sprint("title ", random.IntN(100)))})
	case 2:
		_, err = p.Rules.ChangeDeadline(as, note.ChangeDeadline{ID: id, Deadline: storetest.Day(1, 1+random.IntN(28))})
	case 3:
		_, err = p.Rules.AddTags(as, note.ChangeTags{ID: id, Tags: []string{fmt.Sprint("tag ", random.IntN(9))}})
	case 4:
		_, err = p.Rules.Delete(as, note.Delete{ID: id})
	case 5:
		_, err = p.Rules.Undelete(as, note.Undelete{ID: id})
	case 6:
		_, err = p.Rules.Share(as, note.PutShare{Note: id, User: other, Permission: []note.Permission{note.View, note.Edit}[random.IntN(2)]})
	case 7:
		err = p.Rules.Unshare(as, note.DeleteShare{Note: id, User: p.ids[1-owner]})
	}
	if err != nil {
		require.True(t, fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) || fault.Is(err, fault.Conflict), "got %v", err)
	}
}

// Two users change what they share while their devices follow and are cut off: after a page, of which they keep where they were or not.
// Whenever a device comes to the end of a run that began when all was quiet, it has what the store has.
func testTwoDevices(t *testing.T, w *storetest.World) {
	p := newPair(w, 12)
	for round := range 6 {
		w.Clock.Advance(2 * note.SyncMargin)
		var group sync.WaitGroup
		for who := range p.ids {
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(round), uint64(who)))
				for range 15 {
					p.edit(t, random, who)
					w.Clock.Advance(100 * time.Millisecond)
				}
			})
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(round), 10+uint64(who)))
				device := &p.devices[who]
				for range 10 {
					before := device.from
					device.step(t, w, p.as[who], p.ids[who], 1+random.IntN(6))
					switch random.IntN(5) {
					case 0: // it was cut off before it could write down where it is
						device.from = before
					case 1: // it lost where it was, and begins anew
						device.from = ""
					}
				}
			})
		}
		group.Wait()
		for who := range p.ids {
			p.devices[who].from = ""
			assert.True(t, p.devices[who].sync(t, w, p.as[who], p.ids[who], 1+5*round).Complete)
			p.devices[who].equals(t, w, p.as[who], p.ids[who])
		}
	}
}

func testWhoWrote(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "by ada"})
	w.Share(asAda, n.ID, grace, note.Edit)
	check := func(updatedBy, author note.UserID) note.Note {
		t.Helper()
		read, err := w.Get(asGrace, n.ID)
		require.NoError(t, err)
		assert.Equal(t, []note.UserID{updatedBy, author}, []note.UserID{read.UpdatedBy, read.Author})
		return read
	}
	check(ada, ada)
	_, err := w.Rules.AddTags(asGrace, note.ChangeTags{ID: n.ID, Tags: []string{"t"}})
	require.NoError(t, err)
	check(grace, ada)
	_, err = w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"t"}})
	require.NoError(t, err)
	check(grace, ada) // it changed nothing
	_, err = w.Rules.Update(asGrace, note.Update{ID: n.ID, Title: storetest.Ptr("by grace")})
	require.NoError(t, err)
	check(grace, grace)
	_, err = w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: n.ID, Deadline: storetest.Day(1, 1)})
	require.NoError(t, err)
	read := check(ada, grace)
	_, err = w.Rules.Restore(asAda, note.Restore{Version: note.VersionID{Note: n.ID, Number: read.Snapshot}})
	require.NoError(t, err)
	read = check(ada, ada)
	w.Delete(asAda, n.ID)
	_, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	require.NoError(t, err)
	check(ada, ada)
	s, err := w.ListVersions(asAda, read, page.Window{Limit: 10})
	require.NoError(t, err)
	var authors []note.UserID
	for _, v := range s.Items {
		authors = append(authors, v.Author)
	}
	assert.Equal(t, []note.UserID{grace, ada}, authors, "of the text, whoever moved its deadline or tagged it")
}
