package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// Allowance is how many things of a kind one user, scope or project may have, where no transaction writes a row that could count
// them: those who create notes side by side would wait for one another there. They are counted in the background instead, so that
// the limit holds to within 10 %. See docs/decisions/0049.
type Allowance struct {
	Kind string
	Most int    // unless [Options.Allowances] has another number
	Says string // what somebody is told who wants more; %d is the number
	// Rows are the rows that are counted. Where they are in no one partition it is nil, and servers add up what they create.
	Rows func(of string) Span
	// Recounted is how they are counted again there. See [DB.RecountAllowances].
	Recounted *Recounting
}

var allowedKeys = Allowance{Kind: "keys", Most: idempotency.MaxKeys, Says: "a user uses at most %d idempotency keys within 24 hours: wait, or repeat requests without a key",
	Rows: func(viewer string) Span { return Span{Table: NotesTable, PK: keys.IdempotencyPK(viewer)} }}

// Allowances are what is counted here; each store tells its own besides.
func Allowances() []Allowance { return []Allowance{allowedKeys} }

// CheckAllowances says what is wrong with numbers for [Options.Allowances].
func CheckAllowances(all []Allowance, numbers map[string]int) error {
	kinds := make([]string, 0, len(all))
	for _, a := range all {
		kinds = append(kinds, a.Kind)
	}
	for kind, n := range numbers {
		if !slices.Contains(kinds, kind) || n < 1 {
			return fmt.Errorf("expected numbers from 1, as in %s=%d, of some of %s", all[0].Kind, all[0].Most, strings.Join(kinds, ", "))
		}
	}
	return nil
}

// How often and how long things are counted.
const (
	countedAgain     = 10 * time.Minute // rows, of somebody who creates some
	countedElsewhere = 10 * time.Second // where servers add up, what others have added for somebody who created something within a minute
	countedFull      = time.Minute      // rows of somebody who has most: whoever deletes some can create others then; a minute more for each 100,000
	allowancesIdle   = 10 * time.Minute // after which what is known of somebody is forgotten
	allowancesKept   = 100_000          // of whom something is known at most; more are not counted
)

// Allowed is whose allowance of what.
type Allowed struct{ Kind, Of string }

// spent is what one server knows of an allowance.
type spent struct {
	Allowance
	of      string
	known   bool      // whether total was ever counted
	refused bool      // somebody was refused since
	short   bool      // somebody was refused since the things were counted again
	since   time.Time // when the first use was here
	total   int       // when it was counted last
	pending int       // created here since
	adding  int       // of pending, while it is not known whether the row has it
	attempt string    // by which DynamoDB knows that again
	counted time.Time // last
	used    time.Time // last
}

// tallies is what one server knows of all allowances.
type tallies struct {
	mu       sync.Mutex
	by       map[Allowed]*spent
	recounts map[string]*recount // under way, by kind
	tried    map[Allowed]attempt // the last one of this server to begin one
	numbers  map[string]int      // in place of those of the allowances
	now      func() time.Time
}

func newTallies(numbers map[string]int, now func() time.Time) *tallies {
	return &tallies{by: map[Allowed]*spent{}, recounts: map[string]*recount{}, tried: map[Allowed]attempt{}, numbers: numbers, now: now}
}

// Spend carries out what creates n things of an allowance, or removes -n, unless that is more than is allowed: Exhausted. Of what fails
// nothing is counted. It asks no store.
func (db *DB) Spend(a Allowance, of string, n int, create func() error) error {
	t := db.tallies
	if n > 0 {
		if err := t.add(a, of, n); err != nil {
			return err
		}
	}
	err := create()
	switch {
	case err != nil && n > 0:
		_ = t.add(a, of, -n)
	case err == nil && n < 0:
		_ = t.add(a, of, n)
	}
	return err
}

// Release counts n things less, which were removed.
func (db *DB) Release(a Allowance, of string, n int) { _ = db.tallies.add(a, of, -n) } // fewer are always allowed

// add counts n things more, or fewer.
func (t *tallies) add(a Allowance, of string, n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.of(a, of)
	s.used = t.now()
	if n > 0 && s.total+s.pending+n > s.Most {
		s.refused, s.short = true, true
		return fault.New(fault.Exhausted, s.Says, s.Most)
	}
	s.pending += n
	return nil
}

// of returns what is known of an allowance. The caller has the lock.
func (t *tallies) of(a Allowance, of string) *spent {
	s := t.by[Allowed{a.Kind, of}]
	if s == nil {
		if number, given := t.numbers[a.Kind]; given {
			a.Most = number
		}
		s = &spent{Allowance: a, of: of, since: t.now(), used: t.now()}
		if len(t.by) < allowancesKept {
			t.by[Allowed{a.Kind, of}] = s
		}
	}
	return s
}

// due returns what is to be counted now, and forgets what nobody has used for long.
func (t *tallies) due() []*spent {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	maps.DeleteFunc(t.by, func(_ Allowed, s *spent) bool {
		return now.Sub(s.used) > allowancesIdle && (s.Rows != nil || s.pending == 0 && s.adding == 0)
	})
	var due []*spent
	for _, s := range t.by {
		if s.due(now) {
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *spent) int { return a.counted.Compare(b.counted) })
	return due
}

