package faultinject_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

func ask(table string, sks ...string) *dynamodb.BatchGetItemInput {
	var keys []map[string]types.AttributeValue
	for _, sk := range sks {
		keys = append(keys, key(sk))
	}
	return &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		table: {Keys: keys, ProjectionExpression: aws.String("SK, v"), ConsistentRead: aws.Bool(true)},
	}}
}

func TestAllButOneKeyStaysUnprocessed(t *testing.T) {
	inj, db, table := engine(t)
	put(t, db, table, row("a", "1"), row("b", "2"), row("c", "3"))
	rule := inj.LeaveUnprocessed(1, faultinject.Always)

	found := map[string]string{}
	in := ask(table, "a", "b", "c", "missing")
	for len(in.RequestItems) > 0 {
		out, err := db.BatchGetItem(soon(t), in)
		require.NoError(t, err)
		for _, i := range out.Responses[table] {
			found[text(i["SK"])] = text(i["v"])
		}
		if left, some := out.UnprocessedKeys[table]; some {
			assert.Equal(t, "SK, v", *left.ProjectionExpression, "leftovers keep what was asked")
			assert.True(t, *left.ConsistentRead)
		}
		in.RequestItems = out.UnprocessedKeys
	}
	assert.Equal(t, map[string]string{"a": "1", "b": "2", "c": "3"}, found)
	assert.Equal(t, 4, rule.Hits())
	assert.Equal(t, 4, inj.Recorder().Count(faultinject.Operation("BatchGetItem")))
}

func TestWritesStayUnprocessed(t *testing.T) {
	inj, db, table := engine(t)
	put(t, db, table, row("old", "x"))
	inj.LeaveUnprocessed(1, faultinject.Always)
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {
		{PutRequest: &types.PutRequest{Item: row("a", "1")}},
		{DeleteRequest: &types.DeleteRequest{Key: key("old")}},
		{PutRequest: &types.PutRequest{Item: row("b", "2")}},
	}}}
	want := []string{"a=1 old=x", "a=1", "a=1 b=2"}
	for _, state := range want {
		out, err := db.BatchWriteItem(soon(t), in)
		require.NoError(t, err)
		assert.Equal(t, state, query(t, db, table, ""))
		in.RequestItems = out.UnprocessedItems
	}
	assert.Empty(t, in.RequestItems)
}

func TestOneKeyIsNeverProcessed(t *testing.T) {
	inj, db, table := engine(t)
	put(t, db, table, row("a", "1"), row("b", "2"))
	stuck := func(k faultinject.Key) bool { return strings.Contains(k.Attributes, `"SK":{"S":"b"}`) }
	inj.NeverProcess(stuck)

	out, err := db.BatchGetItem(soon(t), ask(table, "a", "b"))
	require.NoError(t, err)
	assert.Len(t, out.Responses[table], 1)
	assert.Len(t, out.UnprocessedKeys[table].Keys, 1)
	_, err = db.BatchGetItem(soon(t), ask(table, "b"))
	var throttled *types.ProvisionedThroughputExceededException
	require.ErrorAs(t, err, &throttled, "when nothing could be read it is an error")

	written, err := db.BatchWriteItem(soon(t), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {
		{PutRequest: &types.PutRequest{Item: row("a", "3")}}, {PutRequest: &types.PutRequest{Item: row("b", "3")}},
	}}})
	require.NoError(t, err)
	assert.Len(t, written.UnprocessedItems[table], 1)
	assert.Equal(t, "a=3 b=2", query(t, db, table, ""))
}

func swap(table string) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &table, Item: row("a", "new"), ConditionExpression: aws.String("v = :old"), ExpressionAttributeValues: item{":old": s("1")}}},
		{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: key("d"), ConditionExpression: aws.String("attribute_exists(PK)")}},
		{Delete: &types.Delete{TableName: &table, Key: key("b")}},
		{Update: &types.Update{TableName: &table, Key: key("c"), UpdateExpression: aws.String("SET v = :v"), ExpressionAttributeValues: item{":v": s("new")}}},
	}}
}

