package faultinject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
)

// forward is the innermost handler: it gives the exchange to the engine and reads the whole answer.
func (i *Injector) forward(x *exchange) (*answer, error) {
	if !x.locked {
		i.engine.RLock()
		defer i.engine.RUnlock()
	}
	dialled := false
	ctx := httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { dialled = !c.Reused },
	})
	i.recorder.enter(x.call)
	a, err := i.send(ctx, x.r, "", x.body)
	i.recorder.leave(x.call, dialled)
	return a, err
}

// send sends the body with the headers of r; another operation than that of r, if one is given.
func (i *Injector) send(ctx context.Context, r *http.Request, operation string, body []byte) (*answer, error) {
	sent := r.Clone(ctx)
	if operation != "" {
		sent.Header.Set("X-Amz-Target", target+operation)
	}
	sent.ContentLength = int64(len(body))
	sent.Body = io.NopCloser(bytes.NewReader(body))
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	resp, err := i.transport().RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the engine's answer: %w", err)
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: read}, nil
}

// ask makes a call of our own and decodes its answer into out, if given. A caller that reads or writes rows holds the engine.
func (i *Injector) ask(ctx context.Context, r *http.Request, operation string, in, out any) error {
	a, err := i.send(ctx, r, operation, encode(in))
	if err != nil {
		return fmt.Errorf("faultinject: %s: %w", operation, err)
	}
	if !a.ok() {
		return fmt.Errorf("faultinject: %s: %w", operation, &engineError{a.errorCode(), string(a.body)})
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.body, out)
}

// engineError is what the engine answered to a call of our own.
type engineError struct{ code, body string }

func (e *engineError) Error() string { return e.body }

// schema is what the rules need to know of a table.
type schema struct {
	KeySchema              []json.RawMessage
	AttributeDefinitions   json.RawMessage
	GlobalSecondaryIndexes []index
	LocalSecondaryIndexes  []index

	keys []string
}

type index struct {
	IndexName  string
	KeySchema  json.RawMessage
	Projection json.RawMessage
}

// schema describes the table, once per injector.
func (i *Injector) schema(ctx context.Context, r *http.Request, table string) (*schema, error) {
	i.mu.Lock()
	known := i.schemas[table]
	i.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var described struct{ Table schema }
	if err := i.ask(ctx, r, "DescribeTable", map[string]any{"TableName": table}, &described); err != nil {
		return nil, err
	}
	s := &described.Table
	for _, element := range s.KeySchema {
		var e struct{ AttributeName string }
		if err := json.Unmarshal(element, &e); err != nil {
			return nil, err
		}
		s.keys = append(s.keys, e.AttributeName)
	}
	i.mu.Lock()
	i.schemas[table] = s
	i.mu.Unlock()
	return s, nil
}

// keyOf picks the key out of an item.
func (s *schema) keyOf(table string, item attributes) Key {
	key := attributes{}
	for _, name := range s.keys {
		if v, found := item[name]; found {
			key[name] = v
		}
	}
	return spell(table, key)
}

// row reads a row as it is now; nil when there is none.
func (i *Injector) row(ctx context.Context, r *http.Request, k Key) (json.RawMessage, error) {
	var out struct{ Item json.RawMessage }
	err := i.ask(ctx, r, "GetItem", map[string]any{
		"TableName": k.Table, "Key": json.RawMessage(k.Attributes), "ConsistentRead": true,
	}, &out)
	return out.Item, err
}

// set writes a row as it shall be; nil removes it.
func (i *Injector) set(ctx context.Context, r *http.Request, k Key, item json.RawMessage) error {
	if item == nil {
		return i.ask(ctx, r, "DeleteItem", map[string]any{"TableName": k.Table, "Key": json.RawMessage(k.Attributes)}, nil)
	}
	return i.ask(ctx, r, "PutItem", map[string]any{"TableName": k.Table, "Item": item}, nil)
}

// read reads rows as they are now, in the order of their keys; nil stands for no row.
func (i *Injector) read(ctx context.Context, r *http.Request, keys []Key) ([]json.RawMessage, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	gets := make([]any, len(keys))
	for n, k := range keys {
		gets[n] = map[string]any{"Get": map[string]any{"TableName": k.Table, "Key": json.RawMessage(k.Attributes)}}
	}
	var out struct {
		Responses []struct{ Item json.RawMessage }
	}
	rows := make([]json.RawMessage, len(keys))
	if err := i.ask(ctx, r, "TransactGetItems", map[string]any{"TransactItems": gets}, &out); err == nil && len(out.Responses) == len(keys) {
		for n, one := range out.Responses {
			rows[n] = one.Item
		}
		return rows, nil
	}
	// They are too many, too large, or the same: what the engine says of that in the transaction itself is for the caller.
	for n, k := range keys {
		var err error
		if rows[n], err = i.row(ctx, r, k); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// write writes rows as they shall be; nil removes one.
func (i *Injector) write(ctx context.Context, r *http.Request, keys []Key, rows []json.RawMessage) error {
	const most = 25 // of BatchWriteItem
	for len(keys) > 0 {
		asked := map[string][]any{}
		n := min(most, len(keys))
		for j, k := range keys[:n] {
			write := map[string]any{"DeleteRequest": map[string]any{"Key": json.RawMessage(k.Attributes)}}
			if rows[j] != nil {
				write = map[string]any{"PutRequest": map[string]any{"Item": rows[j]}}
			}
			asked[k.Table] = append(asked[k.Table], write)
		}
		var out struct{ UnprocessedItems map[string]json.RawMessage }
		err := i.ask(ctx, r, "BatchWriteItem", map[string]any{"RequestItems": asked}, &out)
		if err == nil && len(out.UnprocessedItems) > 0 {
			err = errors.New("faultinject: the engine left rows unprocessed")
		}
		if err != nil {
			return err
		}
		keys, rows = keys[n:], rows[n:]
	}
	return nil
}

// rows returns the keys that a write touches; for a transaction one per action (with an empty Attributes for a condition check).
func (i *Injector) rows(x *exchange) ([]Key, error) {
	var in request
	if err := json.Unmarshal(x.body, &in); err != nil {
		return nil, fmt.Errorf("faultinject: decode the write: %w", err)
	}
	var keys []Key
	add := func(table string, key, item attributes) error {
		if item == nil {
			keys = append(keys, spell(table, key))
			return nil
		}
		s, err := i.schema(x.ctx, x.r, table)
		if err != nil {
			return err
		}
		keys = append(keys, s.keyOf(table, item))
		return nil
	}
	switch x.call.Operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		err := add(in.TableName, in.Key, in.Item)
		return keys, err
	case "TransactWriteItems":
		for _, entry := range in.TransactItems {
			for verb, a := range entry {
				if verb == "ConditionCheck" {
					keys = append(keys, Key{Table: a.TableName})
				} else if err := add(a.TableName, a.Key, a.Item); err != nil {
					return nil, err
				}
			}
		}
	case "BatchWriteItem":
		entries, err := entriesOf(x)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := add(e.table, e.key, e.item); err != nil {
				return nil, err
			}
		}
	}
	return keys, nil
}
