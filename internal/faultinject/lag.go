package faultinject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// Lag keeps the global secondary indexes at an earlier state than their tables.
type Lag struct {
	injector *Injector
	rule     *Rule

	mu      sync.Mutex
	shadows map[string]*shadow
	touched map[Key]int // rows written since they were settled, and the writes that are under way
}

// shadow is a copy of a table as the indexes know it. The engine itself answers from it, so that conditions, filters,
// order, limits and pages of an index query are right without our knowing them.
type shadow struct {
	name string
	r    *http.Request // whose headers our own calls carry
}

// suffix makes the name of a table's copy.
const suffix = ".lagging"

// LagIndexes freezes the global secondary indexes as they are when their table is next written or an index of it is next
// read; from then on a Query or Scan of one answers without the rows written since and with those deleted since, until
// [Lag.Settle]. Tables and local indexes are read as always. Switch it on while no write is in flight.
//
// It copies each such table once, so use it with small ones. A table's name may have up to 247 characters.
func (i *Injector) LagIndexes() *Lag {
	l := &Lag{injector: i, shadows: map[string]*shadow{}, touched: map[Key]int{}}
	// It is the outermost rule, so that a write is under way for as long as any other rule works on it.
	l.rule = i.insert(&Rule{match: all(nil), when: Always, act: func(x *exchange, next handler) (*answer, error) {
		switch {
		case Writes(x.call):
			return l.write(x, next)
		case x.call.Index != "":
			return l.read(x, next)
		}
		return next(x)
	}}, true)
	return l
}

// Settle lets the indexes catch up with everything that was written.
func (l *Lag) Settle(ctx context.Context) error {
	return l.SettleRows(ctx, func(Key) bool { return true })
}

// SettleRows lets the indexes catch up with the chosen rows only: they lag row by row.
func (l *Lag) SettleRows(ctx context.Context, row func(Key) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, writing := range l.touched {
		s := l.shadows[k.Table]
		if s == nil || !row(k) {
			continue
		}
		if err := l.copyRow(ctx, k, s); err != nil {
			return err
		}
		if writing == 0 {
			delete(l.touched, k)
		}
	}
	return nil
}

// Stop lets the indexes be up to date again and removes the copies of the tables.
func (l *Lag) Stop(ctx context.Context) error {
	l.rule.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, table := range slices.Sorted(maps.Keys(l.shadows)) {
		s := l.shadows[table]
		errs = append(errs, l.injector.ask(ctx, s.r, "DeleteTable", map[string]any{"TableName": s.name}, nil))
	}
	clear(l.shadows)
	return errors.Join(errs...)
}

func (l *Lag) write(x *exchange, next handler) (*answer, error) {
	keys, err := l.injector.rows(x)
	if err != nil {
		return nil, err
	}
	for _, table := range x.call.Tables {
		if _, err := l.shadow(x, table); err != nil {
			return nil, err
		}
	}
	l.count(keys, 1)
	defer l.count(keys, -1)
	return next(x)
}

func (l *Lag) count(keys []Key, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		if k.Attributes != "" {
			l.touched[k] += n
		}
	}
}

func (l *Lag) read(x *exchange, next handler) (*answer, error) {
	table := x.call.Tables[0]
	s, err := l.injector.schema(x.ctx, x.r, table)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.GlobalSecondaryIndexes, func(g index) bool { return g.IndexName == x.call.Index }) {
		return next(x)
	}
	copied, err := l.shadow(x, table)
	if err != nil {
		return nil, err
	}
	redirected := *x
	redirected.body, err = edit(x.body, func(m map[string]json.RawMessage) error {
		m["TableName"] = encode(copied.name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	a, err := next(&redirected)
	if err != nil || !a.ok() {
		return a, err
	}
	body, err := edit(a.body, func(m map[string]json.RawMessage) error {
		if m["ConsumedCapacity"] == nil {
			return nil
		}
		m["ConsumedCapacity"], err = edit(m["ConsumedCapacity"], func(c map[string]json.RawMessage) error {
			c["TableName"] = encode(table)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &answer{status: a.status, header: a.header, body: body}, nil
}

// shadow returns the copy of the table, made at first; nil when the table has no global index.
func (l *Lag) shadow(x *exchange, table string) (*shadow, error) {
	described, err := l.injector.schema(x.ctx, x.r, table)
	if err != nil || len(described.GlobalSecondaryIndexes) == 0 {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.shadows[table]; s != nil {
		return s, nil
	}
	l.injector.engine.RLock()
	defer l.injector.engine.RUnlock()
	ctx := context.WithoutCancel(x.ctx)
	s := &shadow{name: table + suffix, r: x.r.Clone(context.Background())}
	if err := l.create(ctx, s, described); err != nil {
		return nil, err
	}
	if err := l.copyTable(ctx, s, table); err != nil {
		return nil, err
	}
	l.shadows[table] = s
	return s, nil
}

func (l *Lag) create(ctx context.Context, s *shadow, like *schema) error {
	in := map[string]any{
		"TableName": s.name, "BillingMode": "PAY_PER_REQUEST",
		"KeySchema": like.KeySchema, "AttributeDefinitions": like.AttributeDefinitions,
		"GlobalSecondaryIndexes": like.GlobalSecondaryIndexes,
	}
	if len(like.LocalSecondaryIndexes) > 0 {
		in["LocalSecondaryIndexes"] = like.LocalSecondaryIndexes
	}
	err := l.injector.ask(ctx, s.r, "CreateTable", in, nil)
	if e, ok := errors.AsType[*engineError](err); ok && e.code == "ResourceInUseException" {
		// A test that died has left its copy behind.
		if err := l.injector.ask(ctx, s.r, "DeleteTable", map[string]any{"TableName": s.name}, nil); err != nil {
			return err
		}
		err = l.injector.ask(ctx, s.r, "CreateTable", in, nil)
	}
	return err
}

func (l *Lag) copyTable(ctx context.Context, s *shadow, table string) error {
	in := map[string]any{"TableName": table, "ConsistentRead": true}
	for {
		var page struct {
			Items            []json.RawMessage
			LastEvaluatedKey json.RawMessage
		}
		if err := l.injector.ask(ctx, s.r, "Scan", in, &page); err != nil {
			return fmt.Errorf("copy %s: %w", table, err)
		}
		for items := range slices.Chunk(page.Items, 25) {
			puts := make([]any, len(items))
			for n, item := range items {
				puts[n] = map[string]any{"PutRequest": map[string]any{"Item": item}}
			}
			var left struct{ UnprocessedItems map[string]json.RawMessage }
			err := l.injector.ask(ctx, s.r, "BatchWriteItem", map[string]any{"RequestItems": map[string]any{s.name: puts}}, &left)
			if err == nil && len(left.UnprocessedItems) > 0 {
				err = errors.New("the engine left items unprocessed")
			}
			if err != nil {
				return fmt.Errorf("copy %s: %w", table, err)
			}
		}
		if page.LastEvaluatedKey == nil {
			return nil
		}
		in["ExclusiveStartKey"] = page.LastEvaluatedKey
	}
}

// copyRow brings one row of the copy up to date.
func (l *Lag) copyRow(ctx context.Context, k Key, s *shadow) error {
	l.injector.engine.RLock()
	defer l.injector.engine.RUnlock()
	item, err := l.injector.row(ctx, s.r, k)
	if err != nil {
		return err
	}
	return l.injector.set(ctx, s.r, Key{Table: s.name, Attributes: k.Attributes}, item)
}
