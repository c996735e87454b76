package entitytest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
)

// TasksSuite tests an implementation of task.Store.
func TasksSuite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a task is there once":                    taskOnce,
		"tasks are listed when they are due":      dueTasks,
		"a task is claimed by one":                claimTask,
		"a lost task is taken over":               takeOver,
		"a task comes back":                       taskAgain,
		"a task that was taken over is not ended": taskFenced,
	})
	TasksTogether(t, open)
}

// TasksTogether tests what [TasksSuite] does at the same time. See [Together].
func TasksTogether(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a task is claimed by one of many": claimTogether,
	})
}

// due lists all tasks that are due.
func (w *World) due() []task.Task {
	w.t.Helper()
	tasks, err := w.Tasks.ListDueTasks(w.Ctx, w.Clock.Now(), 500)
	require.NoError(w.t, err)
	return tasks
}

// claim claims a task as a new server does.
func (w *World) claim(t task.Task) (task.Task, bool) {
	w.t.Helper()
	claimed, ok, err := w.Tasks.ClaimTask(w.Ctx, t, uuid.NewString(), w.Clock.Now().Add(task.Lease))
	require.NoError(w.t, err)
	return claimed, ok
}

func (w *World) newTask(id string) task.Task {
	w.t.Helper()
	t := task.Task{Kind: "test-kind", ID: id, Scope: "scope:1", Due: w.Clock.Now()}
	require.NoError(w.t, w.Tasks.PutTask(w.Ctx, t))
	return t
}

func taskOnce(t *testing.T, w *World) {
	put := w.newTask("a:b#c")
	w.newTask("a:b#c")
	assert.Equal(t, []task.Task{put}, w.due())
	other := put
	other.Kind = "other"
	require.NoError(t, w.Tasks.PutTask(w.Ctx, other))
	assert.ElementsMatch(t, []task.Task{put, other}, w.due())
	claimed, ok := w.claim(put)
	require.True(t, ok)
	w.newTask("a:b#c")
	assert.Equal(t, []task.Task{other}, w.due(), "who works on it keeps it")
	ok, err := w.Tasks.ExtendTask(w.Ctx, claimed, w.Clock.Now().Add(task.Lease))
	require.NoError(t, err)
	assert.True(t, ok)
}

func dueTasks(t *testing.T, w *World) {
	start := w.Clock.Now()
	var want []task.Task
	for n := range 30 {
		tk := task.Task{Kind: "k", ID: fmt.Sprint("t", n), Due: start.Add(time.Duration(n) * time.Second)}
		require.NoError(t, w.Tasks.PutTask(w.Ctx, tk))
		want = append(want, tk)
	}
	list := func(limit int) []task.Task {
		tasks, err := w.Tasks.ListDueTasks(w.Ctx, w.Clock.Now(), limit)
		require.NoError(t, err)
		return tasks
	}
	assert.Equal(t, want[:1], list(10), "due now is due")
	w.Clock.Advance(9*time.Second - time.Millisecond)
	assert.Equal(t, want[:9], list(10))
	w.Clock.Advance(time.Hour)
	assert.Equal(t, want[:10], list(10), "the earliest first")
	assert.Equal(t, want, list(100))
	for _, tk := range want[:25] {
		_, ok := w.claim(tk)
		require.True(t, ok)
	}
	assert.Equal(t, want[25:27], list(2), "those that somebody works on stand in nobody's way")
}

