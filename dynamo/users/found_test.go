package users_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

// found returns the ids of who is found by the beginning of a text.
func found(t *testing.T, db users.Store, begin string) (ids []user.ID) {
	t.Helper()
	s, err := db.ListUsers(t.Context(), begin, dynamotest.WholeList)
	require.NoError(t, err)
	for _, u := range s.Items {
		ids = append(ids, u.ID)
	}
	return ids
}

// documentUser are the rows of the document for a user: an earlier version of Taggie kept users so, too, and told in the lock whose it is.
func documentUser(id, name, lock string) string {
	return fmt.Sprintf(`[{"PK": "USER#%[1]s", "SK": "PROFILE", "GSI1PK": "EMAIL#%[1]s@example.org", "GSI1SK": "USER#%[1]s", "name": "%[2]s", "email": "%[1]s@example.org"},
		{"PK": "EMAIL#%[1]s@example.org", "SK": "UNIQUE_EMAILS"%[3]s}]`, id, name, lock)
}

// Who was put without entries gets them from the next change, whatever it changes, or when all users are indexed.
func TestUsersWithoutEntriesGetThem(t *testing.T) {
	t.Parallel()
	for lock, told := range map[string]string{"a lock that tells whose it is": `, "user_id": "u1"`, "a lock that does not": ""} {
		t.Run(lock, func(t *testing.T) {
			_, engine, inj := dynamotest.OpenWorld(t)
			db := users.Store{DB: engine}
			dynamotest.PutByHand(t, engine, dynamo.NotesTable, documentUser("u1", "Ada", told))
			require.Empty(t, found(t, db, ""))
			before := user.User{ID: "u1", Name: "Ada", Email: "u1@example.org", Version: 1}
			after := before
			after.Name, after.Version = "Grace", 2
			require.NoError(t, db.UpdateUser(t.Context(), before, after, idempotency.Key{}))
			for _, begin := range []string{"", "u1@", "grace"} {
				assert.Equal(t, []user.ID{"u1"}, found(t, db, begin), begin)
			}
			var conflict *user.VersionConflict
			require.ErrorAs(t, db.UpdateUser(t.Context(), before, after, idempotency.Key{}), &conflict)
			assert.Equal(t, "Grace", conflict.Current.Name)

			inj.Recorder().Reset()
			again := after
			again.Name, again.Version = "Hopper", 3
			require.NoError(t, db.UpdateUser(t.Context(), after, again, idempotency.Key{}))
			calls := inj.Recorder().Calls(faultinject.Operation("TransactWriteItems"))
			require.Len(t, calls, 1)
			assert.Len(t, calls[0].Keys, 1, "the profile alone")
		})
	}
}

func TestAllUsersWithoutEntriesAreIndexed(t *testing.T) {
	t.Parallel()
	w, engine, _ := dynamotest.OpenWorld(t)
	db := users.Store{DB: engine}
	ada, _ := w.SignUp("ada")
	const others = 120
	for i := range others {
		told := ""
		if i%2 == 0 {
			told = fmt.Sprintf(`, "user_id": "u%03d"`, i)
		}
		dynamotest.PutByHand(t, engine, dynamo.NotesTable, documentUser(fmt.Sprintf("u%03d", i), fmt.Sprint("Name ", i), told))
	}
	assert.Equal(t, []user.ID{ada}, found(t, db, ""))
	for _, want := range []int{others, 0} {
		done, err := db.IndexUsers(t.Context())
		require.NoError(t, err)
		assert.Equal(t, users.Indexing{Users: others + 1, Indexed: want}, done)
	}
	assert.Len(t, found(t, db, ""), others+1)
	assert.Len(t, found(t, db, "u0"), 100)
	assert.Len(t, found(t, db, "name 11"), 11)
	id, err := db.UserIDByEmail(t.Context(), "u001@example.org")
	require.NoError(t, err)
	assert.EqualValues(t, "u001", id)
}

// A server of an earlier version leaves the lock of a new address without its entry, and a lock of another program can be somebody else's: neither
// keeps others from the list, nor the user from another name.
func TestUsersAreIndexedWhateverTheirLocksSay(t *testing.T) {
	t.Parallel()
	w, engine, _ := dynamotest.OpenWorld(t)
	db := users.Store{DB: engine}
	ids := w.SignUpMany("old", 3)
	byHand := func(u user.User, of user.ID) {
		dynamotest.PutByHand(t, engine, dynamo.NotesTable, fmt.Sprintf(`[{"PK": "EMAIL#%s", "SK": "UNIQUE_EMAILS", "user_id": "%s"}]`, user.FoldEmail(u.Email), of))
	}
	byHand(w.User(t, ids[0]), ids[0])
	byHand(w.User(t, ids[1]), ids[2])
	assert.Equal(t, []user.ID{ids[2]}, found(t, db, ""))
	done, err := db.IndexUsers(t.Context())
	require.NoError(t, err)
	assert.Equal(t, users.Indexing{Users: 3, Indexed: 1, Taken: []user.ID{ids[1]}}, done)
	assert.ElementsMatch(t, []user.ID{ids[0], ids[2]}, found(t, db, ""))
	before := w.User(t, ids[1])
	after := before
	after.Name, after.Version = "new", before.Version+1
	require.NoError(t, db.UpdateUser(t.Context(), before, after, idempotency.Key{}))
	assert.Equal(t, "new", w.User(t, ids[1]).Name)
}

// While an index lags, nobody is found by what they are not called any more, and pages stay full.
func TestUsersWhileAnIndexLags(t *testing.T) {
	t.Parallel()
	w, engine, inj := dynamotest.OpenWorld(t)
	db := users.Store{DB: engine}
	ids := w.SignUpMany("old", 12)
	lag := inj.LagIndexes()
	for _, id := range ids[:6] {
		before := w.User(t, id)
		after := before
		after.Name, after.Email, after.Version = "new"+before.Name, "new"+before.Email, 2
		require.NoError(t, db.UpdateUser(t.Context(), before, after, idempotency.Key{}))
	}
	for _, begin := range []string{"", "old"} {
		of := storetest.Pages(t, 2, func(win page.Window) (page.Slice[user.User], error) { return db.ListUsers(t.Context(), begin, win) })
		assert.Len(t, of, 6, begin)
	}
	require.NoError(t, lag.Settle(t.Context()))
	assert.Len(t, found(t, db, ""), 12)
	assert.Len(t, found(t, db, "newold"), 6)
	require.NoError(t, lag.Stop(t.Context()))
}

// A page is one Query, also where names and addresses begin alike, and one BatchGetItem.
func TestAPageOfUsersIsOneQuery(t *testing.T) {
	t.Parallel()
	w, engine, inj := dynamotest.OpenWorld(t)
	db := users.Store{DB: engine}
	w.SignUpMany("ada", 80)
	for begin, index := range map[string]string{"": "GSI1", "ad": "GSI2"} {
		inj.Recorder().Reset()
		s, err := db.ListUsers(t.Context(), begin, page.Window{Limit: 49})
		require.NoError(t, err)
		require.Len(t, s.Items, 49)
		assert.True(t, s.More)
		assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, inj.Recorder().Operations(), begin)
		assert.Equal(t, 1, inj.Recorder().Count(faultinject.Index(index)))
	}
}
