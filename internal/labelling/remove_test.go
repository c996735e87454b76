package labelling_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/task"
)

// removal records a removal, as the service does.
func (w *world) removal(change func(*project.Removal)) task.Task {
	w.t.Helper()
	r := project.Removal{
		TransferID: project.TransferID{Project: w.project, ID: uuid.NewString()}, State: project.Removing, CreatedBy: boss, Team: "t2", CreatedAt: w.now().Add(-time.Minute), Version: 1,
	}
	change(&r)
	require.NoError(w.t, w.truth.PutRemoval(w.t.Context(), "", nil, r, nil, idempotency.Key{}))
	return task.Task{Kind: project.RunRemoval, ID: r.ID, Scope: string(w.project)}
}

func (w *world) ran(t task.Task) time.Time {
	w.t.Helper()
	again, err := labelling.NewRemover(w.options, time.Millisecond).Run(w.t.Context(), t)
	require.NoError(w.t, err)
	return again
}

// becomes has somebody want another state of a removal.
func (w *world) becomes(t task.Task, state project.RemovalState) {
	w.t.Helper()
	before := w.truth.removals[t.ID]
	require.NoError(w.t, w.truth.PutRemoval(w.t.Context(), "", &before, before.Next(state), nil, idempotency.Key{}))
}

func named(items ...project.Item) func(*project.Removal) {
	return func(r *project.Removal) {
		for _, i := range items {
			r.Items = append(r.Items, i.ID)
		}
	}
}

// worked has items in each status: finished, finished and found incorrect, skipped, claimed, finished again by somebody else, and new.
func (w *world) worked() (items []project.Item) {
	w.t.Helper()
	have := w.claim(ada, 5)
	require.Len(w.t, have, 5)
	w.finish(have[0])
	incorrect := w.finish(have[1])
	_, err := w.service.Review(w.as(rev), labelling.Reviewing{Effort: incorrect.Effort.EffortID, Verdict: project.Incorrect})
	require.NoError(w.t, err)
	_, err = w.service.Skip(w.as(ada), labelling.Skip{Item: have[2].ItemID, Token: have[2].Claim.Token, Reason: labelling.ForNobody})
	require.NoError(w.t, err)
	undone := w.finish(have[4])
	w.deliver()
	back, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: undone.Effort.EffortID})
	require.NoError(w.t, err)
	_, err = w.service.Release(w.as(ada), labelling.Held{Item: have[4].ItemID, Token: back.Item.Claim.Token})
	require.NoError(w.t, err)
	w.deliver()
	w.finish(w.claim(grace, 1)[0])
	w.deliver()
	for _, i := range have {
		items = append(items, w.truth.items[i.ID])
	}
	w.exact()
	return items
}

func statuses(items map[string]project.Item) map[string]project.Status {
	is := map[string]project.Status{}
	for id, i := range items {
		is[id] = i.Status
	}
	return is
}

func TestItemsAreRemovedAndComeBack(t *testing.T) {
	w := newWorld(t, 8, queue.Options{})
	items := w.worked()
	before, cursor := statuses(w.truth.items), w.state().Cursor
	counts := w.state().Counts
	job := w.removal(named(items...))
	again := w.ran(job)
	w.deliver()
	w.exact()
	assert.Equal(t, 3, w.state().Counts.Total)
	is := w.truth.removals[job.ID]
	assert.Equal(t, []any{project.Undoable, 5, is.EndedAt.Add(project.UndoRemoval), is.UndoUntil}, []any{is.State, is.Removed, is.UndoUntil, again})
	events, err := w.queue.Read(t.Context(), w.project, cursor, 50, 0)
	require.NoError(t, err)
	require.Len(t, events, 5, "told once of each")
	for _, e := range events {
		assert.Equal(t, []any{labelling.Removed, boss, "t2"}, []any{e.Cause, e.User, e.Team})
	}
	w.rebuilt()
	w.exact()

	// Who had one is told so, and keeps what was typed.
	held := items[3]
	_, err = w.service.Finish(w.as(ada), w.finishing(held))
	removed, ok := errors.AsType[*labelling.ItemRemoved](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, held.Claim.Token, removed.Input.Token)
	_, err = w.service.Extend(w.as(ada), labelling.Held{Item: held.ItemID, Token: held.Claim.Token})
	assert.ErrorAs(t, err, &removed)
	_, err = w.service.Release(w.as("stranger"), labelling.Held{Item: held.ItemID, Token: held.Claim.Token})
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = w.service.Review(w.as(rev), labelling.Reviewing{Effort: project.EffortID{Project: w.project, ID: items[0].LastEffort}, Verdict: project.Correct})
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	got := w.claim(grace, 50)
	assert.Len(t, got, 3, "what is removed is not handed out")
	for _, i := range got {
		_, err := w.service.Release(w.as(grace), labelling.Held{Item: i.ItemID, Token: i.Claim.Token})
		require.NoError(t, err)
	}
	w.deliver()

	w.becomes(job, project.Restoring)
	assert.Zero(t, w.ran(job))
	w.deliver()
	w.exact()
	assert.Equal(t, project.Restored, w.truth.removals[job.ID].State)
	before[held.ID] = project.New
	assert.Equal(t, before, statuses(w.truth.items), "who had an item has it no more")
	counts.New, counts.Claimed = counts.New+counts.Claimed, 0
	assert.Equal(t, counts, w.state().Counts)
	_, err = w.service.Finish(w.as(ada), w.finishing(held))
	lost, ok := errors.AsType[*labelling.LeaseLost](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, project.New, lost.Current.Status)
	assert.Equal(t, items[1].ID, w.claim(ada, 1)[0].ID, "what came back to its author is kept for that one")
	w.rebuilt()
	w.exact()
}

