package capacity_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/capacity"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

type (
	attrs = map[string]types.AttributeValue
	units = map[capacity.Key]capacity.Units
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// world is a table in the embedded DynamoDB with an index of each kind, and a recorder before it.
type world struct {
	t        *testing.T
	db       *dynamodb.Client
	table    *string
	recorder *capacity.Recorder
	before   capacity.Usage
}

func newWorld(t *testing.T) *world {
	t.Helper()
	prefix := "c" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	embeddedtest.DropTables(t, prefix)
	w := &world{t: t, table: aws.String(prefix + "rows"), recorder: capacity.NewRecorder(prefix)}
	e := embeddedtest.DynamoDB(t)
	o := awsclient.Options{Endpoint: e.URL, Region: e.Region, Wrap: w.recorder.Wrap, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey}}
	if e.Socket != "" {
		o.Dial = e.Dial
	}
	var err error
	w.db, err = awsclient.DynamoDB(t.Context(), o)
	require.NoError(t, err)
	in := &dynamodb.CreateTableInput{TableName: w.table, BillingMode: types.BillingModePayPerRequest, KeySchema: keyed("PK", "SK")}
	for _, name := range []string{"PK", "SK", "A", "B"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS})
	}
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{
		{IndexName: aws.String("whole"), KeySchema: keyed("A", "B"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
		{IndexName: aws.String(prefix + "part"), KeySchema: keyed("B", "A"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"seen"}}},
	}
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{
		{IndexName: aws.String("local"), KeySchema: keyed("PK", "B"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
	}
	_, err = w.db.CreateTable(t.Context(), in)
	require.NoError(t, err)
	return w
}

func keyed(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
}

// took returns what was consumed since the last time.
func (w *world) took() units {
	w.t.Helper()
	now := w.recorder.Usage()
	since := now.Minus(w.before)
	w.before = now
	assert.Empty(w.t, w.recorder.Doubts())
	return since.Units
}

// row is a row whose whole size is bytes: keys of 2 × 3 bytes, and v of the rest.
func row(bytes int, more attrs) attrs {
	r := attrs{"PK": text("p"), "SK": text("s")}
	size := 6
	for name, v := range more {
		r[name] = v
		size += len(name) + len(v.(*types.AttributeValueMemberS).Value)
	}
	r["v"] = text(strings.Repeat("v", bytes-size-1))
	return r
}

func of(index, partition string) capacity.Key {
	return capacity.Key{Table: "rows", Index: index, Partition: partition}
}

func writes(n float64) capacity.Units { return capacity.Units{Write: n} }
func reads(n float64) capacity.Units  { return capacity.Units{Read: n} }

func (w *world) put(item attrs) {
	w.t.Helper()
	_, err := w.db.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: w.table, Item: item})
	require.NoError(w.t, err)
}

func TestWritesTakeAUnitForEachStartedKilobyte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(row(1024, nil))
	assert.Equal(t, units{of("", "p"): writes(1)}, w.took())
	w.put(row(1025, nil))
	assert.Equal(t, units{of("", "p"): writes(2)}, w.took(), "of the larger row, which is the new one")
	w.put(row(100, nil))
	assert.Equal(t, units{of("", "p"): writes(2)}, w.took(), "of the larger row, which is the old one")
	_, err := w.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: w.table, Key: attrs{"PK": text("p"), "SK": text("s")}})
	require.NoError(t, err)
	assert.Equal(t, units{of("", "p"): writes(1)}, w.took())
}

func TestIndexesTakeWhatTheyHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(row(3000, attrs{"A": text("a"), "B": text("b")}))
	assert.Equal(t, units{of("", "p"): writes(3), of("whole", "a"): writes(3), of("part", "b"): writes(1), of("local", "p"): writes(1)}, w.took())
	w.put(row(2000, attrs{"A": text("a"), "B": text("b")}))
	assert.Equal(t, units{of("", "p"): writes(3), of("whole", "a"): writes(3)}, w.took(), "the others have nothing of what changed")
	w.put(row(2000, attrs{"A": text("a"), "B": text("b"), "seen": text("x")}))
	assert.Equal(t, units{of("", "p"): writes(2), of("whole", "a"): writes(2), of("part", "b"): writes(1)}, w.took())
	w.put(row(1500, attrs{"A": text("c"), "B": text("b"), "seen": text("x")}))
	assert.Equal(t, units{of("", "p"): writes(2), of("whole", "a"): writes(2), of("whole", "c"): writes(2), of("part", "b"): writes(2)}, w.took(),
		"an entry with another key is put, and the one before is deleted")
	w.put(row(1500, attrs{"A": text("c")}))
	assert.Equal(t, units{of("", "p"): writes(2), of("whole", "c"): writes(2), of("part", "b"): writes(1), of("local", "p"): writes(1)}, w.took(), "the entries go")
}

func TestTransactionsTakeTwiceAsMuchButNotInGlobalIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(token string, condition *string) error {
		_, err := w.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: w.table, Item: row(1500, attrs{"A": text("a"), "B": text("b")}), ConditionExpression: condition}},
			{ConditionCheck: &types.ConditionCheck{TableName: w.table, Key: attrs{"PK": text("q"), "SK": text("s")}, ConditionExpression: aws.String("attribute_not_exists(PK)")}},
		}})
		return err
	}
	require.NoError(t, put("once", nil))
	want := units{of("", "p"): writes(4), of("", "q"): writes(2), of("whole", "a"): writes(2), of("part", "b"): writes(1), of("local", "p"): writes(2)}
	assert.Equal(t, want, w.took())
	require.NoError(t, put("once", nil))
	assert.Equal(t, units{of("", "p"): reads(2), of("", "q"): reads(2)}, w.took(), "it was carried out before")
	require.Error(t, put("again", aws.String("attribute_not_exists(PK)")))
	assert.Equal(t, units{of("", "p"): writes(4), of("", "q"): writes(2)}, w.took(), "what fails is billed, but no index is written")
}

func TestUpdatedRowsAreKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(row(900, attrs{"A": text("a"), "B": text("b")}))
	w.took()
	update := func(expression, value string) {
		_, err := w.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: &types.Update{
			TableName: w.table, Key: attrs{"PK": text("p"), "SK": text("s")}, UpdateExpression: &expression, ExpressionAttributeValues: attrs{":v": text(value)},
		}}}})
		require.NoError(t, err)
	}
	update("SET w = :v", strings.Repeat("w", 200))
	assert.Equal(t, units{of("", "p"): writes(4), of("whole", "a"): writes(2)}, w.took(), "the row has 1,101 bytes now")
	update("SET A = :v", "c")
	assert.Equal(t, units{of("", "p"): writes(4), of("whole", "a"): writes(2), of("whole", "c"): writes(2), of("part", "b"): writes(2)}, w.took())
}

func TestReadsTakeAUnitForEachStartedFourKilobytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(row(4096, nil))
	large := row(4097, attrs{"A": text("a"), "B": text("b")})
	large["PK"] = text("q")
	w.put(large)
	w.took()
	key := func(pk string) attrs { return attrs{"PK": text(pk), "SK": text("s")} }
	_, err := w.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: w.table, Key: key("q"), ProjectionExpression: aws.String("SK")})
	require.NoError(t, err)
	assert.Equal(t, units{of("", "q"): reads(1)}, w.took(), "half of two, whatever is asked of the row")
	_, err = w.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		*w.table: {Keys: []attrs{key("p"), key("q"), key("nothing")}, ConsistentRead: aws.Bool(true)}}})
	require.NoError(t, err)
	assert.Equal(t, units{of("", "p"): reads(1), of("", "q"): reads(2), of("", "nothing"): reads(1)}, w.took())
	_, err = w.db.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: w.table, Key: key("q")}}}})
	require.NoError(t, err)
	assert.Equal(t, units{of("", "q"): reads(4)}, w.took())
	for index, want := range map[string]capacity.Units{"": reads(2), "whole": reads(1)} {
		in := &dynamodb.QueryInput{TableName: w.table, KeyConditionExpression: aws.String("#pk = :pk AND #sk >= :low"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			ExpressionAttributeNames: map[string]string{"#pk": "PK", "#sk": "SK"}, ExpressionAttributeValues: attrs{":pk": text("q"), ":low": text("a")}, ConsistentRead: aws.Bool(true)}
		partition := "q"
		if index != "" {
			in.IndexName, in.ExpressionAttributeNames, in.ConsistentRead = &index, map[string]string{"#pk": "A", "#sk": "B"}, nil
			in.ExpressionAttributeValues[":pk"], partition = text("a"), "a"
		}
		_, err = w.db.Query(t.Context(), in)
		require.NoError(t, err)
		assert.Equal(t, units{of(index, partition): want}, w.took())
	}
}

func TestBatchesAreCountedByRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := row(2000, attrs{"A": text("a"), "B": text("b")})
	other["PK"] = text("q")
	_, err := w.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*w.table: {
		{PutRequest: &types.PutRequest{Item: row(10, nil)}}, {PutRequest: &types.PutRequest{Item: other}},
		{DeleteRequest: &types.DeleteRequest{Key: attrs{"PK": text("r"), "SK": text("s")}}},
	}}})
	require.NoError(t, err)
	assert.Equal(t, units{of("", "p"): writes(1), of("", "q"): writes(2), of("", "r"): writes(1), of("whole", "a"): writes(2), of("part", "b"): writes(1), of("local", "q"): writes(1)}, w.took())
	assert.Equal(t, map[string]int{"BatchWriteItem": 1}, w.recorder.Usage().Calls)
}

// TestTheEngineTellsTheSameOfTables compares what the engine tells of a table with what the recorder counts. They differ where a transaction writes a
// local index, which the engine counts once.
func TestTheEngineTellsTheSameOfTables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := types.ReturnConsumedCapacityTotal
	for _, bytes := range []int{100, 1500, 5000} {
		_, err := w.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: w.table, Item: row(bytes, attrs{"A": text("a"), "B": text("b")}), ReturnConsumedCapacity: all})
		require.NoError(t, err)
		_, err = w.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: w.table, Key: attrs{"PK": text("p"), "SK": text("s")}, ReturnConsumedCapacity: all})
		require.NoError(t, err)
		_, err = w.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: all, RequestItems: map[string]types.KeysAndAttributes{
			*w.table: {Keys: []attrs{{"PK": text("p"), "SK": text("s")}, {"PK": text("nobody"), "SK": text("s")}}}}})
		require.NoError(t, err)
	}
	assert.Empty(t, w.recorder.Apart())
	for _, more := range []attrs{{"A": text("a")}, {"A": text("b"), "B": text("b")}} {
		_, err := w.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: all, TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: w.table, Item: row(1500, more)}},
		}})
		require.NoError(t, err)
	}
	assert.Equal(t, map[string]int{"TransactWriteItems": 2}, w.recorder.Apart(), "the entry goes, and comes again")
}
