package entities_test

import (
	"testing"
	"time"

	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// relations opens stores of relationships as those of entities are opened.
func relations(open entitytest.Open) entitytest.OpenRelations {
	return func(t *testing.T, now func() time.Time) entitytest.RelationStores {
		s := open(t, now)
		return entitytest.RelationStores{RelationStore: s.Entities.(entities.Store), Tasks: s.Tasks, Settle: s.Settle}
	}
}

func TestRelations(t *testing.T) { entitytest.RelationsSuite(t, relations(openEntities)) }

func TestRelationsWithFaults(t *testing.T) {
	entitytest.RelationsSuite(t, relations(openFaultyEntities))
}

func TestRelationsLagging(t *testing.T) { entitytest.RelationsSuite(t, relations(openLaggingEntities)) }

func TestRelationsLaggingRowByRow(t *testing.T) {
	entitytest.RelationsTogether(t, relations(openRowByRowEntities))
}

func TestEntityDeletions(t *testing.T) { entitytest.EntityDeletionsSuite(t, relations(openEntities)) }

func TestEntityDeletionsWithFaults(t *testing.T) {
	entitytest.EntityDeletionsSuite(t, relations(openFaultyEntities))
}

func TestEntityDeletionsLagging(t *testing.T) {
	entitytest.EntityDeletionsSuite(t, relations(openLaggingEntities))
}

func TestEntityDeletionsLaggingRowByRow(t *testing.T) {
	entitytest.EntityDeletionsTogether(t, relations(openRowByRowEntities))
}
