package labelling_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// slowTruth answers some writes too late: they arrive when the test has them do so.
type slowTruth struct {
	*truth
	mu   sync.Mutex
	slow func(labelling.Move) bool
	late []labelling.Move
}

func (s *slowTruth) MoveItem(ctx context.Context, m labelling.Move, once idempotency.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slow != nil && s.slow(m) {
		s.late = append(s.late, m)
		return errLost
	}
	return s.truth.MoveItem(ctx, m, once)
}

func TestAClaimThatArrivesAfterTheAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, queue.Options{})
	slow := &slowTruth{truth: w.truth}
	w.options.Truth = slow
	w.serve()
	victim := ""
	slow.slow = func(m labelling.Move) bool { // all tries of one claim
		if m.After.Status == project.Claimed && victim == "" {
			victim = m.After.ID
		}
		return m.After.Status == project.Claimed && m.After.ID == victim
	}
	got := w.claim(ada, 3)
	assert.Len(t, got, 2, "those that are known")
	slow.slow = nil
	require.NotEmpty(t, slow.late)
	for _, m := range slow.late {
		var conflict *project.ItemConflict
		require.ErrorAs(t, slow.MoveItem(t.Context(), m, idempotency.Key{}), &conflict, "it comes too late")
	}
	w.exact()
	again := w.claim(grace, 1)
	require.Len(t, again, 1)
	assert.Equal(t, victim, again[0].ID, "it is there for the next one at once")
}

func TestAClaimThatNobodyWasToldOfIsGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, queue.Options{})
	var made atomic.Int32
	w.truth.setAfter(func(what string) error { // the first claim is made, and then nothing answers any more
		if what == "MoveItem" {
			if made.Add(1) == 1 {
				w.truth.setBefore(func(string) error { return errLost })
			}
			return errLost
		}
		return nil
	})
	_, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
	require.ErrorIs(t, err, errLost)
	w.truth.setBefore(nil)
	w.truth.setAfter(nil)
	assert.Eventually(t, func() bool {
		w.truth.mu.Lock()
		defer w.truth.mu.Unlock()
		for _, i := range w.truth.items {
			if i.Status != project.New {
				return false
			}
		}
		return true
	}, 10*time.Second, 10*time.Millisecond)
	w.rebuild.Close() // nothing goes on
	w.deliver()
	w.exact()
}

func TestAnUndoWhoseAnswerWasLostTellsTheClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, queue.Options{})
	effort := w.finish(w.claim(ada, 1)[0])
	lost := 0
	w.truth.setAfter(func(what string) error {
		if what == "MoveItem" && lost == 0 {
			lost++
			return errLost
		}
		return nil
	})
	undone, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: effort.Effort.EffortID})
	require.NoError(t, err)
	assert.NotEmpty(t, undone.Item.Claim.Token)
	w.deliver()
	w.exact()
}
