package labelling_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

func TestClaimAndFinish(t *testing.T) {
	w := newWorld(t, 5, queue.Options{})
	items := w.claim(ada, 2)
	require.Len(t, items, 2)
	assert.Equal(t, 2, w.state().Counts.Claimed)
	claims, err := w.service.Claims(w.as(ada), w.shown(ada))
	require.NoError(t, err)
	require.Len(t, claims, 2)
	assert.Equal(t, labelling.Lease, items[0].Claim.Until.Sub(items[0].Claim.Since))

	done := w.finish(items[0])
	assert.Zero(t, done.Item.Claim)
	item := done.Item
	assert.Equal(t, []any{project.Finished, bird, owl, []string{"wing", "beak"}, 1, done.Effort.ID, items[0].Version + 1},
		[]any{item.Status, item.Category, item.Subcategory, item.Keywords, item.Efforts, item.LastEffort, item.Version})
	e := done.Effort
	assert.Equal(t, []any{item.ID, ada, "t0", bird, owl, []string{"wing", "beak"}, item.UpdatedAt, item.UpdatedAt},
		[]any{e.Item, e.User, e.Team, e.Category, e.Subcategory, e.Keywords, e.FinishedAt, e.UpdatedAt})
	assert.True(t, item.UpdatedAt.After(items[0].UpdatedAt), "time goes on with each change")
	assert.Len(t, w.truth.outbox, 1)
	w.deliver()
	assert.Empty(t, w.truth.outbox)
	w.exact()
	top, err := w.service.Top(w.as(ada), w.shown(ada), labelling.Categories)
	require.NoError(t, err)
	assert.Equal(t, []labelling.Used{{Value: bird, Count: 1}}, top)

	assert.Len(t, w.claim(grace, 50), 3, "all that is left")
	assert.Empty(t, w.claim(grace, 1), "an empty queue is no error")
	w.exact()
}

func TestClaimIsIdempotent(t *testing.T) {
	w := newWorld(t, 10, queue.Options{})
	key := "k"
	in := labelling.ClaimItems{Project: w.project, Count: 3, IdempotencyKey: &key}
	once, err := w.service.Claim(w.as(ada), in)
	require.NoError(t, err)
	require.Len(t, once, 3)
	twice, err := w.service.Claim(w.as(ada), in)
	require.NoError(t, err)
	assert.ElementsMatch(t, once, twice)
	w.finish(once[0])
	left, err := w.service.Claim(w.as(ada), in)
	require.NoError(t, err)
	assert.ElementsMatch(t, once[1:], left, "what is left of them")
	w.flush()
	w.rebuilt()
	left, err = w.service.Claim(w.as(ada), in)
	require.NoError(t, err)
	assert.ElementsMatch(t, once[1:], left, "whatever Redis knows")
	other, err := w.service.Claim(w.as(grace), in)
	require.NoError(t, err)
	assert.Len(t, other, 3, "keys are each user's own")
	in.Count = 4
	_, err = w.service.Claim(w.as(ada), in)
	assert.True(t, fault.Is(err, fault.Conflict))
}

