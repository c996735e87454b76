package dynamotest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

// ProjectStores are the stores over the DB that projects need.
func ProjectStores(db *dynamo.DB) projecttest.Stores {
	return projecttest.Stores{Users: users.Store{DB: db}, Projects: projects.Store{DB: db}, Tasks: dynamo.Tasks{DB: db}, Mover: labelling.Store{Store: projects.Store{DB: db}}}
}

// OpenWorldOfProjects returns a world on a DB of its own.
func OpenWorldOfProjects(t testing.TB) (*projecttest.World, projects.Store, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := OpenDB(t, clock.Now)
	w := projecttest.NewWorld(t, ProjectStores(db), clock)
	inj.Recorder().Reset()
	return w, projects.Store{DB: db}, inj
}

// InShard imports n items that are all in one shard.
func InShard(t testing.TB, w *projecttest.World, shard, n int) []project.Item {
	t.Helper()
	var items []project.Item
	for _, item := range w.Draw(w.Import(), 1, 32*n+300) { // which shard an item is in is chance
		if len(items) < n && keys.Shard(item.ID) == shard {
			items = append(items, item)
		}
	}
	require.Len(t, items, n)
	_, _, err := w.Projects.ImportItems(t.Context(), items)
	require.NoError(t, err)
	return items
}

// Made returns how often each operation was called since the last time, and forgets it.
func Made(inj *faultinject.Injector) map[string]int {
	defer inj.Recorder().Reset()
	return inj.Recorder().Operations()
}

// First returns the first of the errors that is one; nil when none is.
func First(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
