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

// ErrMissing says that DynamoDB looked and there is no such row; an unread row has an Unavailable fault instead.
var ErrMissing = errors.New("no such row")

// Want is one row to read.
type Want struct {
	Table  Table
	Key    Key
	Decode func(item []byte) error // not called for a missing row; must not keep item
}

// Read decodes the item; what panics is this row's error and nobody else's.
func (w Want) Read(item []byte) (err error) {
	defer fault.Recovered(&err)
	return w.Decode(item)
}

// RowID tells rows of several tables apart. The table has its full name.
type RowID struct {
	Table Table
	Key   Key
}

// BatchGet reads rows by key from any number of tables; everything in Taggie that reads many rows by key comes here.
//
// A key that is wanted twice is read once. Keys go in chunks of 100, mixed over tables, which run concurrently within
// the bound. What DynamoDB leaves unprocessed is asked for again until the deadline. The result is aligned with wants:
// nil for a row that was read and decoded, [ErrMissing] for one that does not exist, and an Unavailable fault for one
// that could not be read; one row's error is never another's.
//
// Index: primary. Key: the table's own, of each row, strongly consistent. Cost: ⌈distinct keys/100⌉ BatchGetItem.
func (db *DB) BatchGet(ctx context.Context, wants []Want) []error {
	ctx, cancel := Within(ctx)
	defer cancel()

	errs := make([]error, len(wants))
	rows := make(map[RowID][]int, len(wants))
	distinct := make([]RowID, 0, len(wants))
	for i, w := range wants {
		if !w.Key.Possible() {
			errs[i] = ErrMissing
			continue
		}
		id := RowID{Table: w.Table, Key: w.Key}
		id.Table.Name = db.prefix + id.Table.Name
		if rows[id] == nil {
			distinct = append(distinct, id)
		}
		rows[id] = append(rows[id], i)
	}
	chunks := slices.Collect(slices.Chunk(distinct, MaxBatchGet))
	failed := db.Each(len(chunks), func(n int) error {
		db.readChunk(ctx, chunks[n], func(id RowID, item []byte, err error) {
			for _, i := range rows[id] {
				errs[i] = err
				if err == nil {
					errs[i] = wants[i].Read(item)
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
func (db *DB) readChunk(ctx context.Context, chunk []RowID, report func(id RowID, item []byte, err error)) {
	left := make(map[RowID]bool, len(chunk))
	for _, id := range chunk {
		left[id] = true
	}
	for idle := 0; len(left) > 0; {
		before := len(left)
		size, err := db.readOnce(ctx, left, report)
		if len(left) == 0 {
			return
		}
		if err != nil && !Repeatable(err) {
			reportAll(left, Failed(err, "some of the data could not be read"), report)
			return
		}
		idle++
		if len(left) < before {
			idle = 0
		}
		if err == nil && size >= sizeWasTheCause && idle == 0 {
			continue
		}
		if !db.Pause(ctx, idle) {
			reportAll(left, Failed(errors.Join(ctx.Err(), err), "some of the data could not be read in time"), report)
			return
		}
	}
}

func reportAll(left map[RowID]bool, err error, report func(RowID, []byte, error)) {
	for id := range left {
		report(id, nil, err)
	}
}

// readOnce asks for what is left, reports what was read or is missing, and takes it from left. It returns the size of the
// answer.
func (db *DB) readOnce(ctx context.Context, left map[RowID]bool, report func(RowID, []byte, error)) (int, error) {
	request := map[string]types.KeysAndAttributes{}
	tables := map[string]Table{}
	for id := range left {
		tables[id.Table.Name] = id.Table
		asked := request[id.Table.Name]
		asked.ConsistentRead = aws.Bool(true)
		wanted := db.project[id.Table.Name]
		asked.ProjectionExpression, asked.ExpressionAttributeNames = wanted.Expression, wanted.Names
		asked.Keys = append(asked.Keys, id.Table.Key(id.Key))
		request[id.Table.Name] = asked
	}
	var a answer
	defer a.release()
	in := dynamodb.BatchGetItemInput{RequestItems: request, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	err := read(ctx, db.narrow, "BatchGetItem", &in, &dynamodb.BatchGetItemOutput{}, &a, db.Client.BatchGetItem)
	if err != nil {
		return 0, err
	}
	unprocessed := make(map[RowID]bool)
	for name, unread := range a.unprocessed {
		for _, raw := range unread {
			key, err := KeyOf(raw, tables[name])
			if err != nil {
				return 0, err
			}
			unprocessed[RowID{tables[name], key}] = true
		}
	}
	for _, item := range a.items {
		key, err := KeyOf(item.json, tables[item.table])
		if err != nil {
			return 0, err
		}
		id := RowID{tables[item.table], key}
		if left[id] {
			delete(left, id)
			report(id, item.json, nil)
		}
	}
	for id := range left {
		if !unprocessed[id] {
			delete(left, id)
			report(id, nil, ErrMissing)
		}
	}
	return len(a.body), nil
}

// OrNone takes rows that do not exist for empty ones.
func OrNone(errs []error) []error {
	for i, err := range errs {
		if err == ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = nil
		}
	}
	return Errors(errs)
}

// Errors returns the errors, nil when there is none.
func Errors(errs []error) []error {
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return errs
	}
	return nil
}
