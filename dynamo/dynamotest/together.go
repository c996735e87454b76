package dynamotest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// atOnce is how many want one more of something at the same moment, and left is how many there is room for.
const (
	AtOnce = 50
	Left   = 5
)

// Patient returns a context in which so many who want the same row have as much time as a busy machine may need.
func Patient(t *testing.T) context.Context { return Soon(t, 3*time.Minute) }

// BoundAtOnce checks that of those who come at the same moment so many get what they want, and all others are told that there is no more.
func BoundAtOnce(t *testing.T, room int, one func(n int) error) {
	t.Helper()
	errs := make([]error, AtOnce)
	var all sync.WaitGroup
	for n := range errs {
		all.Go(func() { errs[n] = one(n) })
	}
	all.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
			continue
		}
		assert.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	}
	assert.Equal(t, room, created)
}

// SetCount sets what a row counts.
func SetCount(t *testing.T, db *dynamo.DB, table dynamo.Table, key dynamo.Key, path string, names map[string]string, n int) {
	t.Helper()
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: table, Key: key, Update: "SET " + path + " = :n", Names: names, Values: dynamo.Attrs{":n": dynamo.Number(int64(n))}}}, idempotency.Key{}))
}

// Writers change the same thing together, each as often as it says, without saying what they expect it to be. None is refused.
func Writers(t *testing.T, n, times int, change func(ctx context.Context, writer, time int) error) {
	t.Helper()
	var group sync.WaitGroup
	for writer := range n {
		group.Go(func() {
			for i := range times {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err := change(ctx, writer, i)
				cancel()
				if !assert.NoError(t, err, "writer %d, change %d", writer, i) {
					return
				}
			}
		})
	}
	group.Wait()
}
