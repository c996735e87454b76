package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
)

// Recounting is how the things are counted again that a row of COUNT#<kind>#<of> counts.
type Recounting struct {
	Shared bool          // one count serves everybody
	Full   time.Duration // between two counts, if somebody was refused
	Usual  time.Duration // between two counts otherwise
	// Count adds to found how many things each of its keys has.
	Count func(db *DB, ctx context.Context, found map[string]int) error
}

const (
	recountKnown   = 5 * time.Minute  // after which somebody who creates things and was not refused is counted again; less than [allowancesIdle]
	recountTried   = 10 * time.Minute // between two attempts of a server to begin
	recountSettles = 10 * time.Second // until indexes show what was created before, and servers have added what they created
	recountWidth   = 1_000            // of whom things are counted at once, those first who were refused
	recountTries   = 10               // attempts to begin in one call
	recountFails   = 3                // attempts to count, each from the beginning
)

// Recounted returns the kinds of things that [DB.RecountAllowances] counts again.
func Recounted(all []Allowance) (kinds []string) {
	for _, a := range all {
		if a.Recounted != nil {
			kinds = append(kinds, a.Kind)
		}
	}
	return kinds
}

// recount is a count under way on this server.
type recount struct {
	Allowance
	lease   Allowed // whose row says when the last count began
	short   bool    // somebody was refused
	wanted  []string
	began   time.Time
	before  map[string]int // what the rows said first; nil until they were read
	read    time.Time      // when that was
	found   map[string]int // nil until it was counted
	counted time.Time
	fails   int // to count
}

// errRecounted says that a count began a short time ago.
var errRecounted = errors.New("this was counted a short time ago")

// RecountAllowances compares the rows that count things of a kind with the things that are stored, and corrects the rows. It does this for those who
// were refused, or create things, on this server. Only one server counts at a time. Each call takes one step: begin, count, correct.
//
// Others create things meanwhile. What was counted lies between what the row said before and what it says after, if the row is right. If it does not,
// the row is corrected by the distance to the nearer end: by too little rather than by too much. Where others also remove things, or items get another
// status, a count may miss some or see some twice; the correction may be wrong by as many, until the next count.
//
// Index: primary. Key: PK = COUNT#<kind>#<of> AND SK = COUNT, to begin on condition of the time of the last count. Index: index_lookup, eventually consistent.
// Key: _scope_index_name = <project>:status~<shard>. Cost: 1 TransactWriteItems of 1 row and 2 GetItem for each scope, project or author; for items 1 Query
// that counts per started megabyte of 16 partitions; for entities, relations and tags 1 Scan per megabyte of their table, with a pause after each.
func (db *DB) RecountAllowances(ctx context.Context, kind string) error {
	t := db.tallies
	r, now := t.recount(kind), db.Now()
	switch {
	case r == nil:
		return db.beginRecount(ctx, kind)
	case r.found == nil && now.Sub(r.began) > r.Recounted.Full/2: // another server may begin soon
		t.setRecount(kind, nil)
	case r.before == nil:
		return db.readBefore(ctx, r)
	case r.found == nil && now.Sub(r.read) >= recountSettles:
		found := make(map[string]int, len(r.wanted))
		for _, of := range r.wanted {
			found[of] = 0
		}
		if err := r.Recounted.Count(db, ctx, found); err != nil {
			if r.fails++; r.fails >= recountFails {
				t.setRecount(kind, nil) // the next one counts
			}
			return err
		}
		r.found, r.counted = found, db.Now()
	case r.found != nil && now.Sub(r.counted) >= recountSettles:
		after, err := db.readCounts(ctx, r)
		if err != nil {
			return err
		}
		t.correct(r, after)
	}
	return nil
}

// beginRecount takes over the count of what is due, unless a server has begun it a short time ago.
func (db *DB) beginRecount(ctx context.Context, kind string) error {
	t := db.tallies
	due := t.toRecount(kind)
	for _, r := range due[:min(len(due), recountTries)] {
		r.began = t.attempts(r.lease)
		pause := r.Recounted.Usual
		if r.short {
			pause = r.Recounted.Full
		}
		err := db.Transact(ctx, []Action{{
			Table: NotesTable, Key: countKey(r.lease), Update: "SET #recounted = :now",
			Condition: "attribute_not_exists(#recounted) OR #recounted <= :before OR #recounted = :now", Names: map[string]string{"#recounted": "recounted"},
			Values: Attrs{":now": Str(keys.Instant(r.began)), ":before": Str(keys.Instant(r.began.Add(-pause)))},
			Failed: func(Attrs) error { return errRecounted },
		}}, idempotency.Key{})
		if errors.Is(err, errRecounted) {
			continue
		}
		if err != nil {
			t.doubts(r.lease)
			return err
		}
		t.setRecount(kind, r)
		return db.readBefore(ctx, r)
	}
	return nil
}

// attempt is that a count was to begin.
type attempt struct {
	at    time.Time
	doubt bool // whether it has begun: the write was not answered
}

// attempts notes that a count is about to begin, and returns its time: that of the last attempt if nobody knows what became of it.
func (t *tallies) attempts(lease Allowed) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, tried := t.tried[lease]
	if !tried || !last.doubt {
		last.at = t.now()
	}
	t.tried[lease] = attempt{at: last.at}
	return last.at
}

