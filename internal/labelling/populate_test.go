package labelling_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

func TestPopulateCostsTheSameHoweverManyWait(t *testing.T) {
	cost := func(items int) (perRefill int) {
		w := newWorld(t, items, queue.Options{})
		w.resize(100)
		for range 8 {
			for _, i := range w.claim(ada, 20) {
				w.finish(i)
			}
			w.deliver()
			before := w.truth.calls["ListByStatus"]
			require.NoError(t, w.populate.Run(t.Context()))
			assert.Equal(t, 100, w.state().Queued)
			perRefill = max(perRefill, w.truth.calls["ListByStatus"]-before)
		}
		return perRefill
	}
	few, many := cost(2_000), cost(10_000)
	assert.LessOrEqual(t, few, 4)
	assert.LessOrEqual(t, many, 4)
}

// Items come in the order of their import, but for about as many as the queue holds.
func TestPopulateKeepsTheOrderOfTheImport(t *testing.T) {
	w := newWorld(t, 1_000, queue.Options{})
	w.resize(400)
	w.flush()
	_, err := w.rebuild.Rebuild(t.Context(), w.project, true)
	require.NoError(t, err)
	require.NoError(t, w.populate.Run(t.Context()))
	waiting := w.waiting()
	require.Len(t, waiting, 400)
	for _, id := range waiting {
		place, err := strconv.Atoi(w.truth.items[id].Seq)
		require.NoError(t, err)
		assert.Less(t, place, 2*400)
	}
}

// What leaves a full queue, since something came back to its head, does not wait for the end of the project.
func TestPopulateGoesBackForWhatLeftTheQueue(t *testing.T) {
	w := newWorld(t, 1_000, queue.Options{})
	w.resize(32)
	w.flush()
	_, err := w.rebuild.Rebuild(t.Context(), w.project, true)
	require.NoError(t, err)
	require.NoError(t, w.populate.Run(t.Context()))
	back := w.claim(ada, 1)[0]
	require.NoError(t, w.populate.Run(t.Context()))
	waiting := w.waiting()
	_, err = w.service.Release(w.as(ada), labelling.Held{Item: back.ItemID, Token: back.Claim.Token})
	require.NoError(t, err)
	w.deliver()
	left := waiting[len(waiting)-1]
	require.NotContains(t, w.waiting(), left)
	for handed := 0; ; handed++ {
		require.Less(t, handed, 500, "it comes long before the end")
		require.NoError(t, w.populate.Run(t.Context()))
		item := w.claim(ada, 1)[0]
		if item.ID == left {
			return
		}
		w.finish(item)
		w.deliver()
	}
}

func TestPopulateOnManyServers(t *testing.T) {
	w := newWorld(t, 500, queue.Options{})
	w.resize(300)
	w.flush()
	done, err := w.rebuild.Rebuild(t.Context(), w.project, true)
	require.NoError(t, err)
	require.True(t, done)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { assert.NoError(t, labelling.NewPopulate(w.options, w.rebuild).Run(t.Context())) })
	}
	all.Wait()
	seen := map[string]bool{}
	for _, id := range w.waiting() {
		assert.False(t, seen[id])
		seen[id] = true
	}
	assert.Len(t, seen, 300)
}

func TestAClaimDoesNotSayThatThereIsNothingWhenItCannotLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, queue.Options{})
	_, err := w.rebuild.Rebuild(t.Context(), w.project, true)
	require.NoError(t, err, "which leaves the queue empty")
	w.truth.before = func(what string) error {
		if what == "ListByStatus" {
			return errDown
		}
		return nil
	}
	_, err = w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
	require.ErrorIs(t, err, errDown)
	w.truth.before = nil
	items, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
	require.NoError(t, err)
	assert.Len(t, items, 1)
}

func TestPopulateRestsWhenThereIsNothing(t *testing.T) {
	w := newWorld(t, 5, queue.Options{})
	done := w.finish(w.claim(ada, 1)[0])
	_, err := w.service.Review(w.as(rev), labelling.Reviewing{Effort: done.Effort.EffortID, Verdict: project.Incorrect})
	require.NoError(t, err)
	w.deliver() // one is NEW, but kept for ada
	require.NoError(t, w.populate.Run(t.Context()))
	before := w.truth.calls["ListByStatus"]
	for range 10 {
		require.NoError(t, w.populate.Run(t.Context()))
	}
	assert.Equal(t, before, w.truth.calls["ListByStatus"])
	id := project.ItemIDOf(w.project, "new")
	w.truth.items[id.ID] = project.Item{ItemID: id, Status: project.New, Seq: "9", Version: 1, UpdatedAt: time.Now().UTC()}
	_, err = w.queue.AddItems(t.Context(), w.project, "import", 1, boss)
	require.NoError(t, err)
	require.NoError(t, w.populate.Run(t.Context()))
	assert.Equal(t, 5, w.state().Queued)
}
