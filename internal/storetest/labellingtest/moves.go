package labellingtest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
)

func claimedItem(t *testing.T, w *World) {
	items := w.Fill(2)
	claimed := w.Do(w.Claiming(items[0], w.Ada))
	assert.Equal(t, claimed, w.Get(claimed.ItemID))
	assert.Equal(t, []project.Item{claimed}, w.Items(project.Claimed))
	assert.Equal(t, []project.Item{items[1]}, w.Items(project.New))
	w.Clock.Advance(time.Minute)
	extended := claimed
	extended.Version, extended.UpdatedAt = claimed.Version+1, w.Clock.Now()
	extended.Claim.Until = claimed.Claim.Until.Add(time.Minute)
	w.Do(labelling.Move{Before: claimed, After: extended})
	assert.Equal(t, []project.Item{extended}, w.Items(project.Claimed))
	assert.Empty(t, w.Outbox(), "the queue is told of these directly")

	ended := extended
	ended.Status, ended.Version, ended.Claim, ended.UpdatedAt = project.New, extended.Version+1, project.Claim{}, w.Clock.Now()
	released := w.Transition(labelling.Released, ended, w.Ada)
	released.Token = claimed.Claim.Token
	w.Do(labelling.Move{Before: extended, After: ended, Transition: released})
	assert.Equal(t, ended, w.Get(ended.ItemID))
	assert.Equal(t, []labelling.Transition{*released}, w.Outbox())
	assert.Len(t, w.Items(project.New), 2)
	assert.Empty(t, w.Items(project.Claimed))
	assert.Empty(t, w.Efforts(ended))
}

func finishedMove(t *testing.T, w *World) {
	item := w.Do(w.Claiming(w.Fill(1)[0], w.Ada))
	owl, asleep := w.Label("owl"), w.Label("asleep")
	m := w.Finishing(item, w.Ada, owl.ID, asleep.ID)
	m.Transition.Later, m.Transition.Until = w.Clock.Now().Add(time.Hour), w.Clock.Now().Add(time.Minute)
	done := w.Do(m)
	assert.Equal(t, done, w.Get(item.ItemID))
	assert.Equal(t, []project.Item{done}, w.Items(project.Finished))
	assert.Empty(t, w.Items(project.Claimed))
	assert.Equal(t, []project.Effort{*m.Effort}, w.Efforts(done))
	assert.Equal(t, []string{item.ID}, w.OfLabel(owl))
	assert.Equal(t, []string{item.ID}, w.OfLabel(asleep))
	assert.Equal(t, []labelling.Transition{*m.Transition}, w.Outbox())
	found, efforts, err := w.Truth.ItemWithEfforts(t.Context(), item.ItemID)
	require.NoError(t, err)
	assert.Equal(t, done, found)
	assert.Equal(t, []project.Effort{*m.Effort}, efforts)
}

func finishersTogether(t *testing.T, w *World) {
	item := w.Do(w.Claiming(w.Fill(1)[0], w.Ada))
	owl := w.Label("owl")
	var done atomic.Pointer[labelling.Move]
	storetest.Together(8, func(int) {
		m := w.Finishing(item, w.Ada, owl.ID, "")
		err := w.Truth.MoveItem(t.Context(), m, idempotency.Key{})
		if err == nil {
			assert.True(t, done.CompareAndSwap(nil, &m), "two have finished it")
			return
		}
		var conflict *project.ItemConflict
		if assert.ErrorAs(t, err, &conflict) {
			assert.Equal(t, item.ItemID, conflict.Current.ItemID)
			assert.Equal(t, project.Finished, conflict.Current.Status)
			assert.Equal(t, item.Version+1, conflict.Current.Version)
			assert.Zero(t, conflict.Current.Claim)
		}
	})
	require.NotNil(t, done.Load())
	assert.Equal(t, []project.Effort{*done.Load().Effort}, w.Efforts(item))
	assert.Equal(t, []labelling.Transition{*done.Load().Transition}, w.Outbox())
	assert.Equal(t, done.Load().After, w.Get(item.ItemID))
}

