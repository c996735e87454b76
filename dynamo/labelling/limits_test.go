package labelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// An item whose finish is taken back again and again would have efforts without an end.
func TestLimitsOfEfforts(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorldOfProjects(t)
	w.Lists()
	item := w.Fill(1)[0]
	dynamotest.SetCount(t, db.DB, dynamo.EntitiesMaster, entities.ShardedKey(projects.ItemID(item.ItemID)), "#made", map[string]string{"#made": projects.EffortsMade}, project.MaxEfforts-1)
	finish := func(i project.Item) (project.Item, error) {
		m := w.Finishing(i, w.Ada, "", "")
		return m.After, truth.Store{Store: db}.MoveItem(t.Context(), m, idempotency.Key{})
	}
	last, err := finish(item)
	require.NoError(t, err)
	_, err = finish(last)
	require.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
}
