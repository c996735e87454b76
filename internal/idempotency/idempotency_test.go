package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

// counter is a store with one effect: it counts.
type counter struct {
	*dynamo.DB
	t     *testing.T
	blind bool // look-ups find nothing, as for two senders at the same moment
}

var now = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func newCounter(t *testing.T) *counter {
	t.Parallel()
	db, _ := dynamotest.OpenDB(t, func() time.Time { return now })
	return &counter{DB: db, t: t}
}

// row is where it counts.
var row = dynamo.Key{PK: "counter", SK: "row"}

func (c *counter) FindIdempotencyKey(ctx context.Context, k idempotency.Key) error {
	if c.blind {
		return nil
	}
	return c.DB.FindIdempotencyKey(ctx, k)
}

// effects returns how often it has counted.
func (c *counter) effects() int {
	return dynamo.Count(dynamotest.RowsOf(c.t, c.DB, dynamo.NotesTable)[row]["n"])
}

// write is the effect and the record of the key in one.
func (c *counter) write(ctx context.Context, k idempotency.Key) error {
	return c.Transact(ctx, []dynamo.Action{{
		Table: dynamo.NotesTable, Key: row, Update: "ADD n :one", Values: dynamo.Attrs{":one": dynamo.Number(1)},
	}}, k)
}

func (c *counter) do(key *string, viewer, mutation string, input any) (string, error) {
	g := idempotency.Guard{Store: c, Now: func() time.Time { return now }}
	return idempotency.Do(c.t.Context(), g, idempotency.Request{Viewer: viewer, Mutation: mutation, Key: key, Input: input},
		func(ctx context.Context, k idempotency.Key) (string, error) {
			return "done", c.write(ctx, k.With(fmt.Sprint("result ", c.effects()+1)))
		},
		func(_ context.Context, result []string) (string, error) { return "again " + result[0], nil })
}

func TestWithoutAKeyEachRequestHappens(t *testing.T) {
	c := newCounter(t)
	for range 3 {
		got, err := c.do(nil, "ada", "create", 1)
		require.NoError(t, err)
		assert.Equal(t, "done", got)
	}
	assert.Equal(t, 3, c.effects())
	assert.Len(t, dynamotest.RowsOf(t, c.DB, dynamo.NotesTable), 1, "no key is kept")
}

func TestAKeyLetsARequestHappenOnce(t *testing.T) {
	for _, blind := range []bool{false, true} {
		t.Run(fmt.Sprint(blind), func(t *testing.T) {
			c := newCounter(t)
			got, err := c.do(dynamotest.Ptr("k"), "ada", "create", 1)
			require.NoError(t, err)
			assert.Equal(t, "done", got)
			c.blind = blind // then the store refuses when the effect is written
			got, err = c.do(dynamotest.Ptr("k"), "ada", "create", 1)
			require.NoError(t, err)
			assert.Equal(t, "again result 1", got)
			assert.Equal(t, 1, c.effects())
			for key, kept := range dynamotest.RowsOf(t, c.DB, dynamo.NotesTable) {
				if key != row {
					assert.EqualValues(t, now.Add(idempotency.TTL).Unix(), dynamo.Count(kept["expires_at"]))
				}
			}
		})
	}
}

