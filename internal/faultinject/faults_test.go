package faultinject_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

func get(ctx context.Context, db *dynamodb.Client, table, sk string) error {
	_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key(sk)})
	return err
}

func save(ctx context.Context, db *dynamodb.Client, table, sk string) error {
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: row(sk, "new")})
	return err
}

func TestThrottledCallsAreRepeatedByTheSDK(t *testing.T) {
	inj, db, served := fake(t)
	rule := inj.Throttle(faultinject.Every(3), faultinject.Operation("GetItem"))
	for range 6 {
		require.NoError(t, get(soon(t), db, "notes", "a"))
	}
	require.NoError(t, save(soon(t), db, "notes", "a"))
	assert.Equal(t, 2, rule.Hits())
	assert.EqualValues(t, 7, served.Load())
	assert.Equal(t, 8, inj.Recorder().Count(faultinject.Operation("GetItem")))
	refused := inj.Recorder().Calls(func(c *faultinject.Call) bool { return !c.Reached })
	require.Len(t, refused, 2)
	assert.Equal(t, "ProvisionedThroughputExceededException", refused[0].ErrorCode)
	assert.Equal(t, 400, refused[0].Status)
}

func TestThrottlingForEverIsTheErrorItIs(t *testing.T) {
	inj, db, served := fake(t)
	rule := inj.Throttle(faultinject.Always, faultinject.Table("notes"))
	var throttled *types.ProvisionedThroughputExceededException
	require.ErrorAs(t, get(soon(t), db, "notes", "a"), &throttled)
	require.NoError(t, get(soon(t), db, "users", "a"))
	assert.EqualValues(t, 1, served.Load())
	rule.Stop()
	require.NoError(t, get(soon(t), db, "notes", "a"))
}

func TestFailIsAnErrorOfTheEngine(t *testing.T) {
	inj, db, _ := fake(t)
	inj.Fail(500, "InternalServerError", faultinject.Always)
	var internal *types.InternalServerError
	require.ErrorAs(t, get(soon(t), db, "notes", "a"), &internal)
	inj.Clear()
	require.NoError(t, get(soon(t), db, "notes", "a"))
}

func TestResetBeforeAndAfter(t *testing.T) {
	inj, db, served := fake(t)
	inj.ResetBefore(faultinject.First(1))
	require.NoError(t, save(soon(t), db, "notes", "a"))
	assert.EqualValues(t, 1, served.Load(), "the first attempt never arrived")

	inj.Clear()
	inj.ResetAfter(faultinject.First(1))
	require.NoError(t, save(soon(t), db, "notes", "a"))
	assert.EqualValues(t, 3, served.Load(), "both attempts were carried out")

	inj.Clear()
	inj.ResetAfter(faultinject.Always)
	require.ErrorContains(t, save(soon(t), db, "notes", "a"), "connection reset")
	assert.Greater(t, served.Load(), int64(3), "carried out, yet an error")
}

func TestConflict(t *testing.T) {
	inj, db, served := fake(t)
	inj.Conflict(faultinject.Always, faultinject.Writes)
	var single *types.TransactionConflictException
	require.ErrorAs(t, save(soon(t), db, "notes", "a"), &single)

	_, err := db.TransactWriteItems(soon(t), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("notes"), Item: row("a", "1")}},
		{Delete: &types.Delete{TableName: aws.String("notes"), Key: key("b")}},
	}})
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled)
	require.Len(t, cancelled.CancellationReasons, 2)
	assert.Equal(t, "TransactionConflict", *cancelled.CancellationReasons[0].Code)
	assert.Equal(t, "None", *cancelled.CancellationReasons[1].Code)
	require.NoError(t, get(soon(t), db, "notes", "a"), "reads meet no conflict")
	assert.EqualValues(t, 1, served.Load())
}

