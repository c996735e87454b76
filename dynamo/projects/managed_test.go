package projects_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

// A project has more managers than fit on a page. One of them is found without reading all, unless they are deleted.
func TestManagersAreReadUntilOneIsPresent(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	managed, bosses := w.Create(w.Ada, nil, nil)
	const many = 130
	ids := make([]project.UserID, many)
	storetest.Together(many, func(n int) {
		ids[n] = w.SignUp(fmt.Sprint("boss", n))
		assert.NoError(t, db.PutMember(dynamotest.Patient(t), "", project.Member{Project: managed.ID, User: ids[n], Team: bosses.ID, Type: bosses.Type, AddedAt: w.Clock.Now()}, idempotency.Key{}))
	})
	type ops = map[string]int
	others := func() users.Others[project.Member] {
		t.Helper()
		_ = dynamotest.Made(inj)
		o, err := db.Others(t.Context(), w.Ada, managed)
		require.NoError(t, err)
		return o
	}
	leaves := func(id project.UserID) error {
		_ = dynamotest.Made(inj)
		return db.DeleteMember(t.Context(), id, managed.ID, id, idempotency.Key{})
	}
	assert.Equal(t, users.Others[project.Member]{Managed: true}, others())
	assert.Equal(t, ops{"Query": 1, "BatchGetItem": 1}, dynamotest.Made(inj))
	require.NoError(t, leaves(ids[0]))
	assert.Equal(t, ops{"Query": 1, "BatchGetItem": 2, "TransactWriteItems": 1}, dynamotest.Made(inj))

	until := w.Clock.Now().Add(domain.UndoDeletion)
	storetest.Together(many-1, func(n int) {
		found, errs := users.Store{DB: db.DB}.UsersByID(t.Context(), []user.ID{ids[n+1]})
		if !assert.NoError(t, errors.Join(errs...)) {
			return
		}
		after := found[0]
		after.Version, after.Deletion = after.Version+1, domain.Deletion{State: domain.Deleted, By: ids[n+1], At: w.Clock.Now(), UndoUntil: until}
		assert.NoError(t, users.Store{DB: db.DB}.PutDeletion(t.Context(), found[0], after, nil, idempotency.Key{}))
	})
	assert.Equal(t, users.Others[project.Member]{Awaited: true, Until: until}, others())
	assert.Equal(t, ops{"Query": 2, "BatchGetItem": 2}, dynamotest.Made(inj))
	require.ErrorIs(t, leaves(w.Ada), project.ErrLastManager, "the others are deleted, and Ada is not")
	require.NoError(t, leaves(ids[1]), "Ada is found on any page")
}
