package notetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
)

// replica is a client that keeps a copy of the notes that its user can read by asking for changes.
type replica struct {
	notes map[note.ID]note.Note
	since time.Time
	from  string // where a run that was cut off goes on; "" for a new run
	reads int
}

// sync reads all changes in pages of the given size.
func (r *replica) sync(t require.TestingT, w *storetest.World, as context.Context, user note.UserID, limit int) note.Synced {
	for {
		if synced, more := r.step(t, w, as, user, limit); !more {
			return synced
		}
	}
}

// step reads one page, and reports whether there are more.
func (r *replica) step(t require.TestingT, w *storetest.World, as context.Context, user note.UserID, limit int) (note.Synced, bool) {
	s, synced, err := w.Rules.ListChanges(as, user, r.since, page.Window{Limit: limit, From: r.from})
	require.NoError(t, err)
	require.LessOrEqual(t, len(s.Items), limit)
	for _, c := range s.Items {
		r.reads++
		switch {
		case c.Deleted != nil:
			delete(r.notes, c.Deleted.ID)
		case c.Ended != nil:
			delete(r.notes, c.Ended.Note)
		default:
			r.notes[c.Note.ID] = *c.Note
		}
	}
	if !s.More {
		r.since, r.from = synced.Until, ""
		return synced, false
	}
	from := r.from
	if r.from = s.Until; r.from == "" {
		r.from = s.Positions[len(s.Positions)-1]
	}
	require.NotEqual(t, from, r.from, "a page leads on")
	return synced, true
}

// equals asserts that the copy is what the store has.
func (r *replica) equals(t *testing.T, w *storetest.World, as context.Context, user note.UserID) {
	s, err := w.Rules.ListByDeadline(as, user, note.Due{}, page.Window{Limit: page.Max})
	require.NoError(t, err)
	shared, err := w.Rules.ListShared(as, user, page.Window{Limit: page.Max})
	require.NoError(t, err)
	require.False(t, s.More || shared.More)
	want := map[note.ID]note.Note{}
	for _, n := range s.Items {
		want[n.ID] = n
	}
	for _, found := range shared.Items {
		require.NoError(t, found.Err)
		want[found.ID] = found.Found.Note
	}
	assert.Equal(t, want, r.notes)
}

func testChangedSinceReturnsDeletions(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	_, asGrace := w.SignUp("grace")
	w.Create(asGrace, note.Create{Title: "of grace"})
	var notes []note.Note
	for i := range 6 {
		notes = append(notes, w.Create(asAda, note.Create{Title: fmt.Sprint(i), Deadline: storetest.Day(1, 1+i), Tags: []string{"t"}}))
		w.Clock.Advance(time.Second)
	}
	r := replica{notes: map[note.ID]note.Note{}}
	assert.True(t, r.sync(t, w, asAda, ada, 4).Complete)
	r.equals(t, w, asAda, ada)

	w.Clock.Advance(time.Hour)
	w.Delete(asAda, notes[1].ID)
	w.Delete(asAda, notes[2].ID)
	_, err := w.Rules.Undelete(asAda, note.Undelete{ID: notes[2].ID})
	require.NoError(t, err)
	_, err = w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: notes[3].ID})
	require.NoError(t, err)
	r.reads = 0
	assert.True(t, r.sync(t, w, asAda, ada, 4).Complete)
	r.equals(t, w, asAda, ada)
	// The margin of the first run brings its last notes once more, and then there are three changes.
	assert.LessOrEqual(t, r.reads, 6+3)
	assert.NotContains(t, r.notes, notes[1].ID)

	w.Clock.Advance(note.UndoFor)
	assert.False(t, r.sync(t, w, asAda, ada, 4).Complete, "deletions are told for thirty days")
	_, _, err = w.Rules.ListChanges(asGrace, ada, time.Time{}, page.Window{Limit: 1})
	storetest.IsFault(t, err, fault.Forbidden)
}

func testChangedSincePagesInOrder(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	want := map[string]bool{}
	for i := range 10 {
		n := w.Create(asAda, note.Create{Title: fmt.Sprint(i)}) // all at the same millisecond
		want[string(n.ID)] = true
	}
	for limit := 1; limit <= 11; limit += 2 {
		positions := storetest.Walk(t, limit, false, func(win page.Window) (page.Slice[note.Change], error) {
			return w.Notes.ListChanges(t.Context(), ada, w.Clock.Now(), win)
		})
		assert.Len(t, positions, len(want))
		assert.IsIncreasing(t, positions)
	}
	s, err := w.Notes.ListChanges(t.Context(), ada, w.Clock.Now().Add(time.Millisecond), page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Empty(t, s.Items)
}

// Writers take the time before they write: a change may become visible behind the place a reader has come to. The overlap of
// two runs brings it.
func testChangedSinceMissesNothing(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	stop := make(chan struct{})
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			n := w.Create(asAda, note.Create{Title: fmt.Sprint("writer ", i)})
			for step := 0; ; step++ {
				select {
				case <-stop:
					return
				default:
				}
				w.Clock.Advance(300 * time.Millisecond)
				var err error
				switch step % 4 {
				case 0:
					_, err = w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: n.ID, Deadline: storetest.Day(1, 1+step%28)})
				case 1:
					_, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr(fmt.Sprint(i, " ", step))})
				case 2:
					_, err = w.Rules.Delete(asAda, note.Delete{ID: n.ID})
				case 3:
					_, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
				}
				if !assert.NoError(t, err, "step %d", step) {
					return
				}
			}
		})
	}
	r := replica{notes: map[note.ID]note.Note{}}
	for range 15 {
		r.sync(t, w, asAda, ada, 2)
	}
	close(stop)
	group.Wait()
	r.sync(t, w, asAda, ada, 2)
	r.equals(t, w, asAda, ada)
}
