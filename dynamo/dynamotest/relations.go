package dynamotest

import (
	"testing"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// OpenRelationWorld returns a world on a DB of its own.
func OpenRelationWorld(t testing.TB) (*entitytest.RelationWorld, *dynamo.DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := OpenDB(t, clock.Now)
	db.Quiet = 50 * time.Millisecond
	return entitytest.NewRelationWorld(t, entitytest.RelationStores{RelationStore: entities.Store{DB: db}, Tasks: dynamo.Tasks{DB: db}}, clock), db, inj
}

// Calls returns which calls do makes.
func Calls(inj *faultinject.Injector, do func()) map[string]int {
	inj.Recorder().Reset()
	do()
	return inj.Recorder().Operations()
}