func TestItemsOfAnImportOrAStatusAreRemoved(t *testing.T) {
	w := newWorld(t, 30, queue.Options{})
	ended := w.now().Add(-time.Minute)
	w.truth.imports["wrong"] = project.Import{TransferID: project.TransferID{Project: w.project, ID: "wrong"}, State: project.Done, EndedAt: ended}
	n := 0
	for id, i := range w.truth.items {
		if n++; n%2 == 0 {
			i.Import = "wrong"
			w.truth.items[id] = i
		}
	}
	w.rebuilt()
	w.worked()
	w.ran(w.removal(func(r *project.Removal) { r.Import = "wrong" }))
	w.deliver()
	w.exact()
	assert.Equal(t, 15, w.state().Counts.Total)
	for _, i := range w.truth.items {
		assert.Equal(t, i.Import == "wrong", i.Status.Hidden())
	}
	left := w.state().Counts
	w.ran(w.removal(func(r *project.Removal) { r.Status = project.New }))
	w.deliver()
	w.exact()
	left.Total, left.New = left.Total-left.New, 0
	assert.Equal(t, left, w.state().Counts)
	assert.Empty(t, w.claim(grace, 50))
	w.rebuilt()
	w.exact()
}

// How far a removal is tells each second what was removed by then.
func TestARemovalTellsHowFarItIs(t *testing.T) {
	w := newWorld(t, 200, queue.Options{})
	job := w.removal(func(r *project.Removal) { r.Status = project.New })
	stored := 0
	w.truth.setAfter(func(what string) error {
		switch what {
		case "MoveItem":
			w.later(50 * time.Millisecond)
		case "PutRemoval":
			w.truth.mu.Lock()
			defer w.truth.mu.Unlock()
			stored++
			hidden := 0
			for _, i := range w.truth.items {
				if i.Status.Hidden() {
					hidden++
				}
			}
			assert.Equal(t, hidden, w.truth.removals[job.ID].Removed)
		}
		return nil
	})
	w.ran(job)
	w.truth.setAfter(nil)
	assert.Greater(t, stored, 3)
	w.deliver()
	w.exact()
}

// An item that many have worked on is removed in several steps.
func TestAnItemWithManyEffortsIsRemoved(t *testing.T) {
	w := newWorld(t, 2, queue.Options{})
	item := w.claim(ada, 1)[0]
	w.finish(item)
	w.deliver()
	w.laboured(item, 2*labelling.MostEfforts+5)
	before := maps.Clone(w.truth.efforts)
	job := w.removal(named(item))
	w.ran(job)
	w.deliver()
	w.exact()
	assert.Equal(t, labelling.Counts{Total: 1, New: 1}, w.state().Counts)
	w.becomes(job, project.Restoring)
	w.ran(job)
	w.deliver()
	w.exact()
	for id, e := range before {
		e.UpdatedAt = w.truth.efforts[id].UpdatedAt
		assert.Equal(t, e, w.truth.efforts[id])
	}
}