// doubts has the next step make the last attempt again.
func (t *tallies) doubts(lease Allowed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tried[lease] = attempt{t.tried[lease].at, true}
}

// readBefore reads what the rows say before their things are counted.
func (db *DB) readBefore(ctx context.Context, r *recount) error {
	before, err := db.readCounts(ctx, r)
	if err == nil {
		r.before, r.read = before, db.Now()
	}
	return err
}

// readCounts returns what the rows say.
func (db *DB) readCounts(ctx context.Context, r *recount) (map[string]int, error) {
	counts := make([]int, len(r.wanted))
	errs := db.Each(len(counts), func(i int) (err error) {
		counts[i], err = db.readCount(ctx, Allowed{r.Kind, r.wanted[i]})
		return err
	})
	all := make(map[string]int, len(counts))
	for i, n := range counts {
		all[r.wanted[i]] = n
	}
	return all, errors.Join(errs...)
}

func (t *tallies) recount(kind string) *recount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recounts[kind]
}

// setRecount says which count of a kind is under way; nil for none.
func (t *tallies) setRecount(kind string, r *recount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recounts[kind] = r
}

// toRecount returns what is to be counted again, unless this server tried that a short time ago and knows what became of it: those first who were refused.
func (t *tallies) toRecount(kind string) []*recount {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	maps.DeleteFunc(t.tried, func(_ Allowed, last attempt) bool { return now.Sub(last.at) >= recountTried })
	var all []*spent
	for _, s := range t.by {
		if s.Kind == kind && s.Recounted != nil && s.known && (s.short || now.Sub(s.since) >= recountKnown) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *spent) int {
		return cmp.Or(rank(a.short)-rank(b.short), a.since.Compare(b.since))
	})
	by := map[Allowed]*recount{}
	var due []*recount
	for _, s := range all {
		lease := Allowed{kind, s.of}
		if s.Recounted.Shared {
			lease.Of = ""
		}
		if last, tried := t.tried[lease]; tried && !last.doubt {
			continue
		}
		r := by[lease]
		if r == nil {
			r = &recount{Allowance: s.Allowance, lease: lease, short: s.short}
			by[lease], due = r, append(due, r)
		}
		if len(r.wanted) < recountWidth {
			r.wanted = append(r.wanted, s.of)
		}
	}
	return due
}

// rank puts those first who were refused.
func rank(short bool) int {
	if short {
		return 0
	}
	return 1
}

// correct adds to the rows what they lack, less what they have too much, as what is created is added: see [DB.CountAllowances].
func (t *tallies) correct(r *recount, after map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range r.wanted {
		s := t.of(r.Allowance, of)
		s.short = false
		s.pending += outside(r.found[of], r.before[of], after[of])
	}
	delete(t.recounts, r.Kind)
}

// outside returns how far n is above or below everything between two numbers.
func outside(n, a, b int) int {
	switch low, high := min(a, b), max(a, b); {
	case n < low:
		return n - low
	case n > high:
		return n - high
	}
	return 0
}

// CountOne counts one thing more, of those of whom things are counted.
func CountOne(found map[string]int, of string) {
	if n, wanted := found[of]; wanted {
		found[of] = n + 1
	}
}

// ScanAll reads some attributes of all rows of a table, and leaves the engine to others after each page.
func (db *DB) ScanAll(ctx context.Context, t Table, names []string, each func(item Item) error) error {
	return db.scanAll(ctx, t, names, func(item Item) error {
		if err := db.readable(t, item); err != nil {
			return err
		}
		return each(item)
	})
}

// scanAll does the same, whatever the formats of the rows are.
func (db *DB) scanAll(ctx context.Context, t Table, names []string, each func(item Item) error) error {
	p := ProjectionOf(names...)
	in := dynamodb.ScanInput{TableName: db.Table(t), ProjectionExpression: p.Expression, ExpressionAttributeNames: p.Names,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for {
		last, err := db.scanPage(ctx, &in, each)
		if err != nil || last == nil {
			return err
		}
		in.ExclusiveStartKey = last
		if err := Rest(ctx, SweepPause); err != nil {
			return err
		}
	}
}

// ScanPage reads one page. A row of a later format than [NewestFormat] is a fault of kind Outdated.
func (db *DB) ScanPage(ctx context.Context, t Table, in *dynamodb.ScanInput, each func(item Item) error) (last Attrs, err error) {
	return db.scanPage(ctx, in, func(item Item) error {
		if err := db.readable(t, item); err != nil {
			return err
		}
		return each(item)
	})
}

// scanPage reads one page, whatever the formats of the rows are.
func (db *DB) scanPage(ctx context.Context, in *dynamodb.ScanInput, each func(item Item) error) (last Attrs, err error) {
	ctx, cancel := Within(ctx)
	defer cancel()
	var a answer
	defer a.release()
	for idle := 1; ; idle++ {
		if _, err = db.Client.Scan(ctx, in, a.into); err == nil {
			break
		}
		if !Repeatable(err) || !db.Pause(ctx, idle) {
			return nil, Failed(errors.Join(err, ctx.Err()), "the table could not be read%s", InTime(ctx))
		}
	}
	for _, item := range a.items {
		if err := each(item.Item); err != nil {
			return nil, err
		}
	}
	return a.last, nil
}
