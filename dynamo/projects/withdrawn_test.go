package projects_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
	"github.com/taggie/taggie/internal/task"
)

// observer is told which items of projects lost their files.
type observer struct {
	mu   sync.Mutex
	told map[project.ItemID]int
}

func (l *observer) FileWithdrawn(_ context.Context, item project.ItemID, _ score.UserID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[item]++
	return nil
}

// withdrawing returns the rules of items that tell observer, and the task that follows a withdrawal.
func withdrawing(w *projecttest.OriginalWorld) (*score.Items, *observer, func(score.Item) task.Task) {
	told := &observer{told: map[project.ItemID]int{}}
	rules := score.NewItems(score.ItemsOptions{Store: w.Library.Items, Scores: w.Library.Scores, Files: w.Library.Files, Observer: told, Quota: 1 << 40, Now: w.Clock.Now, NewID: uuid.NewString})
	return rules, told, func(i score.Item) task.Task {
		return task.Task{Kind: score.EndUses, ID: string(i.ID), Scope: string(i.Owner) + "/" + string(i.Score)}
	}
}

func usesOf(t *testing.T, w *projecttest.OriginalWorld, i score.Item) []score.Use {
	t.Helper()
	uses, errs := w.Library.Items.ListUsesOf(t.Context(), []score.UsesRequest{i.Uses(page.Window{Limit: page.Max})})
	require.NoError(t, errs[0])
	return uses[0].Items
}

// A withdrawal is killed before each of its calls, and goes on: each project is told, none uses the file any more, and the count of uses is right.
func TestWithdrawalsAreKilled(t *testing.T) {
	t.Parallel()
	for calls := 0; ; calls++ {
		clock := storetest.NewClock()
		db, inj := dynamotest.OpenDB(t, clock.Now)
		w := projecttest.NewOriginalWorld(t, dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db), clock)
		rules, told, of := withdrawing(w)
		kept := w.Keep(score.Library, 2)
		var items []project.ItemID
		for range 3 {
			item := w.Draw(w.Import(), 1, 1)[0]
			item.ItemID = project.ItemIDOf(project.ID(uuid.NewString()), kept[0].Original().ExternalID())
			item.Original = kept[0].Original()
			_, _, err := w.Projects.ImportItems(t.Context(), []project.Item{item})
			require.NoError(t, err)
			items = append(items, item.ItemID)
		}
		require.Len(t, usesOf(t, w, kept[0]), 3)
		rule := inj.KillAfter(calls)
		withdrawn, err := rules.Withdraw(w.Library.As(w.Ada), score.WithdrawItem{Item: kept[0].ItemRef})
		if err == nil {
			_, err = rules.EndUses(t.Context(), of(kept[0]))
		}
		rule.Stop()
		whole := err == nil // nothing was killed
		if !whole {         // the client sends it again, and the task is run again
			withdrawn, err = rules.Withdraw(w.Library.As(w.Ada), score.WithdrawItem{Item: kept[0].ItemRef})
			require.NoError(t, err, "after %d calls", calls)
			_, err = rules.EndUses(t.Context(), of(kept[0]))
			require.NoError(t, err, "after %d calls", calls)
		}
		require.False(t, withdrawn.Withdrawn.IsZero())
		require.Empty(t, usesOf(t, w, kept[0]), "after %d calls", calls)
		require.Equal(t, []int{0, 0}, w.Refs(kept), "after %d calls", calls)
		require.Len(t, told.told, len(items), "after %d calls", calls)
		for _, item := range items {
			require.NotZero(t, told.told[item], "after %d calls", calls)
		}
		require.NoError(t, rules.Delete(w.Library.As(w.Ada), score.DeleteItem{Item: kept[0].ItemRef}))
		if whole {
			assert.Greater(t, calls, 5, "what is killed is what is done")
			return
		}
	}
}

// A file is withdrawn while it is imported: no project uses it when both are done.
func TestAnItemIsWithdrawnOrImported(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	w := projecttest.NewOriginalWorld(t, dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db), clock)
	rules, _, of := withdrawing(w)
	imported := w.Import()
	for line := 1; line <= 300; line++ {
		kept := w.Keep(score.Library, 1)[0]
		item := w.Draw(imported, line, 1)[0]
		item.Original = kept.Original()
		item.ItemID = project.ItemIDOf(item.Project, kept.Original().ExternalID())
		var both sync.WaitGroup
		var taken, ended error
		both.Go(func() { _, _, taken = w.Projects.ImportItems(t.Context(), []project.Item{item}) })
		both.Go(func() {
			if _, ended = rules.Withdraw(w.Library.As(w.Ada), score.WithdrawItem{Item: kept.ItemRef}); ended == nil {
				_, ended = rules.EndUses(t.Context(), of(kept))
			}
		})
		both.Wait()
		require.NoError(t, ended)
		if taken != nil {
			require.ErrorContains(t, taken, "does not exist any more")
		}
		require.Empty(t, usesOf(t, w, kept))
		require.Equal(t, []int{0}, w.Refs([]score.Item{kept}))
	}
}
