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

func projectStores(db *DB) storetest.ProjectStores {
	return storetest.ProjectStores{Users: Users{db}, Projects: Projects{db}, Tasks: Tasks{db}, Mover: Labelling{Projects{db}}}
}

func openProjects(t *testing.T, now func() time.Time) storetest.ProjectStores {
	db, inj := openDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return projectStores(db)
}

func openFaultyProjects(t *testing.T, now func() time.Time) storetest.ProjectStores {
	return projectStores(openFaultyDB(t, now))
}

// openWorldOfProjects returns a world on a DB of its own.
func openWorldOfProjects(t testing.TB) (*storetest.ProjectWorld, Projects, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := openDB(t, clock.Now)
	w := storetest.NewProjectWorld(t, projectStores(db), clock)
	inj.Recorder().Reset()
	return w, Projects{db}, inj
}

func TestProjects(t *testing.T) { storetest.ProjectsSuite(t, openProjects) }

func TestProjectsWithFaults(t *testing.T) { storetest.ProjectsSuite(t, openFaultyProjects) }

// openRowByRowProjects returns stores whose transactions are shown row by row.
func openRowByRowProjects(t *testing.T, now func() time.Time) storetest.ProjectStores {
	db, inj := openDB(t, now)
	inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return projectStores(db)
}

func TestProjectsRowByRow(t *testing.T) { storetest.ProjectsSuite(t, openRowByRowProjects) }
