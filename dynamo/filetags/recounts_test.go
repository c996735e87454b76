package filetags_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/internal/idempotency"
)

// A set of tags of another program that cannot be read keeps nobody's tags from being counted.
func TestRecountLeavesOutForeignSets(t *testing.T) {
	t.Parallel()
	w, db, _ := openTagWorld(t)
	row := dynamo.TagsTable.Key(dynamo.Key{PK: "#another", SK: "somebody"})
	row["authorUserId"], row["fileUniqueId"] = dynamo.Str("somebody"), dynamo.Str("another")
	row["tags"], row["version"] = dynamo.Str("of another program"), dynamo.Str("v")
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.TagsTable, Item: row}}, idempotency.Key{}))
	require.NoError(t, filetags.CountFileTags(db, t.Context(), map[string]int{string(w.Ada): 0}))
}