func TestTransactionIsShownRowByRow(t *testing.T) {
	inj, db, table := engine(t)
	put(t, db, table, row("a", "1"), row("b", "2"), row("d", "4"))

	var seen []string
	inj.RowByRow(func(_ context.Context, shown, rows int) {
		seen = append(seen, fmt.Sprintf("%d/%d %s", shown, rows, query(t, db, table, "")))
	}, faultinject.Table(table))
	_, err := db.TransactWriteItems(soon(t), swap(table))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"1/3 a=new b=2 d=4",
		"2/3 a=new d=4",
	}, seen)
	assert.Equal(t, "a=new c=new d=4", query(t, db, table, ""))

	seen = nil
	_, err = db.TransactWriteItems(soon(t), swap(table))
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled, "its condition no longer holds")
	assert.Equal(t, "ConditionalCheckFailed", *cancelled.CancellationReasons[0].Code)
	assert.Empty(t, seen)
	assert.Equal(t, "a=new c=new d=4", query(t, db, table, ""))
	assert.Equal(t, 2, inj.Recorder().Count(faultinject.Operation("TransactWriteItems")))
	assert.Zero(t, inj.Recorder().Count(faultinject.Operation("DeleteItem")), "the rule's own calls are not recorded")
}

func TestRowsOfATransactionThatIsBeingShownAreInConflict(t *testing.T) {
	inj, db, table := engine(t)
	put(t, db, table, row("a", "1"), row("b", "2"), row("d", "4"))
	inj.RowByRow(func(_ context.Context, shown, _ int) {
		if shown > 1 {
			return
		}
		require.NoError(t, save(soon(t), db, table, "a"), "a row that is shown may be written")
		var conflict *types.TransactionConflictException
		require.ErrorAs(t, save(soon(t), db, table, "c"), &conflict)
		_, err := db.TransactWriteItems(soon(t), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &table, Item: row("z", "1")}}, {Delete: &types.Delete{TableName: &table, Key: key("b")}},
		}})
		var cancelled *types.TransactionCanceledException
		require.ErrorAs(t, err, &cancelled)
		assert.Equal(t, "None", *cancelled.CancellationReasons[0].Code)
		assert.Equal(t, "TransactionConflict", *cancelled.CancellationReasons[1].Code)
		out, err := db.BatchWriteItem(soon(t), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {
			{PutRequest: &types.PutRequest{Item: row("b", "lost")}}, {PutRequest: &types.PutRequest{Item: row("e", "5")}},
		}}})
		require.NoError(t, err)
		assert.Len(t, out.UnprocessedItems[table], 1)
		_, err = db.TransactGetItems(soon(t), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			{Get: &types.Get{TableName: &table, Key: key("b")}},
		}})
		require.ErrorAs(t, err, &cancelled)
	})
	_, err := db.TransactWriteItems(soon(t), swap(table))
	require.NoError(t, err)
	assert.Equal(t, "a=new c=new d=4 e=5", query(t, db, table, ""))
	require.NoError(t, save(soon(t), db, table, "b"), "afterwards all rows are free")
}

func TestNobodySeesARowTakenBack(t *testing.T) {
	inj, db, table := engine(t)
	const rows = 8
	inj.RowByRow(func(context.Context, int, int) {})
	ctx, stop := context.WithCancel(soon(t))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			seen := 0
			for ctx.Err() == nil {
				out, err := db.Query(ctx, &dynamodb.QueryInput{TableName: &table, KeyConditionExpression: aws.String("PK = :p"),
					ExpressionAttributeValues: item{":p": s("p")}, ConsistentRead: aws.Bool(true)})
				if err == nil {
					assert.GreaterOrEqual(t, int(out.Count), seen, "rows only appear")
					seen = int(out.Count)
				}
			}
		})
	}
	for batch := range 5 {
		in := &dynamodb.TransactWriteItemsInput{}
		for n := range rows {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: row(fmt.Sprint(batch, n), "1")}})
		}
		_, err := db.TransactWriteItems(soon(t), in)
		require.NoError(t, err)
	}
	stop()
	readers.Wait()
}

