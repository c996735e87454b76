package archives

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/score"
)

// Other programs may write an item that does not say where its file is.
func TestAnItemWithoutAFileIsAFaultOfTheArchive(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	lacks, has := ada.Uploads(apitest.Staves(t, 1), apitest.Vars{"name": "lost.png"}), ada.Uploads(apitest.Staves(t, 2), nil)
	key := apitest.GlobalKey(t, lacks)
	_, err := s.DB.Client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: s.DB.Table(dynamo.ScoresTable), UpdateExpression: aws.String("REMOVE obj_name"),
		Key: dynamo.ScoresTable.Key(uses.ItemKey(score.ItemRef{Owner: score.UserID(key[1]), Score: score.ID(key[2]), ID: score.ItemID(key[3])})),
	})
	require.NoError(t, err)

	got, a := archived(ada)
	for _, line := range got.lines(t, "items.jsonl") {
		if line["id"] == lacks {
			assert.Empty(t, line["file"])
		} else {
			assert.Equal(t, has, line["id"])
			assert.Contains(t, got, line["file"])
		}
	}
	assert.Equal(t, []any{map[string]any{"path": "files/" + key[3] + "/lost.png", "message": "nothing says where the file is"}}, a.List("node.faults"))
	assert.InDelta(t, 1, a.At("node.faultCount"), 0)
}