// DynamoDB shows a transaction row by row, and the key may be seen first: who asks again then waits for the effect.
func TestWhoAsksAgainSeesTheWholeEffect(t *testing.T) {
	t.Parallel()
	db, inj := dynamotest.OpenDB(t, func() time.Time { return now })
	c := &counter{DB: db, t: t}
	counted := func(ctx context.Context, _ []string) (n int, err error) {
		_, err = db.Get(ctx, dynamo.NotesTable, row, func(item dynamo.Item) error {
			return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
				if string(name) == "n" {
					n, err = v.Int()
				}
				return err
			})
		})
		return n, err
	}
	do := func() (int, error) {
		return idempotency.Do(dynamotest.Patient(t), idempotency.Guard{Store: c, Now: db.Now}, idempotency.Request{Viewer: "ada", Mutation: "count", Key: dynamotest.Ptr("k")},
			func(ctx context.Context, k idempotency.Key) (int, error) { return 1, c.write(ctx, k) }, counted)
	}
	again := make(chan int, 1)
	inj.RowByRow(func(context.Context, int, int) { // the key is shown, the effect is not
		go func() {
			n, err := do()
			assert.NoError(t, err)
			again <- n
		}()
		require.Eventually(t, func() bool {
			return len(again) > 0 || inj.Recorder().Count(faultinject.Operation("TransactGetItems")) > 0
		}, time.Minute, time.Millisecond)
	})
	n, err := do()
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, 1, <-again)
	assert.Equal(t, 1, c.effects())
}

func TestAKeyBelongsToViewerMutationAndInput(t *testing.T) {
	c := newCounter(t)
	_, err := c.do(dynamotest.Ptr("k"), "ada", "create", map[string]any{"title": "a"})
	require.NoError(t, err)
	_, err = c.do(dynamotest.Ptr("k"), "ada", "create", map[string]any{"title": "b"})
	require.ErrorIs(t, err, idempotency.ErrMismatch)
	_, err = c.do(dynamotest.Ptr("k"), "ada", "update", map[string]any{"title": "a"})
	require.ErrorIs(t, err, idempotency.ErrMismatch)
	_, err = c.do(dynamotest.Ptr("k"), "grace", "create", map[string]any{"title": "b"})
	require.NoError(t, err)
	assert.Equal(t, 2, c.effects())
}

func TestKeysThatAreNone(t *testing.T) {
	c := newCounter(t)
	for _, key := range []string{"", strings.Repeat("k", idempotency.MaxBytes+1)} {
		_, err := c.do(&key, "ada", "create", 1)
		assert.True(t, fault.Is(err, fault.Invalid))
	}
	_, err := c.do(dynamotest.Ptr(strings.Repeat("k", idempotency.MaxBytes)), "ada", "create", 1)
	require.NoError(t, err)
	_, err = c.do(dynamotest.Ptr("k"), "ada", "create", func() {})
	assert.True(t, fault.Is(err, fault.Internal), "an input that cannot be hashed is our mistake")
	assert.Equal(t, 1, c.effects())
}

func TestAFailedLookUpStopsTheEffect(t *testing.T) {
	c := newCounter(t)
	down := fault.New(fault.Unavailable, "down")
	g := idempotency.Guard{Store: failing{down}, Now: time.Now}
	_, err := idempotency.Do(t.Context(), g, idempotency.Request{Key: dynamotest.Ptr("k")}, func(context.Context, idempotency.Key) (int, error) {
		_ = c.write(t.Context(), idempotency.Key{})
		return 0, nil
	}, nil)
	assert.ErrorIs(t, err, down)
	assert.Zero(t, c.effects())
}

type failing struct{ err error }

func (f failing) FindIdempotencyKey(context.Context, idempotency.Key) error { return f.err }

func TestErrorsOfEffectAndRereadAreReturned(t *testing.T) {
	boom := errors.New("boom")
	c := newCounter(t)
	g := idempotency.Guard{Store: c, Now: time.Now}
	fails := func(context.Context, idempotency.Key) (int, error) { return 0, boom }
	_, err := idempotency.Do(t.Context(), g, idempotency.Request{Key: dynamotest.Ptr("k")}, fails, nil)
	require.ErrorIs(t, err, boom)
	replays := func(context.Context, idempotency.Key) (int, error) {
		return 0, fmt.Errorf("write: %w", &idempotency.Replayed{Result: []string{"x"}})
	}
	_, err = idempotency.Do(t.Context(), g, idempotency.Request{Key: dynamotest.Ptr("k")}, replays, func(context.Context, []string) (int, error) { return 0, boom })
	require.ErrorIs(t, err, boom)
}
