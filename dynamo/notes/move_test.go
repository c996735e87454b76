package notes_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

// moving is a note that is tagged and shared, and whose deadline is about to be changed.
type moving struct {
	*storetest.World
	ada, grace   viewer.UserID
	asAda        context.Context
	note         note.Note
	seen, unsure int // readings that showed the note, and that were Unavailable
}

func openMoving(w *storetest.World) *moving {
	m := &moving{World: w}
	m.ada, m.asAda = w.SignUp("ada")
	m.grace, _ = w.SignUp("grace")
	m.note = w.Create(m.asAda, note.Create{Title: "n", Tags: []string{"work"}, Deadline: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)})
	w.Share(m.asAda, m.note.ID, m.grace, note.View)
	return m
}

// look reads the note in every way that goes by its id. It may be Unavailable while it moves, but never absent and never
// twice.
func (m *moving) look(t *testing.T, ctx context.Context) {
	check := func(way string, found note.Found) {
		switch {
		case fault.Is(found.Err, fault.Unavailable):
			m.unsure++
		case assert.NoError(t, found.Err, way):
			m.seen++
			assert.Equal(t, m.note.ID, found.Note.ID, way)
			assert.Equal(t, "n", found.Note.Title, way)
		}
	}
	for _, reader := range []viewer.UserID{m.ada, m.grace} {
		notes, errs := m.Notes.NotesByID(ctx, reader, []note.ID{m.note.ID})
		f := note.Found{ID: m.note.ID, Note: notes[0]}
		if errs != nil {
			f.Err = errs[0]
		} else {
			assert.NotEqual(t, note.None, f.Note.Permission)
		}
		check("by id", f)
	}
	tagged, err := m.ListByTag(m.As(m.ada), m.note.Tags[0].ID(), page.Window{Limit: 5})
	if assert.NoError(t, err) && assert.Len(t, tagged.Items, 1, "by tag") {
		check("by tag", tagged.Items[0])
	}
	shared, err := m.Notes.ListSharedNotes(ctx, m.grace, page.Window{Limit: 5})
	if assert.NoError(t, err) && assert.Len(t, shared.Items, 1, "shared") {
		check("shared", shared.Items[0].Found)
	}
}

func (m *moving) move(t *testing.T, step int) {
	due := time.Date(2027, 1, 2+step%27, 0, 0, 0, 0, time.UTC)
	_, err := m.Rules.ChangeDeadline(m.asAda, note.ChangeDeadline{ID: m.note.ID, Deadline: due})
	assert.NoError(t, err)
}

// Somebody changes the deadline in a loop while others read.
func TestChangingTheDeadlineNeverHidesTheNoteByID(t *testing.T) {
	t.Parallel()
	w, _, _ := dynamotest.OpenWorld(t)
	m := openMoving(w)
	stop := make(chan struct{})
	var mover sync.WaitGroup
	mover.Go(func() {
		for step := 0; ; step++ {
			select {
			case <-stop:
				return
			default:
				m.move(t, step)
			}
		}
	})
	for range 25 {
		m.look(t, t.Context())
	}
	close(stop)
	mover.Wait()
	assert.Greater(t, m.seen, m.unsure, "the note is as a rule there")
}

// The rows of a transaction become visible one after another; each state in between is looked at.
func TestChangingTheDeadlineShownRowByRowNeverHidesTheNoteByID(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenWorld(t)
	m := openMoving(w)
	looked := 0
	rule := inj.RowByRow(func(ctx context.Context, shown, rows int) {
		looked++
		m.look(t, ctx)
	})
	m.move(t, 1)
	assert.Equal(t, 3, looked, "new row, old row, locator, event")
	m.move(t, 2)
	rule.Stop()
	m.unsure = 0
	m.look(t, t.Context())
	assert.Zero(t, m.unsure, "when all rows are there, nothing is unsure")
}

// The same for a change that lands between the two reads of one reader: the locator is read, then the note moves.
func TestReaderFollowsANoteThatMovesBetweenItsReads(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	m := openMoving(w)
	inj.Recorder().Reset()
	gate := inj.Hold(func(n int) bool { return n == 2 }, faultinject.Operation("BatchGetItem"))
	done := make(chan note.Note)
	go func() {
		notes, errs := notes.Store{DB: db}.NotesByID(t.Context(), m.ada, []note.ID{m.note.ID})
		assert.Nil(t, errs)
		done <- notes[0]
	}()
	require.NoError(t, gate.Wait(dynamotest.Soon(t, 20*time.Second), 1), "the locator was read, the note not yet")
	before := m.note
	after := before
	after.Version, after.Deadline = 2, time.Time{}
	require.NoError(t, m.Notes.UpdateNote(t.Context(), m.ada, before, after, nil, noKey))
	gate.Open()
	assert.Equal(t, after, <-done)
	assert.Equal(t, 4, inj.Recorder().Count(faultinject.Operation("BatchGetItem")))
}

// A note without a row behind its locator (never written by us) is not looked for for ever.
func TestReaderGivesUpOnANoteThatAlwaysMoves(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	m := openMoving(w)
	require.NoError(t, db.BatchDelete(t.Context(), []dynamo.RowID{{Table: dynamo.NotesTable, Key: notes.NoteKey(m.note)}}))
	inj.Recorder().Reset()
	_, errs := notes.Store{DB: db}.NotesByID(t.Context(), m.ada, []note.ID{m.note.ID})
	require.Len(t, errs, 1)
	assert.True(t, fault.Is(errs[0], fault.Unavailable), "got %v", errs[0])
	assert.Equal(t, 2*dynamo.Lookups, inj.Recorder().Count(faultinject.Operation("BatchGetItem")))
}
