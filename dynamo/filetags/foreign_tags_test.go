package filetags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/filetag"
)

// The document's rows of tags say who put a tag on which file, and not whose the file is: Taggie does not show them. They keep nobody from
// tagging the item, and nothing is done to them.
func TestTagRowsOfTheDocumentKeepNobodyFromTagging(t *testing.T) {
	t.Parallel()
	w, db, _ := openTagWorld(t)
	item := w.NewItems(w.Ada, "", 1)[0]
	var rows []string
	for i, value := range []string{"value-1", "value-2"} {
		for author, query := range map[string]string{string(w.Ada): string(w.Ada) + "#val", "": "#val"} {
			rows = append(rows, fmt.Sprintf(`{"tagId": "%s#%s", "queryId": %q, "valueHash": "hash %d %s", "authorUserId": %q, "fileUniqueId": %q, "value": %q, "setName": "set-1"}`,
				w.Ada, item.ID, query, i, author, w.Ada, item.ID, value))
		}
	}
	dynamotest.PutByHand(t, db, dynamo.TagsTable, "["+strings.Join(rows, ",")+"]")
	before := dynamotest.RowsLike(t, db, dynamo.TagsTable, `"hash `)
	require.Len(t, before, 4)
	assert.Empty(t, w.On(w.Ada, item))

	ada := w.As(w.Ada)
	for _, value := range []string{"value-1", "other"} {
		_, err := w.Rules.PutTags(ada, filetag.PutTags{Item: item, Tags: []filetag.NewTag{{Value: value}}})
		require.NoError(t, err)
		assert.Len(t, w.On(w.Ada, item), 1)
	}
	_, err := w.Rules.RemoveTags(ada, filetag.RemoveTags{Item: item, Tags: []string{"other"}})
	require.NoError(t, err)
	assert.Empty(t, w.On(w.Ada, item))
	assert.ElementsMatch(t, before, dynamotest.RowsLike(t, db, dynamo.TagsTable, `"hash `))
}
