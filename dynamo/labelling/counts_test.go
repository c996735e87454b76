package labelling_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func idsOfItems(items []project.Item) []project.ItemID {
	ids := make([]project.ItemID, len(items))
	for n, i := range items {
		ids[n] = i.ItemID
	}
	return ids
}

func TestCallsOfLabelling(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	ctx, once := t.Context(), idempotency.Key{}
	owl, cat, asleep := w.Label("owl"), w.Label("cat"), w.Label("asleep")
	items := dynamotest.InShard(t, w.World, 4, 30)
	claim := w.Claiming(items[0], w.Ada)
	extension := labelling.Move{Before: claim.After, After: claim.After}
	extension.After.Version++
	extension.After.Claim.Until = w.Clock.Now().Add(time.Hour)
	finish := w.Finishing(extension.After, w.Ada, owl.ID, asleep.ID)
	review := w.Reviewing(finish.After, *finish.Effort, w.Ada)
	again := w.Finishing(review.After, w.Ada, cat.ID, "")
	undo := w.Undoing(again.After, *again.Effort)
	move := func(m labelling.Move) func() error { return func() error { return db.MoveItem(ctx, m, once) } }
	listed := func(limit int) func() error {
		return func() error {
			_, _, err := db.ListByStatus(ctx, w.Project.ID, project.New, 4, labelling.Place{}, limit)
			return err
		}
	}
	gone := make([]labelling.Transition, 26)
	for i := range gone {
		gone[i] = labelling.Transition{ID: fmt.Sprint(i), Item: items[0].ID, At: w.Clock.Now()}
	}
	type ops = map[string]int
	for _, step := range []struct {
		name string
		do   func() error
		want ops
		rows int // written
	}{
		{"claim", move(claim), ops{"TransactWriteItems": 1}, 3},
		{"extend", move(extension), ops{"TransactWriteItems": 1}, 1},
		{"finish", move(finish), ops{"TransactWriteItems": 1}, 10},
		{"review", move(review), ops{"TransactWriteItems": 1}, 6},
		{"finish as something else", move(again), ops{"TransactWriteItems": 1}, 11},
		{"undo", move(undo), ops{"TransactWriteItems": 1}, 7},
		{"ListByStatus", listed(10), ops{"Query": 1}, 0},
		{"ListByStatus of all", listed(1_000), ops{"Query": 1}, 0},
		{"ItemWithEfforts", func() error { _, _, err := db.ItemWithEfforts(ctx, items[0].ItemID); return err }, ops{"TransactGetItems": 1, "Query": 1}, 0},
		{"ItemsWithEfforts", func() error { _, _, errs := db.ItemsWithEfforts(ctx, idsOfItems(items)); return errors.Join(errs...) }, ops{"BatchGetItem": 1, "TransactGetItems": 1, "Query": 1}, 0},
		{"ItemsWithEfforts of one each", func() error {
			for _, i := range items[1:28] {
				if err := db.MoveItem(ctx, w.Finishing(i, w.Ada, owl.ID, ""), once); err != nil {
					return err
				}
			}
			inj.Recorder().Reset()
			_, _, errs := db.ItemsWithEfforts(ctx, idsOfItems(items[1:]))
			return errors.Join(errs...)
		}, ops{"BatchGetItem": 1, "TransactGetItems": 1}, 0},
		{"ListOutbox", func() error { _, err := db.ListOutbox(ctx, w.Clock.Now().Add(time.Hour), 10); return err }, ops{"Query": 16}, 0},
		{"FindOutbox", func() error {
			_, _, err := db.FindOutbox(ctx, finish.Transition.Item, finish.Transition.Ref())
			return err
		}, ops{"GetItem": 1}, 0},
		{"DeleteOutbox", func() error { return db.DeleteOutbox(ctx, gone) }, ops{"BatchWriteItem": 2}, 26},
		{"ListAllProjects", func() error { _, err := db.ListAllProjects(ctx, "", 10); return err }, ops{"Query": 16}, 0},
		{"ScanItems", func() error {
			return db.ScanItems(ctx, w.Project.ID, 4, func([]project.Item) error { return nil })
		}, ops{"Query": 1}, 0},
	} {
		inj.Recorder().Reset()
		require.NoError(t, step.do(), step.name)
		rows := 0
		for _, c := range inj.Recorder().Calls(faultinject.Writes) {
			rows += c.Writes
		}
		assert.Equal(t, step.rows, rows, "rows of %s", step.name)
		assert.Equal(t, step.want, dynamotest.Made(inj), step.name)
	}
}

