package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// write is one write of a batch: it puts the item, whatever was there before, or deletes the row with the key.
type write struct {
	table table
	item  attrs  // of a put; nil for a delete
	key   rowKey // of a delete
}

func (w write) request() types.WriteRequest {
	if w.item != nil {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: w.item}}
	}
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.table.key(w.key)}}
}

// batchWrite writes rows of any number of tables. They go in chunks of 25, mixed over tables, which run concurrently
// within the bound; what DynamoDB leaves unprocessed is written again until the deadline. There is no order among the
// writes and they are no transaction: when an error is returned, any of them may have been carried out. Writing all of
// them again is safe. No row may be written twice in one call, because DynamoDB refuses a batch with such a pair.
//
// A chunk needs not be cut for its size: 25 items of at most 400 KB are 10 MB, and a request may have 16 MB.
//
// Cost: ⌈n/25⌉ BatchWriteItem.
func (db *DB) batchWrite(ctx context.Context, writes []write) error {
	ctx, cancel := within(ctx)
	defer cancel()
	chunks := slices.Collect(slices.Chunk(writes, maxBatchWrite))
	return errors.Join(db.each(len(chunks), func(i int) error { return db.writeChunk(ctx, chunks[i]) })...)
}

// writeChunk writes up to 25 rows.
func (db *DB) writeChunk(ctx context.Context, chunk []write) error {
	left := map[string][]types.WriteRequest{}
	for _, w := range chunk {
		name := *db.table(w.table)
		left[name] = append(left[name], w.request())
	}
	for idle := 0; len(left) > 0; idle++ {
		out, err := db.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: left, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		switch {
		case err != nil && !repeatable(err):
			return refused(err)
		case err == nil:
			before := requests(left)
			if left = out.UnprocessedItems; requests(left) < before {
				idle = -1
			}
		}
		if len(left) > 0 && !db.pause(ctx, max(idle, 0)) {
			return failed(errors.Join(err, ctx.Err()), "some rows could not be written in time")
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
