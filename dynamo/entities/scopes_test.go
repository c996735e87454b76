package entities_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

func deleteItem(db *dynamo.DB, of dynamo.Table, key dynamo.Key) *dynamodb.DeleteItemInput {
	return &dynamodb.DeleteItemInput{TableName: db.Table(of), Key: of.Key(key)}
}

func TestCallsOfScopes(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	store := entities.Store{DB: db}
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	var ids []string
	for n := range 60 {
		ids = append(ids, fmt.Sprintf("s%02d", n))
		w.NewScope(ids[n], ada)
	}
	assert.Equal(t, map[string]int{"BatchGetItem": 1}, dynamotest.Calls(inj, func() {
		_, errs := store.ScopesByID(t.Context(), ada, ids[:50])
		assert.Nil(t, errs)
	}), "scope and membership together")
	assert.Equal(t, map[string]int{"BatchGetItem": 2}, dynamotest.Calls(inj, func() {
		_, errs := store.ScopesByID(t.Context(), ada, ids)
		assert.Nil(t, errs)
	}))
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, dynamotest.Calls(inj, func() {
		s, err := store.ListScopes(t.Context(), ada, page.Window{Limit: 40})
		require.NoError(t, err)
		assert.Len(t, s.Items, 40)
	}))
	for _, c := range inj.Recorder().Calls() {
		assert.Empty(t, c.Index, "no scope comes from an index that lags")
	}
	member := entity.Member{Scope: "s00", User: bob, Role: entity.ReaderRole, AddedAt: w.Clock.Now()}
	put := func() { require.NoError(t, store.PutMember(t.Context(), "", member, idempotency.Key{})) }
	change := map[string]int{"GetItem": 1, "TransactWriteItems": 1}
	assert.Equal(t, change, dynamotest.Calls(inj, put))
	assert.Equal(t, map[string]int{"GetItem": 1}, dynamotest.Calls(inj, put), "nothing to do")
	member.Role = entity.OwnerRole
	assert.Equal(t, change, dynamotest.Calls(inj, put))
	assert.Equal(t, map[string]int{"Query": 1}, dynamotest.Calls(inj, func() {
		s, err := store.ListMembers(t.Context(), "s00", page.Window{Limit: 40})
		require.NoError(t, err)
		assert.Len(t, s.Items, 2)
	}))
	ofOwner := map[string]int{"GetItem": 1, "Query": 1, "BatchGetItem": 1, "TransactWriteItems": 1}
	assert.Equal(t, ofOwner, dynamotest.Calls(inj, func() { require.NoError(t, store.DeleteMember(t.Context(), "s00", bob, idempotency.Key{})) }))
	assert.Equal(t, map[string]int{"TransactWriteItems": 1}, dynamotest.Calls(inj, func() {
		before := w.Scope("s00", ada)
		inj.Recorder().Reset()
		after := before
		after.Version++
		require.NoError(t, store.PutScope(t.Context(), &before, after, nil, []task.Task{{Kind: "k", ID: "i"}}, idempotency.Key{}))
	}))
	assert.Empty(t, inj.Recorder().Violations())
}

// While a member comes or goes, the membership is there or not, and lists agree with it: none shows a scope that cannot be read.
func TestMembersShownRowByRow(t *testing.T) {
	t.Parallel()
	w, db, inj := openEntityWorld(t)
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	w.NewScope("s", ada)
	looks := 0
	inj.RowByRow(func(ctx context.Context, _, _ int) {
		looks++
		role := w.Scope("s", bob).Role
		s, err := entities.Store{DB: db}.ListScopes(ctx, bob, page.Window{Limit: 5})
		assert.NoError(t, err)
		for _, scope := range s.Items {
			assert.NotEqual(t, entity.NoRole, role)
			assert.Equal(t, role, scope.Role)
		}
		_, member := w.Members("s")[bob]
		assert.Equal(t, role != entity.NoRole, member)
	})
	for _, r := range []entity.Role{entity.ReaderRole, entity.OwnerRole} {
		require.NoError(t, w.Put("s", bob, r))
	}
	require.NoError(t, w.Remove("s", bob))
	assert.Positive(t, looks)
}

// An attempt whose answer was lost is known again, also by an engine that has forgotten its token.
func TestChangeOfAScopeWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	db, inj := dynamotest.OpenDBOn(t, clock.Now, dynamotest.Forget)
	w := newEntityWorldOn(t, db, clock)
	before := w.NewScope("s", w.SignUp("ada"))
	after := before
	after.Version, after.Name = 2, "changed"
	once := lostOnce(inj)
	require.NoError(t, entities.Store{DB: db}.PutScope(t.Context(), &before, after, nil, []task.Task{{Kind: "k", ID: "i", Due: clock.Now()}}, idempotency.Key{}))
	assert.Equal(t, 1, once.Hits())
	assert.Equal(t, "changed", w.Scope("s", "").Name)
	tasks, err := dynamo.Tasks{DB: db}.ListDueTasks(t.Context(), clock.Now(), 10)
	require.NoError(t, err)
	assert.Len(t, tasks, 1)
}

func TestMemberWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	db, inj := dynamotest.OpenDBOn(t, clock.Now, dynamotest.Forget)
	w := newEntityWorldOn(t, db, clock)
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	w.NewScope("s", ada)
	for _, r := range []entity.Role{entity.ReaderRole, entity.OwnerRole, entity.WriterRole, entity.OwnerRole} {
		once := lostOnce(inj)
		require.NoError(t, w.Put("s", bob, r))
		assert.Equal(t, 1, once.Hits())
		once.Stop()
	}
	once := lostOnce(inj)
	require.NoError(t, w.Remove("s", bob))
	assert.Equal(t, 1, once.Hits())
	assert.ErrorIs(t, w.Remove("s", ada), entity.ErrLastOwner, "owners were counted once each time")
}

func TestAScopeHasAtMostSoManyMembers(t *testing.T) {
	t.Parallel()
	w, db, _ := openEntityWorld(t)
	ada, bob, eve := w.SignUp("ada"), w.SignUp("bob"), w.SignUp("eve")
	w.NewScope("s", ada)
	others := entities.CountMembers("s", entity.MaxMembers-2, 0) // who are not there, but counted
	others.Condition, others.Values = "", dynamo.Attrs{":members": dynamo.Number(entity.MaxMembers - 2), ":owners": dynamo.Number(0)}
	others.Names = map[string]string{"#meta": "_meta", "#members": "members", "#owners": "owners"}
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{others}, idempotency.Key{}))
	require.NoError(t, w.Put("s", bob, entity.ReaderRole), "the last one")
	err := w.Put("s", eve, entity.ReaderRole)
	assert.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	require.NoError(t, w.Put("s", bob, entity.OwnerRole), "a role is not one more")
	require.NoError(t, w.Remove("s", bob))
	require.NoError(t, w.Put("s", eve, entity.ReaderRole))
}
