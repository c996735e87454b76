package labelling_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/task"
)

// laboured gives an item as many efforts by all members, as if it had come back again and again.
func (w *world) laboured(item project.Item, n int) {
	w.t.Helper()
	stored := w.truth.items[item.ID]
	for n := range n {
		e := project.Effort{
			EffortID: project.EffortID{Project: w.project, ID: uuid.NewString()}, Item: item.ID, User: []project.UserID{ada, grace, rev}[n%3], Team: []string{"t0", "t1"}[n%2],
			Category: bird, Keywords: []string{[]string{"wing", "beak", "claw"}[n%3]}, FinishedAt: w.now(), UpdatedAt: w.now(),
		}
		if n%4 == 0 {
			e.Review.Verdict = project.Incorrect
		}
		w.truth.efforts[e.ID] = e
		stored.EffortsMade++
	}
	w.truth.items[item.ID] = stored
	w.rebuilt()
	w.exact()
}

// dies runs a removal on a server that is lost after as many moves of items.
func (w *world) dies(t task.Task, moves int) {
	w.t.Helper()
	left := moves
	w.truth.setBefore(func(what string) error {
		w.clock.Lock()
		defer w.clock.Unlock()
		if what == "MoveItem" {
			if left--; left < 0 {
				return fault.New(fault.Internal, "the server was lost")
			}
		}
		return nil
	})
	_, err := labelling.NewRemover(w.options, time.Millisecond).Run(w.t.Context(), t)
	w.truth.setBefore(nil)
	require.True(w.t, fault.Is(err, fault.Internal), "%v", err)
}

