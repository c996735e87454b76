package faultinject

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// LeaveUnprocessed processes only the first keys of each BatchGetItem and BatchWriteItem, as if size or throttling had cut it
// short, and gives the rest back as UnprocessedKeys or UnprocessedItems. "First" is by the table's name, then as asked.
func (i *Injector) LeaveUnprocessed(processed int, when When, match ...Match) *Rule {
	return i.leave(when, match, func(n int, _ Key) bool { return n >= processed })
}

// NeverProcess gives back the keys that match from each BatchGetItem and BatchWriteItem. As with DynamoDB, a call of which
// nothing could be processed is not a list of leftovers but a ProvisionedThroughputExceededException.
func (i *Injector) NeverProcess(key func(Key) bool, match ...Match) *Rule {
	return i.leave(Always, match, func(_ int, k Key) bool { return key(k) })
}

func (i *Injector) leave(when When, match []Match, left func(n int, k Key) bool) *Rule {
	return i.add(&Rule{match: all(match, Operation("BatchGetItem", "BatchWriteItem")), when: when, act: func(x *exchange, next handler) (*answer, error) {
		return i.process(x, next, left)
	}})
}

// entry is one key of BatchGetItem or one write of BatchWriteItem.
type entry struct {
	table string
	raw   json.RawMessage
	key   attributes
	item  attributes // of a Put
}

// entriesOf returns what the batch consists of, by table.
func entriesOf(x *exchange) ([]entry, error) {
	var in struct{ RequestItems map[string]json.RawMessage }
	if err := json.Unmarshal(x.body, &in); err != nil {
		return nil, fmt.Errorf("faultinject: decode the batch: %w", err)
	}
	var entries []entry
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		raws, err := rawEntries(x.call.Operation, in.RequestItems[table])
		if err != nil {
			return nil, err
		}
		for _, raw := range raws {
			e := entry{table: table, raw: raw}
			if x.call.Operation == "BatchGetItem" {
				err = json.Unmarshal(raw, &e.key)
			} else {
				var w written
				err = json.Unmarshal(raw, &w)
				if w.PutRequest != nil {
					e.item = w.PutRequest.Item
				} else if w.DeleteRequest != nil {
					e.key = w.DeleteRequest.Key
				}
			}
			if err != nil {
				return nil, fmt.Errorf("faultinject: decode an entry of the batch: %w", err)
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// rawEntries returns the keys or writes of one table: BatchGetItem has them in an object, BatchWriteItem in a plain list.
func rawEntries(operation string, spec json.RawMessage) (raws []json.RawMessage, err error) {
	if operation == "BatchWriteItem" {
		err = json.Unmarshal(spec, &raws)
		return raws, err
	}
	var keys struct{ Keys []json.RawMessage }
	err = json.Unmarshal(spec, &keys)
	return keys.Keys, err
}

// with puts other entries into the specification of one table.
func with(operation string, spec json.RawMessage, raws []json.RawMessage) (json.RawMessage, error) {
	if operation == "BatchWriteItem" {
		return encode(raws), nil
	}
	return edit(spec, func(m map[string]json.RawMessage) error {
		m["Keys"] = encode(raws)
		return nil
	})
}

// process gives the engine only the entries that shall be processed, and adds the others to the leftovers of its answer.
func (i *Injector) process(x *exchange, next handler, left func(n int, k Key) bool) (*answer, error) {
	entries, err := entriesOf(x)
	if err != nil {
		return nil, err
	}
	now, later := map[string][]json.RawMessage{}, map[string][]json.RawMessage{}
	for n, e := range entries {
		k := spell(e.table, e.key)
		if e.item != nil {
			s, err := i.schema(x.ctx, x.r, e.table)
			if err != nil {
				return nil, err
			}
			k = s.keyOf(e.table, e.item)
		}
		if left(n, k) {
			later[e.table] = append(later[e.table], e.raw)
		} else {
			now[e.table] = append(now[e.table], e.raw)
		}
	}
	if len(later) == 0 {
		return next(x)
	}
	if len(now) == 0 {
		return throttled(), nil
	}
	specs, err := requestItems(x.body)
	if err != nil {
		return nil, err
	}
	fewer := *x
	fewer.body, err = edit(x.body, func(m map[string]json.RawMessage) error {
		m["RequestItems"], err = replaced(x.call.Operation, specs, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	a, err := next(&fewer)
	if err != nil || !a.ok() {
		return a, err
	}
	body, err := edit(a.body, func(m map[string]json.RawMessage) error {
		field := "UnprocessedKeys"
		if x.call.Operation == "BatchWriteItem" {
			field = "UnprocessedItems"
		}
		// What the engine itself left comes first.
		var own map[string]json.RawMessage
		if m[field] != nil {
			if err := json.Unmarshal(m[field], &own); err != nil {
				return err
			}
		}
		for table, spec := range own {
			raws, err := rawEntries(x.call.Operation, spec)
			if err != nil {
				return err
			}
			later[table] = append(raws, later[table]...)
		}
		m[field], err = replaced(x.call.Operation, specs, later)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &answer{status: a.status, header: a.header, body: body}, nil
}

func requestItems(body []byte) (map[string]json.RawMessage, error) {
	var in struct{ RequestItems map[string]json.RawMessage }
	err := json.Unmarshal(body, &in)
	return in.RequestItems, err
}

// replaced returns the specifications of the tables that have entries, with these entries.
func replaced(operation string, specs map[string]json.RawMessage, entries map[string][]json.RawMessage) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for table, raws := range entries {
		spec, err := with(operation, specs[table], raws)
		if err != nil {
			return nil, err
		}
		out[table] = spec
	}
	return encode(out), nil
}
