package notes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

// written is a world in which a user wrote in the notes of another one.
type written struct {
	*storetest.World
	db        *dynamo.DB
	gone, ada user.ID
	asAda     context.Context
	notes     []note.Note // last changed by the user; changed by the owner since; deleted
}

func newWritten(w *storetest.World, db *dynamo.DB) *written {
	d := &written{World: w, db: db}
	var asGone context.Context
	d.gone, asGone = w.SignUp("gone")
	d.ada, d.asAda = w.SignUp("ada")
	for n := range 3 {
		of := w.Create(d.asAda, note.Create{Title: fmt.Sprint("note ", n), Tags: []string{"Old"}})
		w.Share(d.asAda, of.ID, d.gone, note.Edit)
		for k := range 2 {
			var err error
			of, err = w.Rules.Update(asGone, note.Update{ID: of.ID, Title: storetest.Ptr(fmt.Sprint("theirs ", k))})
			require.NoError(w.T, err)
		}
		if n > 0 {
			_, err := w.Rules.Update(d.asAda, note.Update{ID: of.ID, Title: storetest.Ptr("hers")})
			require.NoError(w.T, err)
		}
		if n == 2 {
			_, err := w.Rules.Delete(d.asAda, note.Delete{ID: of.ID})
			require.NoError(w.T, err)
		} else {
			require.NoError(w.T, w.Rules.Unshare(d.asAda, note.DeleteShare{Note: of.ID, User: d.gone}))
		}
		d.notes = append(d.notes, of)
	}
	given := w.Create(asGone, note.Create{Title: "given"})
	w.Share(asGone, given.ID, d.ada, note.View)
	require.NoError(w.T, w.Users.BlockUser(w.T.Context(), d.ada, user.Block{User: d.gone, At: w.Clock.Now()}, idempotency.Key{}))
	require.NoError(w.T, w.Users.BlockUser(w.T.Context(), d.gone, user.Block{User: d.ada, At: w.Clock.Now()}, idempotency.Key{}))
	return d
}

// erase erases the traces of the user from a position on, and returns the last position that was reached.
func (d *written) erase(position string) (string, error) {
	e := user.TraceEraser{Sweeps: []user.Sweep{notes.Store{DB: d.db}.EraseTraces}, Settle: time.Minute, Now: d.Clock.Now}
	for calls := 0; ; calls++ {
		require.Less(d.T, calls, 100)
		next, err := e.EraseTraces(d.T.Context(), d.gone, position)
		if later, is := errors.AsType[*user.Later](err); is {
			d.Clock.Advance(later.At.Sub(d.Clock.Now())) // events are told by then
			err = nil
		}
		if err != nil || next == "" {
			return position, err
		}
		position = next
	}
}

// traces returns the rows that name the user, but for what is the user's own, or of the user's own notes.
func (d *written) traces() (found []string) {
	for key, row := range dynamotest.RowsOf(d.T, d.db, dynamo.NotesTable) {
		own := key.PK == keys.UserPK(string(d.gone)) || strings.HasPrefix(key.PK, "EMAIL#") || strings.HasPrefix(key.PK, "SUBJECT#") ||
			strings.HasPrefix(key.PK, "NOTE#") && dynamo.Text(row["user_id"]) == string(d.gone) || strings.HasPrefix(key.SK, "SHARED#") && dynamo.Text(row["owner_id"]) == string(d.gone)
		if raw := dynamo.RowJSON(row); !own && bytes.Contains(raw, []byte(d.gone)) {
			found = append(found, string(raw))
		}
	}
	return found
}

