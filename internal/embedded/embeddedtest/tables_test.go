package embeddedtest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTablesAreDroppedWithTheirTest(t *testing.T) {
	client, err := sharedClient()
	require.NoError(t, err)
	for _, name := range []string{"drop1_a", "drop1_b", "drop10_a", "drop"} {
		_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: &name, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
		})
		require.NoError(t, err)
	}
	left := func() []string {
		listed, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		require.NoError(t, err)
		return listed.TableNames
	}
	t.Run("a test", func(t *testing.T) {
		DropTables(t, "nothing_")
		DropTables(t, "drop1_")
		t.Cleanup(func() { assert.Len(t, left(), 4, "what is cleaned up before may need them") })
	})
	assert.Equal(t, []string{"drop", "drop10_a"}, left())
}
