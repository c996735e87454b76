package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// Attrs is a row, or the values of an expression.
type Attrs = map[string]types.AttributeValue

// Action is one write of a transaction. The condition is about the row as it is before the transaction. Besides, each action fails at a row of a
// later format than [NewestFormat].
type Action struct {
	Table     Table
	Key       Key    // of a delete, update or check
	Item      Attrs  // of a put
	Update    string // an update expression; "" for the other kinds
	Signed    bool   // the update, which only sets, leaves the token of the transaction, as puts on a condition do
	Remove    bool   // delete the row
	task      bool   // it records a task, which [DB.OnTask] is told of
	remembers bool   // it records an idempotency key
	Condition string // "" for none
	Names     map[string]string
	Values    Attrs
	// Failed turns a failed condition into an error. row is the row as it is, nil when there is none.
	Failed func(row Attrs) error
}

// Setting returns the action as an update that sets all attributes of the row, #set_<name> to :set_<name>, but those to keep where they are there.
// Attributes that only the row in the store has stay.
func (a Action) Setting(row Attrs, keep ...string) Action {
	names, values := maps.Clone(a.Names), maps.Clone(a.Values)
	if names == nil {
		names = map[string]string{}
	}
	if values == nil {
		values = Attrs{}
	}
	key := a.Table.Key(a.Key)
	var sets []string
	for name, value := range row {
		if key[name] != nil {
			continue
		}
		to := ":set_" + name
		names["#set_"+name], values[to] = name, value
		if slices.Contains(keep, name) {
			to = "if_not_exists(#set_" + name + ", " + to + ")"
		}
		sets = append(sets, "#set_"+name+" = "+to)
	}
	slices.Sort(sets)
	a.Update, a.Signed, a.Names, a.Values = "SET "+strings.Join(sets, ", "), true, names, values
	return a
}

// Reserved lets an expression name an attribute whose name is, or may become, one of DynamoDB's more than 500 reserved words.
func Reserved(name string) map[string]string { return map[string]string{"#" + name: name} }

func (db *DB) item(a Action) types.TransactWriteItem {
	g := db.guarded(a.Condition, a.Names, a.Values)
	const old = types.ReturnValuesOnConditionCheckFailureAllOld
	switch table, key := db.Table(a.Table), a.Table.Key(a.Key); {
	case a.Item != nil:
		return types.TransactWriteItem{Put: &types.Put{TableName: table, Item: a.Item, ConditionExpression: g.condition,
			ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values, ReturnValuesOnConditionCheckFailure: old}}
	case a.Update != "":
		return types.TransactWriteItem{Update: &types.Update{TableName: table, Key: key, UpdateExpression: &a.Update,
			ConditionExpression: g.condition, ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values, ReturnValuesOnConditionCheckFailure: old}}
	case a.Remove:
		return types.TransactWriteItem{Delete: &types.Delete{TableName: table, Key: key, ConditionExpression: g.condition,
			ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values, ReturnValuesOnConditionCheckFailure: old}}
	default:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key, ConditionExpression: g.condition,
			ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values, ReturnValuesOnConditionCheckFailure: old}}
	}
}

// WrittenBy is the attribute in which a row that was put on a condition keeps the token of its transaction. DynamoDB
// remembers a token for ten minutes, the row for as long as it stays: when the answer to an attempt was lost, the
// condition of the next one fails at a row that says who wrote it. Versions and times cannot tell: two servers may write the
// same ones at the same millisecond.
const WrittenBy = "_written_by"

// Transact carries out all actions or none, and records the idempotency key with them. A conflict with another transaction
// and throttling are tried again, with the same token, until the deadline. What a failed condition means is asked of the
// first action whose condition failed, the idempotency key before all others. If any of the rows is of a later format than [NewestFormat], nothing is
// changed, and the fault is of kind Outdated.
//
// Cost: 1 TransactWriteItems, two write units per started KB of each row.
func (db *DB) Transact(ctx context.Context, actions []Action, once idempotency.Key) error {
	if once.Given() {
		return db.Spend(allowedKeys, once.Viewer, 1, func() error {
			return db.Transact(ctx, append([]Action{db.remember(once)}, actions...), idempotency.Key{})
		})
	}
	return db.transactAs(ctx, uuid.NewString(), actions)
}

