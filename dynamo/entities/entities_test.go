package entities_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func entityStores(db *dynamo.DB) entitytest.Stores {
	return entitytest.Stores{Users: users.Store{DB: db}, Entities: entities.Store{DB: db}, Tasks: dynamo.Tasks{DB: db}}
}

func openEntities(t *testing.T, now func() time.Time) entitytest.Stores {
	db, inj := dynamotest.OpenDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return entityStores(db)
}

// openFaultyEntities is openFaulty for entities.
func openFaultyEntities(t *testing.T, now func() time.Time) entitytest.Stores {
	return entityStores(dynamotest.OpenFaultyDB(t, now))
}

// openLaggingEntities returns stores whose indexes show nothing until they are settled.
func openLaggingEntities(t *testing.T, now func() time.Time) entitytest.Stores {
	s, _ := laggingEntities(t, now)
	return s
}

// openRowByRowEntities is openLaggingEntities, and transactions are shown row by row.
func openRowByRowEntities(t *testing.T, now func() time.Time) entitytest.Stores {
	s, inj := laggingEntities(t, now)
	inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
	return s
}

func laggingEntities(t *testing.T, now func() time.Time) (entitytest.Stores, *faultinject.Injector) {
	db, inj := dynamotest.OpenDB(t, now)
	lag := inj.LagIndexes()
	t.Cleanup(func() {
		assert.NoError(t, lag.Stop(context.WithoutCancel(t.Context())))
		assert.Empty(t, inj.Recorder().Violations())
	})
	s := entityStores(db)
	s.Settle = func() { assert.NoError(t, lag.Settle(context.WithoutCancel(t.Context()))) }
	return s, inj
}

func TestEntities(t *testing.T) { entitytest.Suite(t, openEntities) }

func TestEntitiesWithFaults(t *testing.T) { entitytest.Suite(t, openFaultyEntities) }

func TestEntitiesLagging(t *testing.T) { entitytest.Suite(t, openLaggingEntities) }

func TestEntitiesLaggingRowByRow(t *testing.T) { entitytest.Together(t, openRowByRowEntities) }

func TestScopes(t *testing.T) { entitytest.ScopesSuite(t, openEntities) }

func TestScopesWithFaults(t *testing.T) { entitytest.ScopesSuite(t, openFaultyEntities) }

func TestScopesLagging(t *testing.T) { entitytest.ScopesSuite(t, openLaggingEntities) }

func TestScopesLaggingRowByRow(t *testing.T) { entitytest.ScopesTogether(t, openRowByRowEntities) }

func TestTasks(t *testing.T) { entitytest.TasksSuite(t, openEntities) }

func TestTasksWithFaults(t *testing.T) { entitytest.TasksSuite(t, openFaultyEntities) }

func TestTasksLagging(t *testing.T) { entitytest.TasksSuite(t, openLaggingEntities) }

func TestTasksLaggingRowByRow(t *testing.T) { entitytest.TasksTogether(t, openRowByRowEntities) }
