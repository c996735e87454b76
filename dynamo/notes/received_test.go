package notes_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
)

// sharedRows puts notes of an owner that are shared with a reader since the beginning of the year, and have not been changed since.
func sharedRows(t *testing.T, db *dynamo.DB, owner, reader note.UserID, many int, change func(i int, n *note.Note)) {
	t.Helper()
	var rows []dynamo.Attrs
	for i := range many {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		n := note.Note{ID: note.ID(fmt.Sprintf("%05d", i)), Owner: owner, Title: "n", Content: "c", Version: 1, CreatedAt: at, UpdatedAt: at}
		if change != nil {
			change(i, &n)
		}
		rows = append(rows, notes.NoteRow(n), notes.LocatorRow(n), notes.ShareRow(note.Share{Note: n.ID, Owner: owner, User: reader, Permission: note.View, SharedAt: at}))
	}
	put(t, db, rows)
}

// changesOf reads all changes since then in pages, and returns the ids of the notes, and how many pages it took.
func changesOf(t *testing.T, w *storetest.World, reader note.UserID, since time.Time, limit int) (ids []note.ID, pages int) {
	t.Helper()
	for win := (page.Window{Limit: limit}); ; {
		s, err := w.Notes.ListChanges(t.Context(), reader, since, win)
		require.NoError(t, err)
		for _, c := range s.Items {
			ids = append(ids, c.Note.ID)
		}
		pages++
		if !s.More {
			return ids, pages
		}
		if win.From = s.Until; win.From == "" {
			win.From = s.Positions[len(s.Positions)-1]
		}
	}
}

func TestFiveHundredSharedNotesWithoutAChangeCostSevenCalls(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	ada, _ := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	sharedRows(t, db, ada, grace, 500, func(i int, n *note.Note) {
		if i%2 == 0 {
			n.Deadline = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	})
	since := w.Clock.Now()
	for _, limit := range []int{1, 20, 500} {
		inj.Recorder().Reset()
		ids, _ := changesOf(t, w, grace, since, limit)
		assert.Empty(t, ids)
		assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 5}, inj.Recorder().Operations(), "own changes, shares, and the locators")
	}
	inj.Recorder().Reset()
	ids, pages := changesOf(t, w, grace, time.Time{}, 500)
	assert.Len(t, ids, 500)
	assert.Equal(t, 1, pages)
	assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 5 + 5}, inj.Recorder().Operations(), "and the notes, if they changed")
}

// What a page looks at is bounded, and the run comes to the end of it.
func TestThousandsOfSharesAreLookedAtInParts(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	ada, _ := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	since := w.Clock.Now()
	sharedRows(t, db, ada, grace, 2600, func(i int, n *note.Note) {
		if i == 2100 || i == 2599 {
			n.UpdatedAt = since
		}
	})
	inj.Recorder().Reset()
	ids, pages := changesOf(t, w, grace, since, 500)
	assert.Equal(t, []note.ID{"02100", "02599"}, ids)
	assert.Equal(t, 2, pages)
	for _, c := range inj.Recorder().Calls(queries) {
		assert.LessOrEqual(t, c.Limit, 501)
	}
	// 2,004 shares, which are four Queries, on the first page, of which none has changed, and 596 on the last; the changed notes are read alone.
	assert.Equal(t, map[string]int{"Query": 1 + 4 + 2, "BatchGetItem": 4*6 + 6 + 1 + 2}, inj.Recorder().Operations())
	ids, _ = changesOf(t, w, grace, since, 1)
	assert.Equal(t, []note.ID{"02100", "02599"}, ids)
}

// Locators of before do not say when the note changed: the note does.
func TestLocatorsWithoutATime(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	since := w.Clock.Now()
	sharedRows(t, db, ada, grace, 120, nil)
	var rows []dynamo.Attrs
	for i := range 120 {
		n := note.Note{ID: note.ID(fmt.Sprintf("%05d", i)), Owner: ada, Title: "n", Content: "c", Version: 1, UpdatedAt: since}
		if i == 50 {
			rows = append(rows, notes.NoteRow(n))
		}
		n.UpdatedAt = time.Time{}
		rows = append(rows, notes.LocatorRow(n))
	}
	put(t, db, rows)
	for _, limit := range []int{1, 7, 500} {
		ids, _ := changesOf(t, w, grace, since, limit)
		assert.Equal(t, []note.ID{"00050"}, ids)
	}
	_, err := w.Rules.Update(asAda, note.Update{ID: "00003", Title: dynamotest.Ptr("changed")})
	require.NoError(t, err)
	ids, _ := changesOf(t, w, grace, since, 500)
	assert.Equal(t, []note.ID{"00003", "00050"}, ids)
	inj.Recorder().Reset()
	s, err := w.Notes.ListChanges(t.Context(), grace, since, page.Window{Limit: 500})
	require.NoError(t, err)
	require.Len(t, s.Items, 2)
	assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 2 + 2}, inj.Recorder().Operations())
}