// TestWhatOthersDoNotLetThroughCanBeTriedAgain has others be faster each time, until the caller's time is up: the same may succeed later,
// and nothing says that the caller has to look first.
func TestWhatOthersDoNotLetThroughCanBeTriedAgain(t *testing.T) {
	w := newWorld(t, 3, queue.Options{})
	held, done := w.claim(ada, 1)[0], w.claim(ada, 1)[0]
	effort := w.finish(done).Effort.EffortID
	lease := labelling.Held{Item: held.ItemID, Token: held.Claim.Token}
	ops := map[string]func(context.Context) error{
		"release": func(ctx context.Context) error { _, err := w.service.Release(ctx, lease); return err },
		"extend":  func(ctx context.Context) error { _, err := w.service.Extend(ctx, lease); return err },
		"finish":  func(ctx context.Context) error { _, err := w.service.Finish(ctx, w.finishing(held)); return err },
		"undo": func(ctx context.Context) error {
			_, err := w.service.Undo(ctx, labelling.Undoing{Effort: effort})
			return err
		},
		"claim": func(ctx context.Context) error {
			_, err := w.service.Claim(ctx, labelling.ClaimItems{Project: w.project, Count: 1})
			return err
		},
		"pause": func(context.Context) error {
			ctx, cancel := context.WithTimeout(w.as(boss), 100*time.Millisecond)
			defer cancel()
			_, err := w.service.Pause(ctx, labelling.Managed{Project: w.project})
			return err
		},
	}
	w.truth.before = func(what string) error {
		w.truth.mu.Lock()
		defer w.truth.mu.Unlock()
		switch what {
		case "MoveItem":
			for id, i := range w.truth.items {
				i.Version++
				w.truth.items[id] = i
			}
		case "UpdateProject":
			p := w.truth.projects[w.project]
			p.Version++
			w.truth.projects[w.project] = p
		}
		return nil
	}
	for name, op := range ops {
		ctx, cancel := context.WithTimeout(w.as(ada), 100*time.Millisecond)
		err := op(ctx)
		cancel()
		assert.True(t, fault.Is(err, fault.Unavailable), "%s: %v", name, err)
		var conflict *project.ItemConflict
		assert.False(t, errors.As(err, &conflict), "%s: which clients are shown as a conflict", name)
	}
}

func TestClaimTakesOthersForItemsThatAreGone(t *testing.T) {
	w := newWorld(t, 10, queue.Options{})
	for _, c := range w.waiting()[:3] { // somebody finished them, and the queue has not heard of it
		i := w.truth.items[c]
		i.Status, i.Version = project.Finished, 7
		w.truth.items[c] = i
	}
	for _, key := range []*string{nil, new("k")} {
		items, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 3, IdempotencyKey: key})
		require.NoError(t, err)
		assert.Len(t, items, 3)
	}
	claims, err := w.queue.Claims(t.Context(), w.project, ada)
	require.NoError(t, err)
	assert.Len(t, claims, 6)
}

// A claim has the lease that the project had when it was made.
func TestLeaseOfAProject(t *testing.T) {
	w := newWorld(t, 2, queue.Options{})
	usual := w.claim(ada, 1)[0]
	p := w.truth.projects[w.project]
	p.Lease = 90
	w.truth.projects[w.project] = p
	long := w.claim(ada, 1)[0]
	assert.Equal(t, 90*time.Minute, long.Claim.Until.Sub(long.Claim.Since))
	for _, i := range []project.Item{usual, long} {
		after, err := w.service.Extend(w.as(ada), labelling.Held{Item: i.ItemID, Token: i.Claim.Token})
		require.NoError(t, err)
		assert.WithinDuration(t, i.Claim.Until, after.Claim.Until, 5*time.Minute)
	}
	done := w.finish(long)
	undone, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
	require.NoError(t, err)
	assert.Equal(t, 90*time.Minute, undone.Item.Claim.Until.Sub(undone.Item.Claim.Since))
	w.deliver()
	w.exact()
}

// The limit is that of the items that the user has, not of those that the queue has not yet followed to their ends.
func TestClaimRightAfterFinishes(t *testing.T) {
	w := newWorld(t, 3*labelling.MaxClaims, queue.Options{})
	first := w.claim(ada, labelling.MaxClaims)
	_, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
	require.ErrorIs(t, err, labelling.ErrFull)
	for _, i := range first {
		w.finish(i)
	}
	second := w.claim(ada, labelling.MaxClaims)
	require.Len(t, second, labelling.MaxClaims)
	for _, i := range second[:10] {
		w.finish(i)
	}
	w.deliver()
	w.finish(second[10])
	assert.Len(t, w.claim(ada, labelling.MaxClaims), 11)
	_, err = w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
	require.ErrorIs(t, err, labelling.ErrFull)
	w.deliver()
	w.exact()
}

