package projects_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

func openOriginals(t *testing.T, now func() time.Time) (scoretest.ItemStores, projecttest.Stores) {
	db, inj := dynamotest.OpenDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db)
}

func TestOriginals(t *testing.T) { projecttest.OriginalsSuite(t, openOriginals) }

func TestOriginalsWithFaults(t *testing.T) {
	projecttest.OriginalsSuite(t, func(t *testing.T, now func() time.Time) (scoretest.ItemStores, projecttest.Stores) {
		db := dynamotest.OpenFaultyDB(t, now)
		return dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db)
	})
}

func TestOriginalsRowByRow(t *testing.T) {
	projecttest.OriginalsTogether(t, func(t *testing.T, now func() time.Time) (scoretest.ItemStores, projecttest.Stores) {
		db := dynamotest.OpenRowByRowDB(t, now)
		return dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db)
	})
}

func TestOriginalsKilled(t *testing.T) {
	t.Parallel()
	projecttest.KilledOriginals(t, openOriginals)
}

func TestImportsKilled(t *testing.T) { projecttest.KilledImports(t, openOriginals) }

func TestImportsKilledBetweenCalls(t *testing.T) {
	projecttest.KilledImportCalls(t, func(t *testing.T, now func() time.Time) (scoretest.ItemStores, projecttest.Stores, projecttest.KillAfter) {
		db, inj := dynamotest.OpenDB(t, now)
		return dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db), func(n int) (dead func() bool, revive func()) {
			var asked atomic.Int64
			rule := inj.KillAfter(n, func(*faultinject.Call) bool {
				asked.Add(1)
				return true
			})
			return func() bool { return asked.Load() > int64(n) }, func() { rule.Stop() }
		}
	})
}

func TestAnItemIsDeletedOrImported(t *testing.T) {
	t.Parallel()
	projecttest.RacingOriginals(t, openOriginals, 1_000)
}

func TestCallsOfOriginals(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := projecttest.NewOriginalWorld(t, dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db), clock)
	kept := w.Keep(score.Library, 60)
	items := w.Draw(w.Import(), 1, 60)
	for n := range items {
		items[n].Original = kept[n].Original()
	}
	requests := make([]score.ProjectsRequest, len(kept))
	for n, i := range kept {
		requests[n] = i.Projects(page.Window{Limit: 20})
	}
	for _, test := range []struct {
		what string
		do   func() error
		want map[string]int
	}{
		{"60 items", func() error { _, _, err := w.Projects.ImportItems(t.Context(), items); return err }, map[string]int{"TransactWriteItems": 3}},
		{"60 items again", func() error { _, _, err := w.Projects.ImportItems(t.Context(), items); return err }, map[string]int{"TransactWriteItems": 3, "BatchGetItem": 3}},
		{"one of another line", func() error {
			again := items[0]
			again.Line = 100
			_, there, err := w.Projects.ImportItems(t.Context(), []project.Item{again})
			assert.Len(t, there, 1)
			return err
		}, map[string]int{"TransactWriteItems": 1, "BatchGetItem": 1}},
		{"projects of 60 items", func() error {
			lists, errs := scores.Items{DB: db}.ListProjectsOf(t.Context(), w.Ada, requests)
			assert.Equal(t, []project.Project{w.Project}, lists[59].Items)
			return errs[0]
		}, map[string]int{"Query": 60, "BatchGetItem": 1}},
		{"projects of items of nobody", func() error {
			_, errs := scores.Items{DB: db}.ListProjectsOf(t.Context(), w.Ada, []score.ProjectsRequest{score.Item{ItemRef: score.ItemRef{Owner: w.Ada, ID: score.ItemID(uuid.NewString())}}.Projects(page.Window{Limit: 20})})
			return errs[0]
		}, map[string]int{"Query": 1}},
	} {
		inj.Recorder().Reset()
		require.NoError(t, test.do(), test.what)
		assert.Equal(t, test.want, inj.Recorder().Operations(), test.what)
	}
	assert.Empty(t, inj.Recorder().Violations())
}

// A use may be there before the item of the project is: whoever put it, the item is used once.
func TestAUseThatIsThereAlreadyIsKept(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	w := projecttest.NewOriginalWorld(t, dynamotest.ItemStores(t, db), dynamotest.ProjectStores(db), clock)
	kept := w.Keep(score.Library, 2)
	require.NoError(t, db.Transact(t.Context(), uses.By{Project: w.Project.ID}.Take(kept[1].ItemRef, false), idempotency.Key{}))
	items := w.Draw(w.Import(), 1, 2)
	for n := range items {
		items[n].Original = kept[n].Original()
	}
	created, _, err := w.Projects.ImportItems(t.Context(), items)
	require.NoError(t, err)
	assert.Equal(t, 2, created)
	assert.Equal(t, []int{1, 1}, w.Refs(kept))
}