// A note and a share that another program put are told as the document's rows have them.
func TestChangesOfForeignShares(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	bob, _ := w.SignUp("bob")
	dynamotest.PutByHand(t, db, dynamo.NotesTable, documentNotes(string(ada), string(bob)))
	ids, _ := changesOf(t, w, bob, time.Time{}, 5)
	assert.Equal(t, []note.ID{"n1"}, ids)
	since := w.Clock.Now()
	ids, _ = changesOf(t, w, bob, since, 5)
	assert.Empty(t, ids)
	_, err := w.Rules.AddTags(asAda, note.ChangeTags{ID: "n1", Tags: []string{"t"}})
	require.NoError(t, err)
	ids, _ = changesOf(t, w, bob, since, 5)
	assert.Equal(t, []note.ID{"n1"}, ids)
}

// A change takes its time, is held up for nearly as long as a write may take, and is carried out behind a run: the next run tells it. Indexes
// that lag have no part in that.
func TestSharedChangesThatCameLateAreTold(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *storetest.World, asAda context.Context, id note.ID, grace note.UserID) error{
		"update": func(w *storetest.World, asAda context.Context, id note.ID, _ note.UserID) error {
			_, err := w.Rules.Update(asAda, note.Update{ID: id, Title: dynamotest.Ptr("late")})
			return err
		},
		"move": func(w *storetest.World, asAda context.Context, id note.ID, _ note.UserID) error {
			_, err := w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: id, Deadline: storetest.Day(1, 1)})
			return err
		},
		"share": func(w *storetest.World, asAda context.Context, id note.ID, grace note.UserID) error {
			_, err := w.Rules.Share(asAda, note.PutShare{Note: id, User: grace, Permission: note.Edit})
			return err
		},
		"unshare": func(w *storetest.World, asAda context.Context, id note.ID, grace note.UserID) error {
			return w.Rules.Unshare(asAda, note.DeleteShare{Note: id, User: grace})
		},
		"delete": func(w *storetest.World, asAda context.Context, id note.ID, _ note.UserID) error {
			_, err := w.Rules.Delete(asAda, note.Delete{ID: id})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, inj := dynamotest.OpenWorld(t)
			_, asAda := w.SignUp("ada")
			grace, asGrace := w.SignUp("grace")
			n := w.Create(asAda, note.Create{Title: "n"})
			w.Share(asAda, n.ID, grace, note.View)
			w.Clock.Advance(time.Hour)
			inj.LagIndexes()
			run := func(since time.Time) ([]note.Change, time.Time) {
				s, synced, err := w.Rules.ListChanges(asGrace, grace, since, page.Window{Limit: 10})
				require.NoError(t, err)
				return s.Items, synced.Until
			}
			told, until := run(w.Clock.Now())
			assert.Empty(t, told)

			gate := inj.Hold(faultinject.First(1), transactions)
			done := make(chan error, 1)
			go func() { done <- change(w, asAda, n.ID, grace) }()
			require.NoError(t, gate.Wait(dynamotest.Soon(t, 20*time.Second), 1))
			w.Clock.Advance(note.SyncMargin)
			told, until = run(until)
			assert.Empty(t, told)
			gate.Open()
			require.NoError(t, <-done)
			told, _ = run(until)
			require.Len(t, told, 1)
			assert.Equal(t, name == "unshare", told[0].Ended != nil)
			assert.Equal(t, name == "delete", told[0].Deleted != nil)
		})
	}
}

// While a shared note moves, row by row, it is told, once, as it was or as it will be.
func TestChangesWhileASharedNoteMoves(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenWorld(t)
	m := openMoving(w)
	looks := 0
	inj.RowByRow(func(ctx context.Context, _, _ int) {
		looks++
		s, err := w.Notes.ListChanges(ctx, m.grace, time.Time{}, page.Window{Limit: 5})
		if err != nil {
			return // it says that it does not know
		}
		if assert.Len(t, s.Items, 1) {
			assert.Equal(t, m.note.ID, s.Items[0].Note.ID)
			assert.Equal(t, note.View, s.Items[0].Note.Permission)
		}
	})
	_, err := w.Rules.ChangeDeadline(m.asAda, note.ChangeDeadline{ID: m.note.ID, Deadline: storetest.Day(3, 1)})
	require.NoError(t, err)
	assert.Equal(t, 3, looks, "between its four rows: as it was, as it is, the locator, the event")
}
