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
	"github.com/taggie/taggie/internal/viewer"
)

// eraseNotes erases all notes of an owner, and returns in how many parts.
func eraseNotes(ctx context.Context, t *testing.T, db *dynamo.DB, owner viewer.UserID) (parts int) {
	t.Helper()
	for position := ""; ; parts++ {
		require.Less(t, parts, 10)
		next, err := notes.Store{DB: db}.EraseNotes(ctx, owner, position)
		require.NoError(t, err)
		if position = next; next == "" {
			return parts
		}
	}
}

// notesOf returns the keys of notes and tombstones of an owner, and of what belongs to any note: locators, versions and orders.
func notesOf(t *testing.T, db *dynamo.DB, owner viewer.UserID) (found []string) {
	t.Helper()
	for key := range dynamotest.RowsOf(t, db, dynamo.NotesTable) {
		own := key.PK == keys.UserPK(string(owner)) && (strings.HasPrefix(key.SK, keys.NotePrefix) || strings.HasPrefix(key.SK, keys.TombstonePrefix))
		if own || strings.HasPrefix(key.PK, "NOTE") || strings.HasPrefix(key.PK, "CLEANUP#") {
			found = append(found, key.PK+" "+key.SK)
		}
	}
	return found
}

func TestErasing300NotesTakesAFewCallsForEach(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	bob, asBob := w.SignUp("bob")
	const n, deleted = 300, 30
	made := make([]note.Note, n)
	storetest.Together(n, func(i int) {
		made[i] = w.Create(asAda, note.Create{Title: fmt.Sprint("note ", i), Tags: []string{"a"}})
		if i < deleted {
			_, err := w.Rules.Update(asAda, note.Update{ID: made[i].ID, Title: storetest.Ptr("second")})
			assert.NoError(t, err)
			w.Delete(asAda, made[i].ID)
		}
	})
	his := w.Create(asBob, note.Create{Title: "his"})
	inj.Recorder().Reset()
	assert.Equal(t, 4, eraseNotes(dynamotest.Patient(t), t, db, ada), "3 of up to 100 notes, 1 of tombstones")
	assert.Equal(t, map[string]int{
		"Query":              2*n + 3 + 2 + 2,         // for shares and versions of each note; for 3 pages of notes, for tombstones, and for what is left of both
		"BatchWriteItem":     2*(4+4+3) + 2 + deleted, // locators and notes, locators of tombstones, and the version of each of these
		"TransactWriteItems": 2,                       // of tombstones with their orders
	}, dynamotest.Made(inj))
	left := notesOf(t, db, ada)
	assert.Len(t, left, 1, "%s", left)
	_, err := w.Get(asBob, his.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{"his"}, w.Titles(asBob, bob, note.Due{}))
}

// What another program wrote, or a defect, may be of a type that nobody expects.
func TestANoteThatCannotBeReadIsErased(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorld(t)
	ada, _ := w.SignUp("ada")
	dynamotest.PutByHand(t, db, dynamo.NotesTable, fmt.Sprintf(`[
		{"PK": "USER#%[1]s", "SK": "NOTE#2027-01-01T00:00:00.000Z#n1", "note_id": 5, "title": ["no", "text"], "created_at": "never", "version": "first"},
		{"PK": "NOTE#n1", "SK": "LOCATOR", "user_id": "%[1]s"},
		{"PK": "NOTE_HISTORY#n1", "SK": "VER#1", "title": 7},
		{"PK": "USER#%[1]s", "SK": "TOMBSTONE#n2", "deleted_at": "a while ago", "title": 5}]`, ada))
	require.NotEmpty(t, notesOf(t, db, ada))
	eraseNotes(t.Context(), t, db, ada)
	assert.Empty(t, notesOf(t, db, ada))
}

// A clean-up of a deleted note is held at each of its calls while the note's owner is erased.
func TestACleanUpBesideAnErasureLeavesNothing(t *testing.T) {
	t.Parallel()
	for last := range 2 {
		for at, held := 1, true; held; at++ {
			require.Less(t, at, 20)
			w, db, inj := dynamotest.OpenWorld(t)
			n, order := deletedNote(t, w)
			next := w.Clock.Now().Add(note.Settle)
			if last == 1 {
				require.NoError(t, w.Notes.CleanUp(t.Context(), order, next))
				order.Last, order.Due = true, next
				w.Clock.Advance(2 * note.Settle)
			}
			gate := inj.Hold(faultinject.Nth(at))
			done := make(chan error, 1)
			go func() { done <- w.Notes.CleanUp(dynamotest.Patient(t), order, next) }()
			held = false
			select {
			case err := <-done:
				require.NoError(t, err)
				gate.Open() // it has no such call
			case err := <-waited(t, gate):
				require.NoError(t, err)
				held = true
			}
			eraseNotes(t.Context(), t, db, n.Owner)
			gate.Open()
			if held {
				require.NoError(t, <-done)
			}
			assert.Empty(t, notesOf(t, db, n.Owner), "last %d, held at call %d", last, at)
		}
	}
}

// waited tells when a call is held.
func waited(t *testing.T, gate *faultinject.Gate) <-chan error {
	is := make(chan error, 1)
	go func() { is <- gate.Wait(dynamotest.Soon(t, time.Minute), 1) }()
	return is
}
