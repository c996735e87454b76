package dynamo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/storetest"
)

// deletedNote is a deleted note with versions and shares whose clean-up is due, and the order for it.
func deletedNote(t *testing.T, w *storetest.World) (note.Note, note.Cleanup) {
	t.Helper()
	_, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "0", Tags: []string{"a"}})
	for i := range 3 {
		var err error
		n, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: ptr(fmt.Sprint("title ", i))})
		require.NoError(t, err)
		id, _ := w.SignUp(fmt.Sprint("reader ", i))
		w.Share(asAda, n.ID, id, note.View)
	}
	_, err := w.Rules.Delete(asAda, note.Delete{ID: n.ID})
	require.NoError(t, err)
	start := w.Clock.Now()
	w.Clock.Advance(note.UndoFor + time.Minute)
	orders, err := w.Notes.ListCleanups(t.Context(), start, w.Clock.Now())
	require.NoError(t, err)
	require.Len(t, orders, 1)
	return n, orders[0]
}

// The server dies after each of its calls in turn; the next one finishes the work.
func TestCleanUpKilledAtEachStepRunsAgain(t *testing.T) {
	t.Parallel()
	for last := range 2 {
		finished := false
		for steps := 0; !finished; steps++ {
			require.Less(t, steps, 20)
			w, _, inj := openWorld(t)
			n, order := deletedNote(t, w)
			next := w.Clock.Now().Add(note.Settle)
			if last == 1 {
				require.NoError(t, w.Notes.CleanUp(t.Context(), order, next))
				order.Last, order.Due = true, next
				w.Clock.Advance(2 * note.Settle)
			}
			kill := inj.KillAfter(steps)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := w.Notes.CleanUp(ctx, order, next)
			cancel()
			finished = kill.Hits() == steps
			kill.Stop()
			if finished {
				require.NoError(t, err)
			} else {
				require.Error(t, err, "killed after %d calls", steps)
			}
			// The next server looks for what is due.
			require.NoError(t, note.NewCleaning(w.Notes, w.Clock.Now).Run(t.Context()))
			w.Clock.Advance(2 * note.Settle)
			require.NoError(t, note.NewCleaning(w.Notes, w.Clock.Now).Run(t.Context()))
			shares, versions, tombstone := w.Remains(n)
			assert.Equal(t, []any{0, 0, false}, []any{shares, versions, tombstone}, "killed after %d calls", steps)
			left, err := w.Notes.ListCleanups(t.Context(), n.UpdatedAt, w.Clock.Now().Add(note.UndoFor))
			require.NoError(t, err)
			assert.Empty(t, left)
		}
	}
}

// GSI2 does not show a share in the first pass; the second one finds it.
func TestCleanUpFindsSharesThatTheIndexHid(t *testing.T) {
	t.Parallel()
	w, _, inj := openWorld(t)
	_, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n"})
	lag := inj.LagIndexes()
	w.Share(asAda, n.ID, grace, note.View)
	assert.Empty(t, w.Access(n), "the index lags")
	_, err := w.Rules.Delete(asAda, note.Delete{ID: n.ID})
	require.NoError(t, err)
	w.Clock.Advance(note.UndoFor + time.Minute)
	require.NoError(t, w.Clean())
	require.NoError(t, lag.Settle(t.Context()))
	assert.Len(t, w.Access(n), 1, "the first pass has missed the share")
	w.Clock.Advance(note.Settle + time.Minute)
	require.NoError(t, w.Clean())
	require.NoError(t, lag.Stop(t.Context()))
	shares, versions, tombstone := w.Remains(n)
	assert.Equal(t, []any{0, 0, false}, []any{shares, versions, tombstone})
}

// The indexes show nothing new at all; what is read after a write is right all the same.
func TestNoReadAfterWriteGoesThroughAnIndex(t *testing.T) {
	t.Parallel()
	w, _, inj := openWorld(t)
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	inj.LagIndexes()
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"a"}})
	w.Share(asAda, n.ID, grace, note.Edit)
	n, err := w.Rules.Update(asGrace, note.Update{ID: n.ID, Title: ptr("by grace")})
	require.NoError(t, err)
	assert.Equal(t, []string{"by grace"}, w.Titles(asAda, ada, note.Due{}))
	assert.Equal(t, []string{"by grace"}, w.Tagged(asAda, ada, "a"))
	assert.Equal(t, []int{1}, w.Versions(asAda, n))
	id, err := w.Users.UserIDByEmail(t.Context(), "grace@example.com")
	require.NoError(t, err)
	assert.Equal(t, grace, id)
	require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
	_, err = w.Get(asGrace, n.ID)
	assert.Error(t, err)
}

func TestBatchDeleteRepeatsWhatIsUnprocessed(t *testing.T) {
	t.Parallel()
	db, inj := openDB(t, nil)
	fill(t, db, notesTable, 60, 0)
	inj.Recorder().Reset()
	inj.LeaveUnprocessed(5, faultinject.Always)
	inj.Throttle(faultinject.Every(3))
	var rows []rowKey
	for i := range 60 {
		rows = append(rows, rowKey{"p", fmt.Sprint(i)})
	}
	require.NoError(t, db.batchDelete(soon(t, 20*time.Second), notesTable, rows))
	inj.Clear()
	var w wanted
	w.add(notesTable, upTo(60)...)
	for _, err := range db.batchGet(t.Context(), w.wants) {
		assert.Equal(t, errMissing, err)
	}
	assert.Empty(t, inj.Recorder().Violations())
	inj.Throttle(faultinject.Always)
	assert.Error(t, db.batchDelete(soon(t, time.Second), notesTable, rows))
}
