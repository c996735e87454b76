package dynamo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// These tests put rows as the source documents show them, with another program's hands: without a version, a generation, a
// counter, a locator, or a key of an index of ours. Everything is done with them that is done with rows of Taggie's.

// putByHand puts rows that are written as JSON, the way the documents write them. A list of texts under "tags" is a set.
func putByHand(t testing.TB, db *DB, of table, rows string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(rows))
	d.UseNumber()
	var all []map[string]any
	require.NoError(t, d.Decode(&all))
	for _, row := range all {
		item := attrs{}
		for name, v := range row {
			if list, is := v.([]any); is && name == "tags" {
				set := &types.AttributeValueMemberSS{}
				for _, one := range list {
					set.Value = append(set.Value, one.(string))
				}
				item[name] = set
				continue
			}
			var err error
			item[name], err = attribute(v)
			require.NoError(t, err)
		}
		_, err := db.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: db.table(of), Item: item})
		require.NoError(t, err)
	}
}

// rowsLike returns the rows of a table that contain a text, as JSON.
func rowsLike(t *testing.T, db *DB, of table, like string) (found []string) {
	t.Helper()
	for _, row := range scan(t, db, of) {
		if bytes.Contains([]byte(row), []byte(like)) {
			found = append(found, row)
		}
	}
	return found
}
