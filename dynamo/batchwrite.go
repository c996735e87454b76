package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Put is a row to put.
type Put struct {
	Table Table
	Item  Attrs
}

// BatchPut puts rows of any number of tables whose keys nobody else can have, because they have ids that were made for them: a batch takes no
// conditions, so it would write over any row, also one of a later format. The rows go in chunks of 25, mixed over tables, which run concurrently
// within the bound; what DynamoDB leaves unprocessed is put again until the deadline. There is no order among the
// rows and they are no transaction: when an error is returned, any of them may have been put. Putting all of
// them again is safe. No row may be put twice in one call, because DynamoDB refuses a batch with such a pair.
//
// A chunk needs not be cut for its size: 25 items of at most 400 KB are 10 MB, and a request may have 16 MB.
//
// Cost: ⌈n/25⌉ BatchWriteItem.
func (db *DB) BatchPut(ctx context.Context, rows []Put) error {
	writes := make([]write, len(rows))
	for i, p := range rows {
		writes[i] = write{p.Table, types.WriteRequest{PutRequest: &types.PutRequest{Item: p.Item}}}
	}
	return db.batchWrite(ctx, writes)
}

// BatchDelete deletes rows of any number of tables, as [DB.BatchPut] puts them. One that is not there does no harm. A batch takes no conditions: so rows
// may be deleted that this build has just read, which it refuses for those of a later format, and those that belong to what it has let disappear.
//
// Cost: ⌈n/25⌉ BatchWriteItem.
func (db *DB) BatchDelete(ctx context.Context, rows []RowID) error {
	writes := make([]write, len(rows))
	for i, r := range rows {
		writes[i] = write{r.Table, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: r.Table.Key(r.Key)}}}
	}
	return db.batchWrite(ctx, writes)
}

// write is one write of a batch.
type write struct {
	table   Table
	request types.WriteRequest
}

func (db *DB) batchWrite(ctx context.Context, writes []write) error {
	ctx, cancel := Within(ctx)
	defer cancel()
	chunks := slices.Collect(slices.Chunk(writes, MaxBatchWrite))
	return errors.Join(db.Each(len(chunks), func(i int) error { return db.writeChunk(ctx, chunks[i]) })...)
}

// writeChunk carries out up to 25 writes.
func (db *DB) writeChunk(ctx context.Context, chunk []write) error {
	left := map[string][]types.WriteRequest{}
	for _, w := range chunk {
		name := *db.Table(w.table)
		left[name] = append(left[name], w.request)
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
