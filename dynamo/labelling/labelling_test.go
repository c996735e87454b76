package labelling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func labellingStores(db *dynamo.DB) labellingtest.Stores {
	return labellingtest.Stores{Stores: dynamotest.ProjectStores(db), Truth: truth.Store{Store: projects.Store{DB: db}}}
}

// openWorldOfLabelling returns a world on a DB of its own.
func openWorldOfLabelling(t testing.TB) (*labellingtest.World, truth.Store, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := labellingtest.NewWorld(t, labellingStores(db), clock)
	inj.Recorder().Reset()
	return w, truth.Store{Store: projects.Store{DB: db}}, inj
}

func TestLabelling(t *testing.T) {
	labellingtest.Suite(t, func(t *testing.T, now func() time.Time) labellingtest.Stores {
		db, inj := dynamotest.OpenDB(t, now)
		t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
		return labellingStores(db)
	})
}

func TestLabellingWithFaults(t *testing.T) {
	labellingtest.Suite(t, func(t *testing.T, now func() time.Time) labellingtest.Stores {
		return labellingStores(dynamotest.OpenFaultyDB(t, now))
	})
}

func TestLabellingRowByRow(t *testing.T) {
	labellingtest.Together(t, func(t *testing.T, now func() time.Time) labellingtest.Stores {
		return labellingStores(dynamotest.OpenRowByRowDB(t, now))
	})
}
