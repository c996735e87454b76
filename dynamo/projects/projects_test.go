package projects_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func openProjects(t *testing.T, now func() time.Time) projecttest.Stores {
	db, inj := dynamotest.OpenDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return dynamotest.ProjectStores(db)
}

func openFaultyProjects(t *testing.T, now func() time.Time) projecttest.Stores {
	return dynamotest.ProjectStores(dynamotest.OpenFaultyDB(t, now))
}

func TestProjects(t *testing.T) { projecttest.Suite(t, openProjects) }

func TestProjectsWithFaults(t *testing.T) { projecttest.Suite(t, openFaultyProjects) }

func TestProjectsRowByRow(t *testing.T) {
	projecttest.Together(t, func(t *testing.T, now func() time.Time) projecttest.Stores {
		return dynamotest.ProjectStores(dynamotest.OpenRowByRowDB(t, now))
	})
}
