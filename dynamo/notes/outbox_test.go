package notes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/note"
)

// Each change leaves one event with its transaction, and costs nothing else; what changes nothing, or is refused, leaves none.
func TestEachChangeLeavesOneEvent(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorld(t)
	waiting := outbox.Store{DB: db}
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "first"})
	var told []event.Event
	leaves := func(want event.Event, do func() error) {
		t.Helper()
		w.Clock.Advance(time.Second)
		inj.Recorder().Reset()
		require.NoError(t, do())
		assert.Equal(t, 1, inj.Recorder().Count(faultinject.Operation("TransactWriteItems")))
		assert.Zero(t, inj.Recorder().Count(faultinject.Operation("BatchWriteItem")))
		all, err := waiting.ListOutbox(t.Context(), w.Clock.Now().Add(time.Minute), 100)
		require.NoError(t, err)
		require.Len(t, all, len(told)+1)
		last := all[len(told)]
		if last.Owner == "" {
			require.Equal(t, []error{nil}, notes.Store{DB: db}.OwnersOf(t.Context(), []*event.Event{&last}))
		}
		assert.False(t, last.At.IsZero())
		last.At = time.Time{}
		assert.Equal(t, want, last)
		told = all
	}
	first, err := waiting.ListOutbox(t.Context(), w.Clock.Now().Add(time.Minute), 100)
	require.NoError(t, err)
	require.Len(t, first, 1)
	assert.Equal(t, note.Creation(n), first[0])
	told = first
	none, err := waiting.ListOutbox(t.Context(), n.CreatedAt, 100)
	require.NoError(t, err)
	assert.Empty(t, none, "it happened later")

	leaves(event.Event{Kind: event.OfNote, Type: note.Shared, Of: string(n.ID), Owner: ada, By: ada, With: grace}, func() error { w.Share(asAda, n.ID, grace, note.Edit); return nil })
	granted := w.Clock.Now()
	w.Clock.Advance(time.Second)
	for range 2 { // the same again changes nothing
		share, err := w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: grace, Permission: note.Edit, IdempotencyKey: new("again")})
		require.NoError(t, err)
		assert.Equal(t, granted, share.SharedAt)
	}
	second := "second"
	leaves(event.Event{Kind: event.OfNote, Type: note.Changed, Of: string(n.ID), Owner: ada, By: grace, Version: 2}, func() error {
		_, err := w.Rules.Update(asGrace, note.Update{ID: n.ID, Title: &second})
		return err
	})
	leaves(event.Event{Kind: event.OfNote, Type: note.Moved, Of: string(n.ID), Owner: ada, By: ada, Version: 3}, func() error {
		_, err := w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: n.ID, Deadline: w.Clock.Now()})
		return err
	})
	leaves(event.Event{Kind: event.OfNote, Type: note.Tagged, Of: string(n.ID), Owner: ada, By: ada, Version: 4}, func() error {
		_, err := w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"work"}})
		return err
	})
	_, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Title: &second})
	require.NoError(t, err, "which changes nothing")
	_, err = w.Rules.Delete(asGrace, note.Delete{ID: n.ID})
	require.True(t, fault.Is(err, fault.Forbidden))
	leaves(event.Event{Kind: event.OfNote, Type: note.ShareEnded, Of: string(n.ID), Owner: ada, By: grace, With: grace}, func() error { // whose it was is found out later
		return w.Rules.Unshare(asGrace, note.DeleteShare{Note: n.ID, User: grace})
	})
	leaves(event.Event{Kind: event.OfNote, Type: note.Removed, Of: string(n.ID), Owner: ada, By: ada, Version: 4}, func() error {
		_, err := w.Rules.Delete(asAda, note.Delete{ID: n.ID})
		return err
	})
	leaves(event.Event{Kind: event.OfNote, Type: note.Undeleted, Of: string(n.ID), Owner: ada, By: ada, Version: 5}, func() error {
		_, err := w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
		return err
	})
	require.NoError(t, waiting.DeleteOutbox(t.Context(), append(told, told[0])))
	require.NoError(t, waiting.DeleteOutbox(t.Context(), told), "they are gone")
	left, err := waiting.ListOutbox(t.Context(), w.Clock.Now().Add(time.Minute), 100)
	require.NoError(t, err)
	assert.Empty(t, left)
}