// erased asserts that nothing but the name of who wrote has changed.
func (d *written) erased() {
	t := d.T
	t.Helper()
	assert.Empty(t, d.traces())
	assert.Contains(t, dynamotest.RowsOf(t, d.db, dynamo.NotesTable), dynamo.Key{PK: keys.UserPK(string(d.gone)), SK: keys.SubjectPK("issuer", "gone")}, "the identity is noted")
	for n, was := range d.notes[:2] {
		is, err := d.Get(d.asAda, was.ID)
		require.NoError(t, err)
		assert.Equal(t, 3+n, is.Version, "no version is made of it")
		assert.Equal(t, []user.ID{user.Erased, d.ada}[n], is.UpdatedBy)
		assert.Equal(t, []user.ID{user.Erased, d.ada}[n], is.Author)
		versions, err := notes.Store{DB: d.db}.ListVersions(t.Context(), was.ID, 0, page.Window{Limit: 10})
		require.NoError(t, err)
		for _, v := range versions.Items {
			author := user.Erased
			if v.Number == 1 {
				author = d.ada
			}
			assert.Equal(t, author, v.Author, v.Number)
		}
	}
	blocked, err := d.Users.ListBlocked(t.Context(), d.ada, page.Window{Limit: 10})
	require.NoError(t, err)
	assert.Empty(t, blocked.Items)
	for _, other := range d.SignUpMany("other "+uuid.NewString(), 2) { // the count of those who are blocked went with it
		require.NoError(t, d.Users.BlockUser(t.Context(), d.ada, user.Block{User: other, At: d.Clock.Now()}, idempotency.Key{}))
	}
	profile := dynamotest.RowsOf(t, d.db, dynamo.NotesTable)[users.ProfileKey(d.ada)]
	assert.Equal(t, 2, dynamo.Count(profile["blocked"]))
	restored, err := d.Rules.Undelete(d.asAda, note.Undelete{ID: d.notes[2].ID})
	require.NoError(t, err)
	assert.NotEqual(t, d.gone, restored.UpdatedBy)
	assert.Empty(t, d.traces())
}

func TestWhatAUserWroteInNotesOfOthersIsNobodysAfterwards(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	d := newWritten(w, db)
	require.NotEmpty(t, d.traces())
	_, err := d.erase("")
	require.NoError(t, err)
	before := dynamotest.RowsOf(t, db, dynamo.NotesTable)
	_, err = d.erase("")
	require.NoError(t, err)
	assert.Equal(t, before, dynamotest.RowsOf(t, db, dynamo.NotesTable), "again changes nothing")
	d.erased()
	assert.Empty(t, inj.Recorder().Violations())
}

func TestTracesInNotesAreErasedWithFaults(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := dynamotest.OpenFaultyDB(t, clock.Now)
	d := newWritten(storetest.NewWorld(t, storetest.Stores{Users: users.Store{DB: db}, Notes: notes.Store{DB: db}.Store()}, clock), db)
	_, err := d.erase("")
	require.NoError(t, err)
	d.erased()
}

func TestErasuresOfTracesInNotesAreKilled(t *testing.T) {
	t.Parallel()
	for n, killed := 0, true; killed; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			w, db, inj := dynamotest.OpenWorld(t)
			d := newWritten(w, db)
			rule := inj.KillAfter(n, func(*faultinject.Call) bool { return true })
			position, err := d.erase("")
			rule.Stop()
			if killed = err != nil; !killed {
				require.Greater(t, n, 10, "it was killed after each call")
			}
			if n%3 == 0 {
				position = ""
			}
			_, err = d.erase(position)
			require.NoError(t, err)
			d.erased()
		})
	}
}

// Who read a note before its author was erased may write the author once more: the next pass meets that.
func TestAWriteFromBeforeIsMetByTheNextPass(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorld(t)
	d := newWritten(w, db)
	store := notes.Store{DB: db}
	before, err := d.Get(d.asAda, d.notes[0].ID)
	require.NoError(t, err)
	e := user.TraceEraser{Sweeps: []user.Sweep{store.EraseTraces}, Settle: time.Minute, Now: d.Clock.Now}
	for position, first := "", true; first || position != ""; first = false {
		position, err = e.EraseTraces(t.Context(), d.gone, position)
		later, is := errors.AsType[*user.Later](err)
		if !is {
			require.NoError(t, err)
			continue
		}
		d.Clock.Advance(later.At.Sub(d.Clock.Now()))
		after := before
		after.Tags, after.Version, after.UpdatedAt = nil, before.Version+1, d.Clock.Now()
		if before.Version > 0 {
			require.NoError(t, store.UpdateNote(t.Context(), d.ada, before, after, nil, idempotency.Key{}))
			before.Version = 0 // once
		}
	}
	assert.Empty(t, d.traces())
	now, err := d.Get(d.asAda, d.notes[0].ID)
	require.NoError(t, err)
	assert.Empty(t, now.Tags)
	assert.Equal(t, user.Erased, now.Author)
}
