package entities_test

import (
	"testing"
	"time"

	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

func openRelations(t *testing.T, now func() time.Time) entitytest.RelationStores {
	s := openEntities(t, now)
	return entitytest.RelationStores{RelationStore: s.Entities.(entities.Store), Tasks: s.Tasks}
}

func openFaultyRelations(t *testing.T, now func() time.Time) entitytest.RelationStores {
	s := openFaultyEntities(t, now)
	return entitytest.RelationStores{RelationStore: s.Entities.(entities.Store), Tasks: s.Tasks}
}

// openLaggingRelations is openLaggingEntities for relationships.
func openLaggingRelations(t *testing.T, now func() time.Time) entitytest.RelationStores {
	s := openLaggingEntities(t, now)
	return entitytest.RelationStores{RelationStore: s.Entities.(entities.Store), Tasks: s.Tasks, Settle: s.Settle}
}

func TestRelations(t *testing.T) { entitytest.RelationsSuite(t, openRelations) }

func TestRelationsWithFaults(t *testing.T) { entitytest.RelationsSuite(t, openFaultyRelations) }

func TestEntityDeletions(t *testing.T) { entitytest.EntityDeletionsSuite(t, openRelations) }

func TestEntityDeletionsWithFaults(t *testing.T) {
	entitytest.EntityDeletionsSuite(t, openFaultyRelations)
}

func TestRelationsLaggingRowByRow(t *testing.T) {
	entitytest.RelationsSuite(t, openLaggingRelations)
}

func TestEntityDeletionsLaggingRowByRow(t *testing.T) {
	entitytest.EntityDeletionsSuite(t, openLaggingRelations)
}