func TestIndexLagsBehindItsTable(t *testing.T) {
	inj, db, table := engine(t)
	put(t, db, table, row("a", "1"), row("b", "1"), row("c", "1"), row("d", "1"), row("e", "1"))
	lag := inj.LagIndexes()
	const before = "a=1 b=1 c=1 d=1 e=1"

	_, err := db.DeleteItem(soon(t), &dynamodb.DeleteItemInput{TableName: &table, Key: key("a")})
	require.NoError(t, err)
	_, err = db.UpdateItem(soon(t), &dynamodb.UpdateItemInput{TableName: &table, Key: key("b"), UpdateExpression: aws.String("REMOVE GSI1PK")})
	require.NoError(t, err)
	_, err = db.TransactWriteItems(soon(t), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &table, Item: row("c", "2")}},
		{Delete: &types.Delete{TableName: &table, Key: key("e")}},
	}})
	require.NoError(t, err)
	_, err = db.BatchWriteItem(soon(t), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {
		{PutRequest: &types.PutRequest{Item: row("f", "2")}}, {DeleteRequest: &types.DeleteRequest{Key: key("d")}},
	}}})
	require.NoError(t, err)

	assert.Equal(t, before, query(t, db, table, "GSI1"), "the index shows the past, in pages of two")
	assert.Equal(t, "b=1 c=2 f=2", query(t, db, table, ""), "the table shows the present")
	assert.Equal(t, "b=1 c=2 f=2", query(t, db, table, "LSI1"), "and so does a local index")

	require.NoError(t, lag.SettleRows(soon(t), func(k faultinject.Key) bool { return strings.Contains(k.Attributes, `{"S":"f"}`) }))
	assert.Equal(t, before+" f=2", query(t, db, table, "GSI1"), "one row has arrived")
	require.NoError(t, lag.Settle(soon(t)))
	assert.Equal(t, "c=2 f=2", query(t, db, table, "GSI1"))

	put(t, db, table, row("g", "3"))
	assert.Equal(t, "c=2 f=2", query(t, db, table, "GSI1"))
	require.NoError(t, lag.Stop(soon(t)))
	assert.Equal(t, "c=2 f=2 g=3", query(t, db, table, "GSI1"))

	left, err := db.ListTables(soon(t), &dynamodb.ListTablesInput{})
	require.NoError(t, err)
	assert.False(t, slices.ContainsFunc(left.TableNames, func(n string) bool { return strings.HasPrefix(n, table+".") }), "no copy is left")
	assert.NotContains(t, slices.Collect(maps.Keys(inj.Recorder().Operations())), "Scan")
}

func TestIndexLagsWhileATransactionIsShown(t *testing.T) {
	for _, lagFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("lag first ", lagFirst), func(t *testing.T) {
			inj, db, table := engine(t)
			put(t, db, table, row("a", "1"), row("b", "2"), row("d", "4"))
			var lag *faultinject.Lag
			if lagFirst {
				lag = inj.LagIndexes()
			}
			var seen []string
			inj.RowByRow(func(context.Context, int, int) {
				require.NoError(t, lag.Settle(soon(t)))
				seen = append(seen, query(t, db, table, "GSI1"))
			})
			if !lagFirst {
				lag = inj.LagIndexes()
			}
			_, err := db.TransactWriteItems(soon(t), swap(table))
			require.NoError(t, err)
			assert.Equal(t, []string{"a=new b=2 d=4", "a=new d=4"}, seen)
			require.NoError(t, lag.Settle(soon(t)))
			assert.Equal(t, "a=new d=4", query(t, db, table, "GSI1"), "c has no place in the index")
			assert.Equal(t, "a=new c=new d=4", query(t, db, table, ""))
		})
	}
}