func TestFinishTooLateLosesNothing(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	item := w.claim(ada, 1)[0]
	w.expire()
	require.Equal(t, project.New, w.truth.items[item.ID].Status)
	w.deliver()
	in := w.finishing(item)
	_, err := w.service.Finish(w.as(ada), in)
	var lost *labelling.LeaseLost
	require.ErrorAs(t, err, &lost)
	assert.Equal(t, w.shown(ada).Item(w.truth.items[item.ID]), lost.Current, "as a member is shown it")
	assert.Equal(t, &in, lost.Input)

	other := w.claim(grace, 1)[0]
	_, err = w.service.Finish(w.as(ada), in)
	require.ErrorAs(t, err, &lost)
	assert.Equal(t, grace, lost.Current.Claim.User)
	in.Token = other.Claim.Token
	_, err = w.service.Finish(w.as(ada), in)
	require.ErrorAs(t, err, &lost, "a foreign token is of no use")
	for _, do := range []func() error{
		func() error {
			_, err := w.service.Extend(w.as(ada), labelling.Held{Item: item.ItemID, Token: item.Claim.Token})
			return err
		},
		func() error {
			_, err := w.service.Release(w.as(ada), labelling.Held{Item: item.ItemID, Token: item.Claim.Token})
			return err
		},
		func() error {
			_, err := w.service.Skip(w.as(ada), labelling.Skip{Item: item.ItemID, Token: item.Claim.Token, Reason: labelling.ToOthers})
			return err
		},
	} {
		require.ErrorAs(t, do(), &lost)
	}
	w.exact()
}

func TestFinishTwice(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	item := w.claim(ada, 1)[0]
	in := w.finishing(item)
	key := "k"
	in.IdempotencyKey = &key
	once, err := w.service.Finish(w.as(ada), in)
	require.NoError(t, err)
	twice, err := w.service.Finish(w.as(ada), in)
	require.NoError(t, err)
	assert.Equal(t, once, twice)
	in.IdempotencyKey = nil
	_, err = w.service.Finish(w.as(ada), in)
	var already *labelling.AlreadyFinished
	require.ErrorAs(t, err, &already)
	assert.Equal(t, once.Effort, already.Effort)
	assert.Len(t, w.truth.efforts, 1)
	w.deliver()
	w.exact()
}

func TestFinishAfterTheAnswerWasLost(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	in := w.finishing(w.claim(ada, 1)[0])
	w.truth.setAfter(func(what string) error {
		if what == "MoveItem" {
			return errLost
		}
		return nil
	})
	_, err := w.service.Finish(w.as(ada), in)
	require.True(t, fault.Is(err, fault.Unavailable))
	w.truth.setAfter(nil)
	_, err = w.service.Finish(w.as(ada), in)
	var already *labelling.AlreadyFinished
	require.ErrorAs(t, err, &already)
	w.relayed() // nobody had sent it
	w.exact()
}

func TestFinishMany(t *testing.T) {
	w := newWorld(t, 4, queue.Options{})
	items := w.claim(ada, 3)
	foreign := w.claim(grace, 1)[0]
	ins := []labelling.Finish{w.finishing(items[0]), w.finishing(foreign), w.finishing(items[1]), w.finishing(items[0]), w.finishing(items[2])}
	ins[4].Keywords = []string{strings.Repeat("x", 100)}
	key := "k"
	for range 2 {
		outcomes, err := w.service.FinishMany(w.as(ada), ins, &key)
		require.NoError(t, err)
		require.Len(t, outcomes, 5)
		require.NoError(t, outcomes[0].Err)
		assert.Equal(t, items[0].ID, outcomes[0].Item.ID)
		var lost *labelling.LeaseLost
		require.ErrorAs(t, outcomes[1].Err, &lost)
		require.NoError(t, outcomes[2].Err)
		assert.Equal(t, items[1].ID, outcomes[2].Item.ID)
		var before *labelling.AlreadyFinished
		require.ErrorAs(t, outcomes[3].Err, &before, "the same item once more")
		assert.Equal(t, outcomes[0].Effort, before.Effort)
		var bad *fault.Error
		require.ErrorAs(t, outcomes[4].Err, &bad)
		assert.Equal(t, "input.finishes.4.keywords", bad.Field)
	}
	assert.Len(t, w.truth.efforts, 2)
	outcomes, err := w.service.FinishMany(w.as(ada), ins[:1], nil)
	require.NoError(t, err)
	var already *labelling.AlreadyFinished
	require.ErrorAs(t, outcomes[0].Err, &already)
	w.deliver()
	w.exact()
}

