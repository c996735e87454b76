// Package usertest holds a store of users to its contract.
//
// It knows user.Store and what the rules rely on. It must not know how things are kept. Start reading at [Suite].
package usertest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

// Suite tests the contract of user.Store.
func Suite(t *testing.T, open storetest.Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *storetest.World){
		"UserIsFoundByIDEmailAndSubject":    testUserIsFound,
		"MissingUserIsNotFoundAlone":        testMissingUserIsNotFoundAlone,
		"EmailUniqueWhateverItsCase":        testEmailUniqueWhateverItsCase,
		"OneUserPerSubject":                 testOneUserPerSubject,
		"ChangingTheAddressMovesTheLock":    testChangingTheAddressMovesTheLock,
		"ChangingToATakenAddressIsRefused":  testChangingToATakenAddress,
		"ConflictReturnsTheCurrentUser":     testConflictReturnsTheCurrentUser,
		"ConcurrentUserUpdatesLoseNothing":  testConcurrentUserUpdates,
		"SignUpIsRecordedWithItsKey":        testSignUpIsRecordedWithItsKey,
		"CaseOfTheOwnAddressMayBeChanged":   testCaseOfTheOwnAddress,
		"NeitherHalfOfAFailedSignUpIsThere": testFailedSignUpLeavesNothing,
		"RevokedUserIsKeptWithTheMoment":    testRevokedUser,
		"NobodyIsRevokedWhoDoesNotExist":    testRevokingNobody,
		"DeletedUsersAreHidden":             testDeletedUsers,
		"DeletedUsersAreListed":             testDeletedUsersAreListed,
		"BlockedUsersAreListed":             testBlockedUsers,
		"AKeyOfABlockCountsOnce":            testKeysOfBlocks,
		"BlocksOfManyAtOnce":                testManyBlocks,
		"AllUsersAreListed":                 testAllUsersAreListed,
		"UsersAreFoundByTheirBeginning":     testUsersAreFoundByTheirBeginning,
		"WhoChangesIsFoundAnew":             testWhoChangesIsFoundAnew,
	})
}

func person(w *storetest.World, email string) user.User {
	now := w.Clock.Now()
	return user.User{ID: user.ID(uuid.NewString()), Name: "Ada", Email: email, Version: 1, CreatedAt: now, UpdatedAt: now}
}

func testUserIsFound(t *testing.T, w *storetest.World) {
	u := person(w, "Ada.Lovelace@Example.com")
	require.NoError(t, w.Users.CreateUser(t.Context(), u, "issuer#1", "subject:1", idempotency.Key{}))
	assert.Equal(t, u, w.User(t, u.ID))
	id, err := w.Users.UserIDByEmail(t.Context(), user.FoldEmail(u.Email))
	require.NoError(t, err)
	assert.Equal(t, u.ID, id)
	id, err = w.Users.UserIDBySubject(t.Context(), "issuer#1", "subject:1")
	require.NoError(t, err)
	assert.Equal(t, u.ID, id)
	_, err = w.Users.UserIDBySubject(t.Context(), "issuer", "1#subject:1")
	storetest.IsFault(t, err, fault.NotFound)
}

func testMissingUserIsNotFoundAlone(t *testing.T, w *storetest.World) {
	id, _ := w.SignUp("ada")
	users, errs := w.Users.UsersByID(t.Context(), []user.ID{"nobody", id, "nobody", id})
	require.Len(t, errs, 4)
	storetest.IsFault(t, errs[0], fault.NotFound)
	storetest.IsFault(t, errs[2], fault.NotFound)
	assert.NoError(t, errs[1])
	assert.NoError(t, errs[3])
	assert.Equal(t, "ada", users[1].Name)
	assert.Equal(t, users[1], users[3])
	_, err := w.Users.UserIDByEmail(t.Context(), "nobody@example.com")
	storetest.IsFault(t, err, fault.NotFound)
}

func testEmailUniqueWhateverItsCase(t *testing.T, w *storetest.World) {
	spellings := []string{"ada@example.com", "ADA@example.com", "Ada@Example.COM", "aDa@example.com", "ada@EXAMPLE.com"}
	var created, taken atomic.Int32
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			err := w.Users.CreateUser(t.Context(), person(w, spellings[i%len(spellings)]), "issuer", fmt.Sprint("subject ", i), idempotency.Key{})
			switch {
			case err == nil:
				created.Add(1)
			case errors.Is(err, user.ErrEmailTaken):
				taken.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, created.Load(), "one of fifty gets the address")
	assert.EqualValues(t, 49, taken.Load())
}