func movedTwice(t *testing.T, w *World) {
	item := w.Fill(1)[0]
	m := w.Finishing(item, w.Ada, w.Label("owl").ID, "")
	storetest.Together(4, func(int) { assert.NoError(t, w.Truth.MoveItem(t.Context(), m, idempotency.Key{})) })
	assert.Equal(t, m.After, w.Get(item.ItemID))
	assert.Len(t, w.Efforts(item), 1)
	assert.Len(t, w.Outbox(), 1)
	require.NoError(t, w.Truth.DeleteOutbox(t.Context(), w.Outbox()))
	w.Do(m)
	assert.Empty(t, w.Outbox(), "the queue has followed")
	undone := w.Do(w.Undoing(m.After, *m.Effort))
	var conflict *project.ItemConflict
	require.ErrorAs(t, w.Truth.MoveItem(t.Context(), m, idempotency.Key{}), &conflict)
	assert.Equal(t, undone, conflict.Current)
	claim := w.Claiming(undone, w.Ada)
	w.Do(claim)
	require.ErrorAs(t, w.Truth.MoveItem(t.Context(), claim, idempotency.Key{}), &conflict, "no transition tells that it is the same")
	assert.Equal(t, claim.After, conflict.Current)
}

func reviewedEffort(t *testing.T, w *World) {
	grace := w.SignUp("grace")
	m := w.Finishing(w.Fill(1)[0], w.Ada, w.Label("owl").ID, "")
	done := w.Do(m)
	w.Clock.Advance(time.Second)
	review := w.Reviewing(done, *m.Effort, grace)
	back := w.Do(review)
	assert.Equal(t, back, w.Get(done.ItemID))
	assert.Equal(t, w.Ada, back.ReturnedTo)
	assert.Equal(t, []project.Item{back}, w.Items(project.New))
	assert.Equal(t, []project.Effort{*review.Effort}, w.Efforts(done))
	assert.Equal(t, []labelling.Transition{*m.Transition, *review.Transition}, w.Outbox())
	assert.Equal(t, []string{done.ID}, w.OfLabel(w.Label("owl")), "until it is found to be something else")

	w.Clock.Advance(time.Second)
	again := w.Finishing(back, w.Ada, w.Label("owl").ID, "")
	again.After.ReturnedTo = ""
	done = w.Do(again)
	assert.Equal(t, done, w.Get(done.ItemID))
	assert.Equal(t, []project.Effort{*again.Effort, *review.Effort}, w.Efforts(done))

	// Everything of an effort can be taken away again.
	bare := *again.Effort
	bare.Keywords, bare.Subcategory, bare.UpdatedAt = nil, "", w.Clock.Now()
	next := done
	next.Version++
	w.Do(labelling.Move{Before: done, After: next, Effort: &bare, Known: again.Effort})
	assert.Equal(t, []project.Effort{bare, *review.Effort}, w.Efforts(done))
}

func correctedEffort(t *testing.T, w *World) {
	grace, owl, cat := w.SignUp("grace"), w.Label("owl"), w.Label("cat")
	m := w.Finishing(w.Fill(1)[0], w.Ada, owl.ID, "")
	done := w.Do(m)
	w.Clock.Advance(time.Second)
	correction := w.Correcting(done, *m.Effort, grace, cat.ID)
	after := w.Do(correction)
	assert.Equal(t, after, w.Do(correction), "it happens once")
	assert.Equal(t, after, w.Get(done.ItemID))
	assert.Equal(t, []project.Item{after}, w.Items(project.Finished))
	assert.Equal(t, []project.Effort{*correction.Correction, *correction.Effort}, w.Efforts(done))
	assert.Equal(t, []labelling.Transition{*m.Transition, *correction.Transition}, w.Outbox())
	assert.Equal(t, []string{done.ID}, w.OfLabel(cat))
	assert.Empty(t, w.OfLabel(owl))
	found, efforts, err := w.Truth.ItemWithEfforts(t.Context(), done.ItemID)
	require.NoError(t, err)
	assert.Equal(t, 2, found.EffortsMade)
	assert.Len(t, efforts, 2)
	slice, err := w.Projects.ListToReview(t.Context(), project.ReviewsRequest{Project: w.Project.ID, Window: page.Window{Limit: 10}})
	require.NoError(t, err)
	assert.Empty(t, slice.Items)
}

func undoneEffort(t *testing.T, w *World) {
	owl, asleep := w.Label("owl"), w.Label("asleep")
	item := w.Fill(1)[0]
	m := w.Finishing(item, w.Ada, owl.ID, asleep.ID)
	done := w.Do(m)
	w.Clock.Advance(time.Second)
	undo := w.Undoing(done, *m.Effort)
	undone := w.Do(undo)
	assert.Equal(t, undone, w.Get(item.ItemID))
	assert.Empty(t, w.OfLabel(owl))
	assert.Empty(t, w.OfLabel(asleep))
	assert.Empty(t, w.Items(project.Finished))
	assert.Equal(t, []project.Effort{*undo.Effort}, w.Efforts(item), "it is known that it was made")
}

