package entities_test

import (
	"fmt"
	"testing"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
)

func TestLimitsOfScopesHoldAtOnce(t *testing.T) {
	t.Parallel()
	w, db, _ := openEntityWorld(t)
	ada := w.SignUp("ada")
	w.NewScope("s", ada)
	dynamotest.SetCount(t, db, dynamo.NotesTable, users.ProfileKey(ada), "scopes", nil, entity.MaxScopes-dynamotest.Left)
	dynamotest.BoundAtOnce(t, dynamotest.Left, func(n int) error {
		now := w.Clock.Now()
		s := entity.Scope{ID: fmt.Sprint("scope", n), Name: "scope", Version: 1, CreatedAt: now, UpdatedAt: now, Role: entity.OwnerRole}
		return w.Entities.PutScope(dynamotest.Patient(t), nil, s, &entity.Member{Scope: s.ID, User: ada, Role: entity.OwnerRole, AddedAt: now}, nil, idempotency.Key{})
	})
	users := make([]entity.UserID, dynamotest.AtOnce)
	for n := range users {
		users[n] = w.SignUp(fmt.Sprint("user", n))
	}
	dynamotest.SetCount(t, db, dynamo.EntitiesMaster, entities.ScopeKey("s"), "#meta.#members", map[string]string{"#meta": "_meta", "#members": "members"}, entity.MaxMembers-dynamotest.Left)
	dynamotest.BoundAtOnce(t, dynamotest.Left, func(n int) error { return w.Put("s", users[n], entity.ReaderRole) })
}
