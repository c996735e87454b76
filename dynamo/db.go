// Package dynamo keeps the domain's things in the tables of the source
// documents.
//
// It knows keys, rows, access patterns and the limits of DynamoDB. It must not
// know GraphQL, Redis or S3, nor decide who may do what. Reads go through one
// narrow seam (get, batchGet, query) that hands raw items to a decoder per row
// type; writes through one transaction helper. Start reading at [DB]; then at
// the store you came for ([Users], [Notes]), whose methods say what they cost.
package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/internal/fault"
)

// The limits of DynamoDB that shape this room; see "Service, account, and table quotas" in its developer guide.
const (
	maxBatchGet   = 100   // keys in one BatchGetItem
	maxBatchWrite = 25    // writes in one BatchWriteItem
	maxActions    = 100   // actions in one TransactWriteItems
	maxPK         = 2_048 // bytes of a partition key
	maxSK         = 1_024 // bytes of a sort key
	maxItemKB     = 400
	maxUserGB     = 10 // of the rows with one partition key in a table with a local index
)

// callWithin bounds one batch, query or transaction when its context has no deadline.
const callWithin = 10 * time.Second

// DB is a DynamoDB client together with the names of the tables and the bounds of its use.
type DB struct {
	client      *dynamodb.Client
	prefix      string
	concurrency int
	now         func() time.Time
	pause       func(ctx context.Context, idle int) bool // see [pause]
	project     projections                              // of reads of many rows
	prepared    int                                      // actions of a change of relations in one transaction; fewer in tests
	quiet       time.Duration                            // see [quiet]; shorter in tests
	onTask      func()                                   // see [DB.OnTask]
	tallies     *tallies                                 // see [DB.CountAllowances]
}

// Options sets up a [DB].
type Options struct {
	Client      *dynamodb.Client
	TablePrefix string
	Concurrency int              // calls that one batch or one group of queries has under way at most; 16 when 0
	MaxInFlight int              // calls that the whole DB has under way at most, the others wait; 256 when 0
	Now         func() time.Time // time.Now when nil
	Allowances  map[string]int   // how much of a kind one may have, where it is not the usual number; see [CheckAllowances]
}

// New returns a DB.
func New(o Options) *DB {
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 256
	}
	db := &DB{client: bounded(o.Client, o.MaxInFlight), prefix: o.TablePrefix, concurrency: o.Concurrency, now: o.Now, pause: pause, prepared: maxPrepared, quiet: quiet}
	if db.concurrency == 0 {
		db.concurrency = 16
	}
	if db.now == nil {
		db.now = time.Now
	}
	db.tallies = newTallies(o.Allowances, db.now)
	return db
}

// OnTask has f called, which must not wait, when a task was recorded through this DB. It is to be set before the DB is used.
func (db *DB) OnTask(f func()) { db.onTask = f }

// rowKey is the primary key of a row: its partition key and its sort key, which each [table] calls by names of its own.
type rowKey struct{ PK, SK string }

// possible reports whether a row can have the key at all. DynamoDB refuses a whole batch for the sake of one key that
// is empty or too long, and a client can make ids of any length up.
func (k rowKey) possible() bool {
	return k.PK != "" && len(k.PK) <= maxPK && len(k.SK) <= maxSK
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// table returns the full name of a table.
func (db *DB) table(t table) *string { return aws.String(db.prefix + t.name) }

// failed wraps what the SDK returned after its retries: Unavailable when the store did not answer or nobody waits any more,
// Internal when it refused what we asked, which asking again would not mend.
func failed(err error, format string, args ...any) error {
	if DiskFull(err) {
		return fault.Wrap(fault.Unavailable, err, MessageDiskFull)
	}
	kind := fault.Internal
	if repeatable(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = fault.Unavailable
	}
	return fault.Wrap(kind, err, format, args...)
}

// inTime ends a sentence about what could not be done: with what to do about it when time ran out.
func inTime(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return " in time; ask for less at once, or again later"
	}
	return ""
}

// within returns a context that ends when half of what is left of ctx is over, so that one slow step leaves time for
// the steps that follow it and for the answer.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithTimeout(ctx, callWithin)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}
