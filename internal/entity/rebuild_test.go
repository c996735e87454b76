package entity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

func declare(t *testing.T, w *world, name string) task.Task {
	t.Helper()
	_, err := w.DeclareIndex(as(t, owner), entity.DeclareIndex{Scope: "s", Name: name, Type: "Book", Path: []string{"title"}, Kind: entity.StringKey})
	require.NoError(t, err)
	return w.tasks[len(w.tasks)-1]
}

// index returns the declaration of an index as it is stored.
func (w *world) index(name string) (entity.Index, bool) {
	indexes := w.scope("s").Indexes
	if i := slices.IndexFunc(indexes, func(x entity.Index) bool { return x.Name == name }); i >= 0 {
		return indexes[i], true
	}
	return entity.Index{}, false
}

func (w *world) run(ctx context.Context, of task.Task) (time.Time, error) {
	return w.Handlers()[entity.RebuildIndex](ctx, of)
}

// fill stores the books from first to the one before end, with their titles, as they are while no index is declared.
func (w *world) fill(first, end int) {
	w.t.Helper()
	for _, err := range storetest.Attempts(end-first, func(i int) error {
		book := entity.Entity{ID: entityID(fmt.Sprintf("%04d", first+i)), Attributes: title(first + i), Version: 1, CreatedAt: w.clock.Now(), UpdatedAt: w.clock.Now()}
		return w.Store.PutEntity(w.t.Context(), nil, book, nil, idempotency.Key{})
	}) {
		require.NoError(w.t, err)
	}
}

func title(i int) map[string]any { return map[string]any{"title": fmt.Sprint("t", i)} }

func TestAnIndexIsBuiltInTwoPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(0, 1200)
	w.clock.Advance(time.Hour)
	stale := w.entity(entityID("0007")) // somebody read it and the declarations
	order := declare(t, w, "by-title")
	var told []int
	w.step = func(int) {
		if x, _ := w.index("by-title"); len(told) == 0 || told[len(told)-1] != x.Done {
			told = append(told, x.Done)
		}
	}
	again, err := w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 500, 1000}, told)
	x, _ := w.index("by-title")
	assert.Equal(t, 1200, x.Done)
	assert.False(t, x.Ready)
	assert.Equal(t, x.DeclaredAt.Add(entity.Settle), again)
	assert.Equal(t, []string{"t7"}, entity.KeysOf(w.entity(entityID("0007")).Index))

	// The write of who had read the declarations before ends now.
	stale.UpdatedAt = x.DeclaredAt.Add(-20 * time.Second)
	w.put(stale)
	w.until(again.Add(-time.Millisecond))
	early, err := w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, again, early, "not before everybody knows the declaration")

	w.until(again)
	w.calls = nil
	again, err = w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Zero(t, again)
	x, _ = w.index("by-title")
	assert.True(t, x.Ready)
	assert.Equal(t, 1200, x.Done)
	assert.Contains(t, w.calls, `reindex 08:59:00 ""`, "a minute before the declaration")
	for _, e := range w.books() {
		require.Len(t, e.Index, 1, e.ID.ID)
	}
	w.calls = nil
	again, err = w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Len(t, w.calls, 1, "it is done")
}

func TestARebuildGoesOnWhereItWasStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(0, 700)
	order := declare(t, w, "by-title")
	ctx, stop := context.WithCancel(t.Context())
	w.step = func(n int) {
		if n == 600 {
			stop()
		}
	}
	_, err := w.run(ctx, order)
	require.ErrorIs(t, err, context.Canceled)
	x, _ := w.index("by-title")
	assert.Equal(t, 500, x.Done)
	looked := 0
	w.step = func(n int) { looked = n }
	_, err = w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, 200, looked)
	x, _ = w.index("by-title")
	assert.Equal(t, 700, x.Done)
}

// A stalls in the first pass for longer than its lease, B finishes the pass, and A goes on for a moment before it learns of it.
// What A tells then is about a pass that is over: stored as a place in the second pass it would skip entities.
func TestARunThatLostItsLeaseTellsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(time.Hour - 50*time.Second)
	w.fill(0, 601)
	w.clock.Advance(40 * time.Second) // within Settle of the declaration
	w.fill(601, 1200)
	stale := w.entity(entityID("0007")) // somebody read it and the declarations
	w.clock.Advance(10 * time.Second)
	order := declare(t, w, "by-title")
	overtaken := false
	w.step = func(n int) {
		if n != 1000 || overtaken { // this step is told
			x, _ := w.index("by-title")
			assert.False(t, x.Pass == 1 && x.At != "", "a place in a pass that is over")
			return
		}
		overtaken = true
		again, err := w.run(t.Context(), order)
		require.NoError(t, err)
		x, _ := w.index("by-title")
		require.Equal(t, x.DeclaredAt.Add(entity.Settle), again)
		require.Equal(t, []any{1, ""}, []any{x.Pass, x.At})
	}
	again, err := w.run(t.Context(), order)
	require.NoError(t, err)
	require.True(t, overtaken)
	assert.Equal(t, w.clock.Now(), again, "who holds the task goes on at once from where the rebuild stands")
	w.step = nil
	x, _ := w.index("by-title")
	assert.Equal(t, []any{1, "", 1200, false}, []any{x.Pass, x.At, x.Done, x.Ready})

	stale.UpdatedAt = x.DeclaredAt.Add(-20 * time.Second)
	w.put(stale)
	w.until(x.DeclaredAt.Add(entity.Settle))
	// Now the run that lost its lease is the one that finishes: the other one comes back, and finds it done.
	overtaken = false
	w.step = func(int) {
		if !overtaken {
			overtaken = true
			_, err := w.run(t.Context(), order)
			require.NoError(t, err)
		}
	}
	again, err = w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, w.clock.Now(), again)
	again, err = w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Zero(t, again)
	x, _ = w.index("by-title")
	assert.Equal(t, []any{true, ""}, []any{x.Ready, x.At})
	for _, e := range w.books() {
		require.Len(t, e.Index, 1, e.ID.ID)
	}
}

func TestASlowRebuildTellsToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(0, 149)
	order := declare(t, w, "by-title")
	steps := 0
	w.step = func(n int) {
		w.clock.Advance(entity.ProgressAfter)
		x, _ := w.index("by-title")
		assert.Equal(t, steps*50, x.Done)
		steps++
		assert.Equal(t, min(steps*50, 149), n)
	}
	_, err := w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, 3, steps)
}

func TestRebuildsLeaveOtherEntriesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setBook(t, w, "1", title(1))
	one, two := declare(t, w, "one"), declare(t, w, "two")
	_, err := w.run(t.Context(), one)
	require.NoError(t, err)
	_, err = w.run(t.Context(), two)
	require.NoError(t, err)
	_, err = w.run(t.Context(), one)
	require.NoError(t, err)
	assert.ElementsMatch(t, []entity.IndexEntry{{Name: "one", Key: "t1"}, {Name: "two", Key: "t1"}}, w.entity(entityID("1")).Index)
}

func TestAnIndexIsRemovedWhenNobodyEmitsIntoIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(0, 600)
	w.clock.Advance(time.Hour)
	keep, build := declare(t, w, "keep"), declare(t, w, "by-title")
	_, err := w.run(t.Context(), keep)
	require.NoError(t, err)
	w.step = func(n int) {
		if n == 100 { // in the middle of the first pass
			_, err := w.RemoveIndex(as(t, owner), entity.RemoveIndex{Scope: "s", Name: "by-title"})
			require.NoError(t, err)
		}
	}
	again, err := w.run(t.Context(), build)
	require.NoError(t, err)
	assert.Zero(t, again, "another task took its place")
	w.step = nil
	w.calls = nil
	again, err = w.run(t.Context(), build)
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Len(t, w.calls, 1)

	remove := w.tasks[len(w.tasks)-1]
	assert.Len(t, w.entity(entityID("0000")).Index, 2, "what was emitted before")
	again, err = w.run(t.Context(), remove)
	require.NoError(t, err)
	assert.Equal(t, remove.Due, again, "the rebuild that is going on ends first")
	w.until(remove.Due)
	again, err = w.run(t.Context(), remove)
	require.NoError(t, err)
	assert.Zero(t, again)
	_, there := w.index("by-title")
	assert.False(t, there)
	for _, e := range w.books() {
		require.Len(t, e.Index, 1, e.ID.ID)
		require.Equal(t, "keep", e.Index[0].Name, e.ID.ID)
	}
	again, err = w.run(t.Context(), remove)
	require.NoError(t, err)
	assert.Zero(t, again, "done twice")
	declare(t, w, "by-title")
}

func TestARebuildStandsConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	setBook(t, w, "1", title(1))
	order := declare(t, w, "by-title")
	w.racing = func() {
		_, err := w.RenameScope(as(t, owner), entity.RenameScope{Scope: "s", Name: "meanwhile"})
		require.NoError(t, err)
	}
	_, err := w.run(t.Context(), order)
	require.NoError(t, err)
	assert.Equal(t, "meanwhile", w.scope("s").Name)
	x, _ := w.index("by-title")
	assert.Equal(t, 1, x.Pass)
	assert.Equal(t, "", x.At)
}

func TestAnEntityEmitsWhatFitsAndCountsTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := []any{}
	for i := range entity.MaxIndexEntries {
		many = append(many, fmt.Sprint(i))
	}
	setBook(t, w, "1", map[string]any{"title": many})
	setBook(t, w, "2", title(2))
	for _, name := range []string{"one", "two"} {
		_, err := w.run(t.Context(), declare(t, w, name))
		require.NoError(t, err)
	}
	one := w.entity(entityID("1"))
	assert.Len(t, one.Entries(), entity.MaxIndexEntries)
	last := one.Index[len(one.Index)-1]
	assert.Equal(t, entity.IndexEntry{Name: entity.LeftOutIndex, Key: "40"}, last)
	left, err := w.Store.CountLeftOut(t.Context(), "s")
	require.NoError(t, err)
	assert.Equal(t, map[string]entity.LeftOut{"two": {Values: 40, Entities: 1, Examples: []entity.ID{one.ID}}}, left)
	assert.Len(t, w.entity(entityID("2")).Index, 2)
	_, err = w.Update(as(t, writer), entity.Update{Entity: entityID("1"), Attributes: map[string]any{"other": true}})
	require.NoError(t, err, "it can be changed")
}

// settling is a store to which tasks are handed on.
type settling struct{ entity.Store }

func (settling) SettleRelations(_ context.Context, t task.Task) error { return errors.New(t.ID) }

func (settling) FinishDelete(_ context.Context, t task.Task) (time.Time, error) {
	return t.Due.Add(time.Minute), nil
}

func TestTasksAreHandedToTheStore(t *testing.T) {
	t.Parallel()
	handlers := entity.NewService(entity.Options{Store: settling{}, Now: time.Now}).Handlers()
	_, err := handlers[entity.ChangeRelations](t.Context(), task.Task{ID: "this one"})
	require.EqualError(t, err, "this one")
	again, err := handlers[entity.DeleteEntities](t.Context(), task.Task{Due: began})
	require.NoError(t, err)
	assert.Equal(t, began.Add(time.Minute), again)
}
