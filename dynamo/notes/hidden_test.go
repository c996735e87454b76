package notes_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/note"
)

// What is hidden costs what does not exist costs: one batch, of a locator and a share for each note, and a look into GSI2, where
// notes of other programs are found. No note is read.
func TestHiddenNotesCostWhatMissingOnesCost(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	shared, hidden := w.Create(asAda, note.Create{Title: "shared"}), w.Create(asAda, note.Create{Title: "hidden"})
	w.Share(asAda, shared.ID, grace, note.View)
	look := func(reader note.UserID, ids ...note.ID) ([]note.Note, []error, *faultinject.Recorder) {
		inj.Recorder().Reset()
		notes, errs := w.Notes.NotesByID(t.Context(), reader, ids)
		return notes, errs, inj.Recorder()
	}
	keysOf := func(r *faultinject.Recorder) int {
		n := 0
		for _, c := range r.Calls() {
			n += len(c.Keys)
		}
		return n
	}
	notes, errs, r := look(grace, hidden.ID)
	require.Nil(t, errs)
	assert.Equal(t, note.None, notes[0].Permission)
	assert.Empty(t, notes[0].Title, "nothing of the note was read")
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "Query": 1}, r.Operations())
	assert.Equal(t, 2, keysOf(r))

	_, errs, r = look(grace, note.ID(uuid.NewString()))
	assert.True(t, fault.Is(errs[0], fault.NotFound))
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "Query": 1}, r.Operations())
	assert.Equal(t, 2, keysOf(r))

	for reader, permission := range map[note.UserID]note.Permission{ada: note.Owner, grace: note.View} {
		notes, errs, r = look(reader, shared.ID)
		require.Nil(t, errs)
		assert.Equal(t, permission, notes[0].Permission)
		assert.Equal(t, "shared", notes[0].Title)
		assert.Equal(t, map[string]int{"BatchGetItem": 2}, r.Operations())
		assert.Equal(t, 3, keysOf(r))
	}
}