func (s *spent) due(now time.Time) bool {
	switch {
	case !s.known:
		return true
	case s.Rows == nil:
		return s.pending != 0 || s.adding != 0 || s.refused || now.Sub(s.counted) >= countedElsewhere && now.Sub(s.used) < time.Minute
	case s.refused:
		return now.Sub(s.counted) >= countedFull*time.Duration(1+s.total/100_000)
	}
	return s.pending > s.Most/100 || s.pending > 0 && now.Sub(s.counted) >= countedAgain
}

// CountAllowances counts, in the background, what those have who created something here. Servers do so each second; what cannot be
// counted now is counted later.
//
// Index: LSI1, eventually consistent. Key: PK = USER#<owner>. Index: GSI1, eventually consistent. Key: GSI1PK = OWNER#<owner>.
// Index: primary. Key: PK = IDEM#<viewer>; PK = COUNT#<kind>#<of> AND SK = COUNT. Cost: for each user who created notes or
// shares, or used idempotency keys, 1 Query that counts per megabyte, at first and then after each hundredth of what is allowed, or ten
// minutes; for each scope, project or author of tags that got more, or has fewer, 1 TransactWriteItems of 1 row and 1 GetItem.
func (db *DB) CountAllowances(ctx context.Context) error {
	due := db.tallies.due()
	return errors.Join(db.Each(len(due), func(i int) error { return db.countAllowance(ctx, due[i]) })...)
}

func (db *DB) countAllowance(ctx context.Context, s *spent) error {
	t := db.tallies
	t.mu.Lock()
	by := s.pending
	t.mu.Unlock()
	var total int
	var err error
	if s.Rows != nil {
		total, err = db.CountRows(ctx, s.Rows(s.of), s.Most)
	} else if by, err = 0, db.addTally(ctx, s); err == nil {
		total, err = db.ReadTally(ctx, Allowed{s.Kind, s.of})
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.pending -= by
	s.total, s.known, s.refused, s.counted = total, true, false, t.now()
	return nil
}

// addTally adds what was created here to the row that counts, which nobody but servers in the background write. What may have been
// added is added by the same attempt again, which DynamoDB knows for ten minutes; what was added is not pending any more.
func (db *DB) addTally(ctx context.Context, s *spent) error {
	t := db.tallies
	t.mu.Lock()
	if s.adding == 0 {
		s.adding, s.attempt = s.pending, uuid.NewString()
	}
	by, attempt := s.adding, s.attempt
	t.mu.Unlock()
	if by == 0 {
		return nil
	}
	add := Action{
		Table: NotesTable, Key: countKey(Allowed{s.Kind, s.of}),
		Update: "ADD #n :by", Names: map[string]string{"#n": "n"}, Values: Attrs{":by": Number(int64(by))},
	}
	if err := db.transactAs(ctx, attempt, []Action{add}); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.adding, s.pending, s.total = 0, s.pending-by, s.total+by
	return nil
}

func countKey(of Allowed) Key { return Key{keys.CountPK(of.Kind, of.Of), keys.CountSK} }

// ForgetTally removes the row that counts things of what is gone itself. What this server knows of it is forgotten, too; another one that
// created some of them in the last second may write a row again.
//
// Index: primary. Key: PK = COUNT#<kind>#<of> AND SK = COUNT. Cost: 1 BatchWriteItem.
func (db *DB) ForgetTally(ctx context.Context, of Allowed) error {
	db.tallies.mu.Lock()
	delete(db.tallies.by, of)
	db.tallies.mu.Unlock()
	return db.BatchDelete(ctx, []RowID{{Table: NotesTable, Key: countKey(of)}})
}

// ReadTally returns how many things there are, as far as the row tells.
//
// Index: primary. Key: PK = COUNT#<kind>#<of> AND SK = COUNT. Cost: 1 GetItem.
func (db *DB) ReadTally(ctx context.Context, of Allowed) (int, error) {
	total, err := db.readCount(ctx, of)
	return max(total, 0), err
}

// readCount returns what the row says, which is less than none when more was removed than was added.
func (db *DB) readCount(ctx context.Context, of Allowed) (total int, err error) {
	_, err = db.Get(ctx, NotesTable, countKey(of), func(item Item) error {
		return Attributes(item, func(name []byte, v Value) (err error) {
			if string(name) == "n" {
				total, err = v.Int()
				return err
			}
			return nil
		})
	})
	return total, err
}

// CountRows counts the rows of a span: not many more than most.
func (db *DB) CountRows(ctx context.Context, s Span, most int) (total int, err error) {
	if s.Index.name == "" {
		s.Index = s.Table.primary()
	}
	in := dynamodb.QueryInput{TableName: db.Table(s.Table), Select: types.SelectCount, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	if s.Index.name != "" {
		in.IndexName = db.IndexName(s.Index)
	}
	s.condition(&in)
	for {
		out, err := db.Client.Query(ctx, &in)
		if err != nil {
			return 0, Failed(err, "count rows")
		}
		total += int(out.Count)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil || total > most {
			return total, nil
		}
	}
}
