package notes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
)

var (
	noKey        idempotency.Key
	transactions = faultinject.Operation("TransactWriteItems")
)

// The engine carried the update out and the answer was lost: it is reported once as done, and was done once.
func TestUpdateOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, key := range []*string{nil, dynamotest.Ptr("key")} {
		w, _, inj := dynamotest.OpenWorld(t)
		ada, asAda := w.SignUp("ada")
		n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"a"}})
		reset := inj.ResetAfter(faultinject.First(1), transactions)
		updated, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: dynamotest.Ptr("changed"), IdempotencyKey: key})
		require.NoError(t, err)
		assert.Equal(t, 1, reset.Hits())
		assert.Equal(t, 2, updated.Version)
		assert.Equal(t, []int{1}, w.Versions(asAda, updated), "one version")
		read, err := w.Get(asAda, n.ID)
		require.NoError(t, err)
		assert.Equal(t, updated, read)
		assert.Equal(t, []string{"changed"}, w.Titles(asAda, ada, note.Due{}))
	}
}

// As above, but nobody remembers the token of the transaction any more: more than ten minutes have passed, or, with the
// embedded engine, it was started again. Each write has to recognise its own rows.
func TestWritesRecogniseTheirOwnRows(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenForgetfulWorld(t)
	ada, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"a"}})
	w.Share(asAda, n.ID, grace, note.Edit)
	key := func(name string) idempotency.Key {
		return idempotency.Key{Viewer: string(ada), Key: name, Hash: []byte(name), ExpiresAt: w.Clock.Now().Add(time.Hour)}
	}
	next := func(change func(*note.Note)) (before, after note.Note) {
		notes, errs := w.Notes.NotesByID(t.Context(), ada, []note.ID{n.ID})
		require.Nil(t, errs)
		after = notes[0]
		after.Version++
		change(&after)
		return notes[0], after
	}
	fresh := n
	fresh.ID = "fresh"
	var moved note.Note
	deleted := note.Deleted{ID: n.ID, DeletedAt: w.Clock.Now()}
	steps := []struct {
		name string
		do   func(key idempotency.Key) error
	}{
		{"create", func(k idempotency.Key) error { return w.Notes.CreateNote(t.Context(), fresh, k) }},
		{"update", func(k idempotency.Key) error {
			before, after := next(func(n *note.Note) { n.Title = "two" })
			return w.Notes.UpdateNote(t.Context(), grace, before, after, &note.Version{VersionID: note.VersionID{Note: n.ID, Number: 1}}, k)
		}},
		{"move", func(k idempotency.Key) error {
			before, after := next(func(n *note.Note) { n.Deadline = w.Clock.Now() })
			moved = after
			return w.Notes.UpdateNote(t.Context(), grace, before, after, nil, k)
		}},
		{"delete", func(k idempotency.Key) error { return w.Notes.DeleteNote(t.Context(), moved, deleted, k) }},
		{"undelete", func(k idempotency.Key) error { return w.Notes.UndeleteNote(t.Context(), moved, deleted, k) }},
		{"share", func(k idempotency.Key) error {
			may := map[bool]note.Permission{false: note.View, true: note.Edit}[k.Given()] // not the same again, which changes nothing
			_, err := w.Notes.PutShare(t.Context(), n, note.Share{Note: n.ID, Owner: ada, User: grace, Permission: may, SharedAt: w.Clock.Now()}, k)
			return err
		}},
		{"unshare", func(k idempotency.Key) error {
			return w.Notes.DeleteShare(t.Context(), note.Share{Note: n.ID, Owner: ada, User: grace}, ada, w.Clock.Now(), k)
		}},
		{"sign up", func(k idempotency.Key) error {
			return w.Users.CreateUser(t.Context(), user.User{ID: user.ID("of " + k.Key), Email: k.Key + "@example.com", Version: 1}, "issuer", "s "+k.Key, k)
		}},
		{"change user", func(k idempotency.Key) error {
			users, errs := w.Users.UsersByID(t.Context(), []user.ID{ada})
			require.Nil(t, errs)
			after := users[0]
			after.Version, after.Email = after.Version+1, "changed"+k.Key+"@example.com"
			return w.Users.UpdateUser(t.Context(), users[0], after, k)
		}},
	}
	for _, step := range steps {
		for _, k := range []idempotency.Key{noKey, key(step.name)} {
			if k.Given() && (step.name == "create" || step.name == "delete" || step.name == "undelete") {
				continue // cannot be done twice
			}
			reset := inj.ResetAfter(faultinject.First(1), transactions)
			require.NoError(t, step.do(k), "%s, key %q", step.name, k.Key)
			require.Equal(t, 1, reset.Hits())
			reset.Stop()
		}
	}
}