// purgedFor purges items for an import, while the queue follows.
func (w *world) purgedFor(items ...project.Item) error {
	w.t.Helper()
	ids := make([]project.ItemID, len(items))
	for n, i := range items {
		ids[n] = i.ItemID
	}
	done := make(chan error, 1)
	go func() { done <- labelling.NewRemover(w.options, time.Millisecond).PurgeRemoved(w.t.Context(), ids) }()
	for {
		w.deliver()
		select {
		case err := <-done:
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

// counted is how many efforts of an item are in the statistics.
func (w *world) counted(item project.Item) (n int) {
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	for _, e := range w.truth.efforts {
		if e.Item == item.ID && e.Counts() {
			n++
		}
	}
	return n
}

// An import meets an item of which a lost server has taken some of many efforts out of the statistics, or put some back.
func TestAnItemThatIsHalfRemovedIsPurgedWithAllThatCounts(t *testing.T) {
	const efforts = 2*labelling.MostEfforts + 5
	half := func(t *testing.T) (*world, project.Item, task.Task) {
		t.Helper()
		w := newWorld(t, 2, queue.Options{})
		item := w.claim(ada, 1)[0]
		w.finish(item)
		w.deliver()
		w.laboured(item, efforts-1)
		job := w.removal(named(item))
		w.dies(job, 1)
		w.deliver()
		w.exact()
		require.Equal(t, efforts-labelling.MostEfforts, w.counted(item))
		return w, item, job
	}
	gone := func(t *testing.T, w *world, item project.Item) {
		t.Helper()
		w.exact()
		assert.NotContains(t, w.truth.items, item.ID)
		assert.Empty(t, w.truth.efforts)
		w.rebuilt()
		w.exact()
	}
	t.Run("while it is being removed", func(t *testing.T) {
		w, item, _ := half(t)
		require.NoError(t, w.purgedFor(item))
		gone(t, w, item)
	})
	t.Run("behind the end of the removal", func(t *testing.T) {
		w, item, job := half(t)
		w.becomes(job, project.Undoable)
		w.becomes(job, project.Purging)
		assert.NotZero(t, w.ran(job), "the queue is to follow first")
		assert.Zero(t, w.counted(item))
		require.Contains(t, w.truth.items, item.ID)
		w.deliver()
		assert.Zero(t, w.ran(job))
		gone(t, w, item)
	})
	t.Run("while it is being brought back", func(t *testing.T) {
		w, item, job := half(t)
		w.ran(job)
		w.deliver()
		w.becomes(job, project.Restoring)
		w.dies(job, 1)
		require.Equal(t, labelling.MostEfforts, w.counted(item))
		err := w.purgedFor(item)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
		assert.Equal(t, labelling.MostEfforts, w.counted(item), "nobody takes out what somebody puts back")
		w.ran(job)
		w.deliver()
		require.NoError(t, w.purgedFor(item), "it is there")
		assert.Equal(t, efforts, w.counted(item))
		w.exact()
	})
}

// Somebody brings an item back while another one is about to purge it: it is not purged.
func TestAnItemThatComesBackIsNotPurged(t *testing.T) {
	w := newWorld(t, 2, queue.Options{})
	item := w.claim(ada, 1)[0]
	w.finish(item)
	job := w.removal(named(item))
	w.ran(job)
	w.deliver()
	back := false
	w.truth.setBefore(func(what string) error {
		if what == "PurgeItem" && !back {
			back = true
			w.becomes(job, project.Restoring)
			w.ran(job)
		}
		return nil
	})
	require.NoError(t, w.purgedFor(item))
	w.truth.setBefore(nil)
	require.True(t, back)
	assert.Equal(t, project.Finished, w.truth.items[item.ID].Status)
	w.deliver()
	w.exact()
}

// Items that have to wait do not keep back those behind them, and nobody reads the outbox of everybody.
func TestAPurgeGoesPastWhatHasToWait(t *testing.T) {
	w := newWorld(t, 350, queue.Options{})
	w.truth.imports["goes-on"] = project.Import{TransferID: project.TransferID{Project: w.project, ID: "goes-on"}, State: project.Running}
	ids := w.waitingItems()
	for _, id := range ids[:250] {
		i := w.truth.items[id]
		i.Import = "goes-on"
		w.truth.items[id] = i
	}
	w.rebuilt()
	job := w.removal(func(r *project.Removal) { r.Status, r.Purge = project.New, true })
	w.ran(job)
	w.deliver()
	w.truth.calls["ListOutbox"], w.truth.calls["LastPending"], w.truth.calls["ListRemoved"] = 0, 0, 0
	assert.NotZero(t, w.ran(job), "some have to wait")
	assert.Len(t, w.truth.items, 250)
	assert.Equal(t, []int{0, 4, 5}, []int{w.truth.calls["ListOutbox"], w.truth.calls["LastPending"], w.truth.calls["ListRemoved"]}, "one pass")
	assert.Equal(t, 250, w.truth.removals[job.ID].Left)
	w.truth.imports["goes-on"] = project.Import{TransferID: project.TransferID{Project: w.project, ID: "goes-on"}, State: project.Done}
	assert.Zero(t, w.ran(job))
	assert.Empty(t, w.truth.items)
	w.exact()
}

// waitingItems are the ids of all items in their order.
func (w *world) waitingItems() []string {
	var ids []string
	for id := range w.truth.items {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// What the index did not show yet when the removal of a status was asked for is removed, too.
func TestARemovalOfAStatusWaitsForTheIndex(t *testing.T) {
	w := newWorld(t, 6, queue.Options{})
	w.truth.lags(func(string) int { return 1 }) // as it was
	for _, i := range w.claim(ada, 3) {
		w.finish(i)
	}
	w.deliver()
	job := w.removal(func(r *project.Removal) { r.Status, r.CreatedAt = project.Finished, w.now() })
	remover := labelling.NewRemover(w.options, labelling.Settle)
	again, err := remover.Run(t.Context(), job)
	require.NoError(t, err)
	assert.Equal(t, w.truth.removals[job.ID].CreatedAt.Add(labelling.Settle), again)
	w.truth.lags(nil)
	w.later(labelling.Settle)
	_, err = remover.Run(t.Context(), job)
	require.NoError(t, err)
	assert.Equal(t, []any{project.Undoable, 3}, []any{w.truth.removals[job.ID].State, w.truth.removals[job.ID].Removed})
	w.deliver()
	w.exact()
}

// An import that was lost has begun to purge an item: undoing the removal brings back the others, and leaves nothing of that one.
func TestAnUndoPurgesToTheEndWhatAnImportHasBegunToPurge(t *testing.T) {
	w := newWorld(t, 8, queue.Options{})
	items := w.worked()
	job := w.removal(named(items...))
	w.ran(job)
	w.deliver()
	half := w.truth.items[items[0].ID]
	half.Status = project.Purged
	w.truth.items[half.ID] = half
	w.becomes(job, project.Restoring)
	assert.Zero(t, w.ran(job))
	assert.NotContains(t, w.truth.items, half.ID)
	for _, e := range w.truth.efforts {
		assert.NotEqual(t, half.ID, e.Item)
	}
	assert.Len(t, w.truth.items, 7)
	assert.Equal(t, project.Restored, w.truth.removals[job.ID].State)
	w.deliver()
	w.exact()
	w.rebuilt()
	w.exact()
}

// A server was lost after the queue had followed a transition, and before the outbox forgot it; the item was purged since, and perhaps imported
// again.
func TestTheOutboxForgetsWhatIsOfAPurgedItem(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run("again "+strconv.FormatBool(again), func(t *testing.T) {
			w := newWorld(t, 3, queue.Options{})
			item := w.claim(ada, 1)[0]
			w.finish(item)
			w.truth.setBefore(func(what string) error {
				if what == "DeleteOutbox" {
					return fault.New(fault.Internal, "the server was lost")
				}
				return nil
			})
			for _, m := range w.queue.mail {
				require.Error(t, w.consumer.Handle(t.Context(), m))
			}
			w.truth.setBefore(nil)
			w.queue.mail = nil
			job := w.removal(func(r *project.Removal) { named(item)(r); r.Purge = true })
			w.ran(job)
			w.deliver()
			require.Len(t, w.truth.outbox, 1, "the finish")
			assert.Zero(t, w.ran(job))
			require.NotContains(t, w.truth.items, item.ID)
			if again {
				w.truth.items[item.ID] = project.Item{ItemID: item.ItemID, Status: project.New, Seq: "9", Version: 1, CreatedAt: w.now(), UpdatedAt: w.now()}
				w.rebuilt()
			}
			w.relayed()
			w.exact()
			w.rebuilt()
			w.exact()
		})
	}
}
