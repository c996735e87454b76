package faultinject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// RowByRow shows each matching transaction as Query, BatchGetItem and GetItem may see it on DynamoDB: one row after another,
// in the order of its actions. Between two rows, while the first shown of all rows are there, it calls between, in which
// the test may read through the same client. A write to a row that is not shown yet meets a conflict, as with DynamoDB.
//
// The engine carries the transaction out whole, so that conditions, limits and tokens are its own; then the rule
// takes the rows back, unseen by anyone, and writes them again one by one. Condition checks show nothing and are not counted.
// A [Gate] for transactions is added before this rule, because nobody else can read while the engine carries one out.
func (i *Injector) RowByRow(between func(ctx context.Context, shown, rows int), match ...Match) *Rule {
	t := &transactions{injector: i, between: between, pending: map[Key]bool{}}
	split := all(match, Operation("TransactWriteItems"))
	watched := func(c *Call) bool { return Writes(c) || c.Operation == "TransactGetItems" }
	return i.add(&Rule{match: watched, when: Always, act: func(x *exchange, next handler) (*answer, error) {
		keys, err := t.keys(x)
		if err != nil {
			return nil, err
		}
		if in := t.inConflict(keys); len(in) > 0 {
			return t.refuse(x, next, keys, in)
		}
		if !split(x.call) {
			return next(x)
		}
		return t.show(x, next, keys)
	}})
}

// transactions are those that are being shown.
type transactions struct {
	injector *Injector
	between  func(ctx context.Context, shown, rows int)

	mu      sync.Mutex
	pending map[Key]bool // rows that are committed and not shown yet
}

// keys returns the rows of the call, one per action.
func (t *transactions) keys(x *exchange) ([]Key, error) {
	if x.call.Operation == "TransactGetItems" {
		return x.call.Keys, nil
	}
	return t.injector.rows(x)
}

// inConflict returns the positions of the rows that another transaction still holds.
func (t *transactions) inConflict(keys []Key) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var in []int
	for n, k := range keys {
		if t.pending[k] {
			in = append(in, n)
		}
	}
	return in
}

// refuse answers a call that touches rows of another transaction; a batch does what it can.
func (t *transactions) refuse(x *exchange, next handler, keys []Key, in []int) (*answer, error) {
	if x.call.Operation == "BatchWriteItem" {
		return t.injector.process(x, next, func(n int, _ Key) bool { return slices.Contains(in, n) })
	}
	return conflict(x, in...)
}

// change is what a transaction made of one row; nil stands for no row.
type change struct {
	key           Key
	before, after json.RawMessage
}

func (t *transactions) show(x *exchange, next handler, keys []Key) (*answer, error) {
	// Once committed, the rows are shown whether or not the caller still waits.
	ctx := context.WithoutCancel(x.ctx)
	changes, a, err := t.commit(ctx, x, next, keys)
	if in, ok := errors.AsType[held](err); ok {
		return t.refuse(x, next, keys, in)
	}
	if err != nil || !a.ok() {
		return a, err
	}
	for n, c := range changes {
		if n > 0 {
			t.between(x.ctx, n, len(changes))
			if err := t.reveal(ctx, x.r, c); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// held are the positions of rows that another transaction holds.
type held []int

func (held) Error() string { return "faultinject: another transaction holds a row" }

// commit lets the engine carry out the transaction and takes all rows but the first back, before anyone can look.
func (t *transactions) commit(ctx context.Context, x *exchange, next handler, keys []Key) ([]change, *answer, error) {
	i := t.injector
	i.engine.Lock()
	defer i.engine.Unlock()
	if in := t.inConflict(keys); len(in) > 0 { // since it was asked the first time
		return nil, nil, held(in)
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Attributes == "" }) // condition checks
	before, err := i.read(ctx, x.r, keys)
	if err != nil {
		return nil, nil, err
	}
	alone := *x
	alone.locked = true
	a, err := next(&alone)
	if err != nil || !a.ok() {
		return nil, a, err
	}
	after, err := i.read(ctx, x.r, keys)
	if err != nil {
		return nil, nil, err
	}
	var changes []change
	for n, k := range keys {
		changes = append(changes, change{key: k, before: before[n], after: after[n]})
		if n > 0 {
			t.hold(k, true)
		}
	}
	if len(keys) > 1 {
		if err := i.write(ctx, x.r, keys[1:], before[1:]); err != nil {
			return nil, nil, fmt.Errorf("take rows back: %w", err)
		}
	}
	return changes, a, nil
}

func (t *transactions) reveal(ctx context.Context, r *http.Request, c change) error {
	i := t.injector
	i.engine.Lock()
	defer i.engine.Unlock()
	t.hold(c.key, false)
	return i.set(ctx, r, c.key, c.after)
}

func (t *transactions) hold(k Key, held bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held {
		t.pending[k] = true
	} else {
		delete(t.pending, k)
	}
}

// actions returns how many actions a transaction has.
func actions(body []byte) (int, error) {
	var in struct{ TransactItems []json.RawMessage }
	if err := json.Unmarshal(body, &in); err != nil {
		return 0, fmt.Errorf("faultinject: decode the transaction: %w", err)
	}
	return len(in.TransactItems), nil
}
