package projects_test

import (
	"context"
	"runtime"
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

// openRowByRowProjects returns stores whose transactions are shown row by row.
func openRowByRowProjects(t *testing.T, now func() time.Time) projecttest.Stores {
	db, inj := dynamotest.OpenDB(t, now)
	inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return dynamotest.ProjectStores(db)
}

func TestProjectsRowByRow(t *testing.T) { projecttest.Suite(t, openRowByRowProjects) }
