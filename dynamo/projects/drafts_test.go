package projects_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest/projecttest"
	"github.com/taggie/taggie/internal/task"
)

// labelsIn returns how many labels the project has rows of.
func labelsIn(t *testing.T, db projects.Store, id project.ID) int {
	t.Helper()
	out, err := db.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: db.Table(dynamo.EntitiesMaster)})
	require.NoError(t, err)
	n := 0
	for _, row := range out.Items {
		if dynamo.Text(row["_scope"]) == string(id) && (dynamo.Text(row["_type"]) == string(project.Category) || dynamo.Text(row["_type"]) == string(project.Subcategory)) {
			n++
		}
	}
	return n
}

// lostLabels kills a server while it creates a project with 200 categories, and returns the project and the task that is left.
func lostLabels(t *testing.T, w *projecttest.World, db projects.Store, inj *faultinject.Injector, categories []string, calls int) (project.Project, task.Task) {
	t.Helper()
	p, labels, team := w.Draft(w.Ada, categories, nil)
	killed := inj.KillAfter(calls)
	require.Error(t, db.CreateProject(t.Context(), p, labels, team, p.Member, idempotency.Key{}))
	killed.Stop()
	w.Clock.Advance(projects.DraftFor)
	due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 5)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, projects.SweepLabels, due[0].Kind)
	return p, due[0]
}

func manyNames() []string {
	names := make([]string, 200)
	for i := range names {
		names[i] = string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	return names
}

func TestLabelsOfALostServerAreRemoved(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	p, due := lostLabels(t, w, db, inj, manyNames(), 9)
	assert.Equal(t, 200, labelsIn(t, db, p.ID), "all of them, but not the project")
	_, errs := db.ProjectsByID(t.Context(), w.Ada, []project.ID{p.ID})
	require.True(t, fault.Is(errs[0], fault.NotFound))

	killed := inj.KillAfter(5)
	_, err := db.SweepLabels(t.Context(), due)
	require.Error(t, err)
	killed.Stop()
	assert.Positive(t, labelsIn(t, db, p.ID))
	again, err := db.SweepLabels(t.Context(), due)
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Zero(t, labelsIn(t, db, p.ID))
}

func TestLabelsThatAreNamedStay(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorldOfProjects(t)
	p, _ := w.Create(w.Ada, manyNames(), manyNames()[:30])
	w.Clock.Advance(time.Hour)
	due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 5)
	require.NoError(t, err)
	assert.Empty(t, due, "the transaction that names them removes the task")
	rows, err := db.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: db.Table(dynamo.EntitiesMaster)})
	require.NoError(t, err)
	drafts := map[string]bool{}
	for _, row := range rows.Items {
		drafts[dynamo.Text(row["draft"])] = true
	}
	require.Len(t, drafts, 2, "one, and none")
	for draft := range drafts {
		_, err = db.SweepLabels(t.Context(), task.Task{Kind: projects.SweepLabels, ID: draft, Scope: string(p.ID)})
		require.NoError(t, err)
	}
	assert.Equal(t, 230, labelsIn(t, db, p.ID))
	w.Project = p
	assert.Len(t, w.Lists(), 230)
}

// Whoever is so slow that the labels are being removed does not name them any more.
func TestWhoIsTooSlowNamesNoLabels(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	p, labels, team := w.Draft(w.Ada, manyNames(), nil)
	// The first transaction records the task, the second one names the labels.
	gate := inj.Hold(faultinject.Nth(2), faultinject.Operation("TransactWriteItems"))
	done := make(chan error, 1)
	go func() {
		done <- db.CreateProject(dynamotest.Soon(t, time.Minute), p, labels, team, p.Member, idempotency.Key{})
	}()
	require.NoError(t, gate.Wait(dynamotest.Soon(t, 20*time.Second), 1))
	w.Clock.Advance(projects.DraftFor)
	due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 5)
	require.NoError(t, err)
	require.Len(t, due, 1)
	claimed, ok, err := w.Tasks.ClaimTask(t.Context(), due[0], "token", w.Clock.Now().Add(task.Lease))
	require.NoError(t, err)
	require.True(t, ok)
	_, err = db.SweepLabels(t.Context(), claimed)
	require.NoError(t, err)
	gate.Open()
	err = <-done
	require.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
	assert.Zero(t, labelsIn(t, db, p.ID))
	_, errs := db.ProjectsByID(t.Context(), w.Ada, []project.ID{p.ID})
	require.True(t, fault.Is(errs[0], fault.NotFound))
}
