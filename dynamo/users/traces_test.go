package users_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

func TestAUserHasOnePseudonymInAProject(t *testing.T) {
	t.Parallel()
	db := users.Store{DB: dynamotest.OpenFaultyDB(t, storetest.NewClock().Now)}
	for _, id := range []string{"ada", "grace"} {
		dynamotest.PutByHand(t, db.DB, dynamo.NotesTable, fmt.Sprintf(`[{"PK": "USER#%s", "SK": "PROFILE", "deletion": "%s"}]`, id, domain.Erasing))
	}
	var mu sync.Mutex
	seen := map[user.ID]int{}
	storetest.Together(12, func(n int) {
		as, err := db.PseudonymOf(t.Context(), user.ID([]string{"ada", "grace"}[n%2]), []string{"p1", "p2", "p#3"}[n%3])
		assert.NoError(t, err)
		assert.True(t, user.IsErased(as))
		mu.Lock()
		defer mu.Unlock()
		seen[as]++
	})
	require.Len(t, seen, 6)
	for as, n := range seen {
		assert.Equal(t, 2, n, as)
		assert.NotEqual(t, user.Erased, as)
	}
}

// TestWhoIsGoneGetsNoPseudonym has a server go on that was lost while another one ended the erasure.
func TestWhoIsGoneGetsNoPseudonym(t *testing.T) {
	t.Parallel()
	raw, _ := dynamotest.OpenDB(t, storetest.NewClock().Now)
	db := users.Store{DB: raw}
	_, err := db.PseudonymOf(t.Context(), "ada", "p")
	storetest.IsFault(t, err, fault.NotFound)
	assert.Empty(t, dynamotest.RowsOf(t, raw, dynamo.NotesTable), "nothing says that there was such a user")
}
