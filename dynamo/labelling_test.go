package dynamo

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/storetest"
)

func labellingStores(db *DB) storetest.LabellingStores {
	return storetest.LabellingStores{ProjectStores: projectStores(db), Truth: Labelling{Projects{db}}}
}

// openWorldOfLabelling returns a world on a DB of its own.
func openWorldOfLabelling(t testing.TB) (*storetest.LabellingWorld, Labelling, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := openDB(t, clock.Now)
	w := storetest.NewLabellingWorld(t, labellingStores(db), clock)
	inj.Recorder().Reset()
	return w, Labelling{Projects{db}}, inj
}

func TestLabelling(t *testing.T) {
	storetest.LabellingSuite(t, func(t *testing.T, now func() time.Time) storetest.LabellingStores {
		db, inj := openDB(t, now)
		t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
		return labellingStores(db)
	})
}

func TestLabellingWithFaults(t *testing.T) {
	storetest.LabellingSuite(t, func(t *testing.T, now func() time.Time) storetest.LabellingStores {
		return labellingStores(openFaultyDB(t, now))
	})
}

func TestLabellingRowByRow(t *testing.T) {
	storetest.LabellingSuite(t, func(t *testing.T, now func() time.Time) storetest.LabellingStores {
		db, inj := openDB(t, now)
		inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
		t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
		return labellingStores(db)
	})
}
