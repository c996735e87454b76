package notes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/notes"
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
		n, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: dynamotest.Ptr(fmt.Sprint("title ", i))})
		require.NoError(t, err)
		id, _ := w.SignUp(fmt.Sprint("reader ", i))
		w.Share(asAda, n.ID, id, note.View)
	}
	_, err := w.Rules.Delete(asAda, note.Delete{ID: n.ID})
	require.NoError(t, err)
	start := w.Clock.Now()
	w.Clock.Advance(note.UndoFor + time.Minute)
	orders, err := w.Notes.ListCleanups(t.Context(), start, w.Clock.Now(), note.Cleanup{})
	require.NoError(t, err)
	require.Len(t, orders, 1)
	return n, orders[0]
}

// The server dies at each of its writes in turn; the next one finishes the work.
func TestCleanUpKilledAtEachWriteRunsAgain(t *testing.T) {
	t.Parallel()
	for last := range 2 {
		finished := false
		for steps := 0; !finished; steps++ {
			require.Less(t, steps, 20)
			w, _, inj := dynamotest.OpenWorld(t)
			n, order := deletedNote(t, w)
			next := w.Clock.Now().Add(note.Settle)
			if last == 1 {
				require.NoError(t, w.Notes.CleanUp(t.Context(), order, next))
				order.Last, order.Due = true, next
				w.Clock.Advance(2 * note.Settle)
			}
			inj.Recorder().Reset()
			kill := inj.KillAfter(steps, faultinject.Writes)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := w.Notes.CleanUp(ctx, order, next)
			cancel()
			finished = inj.Recorder().Count(faultinject.Writes) == steps
			kill.Stop()
			if finished {
				require.NoError(t, err)
			} else {
				require.Error(t, err, "killed after %d writes", steps)
			}
			// The next server looks for what is due.
			require.NoError(t, note.NewCleaning(w.Notes, w.Clock.Now).Run(t.Context()))
			w.Clock.Advance(2 * note.Settle)
			require.NoError(t, note.NewCleaning(w.Notes, w.Clock.Now).Run(t.Context()))
			shares, versions, tombstone := w.Remains(n)
			assert.Equal(t, []any{0, 0, false}, []any{shares, versions, tombstone}, "killed after %d writes", steps)
			left, err := w.Notes.ListCleanups(t.Context(), n.UpdatedAt, w.Clock.Now().Add(note.UndoFor), note.Cleanup{})
			require.NoError(t, err)
			assert.Empty(t, left)
		}
	}
}

// GSI2 does not show a share in the first pass; the second one finds it.
func TestCleanUpFindsSharesThatTheIndexHid(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenWorld(t)
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
	w, _, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	inj.LagIndexes()
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"a"}})
	w.Share(asAda, n.ID, grace, note.Edit)
	n, err := w.Rules.Update(asGrace, note.Update{ID: n.ID, Title: dynamotest.Ptr("by grace")})
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

// The versions of one note are more than can be looked at in the time there is: what was done stays done.
func TestCleanUpGetsOnPageByPage(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	n, order := deletedNote(t, w)
	var rows []dynamo.Attrs
	for i := range 24 {
		v := note.Version{VersionID: note.VersionID{Note: n.ID, Number: 100 + i}, Content: strings.Repeat("x", 300_000), UpdatedAt: w.Clock.Now()}
		rows = append(rows, notes.VersionRow(n.Owner, v))
	}
	for i := range rows {
		put(t, db, rows[i:i+1])
	}
	_, before, _ := w.Remains(n)
	for before > 0 {
		kill := inj.KillAfter(9)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_ = w.Notes.CleanUp(ctx, order, w.Clock.Now().Add(note.Settle))
		cancel()
		kill.Stop()
		_, after, _ := w.Remains(n)
		require.Less(t, after, before, "nine calls are enough to remove some of them")
		before = after
	}
}

// More orders than fit into one list, half of them in one partition, are all listed, once each, in few calls at a time.
func TestAllOrdersAreListedOnce(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	var rows []dynamo.Attrs
	wanted, i := 0, 0
	add := func(c note.Cleanup) {
		rows = append(rows, notes.CleanupRow(c))
		wanted++
	}
	full := keys.CleanupPKs(now)[3]
	for many := 0; many < notes.MaxCleanups+100; i++ {
		if id := note.ID(fmt.Sprint("note ", i)); keys.CleanupPK(now, string(id)) == full {
			add(note.Cleanup{Note: id, Owner: "ada", DeletedAt: now, Due: now.Add(-time.Minute)})
			many++
		}
	}
	for i := range 600 {
		add(note.Cleanup{Note: note.ID(fmt.Sprint("other ", i)), Owner: "ada", DeletedAt: now, Due: now.AddDate(0, 0, -(i % 60))})
	}
	rows = append(rows, notes.CleanupRow(note.Cleanup{Note: "not due", Owner: "ada", DeletedAt: now, Due: now.Add(time.Minute)}))
	put(t, db, rows)
	inj.Recorder().Reset()

	seen := map[note.ID]bool{}
	var last note.Cleanup
	for {
		due, err := notes.Store{DB: db}.ListCleanups(t.Context(), now.AddDate(0, 0, -60), now, last)
		require.NoError(t, err)
		if len(due) == 0 {
			break
		}
		for _, c := range due {
			require.False(t, seen[c.Note], "%s is listed twice", c.Note)
			seen[c.Note] = true
		}
		last = due[len(due)-1]
	}
	assert.Len(t, seen, wanted)
	assert.False(t, seen["not due"])
	assert.LessOrEqual(t, inj.Recorder().MaxConcurrent(), db.Concurrency)
	assert.Less(t, inj.Recorder().Count(), (61+3)*16, "only the days at which a list ends are read again")
}