// What changes while it is scanned moves to the end, and is met there.
func TestScansMissNothingThatChanges(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfLabelling(t)
	const n, shard = 44, 5
	var items []project.Item
	for _, item := range w.Draw(w.Import(), 1, 32*n) {
		if len(items) < n && keys.Shard(item.ID) == shard {
			item.Metadata = map[string]any{"text": fmt.Sprintf("%090000d", len(items))} // a megabyte has eleven of them
			items = append(items, item)
		}
	}
	require.Len(t, items, n)
	_, _, err := db.ImportItems(t.Context(), items)
	require.NoError(t, err)
	current := map[string]project.Item{}
	for _, i := range items {
		current[i.ID] = i
	}
	var pages []int
	seen := map[string]project.Item{}
	require.NoError(t, db.ScanItems(t.Context(), w.Project.ID, shard, func(page []project.Item) error {
		for _, i := range page {
			seen[i.ID] = i
		}
		if pages = append(pages, len(page)); len(pages) > 4 {
			return nil
		}
		// The last one of what was read, where the scan goes on, some that were read, and some that were not.
		moving := append([]project.Item{page[len(page)-1], page[0]}, items[35:]...)
		w.Clock.Advance(time.Second)
		for _, i := range moving {
			current[i.ID] = w.Do(w.Claiming(current[i.ID], w.Ada))
		}
		return nil
	}))
	assert.Greater(t, len(pages), 4)
	assert.Equal(t, current, seen, "as they were in the end")
}

// Indexes lag: what is listed by status is a hint, what promises to see every acknowledged write does not read them.
func TestLabellingWhileIndexesLag(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	items := dynamotest.InShard(t, w.World, 3, 10)
	lag := inj.LagIndexes()
	ctx := t.Context()
	var finish labelling.Move
	for _, i := range items[:4] {
		finish = w.Finishing(w.Do(w.Claiming(i, w.Ada)), w.Ada, w.Label("owl").ID, "")
		w.Do(finish)
	}
	ids, next, err := db.ListByStatus(ctx, w.Project.ID, project.New, 3, labelling.Place{}, 4)
	require.NoError(t, err)
	assert.Equal(t, []string{items[0].ID, items[1].ID, items[2].ID, items[3].ID}, ids, "as it was")
	stale := w.ScannedItems()
	assert.ElementsMatch(t, items, stale)
	assert.Empty(t, w.ScannedEfforts())

	assert.Len(t, w.Outbox(), 4)
	item, efforts, err := db.ItemWithEfforts(ctx, finish.After.ItemID)
	require.NoError(t, err)
	assert.Equal(t, finish.After, item)
	assert.Equal(t, []project.Effort{*finish.Effort}, efforts)
	other, _ := w.Create(w.Ada, nil, nil)
	all, err := db.ListAllProjects(ctx, "", 10)
	require.NoError(t, err)
	assert.ElementsMatch(t, []project.ID{w.Project.ID, other.ID}, all)

	require.NoError(t, lag.Settle(ctx))
	rest, _, err := db.ListByStatus(ctx, w.Project.ID, project.New, 3, next, 100)
	require.NoError(t, err)
	assert.Len(t, rest, 6)
	ids, _, err = db.ListByStatus(ctx, w.Project.ID, project.New, 3, labelling.Place{}, 100)
	require.NoError(t, err)
	assert.Equal(t, rest, ids)
	assert.Len(t, w.Listed(project.Finished, 3), 4)
	assert.Len(t, w.ScannedEfforts(), 4)
	require.NoError(t, lag.Stop(ctx))
}
