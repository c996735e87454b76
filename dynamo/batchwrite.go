package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is one write of a batch: it puts the item, whatever was there before, or deletes the row with the key.
type Write struct {
	Table Table
	Item  Attrs // of a put; nil for a delete
	Key   Key   // of a delete
}

func (w Write) request() types.WriteRequest {
	if w.Item != nil {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: w.Item}}
	}
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.Table.Key(w.Key)}}
}

// BatchWrite writes rows of any number of tables. They go in chunks of 25, mixed over tables, which run concurrently
// within the bound; what DynamoDB leaves unprocessed is written again until the deadline. There is no order among the
// writes and they are no transaction: when an error is returned, any of them may have been carried out. Writing all of
// them again is safe. No row may be written twice in one call, because DynamoDB refuses a batch with such a pair.
//
// A chunk needs not be cut for its size: 25 items of at most 400 KB are 10 MB, and a request may have 16 MB.
//
// Cost: ⌈n/25⌉ BatchWriteItem.
func (db *DB) BatchWrite(ctx context.Context, writes []Write) error {
	ctx, cancel := Within(ctx)
	defer cancel()
	chunks := slices.Collect(slices.Chunk(writes, MaxBatchWrite))
	return errors.Join(db.Each(len(chunks), func(i int) error { return db.writeChunk(ctx, chunks[i]) })...)
}

// writeChunk writes up to 25 rows.
func (db *DB) writeChunk(ctx context.Context, chunk []Write) error {
	left := map[string][]types.WriteRequest{}
	for _, w := range chunk {
		name := *db.Table(w.Table)
		left[name] = append(left[name], w.request())
	}
	for idle := 0; len(left) > 0; idle++ {
		out, err := db.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: left, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		switch {
		case err != nil && !Repeatable(err):
			return refused(err)
		case err == nil:
			before := requests(left)
			if left = out.UnprocessedItems; requests(left) < before {
				idle = -1
			}
		}
		if len(left) > 0 && !db.Pause(ctx, max(idle, 0)) {
			return Failed(errors.Join(err, ctx.Err()), "some rows could not be written in time")
		}
	}
	return nil
}

func requests(tables map[string][]types.WriteRequest) int {
	n := 0
	for _, r := range tables {
		n += len(r)
	}
	return n
}
