package labelling_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// skip has a user claim n items and skip them for nobody, and returns them as they are then.
func (w *world) skip(u project.UserID, n int) []project.Item {
	w.t.Helper()
	items := w.claim(u, n)
	require.Len(w.t, items, n)
	for i, item := range items {
		var err error
		items[i], err = w.service.Skip(w.as(u), labelling.Skip{Item: item.ItemID, Token: item.Claim.Token, Reason: labelling.ForNobody})
		require.NoError(w.t, err)
	}
	return items
}

func idsOf(items []project.Item) []project.ItemID {
	ids := make([]project.ItemID, len(items))
	for i, item := range items {
		ids[i] = item.ItemID
	}
	return ids
}

func TestSkippedItemsComeBack(t *testing.T) {
	w := newWorld(t, 6, queue.Options{})
	skipped := w.skip(ada, 3)
	w.finish(w.claim(ada, 1)[0])
	w.deliver()
	require.Equal(t, labelling.Counts{Total: 6, New: 2, Finished: 1, Skipped: 3}, w.state().Counts)
	before := w.state().Cursor

	named := labelling.ReturnSkipped{Project: w.project, Items: append(idsOf(skipped[:1]), skipped[0].ItemID)}
	back, err := w.service.ReturnSkipped(w.as(boss), named)
	require.NoError(t, err)
	require.Len(t, back.Items, 1, "each once")
	assert.Nil(t, back.More)
	assert.Equal(t, []any{project.New, skipped[0].Version + 1, skipped[0].ID}, []any{back.Items[0].Status, back.Items[0].Version, back.Items[0].ID})
	w.deliver()
	w.exact()
	assert.Equal(t, skipped[0].ID, w.waiting()[0], "it waits before others")
	events, err := w.queue.Read(t.Context(), w.project, before, 10, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, []any{labelling.Returns, skipped[0].ID, boss, "t2", project.New}, []any{events[0].Cause, events[0].Item, events[0].User, events[0].Team, events[0].Status})

	back, err = w.service.ReturnSkipped(w.as(boss), named)
	require.NoError(t, err)
	assert.Empty(t, back.Items, "what is not skipped stays as it is")
	back, err = w.service.ReturnSkipped(w.as(boss), labelling.ReturnSkipped{Project: w.project})
	require.NoError(t, err)
	assert.Len(t, back.Items, 2)
	assert.False(t, *back.More)
	w.deliver()
	w.exact()
	w.rebuilt()
	w.exact()
	assert.Len(t, w.claim(grace, 50), 5)
}

// The queue may come to have the item before it has followed: then somebody may have claimed it by that time.
func TestWhatCameBackIsClaimedBeforeTheQueueFollows(t *testing.T) {
	w := newWorld(t, 2, queue.Options{})
	skipped := w.skip(ada, 1)
	w.deliver()
	_, err := w.service.ReturnSkipped(w.as(boss), labelling.ReturnSkipped{Project: w.project, Items: idsOf(skipped)})
	require.NoError(t, err)
	_, _, err = w.queue.Fill(t.Context(), w.project, []string{skipped[0].ID}, 10)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(w.waiting()), 1, "no more than count as NEW")
	got := w.claim(grace, 2)
	w.deliver()
	got = append(got, w.claim(grace, 2)...)
	assert.Len(t, got, 2)
	w.deliver()
	w.exact()
}

func TestWhoMayBringSkippedItemsBack(t *testing.T) {
	w := newWorld(t, 2, queue.Options{})
	skipped := idsOf(w.skip(ada, 1))
	for _, who := range []project.UserID{ada, rev} {
		_, err := w.service.ReturnSkipped(w.as(who), labelling.ReturnSkipped{Project: w.project, Items: skipped})
		assert.True(t, fault.Is(err, fault.Forbidden), "%s: %v", who, err)
	}
	_, err := w.service.ReturnSkipped(w.as("stranger"), labelling.ReturnSkipped{Project: w.project})
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	for _, items := range [][]project.ItemID{{}, make([]project.ItemID, labelling.MaxReturns+1), {{Project: "other", ID: skipped[0].ID}}, {skipped[0], {Project: w.project, ID: "none"}}} {
		_, err := w.service.ReturnSkipped(w.as(boss), labelling.ReturnSkipped{Project: w.project, Items: items})
		assert.True(t, fault.Is(err, fault.Invalid), "%v", err)
	}
	assert.Equal(t, project.Skipped, w.truth.items[skipped[0].ID].Status, "nothing was begun")
}

// A hundred come back at a time, whatever the index still shows of those before.
func TestSkippedItemsComeBackAHundredAtATime(t *testing.T) {
	w := newWorld(t, 130, queue.Options{})
	for range 3 {
		w.skip(ada, 41)
	}
	w.deliver()
	w.truth.lags(func(string) int { return 1 })
	key := "k"
	in := labelling.ReturnSkipped{Project: w.project, IdempotencyKey: &key}
	back, err := w.service.ReturnSkipped(w.as(boss), in)
	require.NoError(t, err)
	assert.Len(t, back.Items, 100)
	assert.True(t, *back.More)
	again, err := w.service.ReturnSkipped(w.as(boss), in)
	require.NoError(t, err)
	assert.ElementsMatch(t, idsOf(back.Items), idsOf(again.Items), "the same key brings back nothing more")
	assert.True(t, *again.More)
	back, err = w.service.ReturnSkipped(w.as(boss), labelling.ReturnSkipped{Project: w.project})
	require.NoError(t, err)
	assert.Len(t, back.Items, 23)
	assert.False(t, *back.More)
	w.deliver()
	w.exact()
}

// TestComingBackIsCarriedOn has a server be lost at each of its steps: the same request on another server brings back the rest, and
// nothing that was skipped again since.
func TestComingBackIsCarriedOn(t *testing.T) {
	for lost := range 4 {
		w := newWorld(t, 6, queue.Options{})
		skipped := w.skip(ada, 4)
		w.deliver()
		moves := 0
		w.truth.setBefore(func(what string) error {
			w.truth.mu.Lock()
			defer w.truth.mu.Unlock()
			if what == "MoveItem" {
				if moves++; moves > lost {
					return errLost
				}
			}
			return nil
		})
		key := "k"
		in := labelling.ReturnSkipped{Project: w.project, Items: idsOf(skipped), IdempotencyKey: &key}
		_, err := w.service.ReturnSkipped(w.as(boss), in)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
		w.truth.setBefore(nil)
		w.flush()
		w.rebuilt()
		w.serve()

		var again *project.Item
		for _, item := range skipped {
			now := w.truth.items[item.ID]
			if now.Status != project.New {
				continue
			}
			got := w.claim(ada, 50)
			for _, i := range got {
				reason := labelling.ToOthers
				if i.ID == item.ID {
					reason = labelling.ForNobody
				}
				i, err = w.service.Skip(w.as(ada), labelling.Skip{Item: i.ItemID, Token: i.Claim.Token, Reason: reason})
				require.NoError(t, err)
				if i.ID == item.ID {
					again = &i
				}
			}
			break
		}
		back, err := w.service.ReturnSkipped(w.as(boss), in)
		require.NoError(t, err)
		assert.ElementsMatch(t, idsOf(skipped), idsOf(back.Items), "all of them, after %d", lost)
		for _, item := range skipped {
			want := project.New
			if again != nil && item.ID == again.ID {
				want = project.Skipped
			}
			assert.Equal(t, want, w.truth.items[item.ID].Status, "after %d", lost)
		}
		w.relayed()
		w.exact()
	}
}
