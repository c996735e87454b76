package dynamo

import (
	"testing"
	"time"

	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
)

func openRelations(t *testing.T, now func() time.Time) storetest.RelationStores {
	s := openEntities(t, now)
	return storetest.RelationStores{RelationStore: s.Entities.(Entities), Tasks: s.Tasks}
}

func openFaultyRelations(t *testing.T, now func() time.Time) storetest.RelationStores {
	s := openFaultyEntities(t, now)
	return storetest.RelationStores{RelationStore: s.Entities.(Entities), Tasks: s.Tasks}
}

// openLaggingRelations is openLaggingEntities for relationships.
func openLaggingRelations(t *testing.T, now func() time.Time) storetest.RelationStores {
	s := openLaggingEntities(t, now)
	return storetest.RelationStores{RelationStore: s.Entities.(Entities), Tasks: s.Tasks, Settle: s.Settle}
}

// openRelationWorld returns a world on a DB of its own.
func openRelationWorld(t testing.TB) (*storetest.RelationWorld, *DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := openDB(t, clock.Now)
	db.quiet = 50 * time.Millisecond
	return storetest.NewRelationWorld(t, storetest.RelationStores{RelationStore: Entities{db}, Tasks: Tasks{db}}, clock), db, inj
}

func TestRelations(t *testing.T) { storetest.RelationsSuite(t, openRelations) }

func TestRelationsWithFaults(t *testing.T) { storetest.RelationsSuite(t, openFaultyRelations) }

func TestEntityDeletions(t *testing.T) { storetest.EntityDeletionsSuite(t, openRelations) }

func TestEntityDeletionsWithFaults(t *testing.T) {
	storetest.EntityDeletionsSuite(t, openFaultyRelations)
}

func TestRelationsLaggingRowByRow(t *testing.T) {
	storetest.RelationsSuite(t, openLaggingRelations)
}

func TestEntityDeletionsLaggingRowByRow(t *testing.T) {
	storetest.EntityDeletionsSuite(t, openLaggingRelations)
}
