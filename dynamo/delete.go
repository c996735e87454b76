package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DeleteEach deletes rows of any number of tables, concurrently within the bound. One that is not there does no harm. There is no order among the
// deletes and they are no transaction: when an error is returned, any of them may have been carried out. Deleting all of them again is safe. A row
// of a later format than [NewestFormat] stays, and the fault is of kind Outdated.
//
// Batches of deletes would take fewer calls, and as many units, but no conditions.
//
// Cost: n DeleteItem.
func (db *DB) DeleteEach(ctx context.Context, rows []RowID) error {
	return errors.Join(db.Each(len(rows), func(i int) error { return db.deleteOne(ctx, rows[i]) })...)
}

// deleteOne deletes a row, and tries again until the deadline.
func (db *DB) deleteOne(ctx context.Context, row RowID) error {
	ctx, cancel := Within(ctx)
	defer cancel()
	g := db.guarded("", nil, nil)
	in := &dynamodb.DeleteItemInput{TableName: db.Table(row.Table), Key: row.Table.Key(row.Key),
		ConditionExpression: g.condition, ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for idle := 1; ; idle++ {
		_, err := db.Client.DeleteItem(ctx, in)
		if err == nil {
			return nil
		}
		if failed, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
			return db.outdated(row.Table, row.Key, formatOfRow(failed.Item))
		}
		if _, conflict := errors.AsType[*types.TransactionConflictException](err); !conflict && !Repeatable(err) {
			return refused(err)
		}
		if !db.Pause(ctx, idle) {
			return Failed(errors.Join(err, ctx.Err()), "some rows could not be deleted in time")
		}
	}
}
