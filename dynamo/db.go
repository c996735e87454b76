// Package dynamo asks DynamoDB: it is what the stores of the domain in the folders below have in common.
//
// It knows tables, keys, actions and the limits of DynamoDB, and how a row is written and read by what is declared of it. It must not know
// GraphQL, Redis or S3, nor what is in the rows of a domain. Reads go through one narrow seam ([DB.Get], [DB.BatchGet], [DB.Query]) that hands
// raw items to a decoder; writes go through [DB.Transact]. Start reading at [DB]; then at the store you came for (notes, users, …), whose methods
// say what they cost.
package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
)

// The limits of DynamoDB that shape this room; see "Service, account, and table quotas" in its developer guide.
const (
	MaxBatchGet   = 100   // keys in one BatchGetItem
	MaxBatchWrite = 25    // writes in one BatchWriteItem
	MaxActions    = 100   // actions in one TransactWriteItems
	maxPK         = 2_048 // bytes of a partition key
	MaxSK         = 1_024 // bytes of a sort key
	maxItemKB     = 400
	maxUserGB     = 10 // of the rows with one partition key in a table with a local index
)

// CallWithin bounds one batch, query or transaction when its context has no deadline.
const CallWithin = 10 * time.Second

// DB is a DynamoDB client together with the names of the tables and the bounds of its use.
type DB struct {
	Client      *dynamodb.Client
	narrow      *narrow // nil: reads go through Client alone
	prefix      string
	Concurrency int
	Now         func() time.Time
	Pause       func(ctx context.Context, idle int) bool // see [pause]
	project     Projections                              // of reads of many rows
	Prepared    int                                      // actions of a change of relations in one transaction; fewer in tests
	Quiet       time.Duration                            // see [Quiet]; shorter in tests
	onTask      func()                                   // see [DB.OnTask]
	tallies     *tallies                                 // see [DB.CountAllowances]
	newest      int                                      // see [NewestFormat]; later in tests
}

// Options sets up a [DB].
type Options struct {
	Client      *dynamodb.Client
	TablePrefix string
	Concurrency int              // calls that one batch or one group of queries has under way at most; 16 when 0
	MaxInFlight int              // calls that the whole DB has under way at most, the others wait; 256 when 0
	Now         func() time.Time // time.Now when nil
	SDKReads    bool             // reads take the SDK's way from their first attempt on, which needs more CPU; see [DB.Query]
	Watch       Watch            // hears of the reads that do not; nil: nobody
	Allowances  map[string]int   // how much of a kind one may have, where it is not the usual number; see [CheckAllowances]
}

// New returns a DB.
func New(o Options) *DB {
	db := &DB{prefix: o.TablePrefix, Concurrency: o.Concurrency, Now: o.Now, Pause: pause, Prepared: maxPrepared, Quiet: Quiet, newest: NewestFormat}
	if db.Concurrency == 0 {
		db.Concurrency = 16
	}
	if db.Now == nil {
		db.Now = time.Now
	}
	db.tallies = newTallies(o.Allowances, db.Now)
	db.connect(o)
	return db
}

// connect has the DB speak through the client of o.
func (db *DB) connect(o Options) {
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 256
	}
	places := semaphore.NewWeighted(int64(o.MaxInFlight))
	db.Client = dynamodb.New(o.Client.Options(), func(client *dynamodb.Options) {
		bounded(client, places)
		if db.narrow = nil; !o.SDKReads {
			db.narrow = narrowed(client, places, o.Watch)
		}
	})
}

// OnTask has f called, which must not wait, when a task was recorded through this DB. It is to be set before the DB is used.
func (db *DB) OnTask(f func()) { db.onTask = f }

// Key is the primary key of a row: its partition key and its sort key, which each [Table] calls by names of its own.
type Key struct{ PK, SK string }

// Possible reports whether a row can have the key at all. DynamoDB refuses a whole batch for the sake of one key that
// is empty or too long, and a client can make ids of any length up.
func (k Key) Possible() bool {
	return k.PK != "" && len(k.PK) <= maxPK && len(k.SK) <= MaxSK
}

// Str is a text as DynamoDB takes it.
func Str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Table returns the full name of a table.
func (db *DB) Table(t Table) *string { return aws.String(db.prefix + t.Name) }

// Failed wraps what the SDK returned after its retries: Unavailable when the store did not answer or nobody waits any more,
// Internal when it refused what we asked, which asking again would not mend. Where there was no room for the answer, it returns what the client is told of that.
func Failed(err error, format string, args ...any) error {
	if no, is := errors.AsType[noRoom](err); is {
		return no.error
	}
	if DiskFull(err) {
		return fault.Wrap(fault.Unavailable, err, MessageDiskFull)
	}
	kind := fault.Internal
	if Repeatable(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = fault.Unavailable
	}
	return fault.Wrap(kind, err, format, args...)
}

// InTime ends a sentence about what could not be done: with what to do about it when time ran out.
func InTime(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return " in time; ask for less at once, or again later"
	}
	return ""
}

// Within returns a context that ends when half of what is left of ctx is over, so that one slow step leaves time for
// the steps that follow it and for the answer.
func Within(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithTimeout(ctx, CallWithin)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}
