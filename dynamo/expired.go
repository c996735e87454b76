package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	// sweepPage is how many rows are looked at in one call.
	sweepPage = 500
	// SweepPause is how long the engine is left to others after a page of a sweep: one of a million rows takes four minutes.
	SweepPause = 100 * time.Millisecond
)

// SweepExpired removes the rows whose time to live is over. DynamoDB does that itself, in some days; the embedded engine does not. A row that
// got a later time meanwhile stays, and so does one of a format that this build does not read.
//
// Index: primary, by Scan. Key: all of the notes table, 500 rows at a time.
// Cost: 1 Scan per 500 rows, 1 DeleteItem per expired row.
func (db *DB) SweepExpired(ctx context.Context) error {
	return db.sweepExpired(ctx, sweepPage, SweepPause)
}

func (db *DB) sweepExpired(ctx context.Context, page int32, pause time.Duration) error {
	over := db.guarded(ttlAttribute+" <= :now", nil, Attrs{":now": Number(db.Now().Unix())})
	scan := &dynamodb.ScanInput{
		TableName: db.Table(NotesTable), Limit: &page,
		FilterExpression: over.condition, ExpressionAttributeNames: over.names, ExpressionAttributeValues: over.values,
		ProjectionExpression: aws.String(NotesTable.PK + ", " + NotesTable.SK),
	}
	for {
		found, err := db.Client.Scan(ctx, scan)
		if err != nil {
			return fmt.Errorf("find expired rows: %w", err)
		}
		for _, key := range found.Items {
			_, err := db.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: scan.TableName, Key: key,
				ConditionExpression: over.condition, ExpressionAttributeNames: over.names, ExpressionAttributeValues: over.values,
			})
			if _, later := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !later {
				return fmt.Errorf("remove an expired row: %w", err)
			}
		}
		if scan.ExclusiveStartKey = found.LastEvaluatedKey; scan.ExclusiveStartKey == nil {
			return nil
		}
		if err := Rest(ctx, pause); err != nil {
			return err
		}
	}
}

// Rest leaves the engine to others for a moment.
func Rest(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
