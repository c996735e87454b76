package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

// Events of all kinds come back as they were put, the oldest first, and go in batches.
func TestEventsStayUntilTheyAreTold(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	store := outbox.Store{DB: db}
	at := clock.Now().UTC().Truncate(time.Millisecond)
	want := []event.Event{
		{Kind: event.OfNote, Of: "n#1", Type: "CREATED", Owner: "ada", By: "ada", Version: 1, At: at},
		{Kind: event.OfNote, Of: "n#1", Type: "SHARE_ENDED", By: "bob", With: "bob", At: at.Add(time.Second)},
		{Kind: event.OfScore, Of: "s1", Type: "CHANGED", Owner: "ada", By: "ada", Parts: "TITLE ACCESS", Private: true, Version: 2, At: at.Add(2 * time.Second)},
		{Kind: event.OfScore, Of: "s1", Type: "SNAPSHOT_CREATED", Owner: "ada", By: "ada", Snapshot: "one", Version: 2, At: at.Add(3 * time.Second)},
	}
	for n := range 30 { // at the same instant
		want = append(want, event.Event{Kind: event.OfScore, Of: "s2", Type: "SNAPSHOT_DELETED", Owner: "ada", By: "ada", Snapshot: fmt.Sprint(n), Version: n + 1, At: at.Add(4 * time.Second)})
	}
	for _, e := range want {
		require.NoError(t, db.Transact(t.Context(), []dynamo.Action{outbox.Put(e)}, idempotency.Key{}))
	}
	all, err := store.ListOutbox(t.Context(), at.Add(time.Minute), 100)
	require.NoError(t, err)
	assert.Equal(t, want, all)
	first, err := store.ListOutbox(t.Context(), at.Add(time.Second), 100)
	require.NoError(t, err)
	assert.Equal(t, want[:1], first, "what happened before")
	some, err := store.ListOutbox(t.Context(), at.Add(time.Minute), 1)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(some), 3, "one of each partition")
	inj.Recorder().Reset()
	require.NoError(t, store.DeleteOutbox(t.Context(), append(all, all...)))
	assert.Equal(t, map[string]int{"BatchWriteItem": 2}, inj.Recorder().Operations())
	all, err = store.ListOutbox(t.Context(), at.Add(time.Minute), 100)
	require.NoError(t, err)
	assert.Empty(t, all)
}