func claimTask(t *testing.T, w *World) {
	tk := w.newTask("a")
	claimed, ok := w.claim(tk)
	require.True(t, ok)
	assert.Zero(t, claimed.Tries)
	assert.NotEmpty(t, claimed.Token)
	assert.Equal(t, []any{tk.Kind, tk.ID, tk.Scope, tk.Due}, []any{claimed.Kind, claimed.ID, claimed.Scope, claimed.Due})
	assert.Empty(t, w.due())
	_, ok = w.claim(tk)
	assert.False(t, ok)
	_, ok = w.claim(claimed)
	assert.False(t, ok)
	require.NoError(t, w.Tasks.FinishTask(w.Ctx, claimed, time.Time{}))
	_, ok = w.claim(tk)
	assert.False(t, ok, "done")
	w.Clock.Advance(time.Hour)
	assert.Empty(t, w.due())
	ok, err := w.Tasks.ExtendTask(w.Ctx, claimed, w.Clock.Now())
	require.NoError(t, err)
	assert.False(t, ok)
	require.NoError(t, w.Tasks.FinishTask(w.Ctx, claimed, w.Clock.Now()))
	assert.Empty(t, w.due())
}

func claimTogether(t *testing.T, w *World) {
	tk := w.newTask("a")
	for round := range 3 {
		var winners atomic.Int32
		storetest.Together(8, func(int) {
			claimed, ok, err := w.Tasks.ClaimTask(w.Ctx, tk, uuid.NewString(), w.Clock.Now().Add(task.Lease))
			assert.NoError(t, err)
			if ok {
				winners.Add(1)
				assert.Equal(t, round, claimed.Tries, "whatever the claimer knew")
			}
		})
		assert.EqualValues(t, 1, winners.Load())
		w.Clock.Advance(task.Lease)
	}
}

func takeOver(t *testing.T, w *World) {
	first, ok := w.claim(w.newTask("a"))
	require.True(t, ok)
	w.Clock.Advance(task.Lease - time.Millisecond)
	assert.Empty(t, w.due())
	ok, err := w.Tasks.ExtendTask(w.Ctx, first, w.Clock.Now().Add(task.Lease))
	require.NoError(t, err)
	require.True(t, ok)
	w.Clock.Advance(task.Lease - time.Millisecond)
	assert.Empty(t, w.due())
	w.Clock.Advance(time.Millisecond)
	lost := w.due()
	require.Len(t, lost, 1)
	assert.Equal(t, 1, lost[0].Tries)
	second, ok := w.claim(lost[0])
	require.True(t, ok)
	assert.Equal(t, 1, second.Tries)
	ok, err = w.Tasks.ExtendTask(w.Ctx, first, w.Clock.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.False(t, ok, "the first one learns that it lost the task")
}

func taskAgain(t *testing.T, w *World) {
	claimed, ok := w.claim(w.newTask("a"))
	require.True(t, ok)
	again := w.Clock.Now().Add(time.Minute)
	require.NoError(t, w.Tasks.FinishTask(w.Ctx, claimed, again))
	assert.Empty(t, w.due())
	w.Clock.Advance(time.Minute)
	due := w.due()
	require.Len(t, due, 1)
	want := claimed
	want.Due, want.Token, want.Tries = again, "", 1
	assert.Equal(t, want, due[0])
	claimed, ok = w.claim(due[0])
	require.True(t, ok)
	require.NoError(t, w.Tasks.FinishTask(w.Ctx, claimed, claimed.Due), "at once")
	due = w.due()
	require.Len(t, due, 1)
	assert.Equal(t, 2, due[0].Tries)
	_, ok = w.claim(due[0])
	assert.True(t, ok)
}

func taskFenced(t *testing.T, w *World) {
	first, ok := w.claim(w.newTask("a"))
	require.True(t, ok)
	w.Clock.Advance(task.Lease)
	second, ok := w.claim(first)
	require.True(t, ok)
	require.NoError(t, w.Tasks.FinishTask(w.Ctx, first, time.Time{}))
	require.NoError(t, w.Tasks.FinishTask(w.Ctx, first, w.Clock.Now()))
	ok, err := w.Tasks.ExtendTask(w.Ctx, second, w.Clock.Now().Add(task.Lease))
	require.NoError(t, err)
	assert.True(t, ok, "it is still there")
	assert.Empty(t, w.due())
}