func testOneUserPerSubject(t *testing.T, w *storetest.World) {
	var created atomic.Value
	told := make([]user.ID, 20)
	var group sync.WaitGroup
	for i := range told {
		group.Go(func() {
			somebody := person(w, fmt.Sprintf("ada%d@example.com", i))
			err := w.Users.CreateUser(t.Context(), somebody, "issuer", "ada", idempotency.Key{})
			existing, late := errors.AsType[*user.AlreadySignedUp](err)
			switch {
			case err == nil:
				assert.Nil(t, created.Swap(somebody.ID), "one only")
				told[i] = somebody.ID
			case late:
				assert.ErrorIs(t, err, user.ErrAlreadySignedUp)
				told[i] = existing.User
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, id := range told {
		assert.Equal(t, created.Load(), id, "the others learn who it is")
	}
}

func testFailedSignUpLeavesNothing(t *testing.T, w *storetest.World) {
	w.SignUp("ada")
	late := person(w, "ADA@example.com")
	require.ErrorIs(t, w.Users.CreateUser(t.Context(), late, "issuer", "late", idempotency.Key{}), user.ErrEmailTaken)
	_, errs := w.Users.UsersByID(t.Context(), []user.ID{late.ID})
	require.Len(t, errs, 1)
	storetest.IsFault(t, errs[0], fault.NotFound)
	_, err := w.Users.UserIDBySubject(t.Context(), "issuer", "late")
	storetest.IsFault(t, err, fault.NotFound)
}

func testChangingTheAddressMovesTheLock(t *testing.T, w *storetest.World) {
	id, _ := w.SignUp("ada")
	before := w.User(t, id)
	after := before
	after.Email, after.Version = "Countess@example.com", 2
	require.NoError(t, w.Users.UpdateUser(t.Context(), before, after, idempotency.Key{}))
	assert.Equal(t, after, w.User(t, id))
	found, err := w.Users.UserIDByEmail(t.Context(), "countess@example.com")
	require.NoError(t, err)
	assert.Equal(t, id, found)
	_, err = w.Users.UserIDByEmail(t.Context(), "ada@example.com")
	storetest.IsFault(t, err, fault.NotFound)
	require.NoError(t, w.Users.CreateUser(t.Context(), person(w, "ada@example.com"), "issuer", "other", idempotency.Key{}), "the old address is free")
}

func testChangingToATakenAddress(t *testing.T, w *storetest.World) {
	id, _ := w.SignUp("ada")
	other, _ := w.SignUp("grace")
	before := w.User(t, id)
	after := before
	after.Email, after.Version = "GRACE@example.com", 2
	require.ErrorIs(t, w.Users.UpdateUser(t.Context(), before, after, idempotency.Key{}), user.ErrEmailTaken)
	assert.Equal(t, before, w.User(t, id))
	for email, holder := range map[string]user.ID{"ada@example.com": id, "grace@example.com": other} {
		found, err := w.Users.UserIDByEmail(t.Context(), email)
		require.NoError(t, err)
		assert.Equal(t, holder, found)
	}
}

func testCaseOfTheOwnAddress(t *testing.T, w *storetest.World) {
	id, _ := w.SignUp("ada")
	before := w.User(t, id)
	after := before
	after.Email, after.Version = "Ada@Example.com", 2
	require.NoError(t, w.Users.UpdateUser(t.Context(), before, after, idempotency.Key{}))
	assert.Equal(t, "Ada@Example.com", w.User(t, id).Email)
	found, err := w.Users.UserIDByEmail(t.Context(), "ada@example.com")
	require.NoError(t, err)
	assert.Equal(t, id, found)
}

func testConflictReturnsTheCurrentUser(t *testing.T, w *storetest.World) {
	id, _ := w.SignUp("ada")
	before := w.User(t, id)
	first, second := before, before
	first.Name, first.Version = "first", 2
	second.Name, second.Version = "second", 2
	require.NoError(t, w.Users.UpdateUser(t.Context(), before, first, idempotency.Key{}))
	err := w.Users.UpdateUser(t.Context(), before, second, idempotency.Key{})
	conflict, ok := errors.AsType[*user.VersionConflict](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, first, conflict.Current)
}

// The clock stands still: all writers write the same version at the same millisecond.
func testConcurrentUserUpdates(t *testing.T, w *storetest.World) {
	id, _ := w.SignUp("ada")
	before := w.User(t, id)
	var won atomic.Int32
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			after := before
			after.Name, after.Version = fmt.Sprint("name ", i), 2
			if err := w.Users.UpdateUser(t.Context(), before, after, idempotency.Key{}); err == nil {
				won.Add(1)
			} else if _, conflict := errors.AsType[*user.VersionConflict](err); !conflict {
				t.Error(err)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, won.Load(), "only one of the writers may be told that it wrote")
}

func testSignUpIsRecordedWithItsKey(t *testing.T, w *storetest.World) {
	u := person(w, "ada@example.com")
	key := idempotency.Key{Viewer: "issuer ada", Key: "k#1", Hash: []byte{1}, ExpiresAt: w.Clock.Now().Add(idempotency.TTL)}
	require.NoError(t, w.Users.FindIdempotencyKey(t.Context(), key))
	require.NoError(t, w.Users.CreateUser(t.Context(), u, "issuer", "ada", key.With(string(u.ID))))
	for _, err := range []error{
		w.Users.FindIdempotencyKey(t.Context(), key),
		w.Users.CreateUser(t.Context(), person(w, "ada@example.com"), "issuer", "ada", key.With("another")),
	} {
		replayed, ok := errors.AsType[*idempotency.Replayed](err)
		require.True(t, ok, "got %v", err)
		assert.Equal(t, []string{string(u.ID)}, replayed.Result)
	}
}

func testRevokedUser(t *testing.T, w *storetest.World) {
	ada, bob := person(w, "ada@example.com"), person(w, "bob@example.com")
	for i, u := range []user.User{ada, bob} {
		require.NoError(t, w.Users.CreateUser(t.Context(), u, "issuer", fmt.Sprint(i), idempotency.Key{}))
	}
	first, second := w.Clock.Now(), w.Clock.Now().Add(time.Hour)
	once := idempotency.Key{Viewer: "root", Key: "revoke", Hash: []byte("hash"), ExpiresAt: first.Add(idempotency.TTL), Result: []string{string(ada.ID)}}
	require.NoError(t, w.Users.RevokeUser(t.Context(), ada.ID, first, once))
	revoked := func() []time.Time {
		accesses, errs := w.Users.AccessByID(t.Context(), []user.ID{bob.ID, ada.ID, "nobody"})
		require.Nil(t, errs)
		times := make([]time.Time, len(accesses))
		for i, a := range accesses {
			assert.Zero(t, a.Deletion)
			times[i] = a.Revoked
		}
		return times
	}
	assert.Equal(t, []time.Time{{}, first, {}}, revoked())
	var replayed *idempotency.Replayed
	require.ErrorAs(t, w.Users.RevokeUser(t.Context(), ada.ID, second, once), &replayed)
	assert.Equal(t, []string{string(ada.ID)}, replayed.Result)
	assert.Equal(t, first, revoked()[1])
	require.NoError(t, w.Users.RevokeUser(t.Context(), ada.ID, second, idempotency.Key{}))
	assert.Equal(t, second, revoked()[1])
	late := idempotency.Key{Viewer: "root", Key: "late", Hash: []byte("hash"), ExpiresAt: first.Add(idempotency.TTL), Result: []string{string(ada.ID)}}
	require.NoError(t, w.Users.RevokeUser(t.Context(), ada.ID, first, late))
	assert.Equal(t, second, revoked()[1], "the later one counts")
	require.ErrorAs(t, w.Users.FindIdempotencyKey(t.Context(), late), &replayed)
	assert.Equal(t, ada, w.User(t, ada.ID))

	recent := func(from, to time.Time) []user.Revocation {
		all, err := w.Users.Revocations(t.Context(), from, to)
		require.NoError(t, err)
		return all
	}
	both := []user.Revocation{{User: ada.ID, At: first}, {User: ada.ID, At: second}}
	assert.Equal(t, both, recent(first, second), "both ends are included")
	assert.Equal(t, both[:1], recent(first.Add(-23*time.Hour), second.Add(-time.Millisecond)))
	assert.Equal(t, both[1:], recent(first.Add(time.Millisecond), first.Add(23*time.Hour)), "also on another day")
}

func testRevokingNobody(t *testing.T, w *storetest.World) {
	storetest.IsFault(t, w.Users.RevokeUser(t.Context(), "nobody", w.Clock.Now(), idempotency.Key{}), fault.NotFound)
	accesses, errs := w.Users.AccessByID(t.Context(), []user.ID{"nobody"})
	require.Nil(t, errs)
	assert.Zero(t, accesses[0])
}
