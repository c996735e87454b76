package usertest

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

// blocked returns whom a user has blocked.
func blocked(t *testing.T, w *storetest.World, by user.ID) []string {
	t.Helper()
	return storetest.Pages(t, 2, func(win page.Window) (page.Slice[user.Block], error) {
		return w.Users.ListBlocked(t.Context(), by, win)
	})
}

func testBlockedUsers(t *testing.T, w *storetest.World) {
	ada, _ := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	others := w.SignUpMany("other", 5)
	assert.Empty(t, blocked(t, w, ada))
	block := user.Block{User: others[0], At: w.Clock.Now()}
	require.NoError(t, w.Users.BlockUser(t.Context(), ada, block, idempotency.Key{}))
	require.NoError(t, w.Users.BlockUser(t.Context(), grace, block, idempotency.Key{}))
	w.Clock.Advance(time.Hour)
	again := block
	again.At = w.Clock.Now()
	require.NoError(t, w.Users.BlockUser(t.Context(), ada, again, idempotency.Key{}))
	all, err := w.Users.ListBlocked(t.Context(), ada, page.Window{Limit: page.Max})
	require.NoError(t, err)
	assert.Equal(t, []user.Block{block}, all.Items, "it stays as it was")

	for _, other := range others[1:] {
		require.NoError(t, w.Users.BlockUser(t.Context(), ada, user.Block{User: other, At: w.Clock.Now()}, idempotency.Key{}))
	}
	var want []string
	for _, other := range others {
		want = append(want, string(other))
	}
	slices.Sort(want)
	assert.Equal(t, want, blocked(t, w, ada))
	assert.Equal(t, []string{string(others[0])}, blocked(t, w, grace))

	is := func(by, other user.ID) bool {
		t.Helper()
		blocked, err := w.Users.HasBlocked(t.Context(), by, other)
		require.NoError(t, err)
		return blocked
	}
	assert.True(t, is(ada, others[0]))
	assert.False(t, is(others[0], ada))
	require.NoError(t, w.Users.UnblockUser(t.Context(), ada, others[0], idempotency.Key{}))
	assert.False(t, is(ada, others[0]))
	require.NoError(t, w.Users.UnblockUser(t.Context(), ada, others[0], idempotency.Key{}), "again")
	require.NoError(t, w.Users.UnblockUser(t.Context(), ada, "nobody", idempotency.Key{}))
	assert.Len(t, blocked(t, w, ada), 4)
	assert.Len(t, blocked(t, w, grace), 1)

	storetest.IsFault(t, w.Users.BlockUser(t.Context(), ada, user.Block{User: "nobody", At: w.Clock.Now()}, idempotency.Key{}), fault.NotFound)
	storetest.IsFault(t, w.Users.BlockUser(t.Context(), "nobody", block, idempotency.Key{}), fault.NotFound)
	assert.Len(t, blocked(t, w, ada), 4, "nothing was changed")
	assert.Equal(t, 1, w.User(t, ada).Version, "it is no change of the user")
}

func testKeysOfBlocks(t *testing.T, w *storetest.World) {
	ada, _ := w.SignUp("ada")
	grace, _ := w.SignUp("grace")
	block := user.Block{User: grace, At: w.Clock.Now()}
	key := func(name string) idempotency.Key {
		return idempotency.Key{Viewer: string(ada), Key: name, Hash: []byte("hash"), ExpiresAt: w.Clock.Now().Add(time.Hour)}.With(string(grace))
	}
	var replayed *idempotency.Replayed
	require.NoError(t, w.Users.BlockUser(t.Context(), ada, block, key("one")))
	require.ErrorAs(t, w.Users.BlockUser(t.Context(), ada, block, key("one")), &replayed)
	require.NoError(t, w.Users.BlockUser(t.Context(), ada, block, key("two")), "nothing changes, but the key is kept")
	require.NoError(t, w.Users.UnblockUser(t.Context(), ada, grace, key("three")))
	require.ErrorAs(t, w.Users.UnblockUser(t.Context(), ada, grace, key("three")), &replayed)
	require.NoError(t, w.Users.UnblockUser(t.Context(), ada, grace, key("four")))
	for _, name := range []string{"one", "two"} {
		require.ErrorAs(t, w.Users.BlockUser(t.Context(), ada, block, key(name)), &replayed)
	}
	require.ErrorAs(t, w.Users.UnblockUser(t.Context(), ada, grace, key("four")), &replayed)
	assert.Empty(t, blocked(t, w, ada))
}

// Many block at once, the same ones twice: each is counted once, so that all can go again.
func testManyBlocks(t *testing.T, w *storetest.World) {
	ada, _ := w.SignUp("ada")
	others := w.SignUpMany("other", 8)
	ctx := storetest.Patient(t)
	for range 2 {
		var failed atomic.Int32
		storetest.Together(16, func(n int) {
			if w.Users.BlockUser(ctx, ada, user.Block{User: others[n%8], At: w.Clock.Now()}, idempotency.Key{}) != nil {
				failed.Add(1)
			}
		})
		require.Zero(t, failed.Load())
		assert.Len(t, blocked(t, w, ada), 8)
		storetest.Together(16, func(n int) {
			if w.Users.UnblockUser(ctx, ada, others[n%8], idempotency.Key{}) != nil {
				failed.Add(1)
			}
		})
		require.Zero(t, failed.Load())
		assert.Empty(t, blocked(t, w, ada))
	}
}
