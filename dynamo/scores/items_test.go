package scores_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

func openItems(t *testing.T, now func() time.Time) scoretest.ItemStores {
	db, inj := dynamotest.OpenDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return dynamotest.ItemStores(t, db)
}

func openFaultyItems(t *testing.T, now func() time.Time) scoretest.ItemStores {
	return dynamotest.ItemStores(t, dynamotest.OpenFaultyDB(t, now))
}

func TestScoreItems(t *testing.T) { scoretest.ItemsSuite(t, openItems) }

func TestScoreItemsWithFaults(t *testing.T) { scoretest.ItemsSuite(t, openFaultyItems) }

func TestScoreItemsKilled(t *testing.T) { scoretest.KilledItems(t, openItems) }

func TestScoreItemsRowByRow(t *testing.T) {
	scoretest.ItemsTogether(t, func(t *testing.T, now func() time.Time) scoretest.ItemStores {
		return dynamotest.ItemStores(t, dynamotest.OpenRowByRowDB(t, now))
	})
}
