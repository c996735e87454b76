package notetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/storetest"
)

func testIdempotencyKeyRecordedWithEffect(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	in := note.Create{Title: "n", Content: "c", Tags: []string{"a"}, IdempotencyKey: storetest.Ptr("key#1")}
	var mu sync.Mutex
	ids := map[note.ID]int{}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			n, err := w.Rules.Create(asAda, in)
			if assert.NoError(t, err) {
				mu.Lock()
				defer mu.Unlock()
				ids[n.ID]++
			}
		})
	}
	group.Wait()
	assert.Len(t, ids, 1, "ten senders of one request get one note")
	assert.Equal(t, []string{"n"}, w.Titles(asAda, ada, note.Due{}))
}

func testIdempotencyKeyOfAnotherInput(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	n, err := w.Rules.Create(asAda, note.Create{Title: "n", Content: "c", IdempotencyKey: storetest.Ptr("key")})
	require.NoError(t, err)
	_, err = w.Rules.Create(asAda, note.Create{Title: "n", Content: "other", IdempotencyKey: storetest.Ptr("key")})
	require.ErrorIs(t, err, idempotency.ErrMismatch)
	_, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("x"), IdempotencyKey: storetest.Ptr("key")})
	require.ErrorIs(t, err, idempotency.ErrMismatch)
	assert.Equal(t, []string{"n"}, w.Titles(asAda, ada, note.Due{}))
	// The same when nobody looked before the transaction: the row itself refuses.
	key := idempotency.Key{Viewer: string(ada), Key: "key", Hash: []byte("another"), ExpiresAt: w.Clock.Now().Add(time.Hour)}
	n.ID = "another"
	require.ErrorIs(t, w.Notes.CreateNote(t.Context(), n, key), idempotency.ErrMismatch)
}

func testIdempotencyExpires(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	in := note.Create{Title: "n", Content: "c", IdempotencyKey: storetest.Ptr("key")}
	first, err := w.Rules.Create(asAda, in)
	require.NoError(t, err)
	w.Clock.Advance(idempotency.TTL - time.Second)
	again, err := w.Rules.Create(asAda, in)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	w.Clock.Advance(time.Second) // the row is still there: time to live removes it late
	other, err := w.Rules.Create(asAda, in)
	require.NoError(t, err)
	assert.NotEqual(t, first.ID, other.ID)
	assert.Len(t, w.Titles(asAda, ada, note.Due{}), 2)
	again, err = w.Rules.Create(asAda, in)
	require.NoError(t, err)
	assert.Equal(t, other, again, "the key now stands for the second effect")
}

func testIdempotencyKeyOfAFailure(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n"})
	update := note.Update{ID: n.ID, Title: storetest.Ptr("x"), ExpectedVersion: storetest.Ptr(2), IdempotencyKey: storetest.Ptr("key")}
	_, err := w.Rules.Update(asAda, update)
	require.Error(t, err)
	_, err = w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"a"}})
	require.NoError(t, err)
	changed, err := w.Rules.Update(asAda, update)
	require.NoError(t, err, "a request that changed nothing may be sent again")
	assert.Equal(t, "x", changed.Title)
}

func testIdempotencyKeyOfANoOp(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n"})
	same := note.Update{ID: n.ID, Title: storetest.Ptr("n"), IdempotencyKey: storetest.Ptr("key")}
	got, err := w.Rules.Update(asAda, same)
	require.NoError(t, err)
	assert.Equal(t, n, got, "nothing to change: no version, no new time")
	_, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("other")})
	require.NoError(t, err)
	got, err = w.Rules.Update(asAda, same)
	require.NoError(t, err)
	assert.Equal(t, "other", got.Title, "the request was carried out before: it does not happen again")
}

func testIdempotencyOfOneViewer(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	_, asGrace := w.SignUp("grace")
	in := note.Create{Title: "n", Content: "c", IdempotencyKey: storetest.Ptr("key")}
	mine, err := w.Rules.Create(asAda, in)
	require.NoError(t, err)
	other, err := w.Rules.Create(asGrace, in)
	require.NoError(t, err)
	assert.NotEqual(t, mine.ID, other.ID)
}

func testEveryMutationHappensOncePerKey(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	var n note.Note
	state := func() string {
		read, err := w.Get(asAda, n.ID)
		return fmt.Sprint(read, err, w.Versions(asAda, n), w.Access(n))
	}
	steps := map[string]func(key *string) (any, error){
		"update": func(key *string) (any, error) {
			return w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("changed"), IdempotencyKey: key})
		},
		"deadline": func(key *string) (any, error) {
			return w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: n.ID, Deadline: storetest.Day(4, 4), IdempotencyKey: key})
		},
		"add tags": func(key *string) (any, error) {
			return w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"c"}, IdempotencyKey: key})
		},
		"remove tags": func(key *string) (any, error) {
			return w.Rules.RemoveTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"a"}, IdempotencyKey: key})
		},
		"restore": func(key *string) (any, error) {
			return w.Rules.Restore(asAda, note.Restore{Version: note.VersionID{Note: n.ID, Number: 1}, IdempotencyKey: key})
		},
		"share": func(key *string) (any, error) {
			return w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: grace, Permission: note.View, IdempotencyKey: key})
		},
		"unshare": func(key *string) (any, error) {
			return nil, w.Rules.Unshare(asAda, note.DeleteShare{Note: n.ID, User: grace, IdempotencyKey: key})
		},
		"delete": func(key *string) (any, error) {
			return w.Rules.Delete(asAda, note.Delete{ID: n.ID, IdempotencyKey: key})
		},
	}
	for name, step := range steps {
		n = w.Create(asAda, note.Create{Title: "n", Tags: []string{"a", "b"}})
		var err error
		n, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Content: storetest.Ptr("two")})
		require.NoError(t, err)
		w.Clock.Advance(time.Minute)
		key := storetest.Ptr("key of " + name)
		first, err := step(key)
		require.NoError(t, err, name)
		after := state()
		w.Clock.Advance(time.Minute)
		again, err := step(key)
		require.NoError(t, err, name)
		assert.Equal(t, first, again, name)
		assert.Equal(t, after, state(), name)
	}
	n = w.Create(asAda, note.Create{Title: "deleted"})
	w.Delete(asAda, n.ID)
	undelete := note.Undelete{ID: n.ID, IdempotencyKey: storetest.Ptr("key of undelete")}
	first, err := w.Rules.Undelete(asAda, undelete)
	require.NoError(t, err)
	again, err := w.Rules.Undelete(asAda, undelete)
	require.NoError(t, err)
	assert.Equal(t, first, again)
}
