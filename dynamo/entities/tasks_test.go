package entities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/entitytest"
	"github.com/taggie/taggie/internal/task"
)

func newTestClock() *storetest.Clock { return storetest.NewClock() }

func newEntityWorldOn(t *testing.T, db *dynamo.DB, clock *storetest.Clock) *entitytest.World {
	return entitytest.NewWorld(t, entityStores(db), clock)
}

// lostOnce lets the answer to the next transaction be lost.
func lostOnce(inj *faultinject.Injector) *faultinject.Rule {
	return inj.ResetAfter(faultinject.First(1), faultinject.Operation("TransactWriteItems"))
}

func TestCallsOfTasks(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	store := dynamo.Tasks{DB: db}
	for n := range 40 {
		require.NoError(t, store.PutTask(t.Context(), task.Task{Kind: "k", ID: fmt.Sprint(n), Due: clock.Now()}))
	}
	var due []task.Task
	assert.Equal(t, map[string]int{"Query": 4}, dynamotest.Calls(inj, func() {
		var err error
		due, err = store.ListDueTasks(t.Context(), clock.Now(), 10)
		require.NoError(t, err)
		assert.Len(t, due, 10)
	}), "one per shard")
	shards := map[string]bool{}
	for _, c := range inj.Recorder().Calls() {
		assert.True(t, c.Consistent)
		shards[string(c.Body)] = true
	}
	assert.Len(t, shards, 4)
	one := map[string]int{"TransactWriteItems": 1}
	var claimed task.Task
	assert.Equal(t, one, dynamotest.Calls(inj, func() {
		var ok bool
		var err error
		claimed, ok, err = store.ClaimTask(t.Context(), due[0], "token", clock.Now().Add(task.Lease))
		require.NoError(t, err)
		require.True(t, ok)
	}))
	assert.Equal(t, one, dynamotest.Calls(inj, func() {
		_, err := store.ExtendTask(t.Context(), claimed, clock.Now().Add(task.Lease))
		require.NoError(t, err)
	}))
	assert.Equal(t, one, dynamotest.Calls(inj, func() { require.NoError(t, store.FinishTask(t.Context(), claimed, clock.Now().Add(time.Minute))) }))
}

// Each change of a task is the same one when its answer was lost, also for an engine that has forgotten its token.
func TestTaskWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	db, inj := dynamotest.OpenDBOn(t, clock.Now, dynamotest.Forget)
	store := dynamo.Tasks{DB: db}
	lose := func() {
		once := lostOnce(inj)
		t.Cleanup(func() { assert.Equal(t, 1, once.Hits()) })
	}
	tk := task.Task{Kind: "k", ID: "id", Due: clock.Now()}
	lose()
	require.NoError(t, store.PutTask(t.Context(), tk))
	lose()
	claimed, ok, err := store.ClaimTask(t.Context(), tk, "token", clock.Now().Add(task.Lease))
	require.NoError(t, err)
	require.True(t, ok, "it is ours, and so it was after the first attempt")
	assert.Zero(t, claimed.Tries)
	lose()
	ok, err = store.ExtendTask(t.Context(), claimed, clock.Now().Add(2*task.Lease))
	require.NoError(t, err)
	assert.True(t, ok)
	lose()
	require.NoError(t, store.FinishTask(t.Context(), claimed, clock.Now().Add(time.Minute)))
	clock.Advance(time.Minute)
	due, err := store.ListDueTasks(t.Context(), clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	assert.Equal(t, 1, due[0].Tries)
	claimed, ok, err = store.ClaimTask(t.Context(), due[0], "token2", clock.Now().Add(task.Lease))
	require.NoError(t, err)
	require.True(t, ok)
	lose()
	require.NoError(t, store.FinishTask(t.Context(), claimed, time.Time{}))
	assert.Empty(t, dynamotest.Scan(t, db, dynamo.RelationshipEntries))
}