func TestSkipAndRelease(t *testing.T) {
	w := newWorld(t, 4, queue.Options{})
	items := w.claim(ada, 4)
	skip := func(n int, reason labelling.Reason) project.Item {
		i, err := w.service.Skip(w.as(ada), labelling.Skip{Item: items[n].ItemID, Token: items[n].Claim.Token, Reason: reason})
		require.NoError(t, err)
		return i
	}
	assert.Equal(t, project.New, skip(0, labelling.ToMeLater).Status)
	assert.Equal(t, project.New, skip(1, labelling.ToOthers).Status)
	assert.Equal(t, project.Skipped, skip(2, labelling.ForNobody).Status)
	_, err := w.service.Release(w.as(ada), labelling.Held{Item: items[3].ItemID, Token: items[3].Claim.Token})
	require.NoError(t, err)
	w.deliver()
	w.exact()
	again := w.claim(ada, 4)
	require.Len(t, again, 1, "one is for later, one for others, one for nobody")
	assert.Equal(t, items[3].ID, again[0].ID)
	assert.Len(t, w.claim(grace, 4), 2)
	w.exact()
}

func TestUndo(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	done := w.finish(w.claim(ada, 1)[0])
	_, err := w.service.Undo(w.as(grace), labelling.Undoing{Effort: done.Effort.EffortID})
	require.True(t, fault.Is(err, fault.Forbidden))
	back, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
	require.NoError(t, err)
	assert.Equal(t, project.Claimed, back.Item.Status)
	assert.Equal(t, []int{0, 1}, []int{back.Item.Efforts, back.Item.EffortsMade})
	assert.Empty(t, back.Item.Category)
	_, err = w.service.Undo(w.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
	require.ErrorIs(t, err, labelling.ErrUndone)
	w.deliver()
	w.exact()

	done = w.finish(back.Item)
	assert.Len(t, w.truth.efforts, 2, "the row stays")
	w.deliver()
	w.exact()
	w.later(labelling.Undo + time.Second)
	_, err = w.service.Undo(w.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
	require.ErrorIs(t, err, labelling.ErrTooLate)
	_, err = w.service.Review(w.as(rev), labelling.Reviewing{Effort: back.Effort.EffortID, Verdict: project.Correct})
	require.ErrorIs(t, err, labelling.ErrUndone)
}

func TestUndoOfASecondFinishBringsTheFirstBack(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	one := w.finish(w.claim(ada, 1)[0])
	_, err := w.service.Review(w.as(rev), labelling.Reviewing{Effort: one.Effort.EffortID, Verdict: project.Incorrect})
	require.NoError(t, err)
	w.deliver()
	two := w.finish(w.claim(ada, 1)[0])
	assert.Equal(t, 2, two.Item.Efforts)
	back, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: two.Effort.EffortID})
	require.NoError(t, err)
	assert.Equal(t, one.Effort.ID, back.Item.LastEffort)
	assert.Equal(t, bird, back.Item.Category)
	w.deliver()
	w.exact()
}

func TestExtend(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	item := w.claim(ada, 1)[0]
	require.NoError(t, w.client.Del(t.Context(), "none").Err())
	more, err := w.service.Extend(w.as(ada), labelling.Held{Item: item.ItemID, Token: item.Claim.Token})
	require.NoError(t, err)
	assert.False(t, more.Claim.Until.Before(item.Claim.Until))
	claims, err := w.queue.Claims(t.Context(), w.project, ada)
	require.NoError(t, err)
	require.Len(t, claims, 1)
	assert.Equal(t, more.Claim.Until, claims[0].Until)
	w.exact()
}
