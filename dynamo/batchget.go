package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// ErrMissing says that DynamoDB looked and there is no such row; an unread row has an Unavailable fault instead.
var ErrMissing = errors.New("no such row")

// Want is one row to read.
type Want struct {
	Table  Table
	Key    Key
	Decode func(item Item) error // not called for a missing row; must not keep item
}

// Read decodes the item; what panics is this row's error and nobody else's.
func (w Want) Read(item Item) (err error) {
	defer fault.Recovered(&err)
	return w.Decode(item)
}

// BatchGet reads rows by key from any number of tables; everything in Taggie that reads many rows by key comes here.
//
// A key that is wanted twice is read once. Keys go in chunks of 100, mixed over tables, which run concurrently within
// the bound. What DynamoDB leaves unprocessed is asked for again until the deadline. The result is aligned with wants:
// nil for a row that was read and decoded, [ErrMissing] for one that does not exist, an Outdated fault for one of a later format than
// [NewestFormat], and an Unavailable fault for one that could not be read; one row's error is never another's.
//
// Index: primary. Key: the table's own, of each row, strongly consistent. Cost: ⌈distinct keys/100⌉ BatchGetItem;
// ⌈distinct keys/10⌉ TransactGetItems where [idempotency.Serializable] asks for it.
func (db *DB) BatchGet(ctx context.Context, wants []Want) []error {
	ctx, cancel := Within(ctx)
	defer cancel()

	b := newBatch(wants, db.prefix)
	read, most := db.readChunk, MaxBatchGet
	if idempotency.IsSerializable(ctx) {
		read, most = db.readSerializable, maxSerializable
	}
	chunks := slices.Collect(slices.Chunk(b.rows, most))
	failed := db.Each(len(chunks), func(n int) error {
		read(ctx, b, chunks[n])
		return nil
	})
	for n, err := range failed {
		if err == nil {
			continue
		}
		for i := range chunks[n] { // whether a row of this chunk was read is unknown
			for want := range b.wanted(&chunks[n][i]) {
				b.errs[want] = errors.Join(b.errs[want], err)
			}
		}
	}
	return b.errs
}

// sizeWasTheCause is the size of an answer from which on keys were left because of the answer's size (16 MB, or 1 MB
// from one partition) and not because of throttling, so that waiting would help nobody.
const sizeWasTheCause = 1 << 20

// readChunk reads up to 100 distinct rows and reports each exactly once.
func (db *DB) readChunk(ctx context.Context, b *batch, rows []wantedRow) {
	left := len(rows)
	for idle := 0; left > 0; {
		before := left
		size, err := db.readOnce(ctx, b, rows)
		if left = waiting(rows); left == 0 {
			return
		}
		if err != nil && !Repeatable(err) {
			b.reportAll(rows, Failed(err, "some of the data could not be read"))
			return
		}
		idle++
		if left < before {
			idle = 0
		}
		if err == nil && size >= sizeWasTheCause && idle == 0 {
			continue
		}
		if !db.Pause(ctx, idle) {
			b.reportAll(rows, Failed(errors.Join(ctx.Err(), err), "some of the data could not be read in time"))
			return
		}
	}
}

// readOnce asks for the rows that are waited for, and reports what was read or is missing. It returns the size of the answer.
func (db *DB) readOnce(ctx context.Context, b *batch, rows []wantedRow) (int, error) {
	var a answer
	defer a.release()
	in := dynamodb.BatchGetItemInput{RequestItems: b.ask(rows, db.project), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	bySDK := func(ctx context.Context, in *dynamodb.BatchGetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
		b.spell(rows, in.RequestItems)
		return db.Client.BatchGetItem(ctx, in, options...)
	}
	err := read(ctx, db.narrow, call[*dynamodb.BatchGetItemInput, *dynamodb.BatchGetItemOutput]{
		name: "BatchGetItem", in: &in, out: &dynamodb.BatchGetItemOutput{}, sdk: bySDK, text: func() []byte { return b.text(rows, db.project) },
	}, &a)
	if err != nil {
		return 0, err
	}
	next := 0
	for _, key := range a.unprocessed {
		at, err := b.find(rows, next, key)
		if err != nil {
			return 0, err
		}
		if at >= 0 {
			rows[at].state, next = unprocessed, at+1
		}
	}
	next = 0
	for _, item := range a.items {
		at, err := b.find(rows, next, item)
		if err != nil {
			return 0, err
		}
		if at >= 0 {
			next = at + 1
			b.report(&rows[at], item.Item, db.readable(b.wants[rows[at].first].Table, item.Item))
		}
	}
	for i := range rows {
		if rows[i].state == asking {
			b.report(&rows[i], Item{}, ErrMissing)
		}
	}
	return a.size, nil
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
