package dynamo_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/storetest"
)

// A walk goes on behind rows that cannot be read, and names them; what fails for the store ends it.
func TestWalksGoOnBehindRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, db, _ := dynamotest.OpenWorld(t)
	const n = 250
	rows := `[{"PK": "a", "SK": "bad"}, {"PK": "b", "SK": "later", "_format": 99}`
	for _, sk := range storetest.Numbered("row", n) {
		rows += `, {"PK": "c", "SK": "` + sk + `"}`
	}
	dynamotest.PutByHand(t, db, dynamo.NotesTable, rows+"]")
	var unread dynamo.Unread
	read := 0
	walk := func(work func([]string) error) error {
		return dynamo.WalkAll(t.Context(), db, dynamo.NotesTable, []string{"PK", "SK"}, &unread, func(key dynamo.Key, _ dynamo.Item, sk *string) (bool, error) {
			if key.PK == "a" {
				return false, errors.New("it says nothing")
			}
			*sk = key.SK
			return key.PK == "c", nil
		}, work)
	}
	require.NoError(t, walk(func(some []string) error {
		assert.LessOrEqual(t, len(some), dynamo.MaxBatchGet)
		read += len(some)
		return nil
	}))
	assert.Equal(t, n, read)
	assert.Equal(t, 2, unread.Count)
	require.ErrorContains(t, unread.Err(), `row "a", "bad" of notes: it says nothing`)
	require.ErrorContains(t, unread.Err(), `row "b", "later" of notes`)
	require.ErrorContains(t, unread.Err(), "2 rows could not be handled")

	away := fault.New(fault.Unavailable, "away")
	require.ErrorIs(t, walk(func([]string) error { return away }), away)
	require.ErrorIs(t, unread.Note(t.Context(), dynamo.NotesTable, dynamo.Key{}, away), away)
	refused := dynamo.Failed(errors.New("AccessDeniedException"), "the change could not be made")
	noted := unread.Count
	require.ErrorIs(t, unread.Note(t.Context(), dynamo.NotesTable, dynamo.Key{}, refused), refused, "of each row it would be the same")
	assert.Equal(t, noted, unread.Count)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, unread.Note(ended, dynamo.NotesTable, dynamo.Key{}, context.Canceled), context.Canceled)
	require.NoError(t, dynamo.Unread{}.Err())
}
