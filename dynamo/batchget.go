package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/fault"
)

// errMissing says that DynamoDB looked and there is no such row; an unread row has an Unavailable fault instead.
var errMissing = errors.New("no such row")

// want is one row to read.
type want struct {
	table  table
	key    rowKey
	decode func(item []byte) error // not called for a missing row; must not keep item
}

// read decodes the item; what panics is this row's error and nobody else's.
func (w want) read(item []byte) (err error) {
	defer fault.Recovered(&err)
	return w.decode(item)
}

// rowID tells rows of several tables apart. The table has its full name.
type rowID struct {
	table table
	key   rowKey
}

// batchGet reads rows by key from any number of tables; everything in Taggie that reads many rows by key comes here.
//
// A key that is wanted twice is read once. Keys go in chunks of 100, mixed over tables, which run concurrently within
// the bound. What DynamoDB leaves unprocessed is asked for again until the deadline. The result is aligned with wants:
// nil for a row that was read and decoded, [errMissing] for one that does not exist, and an Unavailable fault for one
// that could not be read; one row's error is never another's.
//
// Index: primary. Key: the table's own, of each row, strongly consistent. Cost: ⌈distinct keys/100⌉ BatchGetItem.
func (db *DB) batchGet(ctx context.Context, wants []want) []error {
	ctx, cancel := within(ctx)
	defer cancel()

	errs := make([]error, len(wants))
	rows := make(map[rowID][]int, len(wants))
	distinct := make([]rowID, 0, len(wants))
	for i, w := range wants {
		if !w.key.possible() {
			errs[i] = errMissing
			continue
		}
		id := rowID{table: w.table, key: w.key}
		id.table.name = db.prefix + id.table.name
		if rows[id] == nil {
			distinct = append(distinct, id)
		}
		rows[id] = append(rows[id], i)
	}
	chunks := slices.Collect(slices.Chunk(distinct, maxBatchGet))
	failed := db.each(len(chunks), func(n int) error {
		db.readChunk(ctx, chunks[n], func(id rowID, item []byte, err error) {
			for _, i := range rows[id] {
				errs[i] = err
				if err == nil {
					errs[i] = wants[i].read(item)
				}
			}
		})
		return nil
	})
	for n, err := range failed {
		if err == nil {
			continue
		}
		for _, id := range chunks[n] { // whether a row of this chunk was read is unknown
			for _, i := range rows[id] {
				errs[i] = errors.Join(errs[i], err)
			}
		}
	}
	return errs
}

// sizeWasTheCause is the size of an answer from which on keys were left because of the answer's size (16 MB, or 1 MB
// from one partition) and not because of throttling, so that waiting would help nobody.
const sizeWasTheCause = 1 << 20

// readChunk reads up to 100 distinct rows and reports each exactly once.
func (db *DB) readChunk(ctx context.Context, chunk []rowID, report func(id rowID, item []byte, err error)) {
	left := make(map[rowID]bool, len(chunk))
	for _, id := range chunk {
		left[id] = true
	}
	for idle := 0; len(left) > 0; {
		before := len(left)
		size, err := db.readOnce(ctx, left, report)
		if len(left) == 0 {
			return
		}
		if err != nil && !repeatable(err) {
			reportAll(left, failed(err, "some of the data could not be read"), report)
			return
		}
		idle++
		if len(left) < before {
			idle = 0
		}
		if err == nil && size >= sizeWasTheCause && idle == 0 {
			continue
		}
		if !db.pause(ctx, idle) {
			reportAll(left, failed(errors.Join(ctx.Err(), err), "some of the data could not be read in time"), report)
			return
		}
	}
}

func reportAll(left map[rowID]bool, err error, report func(rowID, []byte, error)) {
	for id := range left {
		report(id, nil, err)
	}
}

// readOnce asks for what is left, reports what was read or is missing, and takes it from left. It returns the size of the
// answer.
func (db *DB) readOnce(ctx context.Context, left map[rowID]bool, report func(rowID, []byte, error)) (int, error) {
	request := map[string]types.KeysAndAttributes{}
	tables := map[string]table{}
	for id := range left {
		tables[id.table.name] = id.table
		asked := request[id.table.name]
		asked.ConsistentRead = aws.Bool(true)
		wanted := db.project[id.table.name]
		asked.ProjectionExpression, asked.ExpressionAttributeNames = wanted.expression, wanted.names
		asked.Keys = append(asked.Keys, id.table.key(id.key))
		request[id.table.name] = asked
	}
	var a answer
	defer a.release()
	_, err := db.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: request, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}, a.into)
	if err != nil {
		return 0, err
	}
	unprocessed := make(map[rowID]bool)
	for name, unread := range a.unprocessed {
		for _, raw := range unread {
			key, err := keyOf(raw, tables[name])
			if err != nil {
				return 0, err
			}
			unprocessed[rowID{tables[name], key}] = true
		}
	}
	for _, item := range a.items {
		key, err := keyOf(item.json, tables[item.table])
		if err != nil {
			return 0, err
		}
		id := rowID{tables[item.table], key}
		if left[id] {
			delete(left, id)
			report(id, item.json, nil)
		}
	}
	for id := range left {
		if !unprocessed[id] {
			delete(left, id)
			report(id, nil, errMissing)
		}
	}
	return len(a.body), nil
}
