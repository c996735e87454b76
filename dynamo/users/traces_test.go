package users_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

func TestAUserHasOnePseudonymInAProject(t *testing.T) {
	t.Parallel()
	db := users.Store{DB: dynamotest.OpenFaultyDB(t, storetest.NewClock().Now)}
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
