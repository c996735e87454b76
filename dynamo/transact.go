package dynamo

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// attrs is a row, or the values of an expression.
type attrs = map[string]types.AttributeValue

// action is one write of a transaction. The condition is about the row as it is before the transaction.
type action struct {
	table     string // without prefix
	key       rowKey // of a delete, update or check
	item      attrs  // of a put
	update    string // an update expression; "" for the other kinds
	remove    bool   // delete the row
	condition string // "" for none
	names     map[string]string
	values    attrs
	// failed turns a failed condition into an error; nil as result when the row shows that this very write was carried out
	// before. row is the row as it is, nil when there is none.
	failed func(row attrs) error
}

func (db *DB) item(a action) types.TransactWriteItem {
	var condition *string
	if a.condition != "" {
		condition = &a.condition
	}
	const old = types.ReturnValuesOnConditionCheckFailureAllOld
	switch table := db.table(a.table); {
	case a.item != nil:
		return types.TransactWriteItem{Put: &types.Put{TableName: table, Item: a.item, ConditionExpression: condition,
			ExpressionAttributeNames: a.names, ExpressionAttributeValues: a.values, ReturnValuesOnConditionCheckFailure: old}}
	case a.update != "":
		return types.TransactWriteItem{Update: &types.Update{TableName: table, Key: a.key.attributes(), UpdateExpression: &a.update,
			ConditionExpression: condition, ExpressionAttributeNames: a.names, ExpressionAttributeValues: a.values, ReturnValuesOnConditionCheckFailure: old}}
	case a.remove:
		return types.TransactWriteItem{Delete: &types.Delete{TableName: table, Key: a.key.attributes(), ConditionExpression: condition,
			ExpressionAttributeNames: a.names, ExpressionAttributeValues: a.values, ReturnValuesOnConditionCheckFailure: old}}
	default:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: table, Key: a.key.attributes(), ConditionExpression: condition,
			ExpressionAttributeNames: a.names, ExpressionAttributeValues: a.values, ReturnValuesOnConditionCheckFailure: old}}
	}
}

// errUnchanged is what action.failed returns when the row is as this very transaction would leave it: an attempt whose
// answer was lost had been carried out.
var errUnchanged = errors.New("this write was carried out before")

// transact carries out all actions or none, and records the idempotency key with them. A conflict with another transaction
// and throttling are tried again, with the same token, until the deadline. What a failed condition means is asked of the
// first action whose condition failed, the idempotency key before all others.
//
// Cost: 1 TransactWriteItems, two write units per started KB of each row.
func (db *DB) transact(ctx context.Context, actions []action, once idempotency.Key) error {
	if once.Given() {
		actions = append([]action{db.remember(once)}, actions...)
	}
	if len(actions) == 0 {
		return nil
	}
	if len(actions) > maxActions {
		return fault.New(fault.Exhausted, "this change touches more than %d rows at once", maxActions)
	}
	in := dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(uuid.NewString()), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for _, a := range actions {
		in.TransactItems = append(in.TransactItems, db.item(a))
	}
	for idle := 0; ; idle++ {
		_, err := db.client.TransactWriteItems(ctx, &in)
		if err == nil {
			return nil
		}
		again := repeatable(err)
		if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
			var meaning error
			if again, meaning = cancelled(actions, canceled); meaning != nil {
				return carriedOut(meaning)
			}
		} else if _, ok := errors.AsType[*types.TransactionInProgressException](err); ok {
			again = true
		}
		if !again {
			return refused(err)
		}
		if !pause(ctx, idle) {
			return unavailable(errors.Join(err, ctx.Err()), "the change could not be made in time; whether it was made is unknown")
		}
	}
}

// carriedOut drops the error that says that nothing is left to do.
func carriedOut(err error) error {
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// cancelled returns what the reasons of a cancelled transaction mean, or whether it is worth another try.
func cancelled(actions []action, canceled *types.TransactionCanceledException) (again bool, meaning error) {
	for i, reason := range canceled.CancellationReasons {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" && i < len(actions) && actions[i].failed != nil {
			return false, actions[i].failed(reason.Item)
		}
	}
	for _, reason := range canceled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			again = true
		case "ItemCollectionSizeLimitExceeded":
			return false, fault.Wrap(fault.Exhausted, canceled, "the rows of one user may take up 10 GB")
		}
	}
	return again, nil
}

// refused gives an error of the SDK that no further try can mend its kind.
func refused(err error) error {
	switch {
	case strings.Contains(err.Error(), "Item size"):
		return fault.Wrap(fault.Exhausted, err, "this is larger than the 400 KB that DynamoDB keeps in one item")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unavailable(err, "the change could not be made in time; whether it was made is unknown")
	}
	return fault.Wrap(fault.Internal, err, "the change could not be made")
}