func TestDelayWaitsOnTheGivenClock(t *testing.T) {
	inj, db, served := fake(t)
	var waited []time.Duration
	inj.Sleep = func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		assert.Zero(t, served.Load(), "the engine is asked afterwards")
		return nil
	}
	inj.Delay(time.Hour, faultinject.Always)
	require.NoError(t, get(soon(t), db, "notes", "a"))
	assert.Equal(t, []time.Duration{time.Hour}, waited)

	inj.Sleep = faultinject.New().Sleep // the real one
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, get(ctx, db, "notes", "a"), context.DeadlineExceeded)
}

func TestGateHoldsCallsAndCountsThem(t *testing.T) {
	inj, db, served := fake(t)
	gate := inj.Hold(faultinject.Always, faultinject.Operation("GetItem"))
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() { assert.NoError(t, get(soon(t), db, "notes", "a")) })
	}
	require.NoError(t, gate.Wait(soon(t), 5))
	assert.Zero(t, served.Load())
	require.NoError(t, save(soon(t), db, "notes", "a"), "others pass")

	require.NoError(t, gate.Step(soon(t)))
	gate.Open()
	calls.Wait()
	require.NoError(t, get(soon(t), db, "notes", "a"), "an open gate stays open")
	assert.EqualValues(t, 7, served.Load())

	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, gate.Wait(short, 1), context.DeadlineExceeded)
}

func TestHeldCallGoesWhenItsCallerDoes(t *testing.T) {
	inj, db, served := fake(t)
	gate := inj.Hold(faultinject.Always)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- get(ctx, db, "notes", "a") }()
	require.NoError(t, gate.Wait(soon(t), 1))
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	assert.Zero(t, served.Load())
}

func TestKillAfter(t *testing.T) {
	inj, db, served := fake(t)
	rule := inj.KillAfter(2, faultinject.Writes)
	require.NoError(t, save(soon(t), db, "notes", "a"))
	require.NoError(t, get(soon(t), db, "notes", "a"))
	require.NoError(t, save(soon(t), db, "notes", "b"))
	require.NoError(t, get(soon(t), db, "notes", "a"), "it dies at the next write")
	require.ErrorIs(t, save(soon(t), db, "notes", "c"), faultinject.ErrKilled)
	require.ErrorIs(t, get(soon(t), db, "notes", "a"), faultinject.ErrKilled, "the dead do not read")
	assert.EqualValues(t, 4, served.Load())
	assert.Equal(t, 6, inj.Recorder().Count(), "the SDK does not repeat the calls of the dead")

	rule.Stop()
	require.NoError(t, get(soon(t), db, "notes", "a"))
}

func TestAnswersAfterDeathAreLost(t *testing.T) {
	inj, db, _ := fake(t)
	inj.KillAfter(1, faultinject.Writes)
	gate := inj.Hold(faultinject.First(1))
	done := make(chan error)
	go func() { done <- save(soon(t), db, "notes", "a") }()
	require.NoError(t, gate.Wait(soon(t), 1))
	require.ErrorIs(t, save(soon(t), db, "notes", "b"), faultinject.ErrKilled)
	gate.Open()
	require.ErrorIs(t, <-done, faultinject.ErrKilled)
}

func TestRulesWrapOneAnother(t *testing.T) {
	inj, db, served := fake(t)
	inj.Throttle(faultinject.Nth(1))
	inner := inj.ResetBefore(faultinject.First(1))
	require.NoError(t, get(soon(t), db, "notes", "a"))
	assert.Equal(t, 1, inner.Hits(), "the second attempt meets the second rule")
	assert.Equal(t, 3, inj.Recorder().Count())
	assert.EqualValues(t, 1, served.Load())
}

func TestSometimesIsTheSameForTheSameSeed(t *testing.T) {
	draw := func(seed uint64) (hits []bool) {
		when := faultinject.Sometimes(0.5, seed)
		for n := range 64 {
			hits = append(hits, when(n+1))
		}
		return hits
	}
	assert.Equal(t, draw(1), draw(1))
	assert.NotEqual(t, draw(1), draw(2))
	assert.Contains(t, draw(1), true)
	assert.Contains(t, draw(1), false)
}

