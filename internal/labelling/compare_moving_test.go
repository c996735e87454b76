package labelling_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// busy has labellers work without resting until stop is called: they finish items, take most of that back, and give the items back. While they do,
// each scan waits until each of them did something, so that their numbers move during every comparison.
func (w *watching) busy(users ...project.UserID) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	worked := make([]chan struct{}, len(users))
	var scans atomic.Int64
	var all sync.WaitGroup
	for n, user := range users {
		worked[n] = make(chan struct{})
		all.Go(func() {
			for round := 0; ctx.Err() == nil; {
				items, err := w.service.Claim(w.as(user), labelling.ClaimItems{Project: w.project, Count: 2})
				for _, i := range items {
					err = errors.Join(err, w.does(user, i, round))
					round++
				}
				if !errors.Is(err, labelling.ErrNotReady) { // which is during a rebuild
					assert.NoError(w.t, err)
				}
				select {
				case worked[n] <- struct{}{}:
				default:
				}
			}
		})
	}
	w.truth.setBefore(func(what string) error {
		if what == "ScanItems" && scans.Add(1)%labelling.Shards == 1 {
			for n := range worked {
				select {
				case <-worked[n]:
				case <-ctx.Done():
				}
			}
		}
		return nil
	})
	return func() {
		w.t.Helper()
		cancel()
		all.Wait()
		w.truth.setBefore(nil)
	}
}

// forGood is a round in which what is finished stays so.
const forGood = 7

// does has a labeller finish or skip an item, or finish it and take that back, and has the queue follow.
func (w *watching) does(user project.UserID, i project.Item, round int) (err error) {
	defer func() { err = errors.Join(err, w.follows()) }()
	if round%32 == 31 {
		_, err := w.service.Skip(w.as(user), labelling.Skip{Item: i.ItemID, Token: i.Claim.Token, Reason: labelling.ForNobody})
		return err
	}
	done, err := w.service.Finish(w.as(user), w.finishing(i))
	if err = errors.Join(err, w.follows()); err != nil || round%8 == forGood {
		return err
	}
	back, err := w.service.Undo(w.as(user), labelling.Undoing{Effort: done.Effort.EffortID})
	if err = errors.Join(err, w.follows()); err != nil {
		return err
	}
	_, err = w.service.Release(w.as(user), labelling.Held{Item: back.Item.ItemID, Token: back.Item.Claim.Token})
	return err
}

// follows has the queue follow what was sent.
func (w *watching) follows() (err error) {
	w.queue.mu.Lock()
	mail := w.queue.mail
	w.queue.mail = nil
	w.queue.mu.Unlock()
	for _, m := range mail {
		err = errors.Join(err, w.consumer.Handle(w.t.Context(), m))
	}
	return err
}

// A loss in numbers that move all the time is noticed.
func TestALossIsNoticedThoughNumbersNeverRest(t *testing.T) {
	t.Parallel()
	statistics := func(w *watching) string { return "taggie:team:statistics:{" + string(w.project) + "}:t0" }
	for what, lose := range map[string]func(w *watching) error{
		"of a user": func(w *watching) error {
			return w.client.HIncrBy(t.Context(), statistics(w), "ada:finished", -1).Err()
		},
		"of a team": func(w *watching) error {
			return w.client.HIncrBy(t.Context(), statistics(w), "team:finished", 2).Err()
		},
		"of all": func(w *watching) error {
			metadata := "taggie:project:metadata:{" + string(w.project) + "}"
			for field, by := range map[string]int64{"finished-items": -1, "new-items": 1, "remaining-items": 1} {
				if err := w.client.HIncrBy(t.Context(), metadata, field, by).Err(); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1_200, queue.Options{}).watched()
			w.works()
			defer w.busy(ada, grace)()
			epoch := w.state().Cursor.Epoch
			for range 2 {
				require.NoError(t, w.compare.Compare(t.Context(), w.project))
				require.Equal(t, epoch, w.state().Cursor.Epoch, "nothing is wrong")
			}
			require.NoError(t, lose(w))
			for tries := 0; ; tries++ {
				require.NoError(t, w.compare.Compare(t.Context(), w.project))
				if s, err := w.queue.State(t.Context(), w.project); err != nil || s.Cursor.Epoch != epoch {
					t.Logf("noticed by comparison %d", tries+1)
					break
				}
				require.Less(t, tries, 30, "nobody notices")
			}
		})
	}
}

// A project in doubt is compared again as long as more happens during a scan than Redis keeps: nothing is known then of what moved. Each scan has
// something that moves for good.
func TestADoubtStaysAsLongAsNumbersMoveTooMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1_200, queue.Options{}).watched()
	w.works()
	var scanned atomic.Int64
	w.truth.setBefore(func(what string) error {
		if what != "ScanItems" || scanned.Add(1)%labelling.Shards != 1 {
			return nil
		}
		items, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
		for _, i := range items {
			err = errors.Join(err, w.does(ada, i, forGood))
		}
		return err
	})
	w.queue.mu.Lock()
	w.queue.fails = func(what string) error {
		if what == "Read" {
			return labelling.ErrGap
		}
		return nil
	}
	w.queue.mu.Unlock()
	w.compare.Doubt(w.project, "another")
	for range 3 {
		before := scanned.Load()
		require.NoError(t, w.compare.Run(t.Context()))
		require.Greater(t, scanned.Load(), before, "nobody doubts any more")
		w.later(2 * time.Second) // than the longest pause
	}
}