// transactAs carries out all actions or none, once within ten minutes for each token, however often it is asked.
func (db *DB) transactAs(ctx context.Context, token string, actions []Action) error {
	if len(actions) == 0 {
		return nil
	}
	if len(actions) > MaxActions {
		return fault.New(fault.Exhausted, "this change touches more than %d rows at once: make it in parts", MaxActions)
	}
	ctx, cancel := Within(ctx)
	defer cancel()
	in := dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for _, a := range actions {
		if a.Item != nil && a.Condition != "" {
			a.Item[WrittenBy] = Str(token)
		}
		if a.Signed {
			a.Update += ", #written_by = :written_by"
			a.Names["#written_by"], a.Values[":written_by"] = WrittenBy, Str(token)
		}
		in.TransactItems = append(in.TransactItems, db.item(a))
	}
	for idle := 0; ; idle++ {
		_, err := db.Client.TransactWriteItems(ctx, &in)
		if err == nil {
			db.told(actions)
			return nil
		}
		again := Repeatable(err)
		if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
			if carriedOut(canceled, token) {
				db.told(actions)
				return nil
			}
			var meaning error
			if again, meaning = db.cancelled(actions, canceled); meaning != nil {
				return meaning
			}
		} else if _, ok := errors.AsType[*types.TransactionInProgressException](err); ok {
			again = true
		}
		if !again {
			return refused(err)
		}
		if !db.Pause(ctx, idle) {
			return Failed(errors.Join(err, ctx.Err()), "the change could not be made in time; whether it was made is unknown")
		}
	}
}

// told lets who works on tasks know that there is one.
func (db *DB) told(actions []Action) {
	if db.onTask != nil && slices.ContainsFunc(actions, func(a Action) bool { return a.task }) {
		db.onTask()
	}
}

// carriedOut reports whether a condition failed because an earlier attempt of the same transaction had succeeded.
func carriedOut(canceled *types.TransactionCanceledException, token string) bool {
	return slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool { return Text(r.Item[WrittenBy]) == token })
}

// cancelled returns what the reasons of a cancelled transaction mean, or whether it is worth another try.
func (db *DB) cancelled(actions []Action, canceled *types.TransactionCanceledException) (again bool, meaning error) {
	for i, reason := range canceled.CancellationReasons {
		if aws.ToString(reason.Code) != "ConditionalCheckFailed" || i >= len(actions) {
			continue
		}
		if err := db.refusedWrite(actions[i].Table, reason.Item); err != nil {
			return false, err
		}
		if actions[i].Failed != nil && meaning == nil {
			meaning = actions[i].Failed(reason.Item)
		}
		if actions[i].remembers {
			break
		}
	}
	if meaning != nil {
		return false, meaning
	}
	for _, reason := range canceled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			again = true
		case "ItemCollectionSizeLimitExceeded":
			return false, fault.Wrap(fault.Exhausted, canceled, "the rows of one user may take up %d GB: delete some first", maxUserGB)
		case "ValidationError":
			return false, refused(errors.New(aws.ToString(reason.Message)))
		}
	}
	return again, nil
}

// refused gives an error of the SDK that no further try can mend its kind.
func refused(err error) error {
	switch {
	case strings.Contains(err.Error(), "Item size"):
		return fault.Wrap(fault.Exhausted, err, "this is larger than the %d KB that DynamoDB keeps in one item: make it shorter", maxItemKB)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Failed(err, "the change could not be made in time; whether it was made is unknown")
	}
	return Failed(err, "the change could not be made")
}
