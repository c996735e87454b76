package labelling_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
	"github.com/taggie/taggie/internal/task"
)

func (f filled) PutImport(ctx context.Context, by project.UserID, before *project.Import, after project.Import, follow []task.Task, once idempotency.Key) error {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	err := f.Store.PutImport(ctx, by, before, after, follow, once)
	if err == nil {
		f.b.memory.imports[after.ID] = after
	}
	return err
}

func (b *both) RemovalsByID(ctx context.Context, ids []project.TransferID) ([]project.Removal, []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	removals, errs := b.Truth.RemovalsByID(ctx, ids)
	has, faults := b.memory.RemovalsByID(ctx, ids)
	same(b, "RemovalsByID", removals, errs, has, faults)
	return removals, errs
}

func (b *both) ImportsByID(ctx context.Context, ids []project.TransferID) ([]project.Import, []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	imports, errs := b.Truth.ImportsByID(ctx, ids)
	has, faults := b.memory.ImportsByID(ctx, ids)
	same(b, "ImportsByID", imports, errs, has, faults)
	return imports, errs
}

func (b *both) PutRemoval(ctx context.Context, by project.UserID, before *project.Removal, after project.Removal, follow []task.Task, once idempotency.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.PutRemoval(ctx, by, before, after, follow, once)
	b.alike("PutRemoval", err, b.memory.PutRemoval(ctx, by, before, after, follow, once))
	return err
}

func (b *both) ListRemoved(ctx context.Context, id project.TransferID, after string, limit int) ([]project.ItemID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids, err := b.Truth.ListRemoved(ctx, id, after, limit)
	has, got := b.memory.ListRemoved(ctx, id, after, limit)
	b.alike("ListRemoved", err, got)
	assert.Equal(b.t, append([]project.ItemID{}, ids...), append([]project.ItemID{}, has...), "ListRemoved")
	return ids, err
}

func (b *both) CountRemoved(ctx context.Context, id project.TransferID) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.Truth.CountRemoved(ctx, id)
	has, got := b.memory.CountRemoved(ctx, id)
	b.alike("CountRemoved", err, got)
	assert.Equal(b.t, n, has, "CountRemoved")
	return n, err
}

func (b *both) ForgetRemoved(ctx context.Context, id project.TransferID, item project.ItemID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.ForgetRemoved(ctx, id, item)
	b.alike("ForgetRemoved", err, b.memory.ForgetRemoved(ctx, id, item))
	return err
}

func (b *both) PurgeItem(ctx context.Context, i project.Item, efforts []project.Effort) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.Truth.PurgeItem(ctx, i, efforts)
	b.alike("PurgeItem", err, b.memory.PurgeItem(ctx, i, efforts))
	return err
}

// silent is a queue that is told of transitions, and does nothing.
type silent struct{ labelling.Coordinator }

func (silent) Publish(context.Context, labelling.Message) error { return nil }

// Items are removed and brought back, then removed and purged: the store in memory is as the one on the engine after each step.
func TestRemovalsInMemoryKeepTheContract(t *testing.T) {
	t.Parallel()
	w := labellingtest.Open(openBoth).World(t, storetest.NewClock())
	items := w.Fill(6)
	for n := range items[:4] {
		w.Clock.Advance(time.Millisecond)
		m := w.Finishing(items[n], w.Ada, w.Label("owl").ID, "")
		if items[n] = w.Do(m); n%2 == 0 {
			items[n] = w.Do(w.Reviewing(items[n], *m.Effort, w.Ada))
		}
	}
	imports, errs := w.Projects.ImportsByID(t.Context(), []project.TransferID{{Project: w.Project.ID, ID: items[0].Import}})
	i, err := domain.First(imports, errs)
	require.NoError(t, err)
	over, ok := i.Cancel(w.Clock.Now()) // what is removed is gone only when that is over
	require.True(t, ok)
	require.NoError(t, w.Projects.PutImport(t.Context(), "", &i, over, nil, idempotency.Key{}))

	remover := labelling.NewRemover(labelling.Options{
		Truth: w.Truth, Coordinator: silent{}, Now: w.Clock.Now, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler),
	}, time.Millisecond)
	looks := func() { // at everything, once the queue has followed
		require.NoError(t, w.Truth.DeleteOutbox(t.Context(), w.Outbox()))
		w.ScannedItems()
		w.ScannedEfforts()
		for _, status := range append(slices.Clone(project.Statuses), project.Removed) {
			w.Listed(status, 2)
		}
	}
	for _, purge := range []bool{false, true} {
		w.Clock.Advance(time.Second)
		id := project.TransferID{Project: w.Project.ID, ID: uuid.NewString()}
		is := project.Removal{TransferID: id, Purge: purge, State: project.Removing, CreatedBy: w.Ada, Team: "t", CreatedAt: w.Clock.Now(), Version: 1}
		for _, i := range items[1:5] {
			is.Items = append(is.Items, i.ID)
		}
		require.NoError(t, w.Truth.PutRemoval(t.Context(), "", nil, is, nil, idempotency.Key{}))
		runs := func() {
			w.Clock.Advance(time.Second)
			_, err := remover.Run(t.Context(), task.Task{Kind: project.RunRemoval, ID: id.ID, Scope: string(id.Project)})
			require.NoError(t, err)
			looks()
		}
		runs()
		want := project.Gone
		if !purge {
			want = project.Restored
			found, err := domain.First(w.Truth.RemovalsByID(t.Context(), []project.TransferID{id}))
			require.NoError(t, err)
			require.NoError(t, w.Truth.PutRemoval(t.Context(), "", &found, found.Next(project.Restoring), nil, idempotency.Key{}))
		}
		runs()
		found, err := domain.First(w.Truth.RemovalsByID(t.Context(), []project.TransferID{id}))
		require.NoError(t, err)
		assert.Equal(t, want, found.State)
	}
	assert.Len(t, w.ScannedItems(), 2)
}
