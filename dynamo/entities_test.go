package dynamo

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/storetest"
)

func entityStores(db *DB) storetest.EntityStores {
	return storetest.EntityStores{Users: Users{db}, Entities: Entities{db}, Tasks: Tasks{db}}
}

func openEntities(t *testing.T, now func() time.Time) storetest.EntityStores {
	db, inj := openDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return entityStores(db)
}

// openFaultyEntities is openFaulty for entities.
func openFaultyEntities(t *testing.T, now func() time.Time) storetest.EntityStores {
	return entityStores(openFaultyDB(t, now))
}

// openLaggingEntities returns stores whose indexes show nothing until they are settled, and whose transactions are shown row by row.
func openLaggingEntities(t *testing.T, now func() time.Time) storetest.EntityStores {
	db, inj := openDB(t, now)
	lag := inj.LagIndexes()
	inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
	t.Cleanup(func() {
		assert.NoError(t, lag.Stop(context.WithoutCancel(t.Context())))
		assert.Empty(t, inj.Recorder().Violations())
	})
	s := entityStores(db)
	s.Entities = Entities{db}
	s.Settle = func() { assert.NoError(t, lag.Settle(context.WithoutCancel(t.Context()))) }
	return s
}

func TestEntities(t *testing.T) { storetest.EntitiesSuite(t, openEntities) }

func TestEntitiesWithFaults(t *testing.T) { storetest.EntitiesSuite(t, openFaultyEntities) }

func TestEntitiesLaggingRowByRow(t *testing.T) { storetest.EntitiesSuite(t, openLaggingEntities) }

func TestScopes(t *testing.T) { storetest.ScopesSuite(t, openEntities) }

func TestScopesWithFaults(t *testing.T) { storetest.ScopesSuite(t, openFaultyEntities) }

func TestScopesLaggingRowByRow(t *testing.T) { storetest.ScopesSuite(t, openLaggingEntities) }

func TestTasks(t *testing.T) { storetest.TasksSuite(t, openEntities) }

func TestTasksWithFaults(t *testing.T) { storetest.TasksSuite(t, openFaultyEntities) }

func TestTasksLaggingRowByRow(t *testing.T) { storetest.TasksSuite(t, openLaggingEntities) }
