package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TransactGet reads up to 100 different rows as they are at one moment: before or after each transaction as a whole. A transaction
// that writes one of the rows is waited for until the deadline. The result is as that of [DB.BatchGet].
//
// Index: primary. Key: the table's own, of each row. Cost: 1 TransactGetItems, two read units per started 4 KB of each row.
func (db *DB) TransactGet(ctx context.Context, wants []Want) []error {
	ctx, cancel := Within(ctx)
	defer cancel()
	return db.transactGet(ctx, wants)
}

// transactGet is the same within a deadline that was set before.
func (db *DB) transactGet(ctx context.Context, wants []Want) []error {
	in := dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for _, w := range wants {
		if !w.Key.Possible() {
			return slices.Repeat([]error{ErrMissing}, len(wants))
		}
		name := db.Table(w.Table)
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: name, Key: w.Table.Key(w.Key),
			ProjectionExpression: db.project[*name].Expression, ExpressionAttributeNames: db.project[*name].Names}})
	}
	errs := make([]error, len(wants))
	for idle := 1; ; idle++ {
		out, err := db.Client.TransactGetItems(ctx, &in)
		if err == nil {
			for i, row := range out.Responses {
				if errs[i] = ErrMissing; row.Item != nil {
					item := ItemOf(row.Item)
					if errs[i] = db.readable(wants[i].Table, item); errs[i] == nil {
						errs[i] = wants[i].Read(item)
					}
				}
			}
			return errs
		}
		if !(Repeatable(err) || inConflict(err)) || !db.Pause(ctx, idle) {
			return slices.Repeat([]error{Failed(errors.Join(err, ctx.Err()), "the objects could not be read%s", InTime(ctx))}, len(wants))
		}
	}
}

// inConflict reports whether a transaction was cancelled only because of another one, or by throttling.
func inConflict(err error) bool {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool {
		switch aws.ToString(r.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			return true
		}
		return false
	})
}

// maxSerializable is how many rows of the largest size, 400 KB, a TransactGetItems can answer with: 4 MB.
const maxSerializable = 10

// readSerializable reads distinct rows, as many as one TransactGetItems answers with, and reports each.
func (db *DB) readSerializable(ctx context.Context, b *batch, rows []wantedRow) {
	items := make([]Item, len(rows))
	wants := make([]Want, len(rows))
	for i := range rows {
		wants[i] = b.wants[rows[i].first]
		wants[i].Decode = func(item Item) error {
			items[i] = item
			return nil
		}
	}
	for i, err := range db.transactGet(ctx, wants) {
		b.report(&rows[i], items[i], err)
	}
}