func TestRevokedEditorCannotWrite(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenWorld(t)
	_, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n"})
	w.Share(asAda, n.ID, grace, note.Edit)
	// The share is deleted between the editor's read and the write.
	gate := inj.Hold(faultinject.First(1), transactions)
	done := make(chan error)
	go func() {
		_, err := w.Rules.Update(asGrace, note.Update{ID: n.ID, Title: dynamotest.Ptr("by grace")})
		done <- err
	}()
	require.NoError(t, gate.Wait(dynamotest.Soon(t, 20*time.Second), 1))
	require.NoError(t, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace}))
	gate.Open()
	assert.True(t, fault.Is(<-done, fault.NotFound))
	read, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, n, read)
}

// A write that cannot be carried out before the deadline says that its outcome is unknown, in time for an answer.
func TestWriteEndsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*faultinject.Injector){
		"throttled": func(inj *faultinject.Injector) { inj.Throttle(faultinject.Always, transactions) },
		"conflict":  func(inj *faultinject.Injector) { inj.Conflict(faultinject.Always, transactions) },
		"reset":     func(inj *faultinject.Injector) { inj.ResetBefore(faultinject.Always, transactions) },
		"hangs":     func(inj *faultinject.Injector) { inj.Hold(faultinject.Always, transactions) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, inj := dynamotest.OpenWorld(t)
			_, asAda := w.SignUp("ada")
			fail(inj)
			ctx, cancel := context.WithTimeout(asAda, time.Second)
			defer cancel()
			_, err := w.Rules.Create(ctx, note.Create{Title: "n", Content: "c"})
			assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
			assert.NoError(t, ctx.Err(), "time is left for the answer")
			sent := map[string]bool{}
			for _, c := range inj.Recorder().Calls(transactions) {
				sent[string(dynamotest.Tokens.Find(c.Body))] = true
			}
			assert.Len(t, sent, 2, "signing up and one write, repeated with its token")
		})
	}
}

func TestTransactionOfMoreThan100RowsIsRefused(t *testing.T) {
	t.Parallel()
	_, db, inj := dynamotest.OpenWorld(t)
	var actions []dynamo.Action
	for i := range dynamo.MaxActions + 1 {
		actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Key: dynamo.Key{PK: "p", SK: fmt.Sprint(i)}, Remove: true})
	}
	assert.True(t, fault.Is(db.Transact(t.Context(), actions, noKey), fault.Exhausted))
	assert.Zero(t, inj.Recorder().Count())
	assert.NoError(t, db.Transact(t.Context(), nil, noKey))
	assert.Zero(t, inj.Recorder().Count())
}

func TestReadsAreTriedAgain(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	w.Create(asAda, note.Create{Title: "n"})
	inj.Throttle(faultinject.First(12), faultinject.Operation("Query")) // more than the SDK tries by itself
	assert.Equal(t, []string{"n"}, w.Titles(asAda, ada, note.Due{}))
	inj.Throttle(faultinject.First(12), faultinject.Operation("GetItem"))
	_, err := w.Users.UserIDByEmail(t.Context(), "ada@example.com")
	require.NoError(t, err)
	inj.ResetBefore(faultinject.Always, faultinject.Reads)
	_, err = notes.Store{DB: db}.ListNotes(dynamotest.Soon(t, time.Second), ada, note.Due{}, page.Window{Limit: 1})
	assert.True(t, fault.Is(err, fault.Unavailable))
	_, err = w.Users.UserIDByEmail(dynamotest.Soon(t, time.Second), "ada@example.com")
	assert.True(t, fault.Is(err, fault.Unavailable))
	assert.False(t, errors.Is(err, context.Canceled))
}