func TestRecorderTellsWhatWasSent(t *testing.T) {
	inj, db, _ := fake(t)
	_, err := db.Query(soon(t), &dynamodb.QueryInput{
		TableName: aws.String("notes"), IndexName: aws.String("GSI1"), Limit: aws.Int32(7),
		KeyConditionExpression: aws.String("GSI1PK = :p"), ExpressionAttributeValues: item{":p": s("g")},
	})
	require.NoError(t, err)
	_, err = db.BatchGetItem(soon(t), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"users": {Keys: []map[string]types.AttributeValue{key("u")}, ConsistentRead: aws.Bool(true)},
		"notes": {Keys: []map[string]types.AttributeValue{key("a"), key("b")}, ConsistentRead: aws.Bool(true)},
	}})
	require.NoError(t, err)
	require.NoError(t, get(soon(t), db, "notes", "b"))
	_, err = db.BatchGetItem(soon(t), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"notes": {Keys: []map[string]types.AttributeValue{key("x"), key("x")}},
	}})
	require.NoError(t, err)

	r := inj.Recorder()
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 2, "GetItem": 1}, r.Operations())
	q := r.Calls(faultinject.Index("GSI1"))[0]
	assert.Equal(t, []string{"notes"}, q.Tables)
	assert.Equal(t, "GSI1PK = :p", q.KeyCondition)
	assert.Equal(t, 7, q.Limit)
	assert.True(t, q.NewConnection)
	assert.Equal(t, 1, r.NewConnections())
	b := r.Calls(faultinject.Table("users"))[0]
	assert.True(t, b.Consistent)
	assert.Equal(t, []string{"notes", "users"}, b.Tables)
	keyB := faultinject.Key{Table: "notes", Attributes: `{"PK":{"S":"p"},"SK":{"S":"b"}}`}
	assert.Equal(t, keyB, b.Keys[1])
	keyX := faultinject.Key{Table: "notes", Attributes: `{"PK":{"S":"p"},"SK":{"S":"x"}}`}
	assert.Equal(t, []faultinject.Key{keyB, keyX}, r.ReadTwice())
	assert.Equal(t, []string{`call 3: BatchGetItem has the key {"PK":{"S":"p"},"SK":{"S":"x"}} of notes twice`}, r.Violations())

	r.Reset()
	assert.Empty(t, r.Calls())
}

func TestRecorderKnowsTheLimits(t *testing.T) {
	inj, db, _ := fake(t)
	var keys []map[string]types.AttributeValue
	var writes []types.WriteRequest
	for n := range 101 {
		keys = append(keys, key(time.Duration(n).String()))
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: row(time.Duration(n).String(), "")}})
	}
	for _, n := range []int{100, 101} {
		_, err := db.BatchGetItem(soon(t), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"notes": {Keys: keys[:n]}}})
		require.NoError(t, err)
	}
	for _, n := range []int{25, 26} {
		_, err := db.BatchWriteItem(soon(t), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"notes": writes[:n]}})
		require.NoError(t, err)
	}
	assert.Equal(t, []string{
		"call 1: BatchGetItem has 101 keys, at most 100 are allowed",
		"call 3: BatchWriteItem has 26 keys, at most 25 are allowed",
	}, inj.Recorder().Violations())
}

func TestRecorderSeesConcurrency(t *testing.T) {
	inj, db, _ := fake(t)
	for range 3 {
		require.NoError(t, get(soon(t), db, "notes", "a"))
	}
	assert.Equal(t, 1, inj.Recorder().MaxConcurrent())

	// The engine answers nobody before all four are there.
	var inside sync.WaitGroup
	inside.Add(4)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside.Done()
		inside.Wait()
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(srv.Close)
	inj = faultinject.New()
	db = client(t, inj, srv.URL, "local", "id", "secret")
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() { assert.NoError(t, get(soon(t), db, "notes", "a")) })
	}
	calls.Wait()
	assert.Equal(t, 4, inj.Recorder().MaxConcurrent())
	assert.Zero(t, inj.Recorder().MaxConcurrent(faultinject.Writes))
}