func relinkedItem(t *testing.T, w *World) {
	owl, cat, asleep := w.Label("owl"), w.Label("cat"), w.Label("asleep")
	first := w.Finishing(w.Fill(1)[0], w.Ada, owl.ID, asleep.ID)
	back := w.Do(w.Reviewing(w.Do(first), *first.Effort, w.Ada))
	claimed := w.Do(w.Claiming(back, w.Ada))
	assert.Equal(t, []string{back.ID}, w.OfLabel(owl))
	done := w.Do(w.Finishing(claimed, w.Ada, cat.ID, ""))
	assert.Equal(t, done, w.Get(done.ItemID))
	assert.Empty(t, w.OfLabel(owl))
	assert.Empty(t, w.OfLabel(asleep))
	assert.Equal(t, []string{back.ID}, w.OfLabel(cat))
}

func finishedAgain(t *testing.T, w *World) {
	owl, cat, asleep := w.Label("owl"), w.Label("cat"), w.Label("asleep")
	item := w.Fill(1)[0]
	first, e1 := w.Finish(item, w.Ada, owl.ID, asleep.ID)
	w.Clock.Advance(time.Second)
	second, e2 := w.Finish(first, w.Ada, cat.ID, "")
	assert.Equal(t, []string{item.ID}, w.OfLabel(cat))
	assert.Empty(t, w.OfLabel(asleep))
	w.Clock.Advance(time.Second)
	third, e3 := w.Finish(second, w.Ada, cat.ID, asleep.ID)
	assert.Equal(t, third, w.Get(item.ItemID))
	assert.Equal(t, []project.Effort{e3, e2, e1}, w.Efforts(item))
	assert.Empty(t, w.OfLabel(owl))
	assert.Equal(t, []string{item.ID}, w.OfLabel(cat))
	assert.Equal(t, []string{item.ID}, w.OfLabel(asleep))
	assert.Len(t, w.Items(project.Finished), 1)
}

func movedNothing(t *testing.T, w *World) {
	items := w.Fill(2)
	lost := w.Finishing(items[0], w.Ada, w.Label("owl").ID, "")
	lost.Known = lost.Effort // an effort that is not there
	storetest.IsFault(t, w.Truth.MoveItem(t.Context(), lost, idempotency.Key{}), fault.NotFound)
	nothing := items[0]
	nothing.ID = "nothing"
	finish := w.Finishing(nothing, w.Ada, w.Label("owl").ID, "")
	storetest.IsFault(t, w.Truth.MoveItem(t.Context(), finish, idempotency.Key{}), fault.NotFound)
	storetest.IsFault(t, w.Truth.MoveItem(t.Context(), w.Claiming(nothing, w.Ada), idempotency.Key{}), fault.NotFound)
	_, errs := w.Truth.EffortsByID(t.Context(), []project.EffortID{finish.Effort.EffortID})
	storetest.IsFault(t, errs[0], fault.NotFound)
	assert.Empty(t, w.OfLabel(w.Label("owl")))
	assert.Empty(t, w.Efforts(nothing))
	_, _, err := w.Truth.ItemWithEfforts(t.Context(), nothing.ItemID)
	storetest.IsFault(t, err, fault.NotFound)
	assert.Empty(t, w.Outbox())
	assert.Empty(t, w.Efforts(items[0]))
	assert.Equal(t, items[0], w.Get(items[0].ItemID))
	assert.Len(t, w.Items(project.New), 2)
}

func movesOncePerKey(t *testing.T, w *World) {
	item := w.Fill(1)[0]
	finish := w.Finishing(item, w.Ada, w.Label("owl").ID, "")
	undo := w.Undoing(finish.After, *finish.Effort)
	claim := w.Claiming(undo.After, w.Ada)
	for n, m := range []labelling.Move{finish, undo, claim} {
		key := w.onceKey(n)
		require.NoError(t, w.Truth.MoveItem(t.Context(), m, key))
		var replayed *idempotency.Replayed
		require.ErrorAs(t, w.Truth.FindIdempotencyKey(t.Context(), key), &replayed, "move %d", n)
		require.ErrorAs(t, w.Truth.MoveItem(t.Context(), m, key), &replayed, "move %d", n)
		assert.Equal(t, []string{"result"}, replayed.Result)
	}
	assert.Equal(t, claim.After, w.Get(item.ItemID))
	assert.Len(t, w.Outbox(), 2)
	failed := w.onceKey(9)
	require.Error(t, w.Truth.MoveItem(t.Context(), finish, failed))
	assert.NoError(t, w.Truth.FindIdempotencyKey(t.Context(), failed), "what changed nothing may be tried again")
}