// What was removed goes when its time is over, or at once, but not before the queue has followed.
func TestRemovedItemsGo(t *testing.T) {
	w := newWorld(t, 8, queue.Options{})
	items := w.worked()
	job := w.removal(named(items...))
	w.ran(job)
	w.deliver()
	w.later(project.UndoRemoval - time.Minute)
	assert.NotZero(t, w.ran(job))
	assert.Len(t, w.truth.items, 8)
	w.later(2 * time.Minute)
	assert.Zero(t, w.ran(job))
	assert.Len(t, w.truth.items, 3)
	assert.Equal(t, project.Gone, w.truth.removals[job.ID].State)
	w.rebuilt()
	w.exact()

	w = newWorld(t, 8, queue.Options{})
	items = w.worked()
	job = w.removal(func(r *project.Removal) { named(items...)(r); r.Purge = true })
	assert.NotZero(t, w.ran(job), "the queue is to follow first")
	assert.Len(t, w.truth.items, 8)
	assert.Equal(t, project.Purging, w.truth.removals[job.ID].State)
	w.deliver()
	assert.Zero(t, w.ran(job))
	assert.Len(t, w.truth.items, 3)
	w.exact()
	w.rebuilt()
	w.exact()

	// Not while its import says how many items there are.
	w.truth.imports["goes-on"] = project.Import{TransferID: project.TransferID{Project: w.project, ID: "goes-on"}, State: project.Running}
	var last project.Item
	for id, i := range w.truth.items {
		i.Import, last = "goes-on", i
		w.truth.items[id] = i
	}
	job = w.removal(func(r *project.Removal) { named(last)(r); r.Purge = true })
	w.ran(job)
	w.deliver()
	assert.NotZero(t, w.ran(job))
	assert.Len(t, w.truth.items, 3)
}

// TestARemovalIsCarriedOn has servers be lost at each step of a removal, of bringing back, and of purging: before a write, or after it with its
// answer. Redis is flushed now and then.
func TestARemovalIsCarriedOn(t *testing.T) {
	for _, state := range []project.RemovalState{project.Undoable, project.Restored, project.Gone} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(state, after), func(t *testing.T) {
				w := newWorld(t, 8, queue.Options{})
				items := w.worked()
				before := statuses(w.truth.items)
				before[items[3].ID] = project.New
				job := w.removal(named(items...))
				steps := []project.RemovalState{project.Undoable, map[project.RemovalState]project.RemovalState{project.Restored: project.Restoring, project.Gone: project.Purging}[state]}
				for n, step := range steps {
					if n > 0 && step == "" {
						break
					}
					if n > 0 {
						w.deliver()
						w.becomes(job, step)
					}
					for lost := 1; ; lost++ {
						require.Less(t, lost, 100)
						left := 1 + rand.IntN(3)
						dies := func(what string) error {
							w.clock.Lock()
							defer w.clock.Unlock()
							if what == "MoveItem" || what == "PutRemoval" || what == "PurgeItem" {
								if left--; left < 0 {
									return fault.New(fault.Internal, "the server was lost")
								}
							}
							return nil
						}
						if after {
							w.truth.setAfter(dies)
						} else {
							w.truth.setBefore(dies)
						}
						job.Tries = lost
						_, err := labelling.NewRemover(w.options, time.Millisecond).Run(t.Context(), job)
						w.truth.setBefore(nil)
						w.truth.setAfter(nil)
						if err == nil && w.truth.removals[job.ID].State != project.Purging {
							break
						}
						if err == nil { // it waits for the queue
							w.relayed()
						}
						if lost%2 == 0 {
							w.flush()
							w.rebuilt()
							w.exact()
						}
					}
				}
				w.relayed()
				w.exact()
				w.rebuilt()
				w.exact()
				is := w.truth.removals[job.ID]
				assert.Equal(t, []any{state, 5}, []any{is.State, is.Removed})
				switch state {
				case project.Restored:
					assert.Equal(t, before, statuses(w.truth.items))
				case project.Gone:
					assert.Len(t, w.truth.items, 3)
				}
			})
		}
	}
}

// Labellers go on while items are removed and brought back: everything counts what is so in the end.
func TestLabellersGoOnWhileItemsAreRemoved(t *testing.T) {
	w := newWorld(t, 60, queue.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, i := range w.claim(ada, 4) {
				_, err := w.service.Finish(w.as(ada), w.finishing(i))
				if _, removed := errors.AsType[*labelling.ItemRemoved](err); err != nil && !removed {
					if _, lost := errors.AsType[*labelling.LeaseLost](err); !lost {
						t.Error(err)
						return
					}
				}
			}
			w.deliver()
		}
	}()
	var job task.Task
	for _, status := range []project.Status{project.New, project.Claimed, project.Finished} {
		job = w.removal(func(r *project.Removal) { r.Status = status })
		w.ran(job)
	}
	w.becomes(job, project.Restoring)
	w.ran(job)
	cancel()
	<-done
	w.relayed()
	w.exact()
	w.rebuilt()
	w.exact()
}
