package users_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/user"
)

// An identity leads to its user until the user is gone, and is another one's only then.
func TestAnIdentityIsFreeWhenItsUserIsGone(t *testing.T) {
	raw, _ := dynamotest.OpenDB(t, time.Now)
	db := users.Store{DB: raw}
	now := time.Now().UTC().Truncate(time.Millisecond)
	ada := user.User{ID: user.ID(uuid.NewString()), Name: "Ada", Email: "ada@example.com", Version: 1, CreatedAt: now, UpdatedAt: now}
	require.NoError(t, db.CreateUser(t.Context(), ada, "issuer", "ada", idempotency.Key{Viewer: "issuer ada", Key: "k", Hash: []byte("h"), ExpiresAt: now.Add(time.Hour)}))
	gone := ada
	gone.Version, gone.Deletion = 2, domain.Deletion{State: domain.Erasing, By: ada.ID, At: now, UndoUntil: now}
	require.NoError(t, db.PutDeletion(t.Context(), ada, gone, nil, idempotency.Key{}))
	for range 2 { // an earlier attempt may have ended anywhere
		require.NoError(t, db.NoteIdentity(t.Context(), ada.ID, keys.SubjectPK("issuer", "ada")))
		id, err := db.UserIDBySubject(t.Context(), "issuer", "ada")
		require.NoError(t, err)
		assert.Equal(t, ada.ID, id)
	}
	again := ada
	again.ID = user.ID(uuid.NewString())
	require.ErrorIs(t, db.CreateUser(t.Context(), again, "issuer", "other", idempotency.Key{}), user.ErrEmailTaken)

	require.NoError(t, db.EraseUser(t.Context(), gone))
	_, err := db.UserIDBySubject(t.Context(), "issuer", "ada")
	assert.True(t, fault.Is(err, fault.NotFound))
	assert.Empty(t, dynamotest.RowsOf(t, db.DB, dynamo.NotesTable))
	require.NoError(t, db.NoteIdentity(t.Context(), ada.ID, keys.SubjectPK("issuer", "ada")), "a server that is late")
	assert.Empty(t, dynamotest.RowsOf(t, db.DB, dynamo.NotesTable))
	require.NoError(t, db.CreateUser(t.Context(), again, "issuer", "ada", idempotency.Key{}))
	require.NoError(t, db.EraseUser(t.Context(), gone), "again")
	id, err := db.UserIDBySubject(t.Context(), "issuer", "ada")
	require.NoError(t, err)
	assert.Equal(t, again.ID, id, "whose the identity is by then")
}
