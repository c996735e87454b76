package usertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

// deleting returns a user as they are when they were deleted a moment after the time.
func deleting(u user.User, at time.Time) user.User {
	u.Deletion = domain.Deletion{State: domain.Deleted, By: u.ID, At: at, UndoUntil: at.Add(domain.UndoDeletion)}
	u.Version, u.UpdatedAt = u.Version+1, at
	return u
}

func testDeletedUsers(t *testing.T, w *storetest.World) {
	ada, bob := person(w, "ada@example.com"), person(w, "bob@example.com")
	for _, u := range []user.User{ada, bob} {
		require.NoError(t, w.Users.CreateUser(t.Context(), u, "issuer", u.Email, idempotency.Key{}))
	}
	_, errs := w.Users.DeletedByID(t.Context(), []user.ID{ada.ID, "nobody"})
	storetest.IsFault(t, errs[0], fault.NotFound)
	storetest.IsFault(t, errs[1], fault.NotFound)

	gone := deleting(ada, w.Clock.Now())
	follow := []task.Task{{Kind: user.RunErasure, ID: string(ada.ID), Scope: string(ada.ID), Due: gone.Deletion.UndoUntil}}
	once := idempotency.Key{Viewer: string(ada.ID), Key: "delete", Hash: []byte("hash"), ExpiresAt: gone.UpdatedAt.Add(idempotency.TTL), Result: []string{string(ada.ID)}}
	require.NoError(t, w.Users.PutDeletion(t.Context(), ada, gone, follow, once))
	var replayed *idempotency.Replayed
	require.ErrorAs(t, w.Users.PutDeletion(t.Context(), ada, gone, follow, once), &replayed)
	var conflict *user.VersionConflict
	require.ErrorAs(t, w.Users.PutDeletion(t.Context(), ada, gone, follow, idempotency.Key{}), &conflict)

	_, errs = w.Users.UsersByID(t.Context(), []user.ID{ada.ID, bob.ID})
	storetest.IsFault(t, errs[0], fault.NotFound)
	require.NoError(t, errs[1])
	deleted, errs := w.Users.DeletedByID(t.Context(), []user.ID{ada.ID})
	require.Nil(t, errs)
	assert.Equal(t, gone, deleted[0].User)
	_, err := w.Users.UserIDByEmail(t.Context(), "ada@example.com")
	storetest.IsFault(t, err, fault.NotFound)
	require.ErrorIs(t, w.Users.CreateUser(t.Context(), person(w, "ADA@example.com"), "issuer", "new", idempotency.Key{}), user.ErrEmailTaken)
	id, err := w.Users.UserIDBySubject(t.Context(), "issuer", "ada@example.com")
	require.NoError(t, err)
	assert.Equal(t, ada.ID, id)
	accesses, errs := w.Users.AccessByID(t.Context(), []user.ID{ada.ID})
	require.Nil(t, errs)
	assert.Equal(t, user.Access{Revoked: gone.Deletion.At, Deletion: domain.Deletion{State: domain.Deleted, UndoUntil: gone.Deletion.UndoUntil}}, accesses[0])
	recent, err := w.Users.Revocations(t.Context(), gone.Deletion.At, gone.Deletion.At)
	require.NoError(t, err)
	assert.Equal(t, []user.Revocation{{User: ada.ID, At: gone.Deletion.At}}, recent)
	storetest.IsFault(t, w.Users.RevokeUser(t.Context(), ada.ID, w.Clock.Now(), idempotency.Key{}), fault.NotFound)
	storetest.IsFault(t, w.Users.BlockUser(t.Context(), bob.ID, user.Block{User: ada.ID, At: w.Clock.Now()}, idempotency.Key{}), fault.NotFound)

	back := gone
	back.Deletion, back.Version = domain.Deletion{}, gone.Version+1
	require.NoError(t, w.Users.PutDeletion(t.Context(), gone, back, nil, idempotency.Key{}))
	assert.Equal(t, back, w.User(t, ada.ID))
	id, err = w.Users.UserIDByEmail(t.Context(), "ada@example.com")
	require.NoError(t, err)
	assert.Equal(t, ada.ID, id)
	accesses, _ = w.Users.AccessByID(t.Context(), []user.ID{ada.ID})
	assert.Equal(t, user.Access{Revoked: gone.Deletion.At}, accesses[0], "tokens of before are revoked still")
}

func testDeletedUsersAreListed(t *testing.T, w *storetest.World) {
	var want []user.User
	for i := range 5 {
		u := person(w, fmt.Sprintf("user%d@example.com", i))
		require.NoError(t, w.Users.CreateUser(t.Context(), u, "issuer", u.Email, idempotency.Key{}))
		gone := deleting(u, w.Clock.Now().Add(time.Duration(10-i)*time.Hour))
		require.NoError(t, w.Users.PutDeletion(t.Context(), u, gone, nil, idempotency.Key{}))
		want = append([]user.User{gone}, want...)
	}
	list := func(window page.Window) (found []user.User) {
		slice, err := w.Users.ListDeleted(t.Context(), window)
		require.NoError(t, err)
		for _, d := range slice.Items {
			found = append(found, d.User)
		}
		return found
	}
	require.Eventually(t, func() bool { return len(list(page.Window{Limit: 10})) == len(want) }, time.Minute, 10*time.Millisecond)
	assert.Equal(t, want, list(page.Window{Limit: 10}), "in the order of the ends")
	first, err := w.Users.ListDeleted(t.Context(), page.Window{Limit: 2})
	require.NoError(t, err)
	assert.True(t, first.More)
	assert.Equal(t, want[2:4], list(page.Window{Limit: 2, From: first.Positions[1]}))
	all, err := w.Users.ListUsers(t.Context(), "", page.Window{Limit: 10})
	require.NoError(t, err)
	assert.Empty(t, all.Items)
}
