package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// engine speaks as much of DynamoDB's protocol as the three questions need, from memory. A real engine on the same
// machine would need more CPU than what is measured. Items, and the attributes that a projection names, are answered with the bytes with
// which they were put.
type engine struct {
	table       *table
	tables      sync.Map     // name to the description of a table that was made
	delay       atomic.Int64 // what a call takes, in nanoseconds
	calls       atomic.Int64
	connections atomic.Int64
	server      *http.Server
	url         string
}

func startEngine() (*engine, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &engine{table: newTable(), url: "http://" + listener.Addr().String()}
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: 5 * time.Second, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			e.connections.Add(1)
		}
	}}
	go func() { _ = e.server.Serve(listener) }() // ends with Close
	return e, nil
}

// idle returns when nobody has called for a while: when jobs that run at the start of a server are done.
func (e *engine) idle(ctx context.Context) error {
	for before := int64(-1); before != e.calls.Load(); {
		before = e.calls.Load()
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ServeHTTP answers one call.
func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	e.calls.Add(1)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	answer, err := e.answer(operation, body)
	status := http.StatusOK
	if err != nil {
		status = http.StatusBadRequest
		kind := "com.amazon.coral.validate#ValidationException"
		if own, ok := errors.AsType[exception](err); ok {
			kind = "com.amazonaws.dynamodb.v20120810#" + string(own)
		}
		answer, _ = json.Marshal(map[string]string{"__type": kind, "message": err.Error()})
	}
	if delay := time.Duration(e.delay.Load()); delay > 0 {
		time.Sleep(delay) // the latency that is simulated
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("X-Amzn-Requestid", "BENCH")
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer)), 10))
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (e *engine) answer(operation string, body []byte) ([]byte, error) {
	switch operation {
	case "GetItem":
		return e.getItem(body)
	case "BatchGetItem":
		return e.batchGetItem(body)
	case "Query":
		return e.query(body)
	case "TransactWriteItems":
		return e.transactWriteItems(body)
	case "CreateTable":
		return e.createTable(body)
	case "DescribeTable":
		return e.describeTable(body)
	case "DescribeTimeToLive":
		return []byte(`{"TimeToLiveDescription":{"AttributeName":"expires_at","TimeToLiveStatus":"ENABLED"}}`), nil
	}
	return nil, exception("UnknownOperationException")
}

// exception is an error by DynamoDB's name for it.
type exception string

// Error returns the name.
func (e exception) Error() string { return string(e) }

type key struct{ PK, SK text }

// attributes returns what a projection names; nil where there is none.
func attributes(projection string, names map[string]string) ([]string, error) {
	if projection == "" {
		return nil, nil
	}
	attributes := strings.Split(projection, ",")
	for i, alias := range attributes {
		name, there := names[strings.TrimSpace(alias)]
		if !there {
			return nil, errors.New("a projection consists of the names of attributes here")
		}
		attributes[i] = name
	}
	return attributes, nil
}

func (e *engine) getItem(body []byte) ([]byte, error) {
	var in struct {
		TableName, ReturnConsumedCapacity string
		Key                               key
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteByte('{')
	if row := e.table.get(in.Key.PK.S, in.Key.SK.S); row != nil {
		out.WriteString(`"Item":`)
		out.Write(row.item)
	}
	capacity(&out, in.ReturnConsumedCapacity, `"ConsumedCapacity":`+unit(in.TableName))
	return finish(&out), nil
}

func (e *engine) batchGetItem(body []byte) ([]byte, error) {
	var in struct {
		ReturnConsumedCapacity string
		RequestItems           map[string]struct {
			Keys                     []key
			ProjectionExpression     string
			ExpressionAttributeNames map[string]string
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if len(in.RequestItems) != 1 {
		return nil, errors.New("there is one table here")
	}
	var out bytes.Buffer
	for name, asked := range in.RequestItems {
		if len(asked.Keys) < 1 || len(asked.Keys) > 100 {
			return nil, errors.New("a batch has 1 to 100 keys")
		}
		wanted, err := attributes(asked.ProjectionExpression, asked.ExpressionAttributeNames)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, `{"Responses":{%q:`, name)
		var rows []*row
		for _, k := range asked.Keys {
			if row := e.table.get(k.PK.S, k.SK.S); row != nil {
				rows = append(rows, row)
			}
		}
		array(&out, rows, wanted)
		out.WriteString(`},"UnprocessedKeys":{}`)
		capacity(&out, in.ReturnConsumedCapacity, `"ConsumedCapacity":[`+unit(name)+`]`)
	}
	return finish(&out), nil
}

func (e *engine) query(body []byte) ([]byte, error) {
	var in struct {
		TableName, IndexName, KeyConditionExpression, ReturnConsumedCapacity string
		ProjectionExpression                                                 string
		ExpressionAttributeNames                                             map[string]string
		ExpressionAttributeValues                                            map[string]text
		ScanIndexForward                                                     *bool
		Limit                                                                int
		ExclusiveStartKey, FilterExpression                                  json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.KeyConditionExpression != "#pk = :pk AND #sk BETWEEN :low AND :high" || in.ExclusiveStartKey != nil ||
		in.FilterExpression != nil || in.ScanIndexForward != nil && !*in.ScanIndexForward {
		return nil, errors.New("only one kind of Query is implemented here")
	}
	wanted, err := attributes(in.ProjectionExpression, in.ExpressionAttributeNames)
	if err != nil {
		return nil, err
	}
	names, values := in.ExpressionAttributeNames, in.ExpressionAttributeValues
	rows := e.table.between(names["#pk"], names["#sk"], values[":pk"].S, values[":low"].S, values[":high"].S)
	if in.Limit > 0 && len(rows) > in.Limit {
		return nil, errors.New("pages are not implemented here")
	}
	var out bytes.Buffer
	out.WriteString(`{"Items":`)
	array(&out, rows, wanted)
	fmt.Fprintf(&out, `,"Count":%d,"ScannedCount":%d`, len(rows), len(rows))
	capacity(&out, in.ReturnConsumedCapacity, `"ConsumedCapacity":`+unit(in.TableName))
	return finish(&out), nil
}

// transactWriteItems takes what loading writes: puts, updates, checks, and deletes of rows that are not there. Conditions hold, because
// nothing is there before.
func (e *engine) transactWriteItems(body []byte) ([]byte, error) {
	var in struct {
		TransactItems []struct {
			Put                    *struct{ Item json.RawMessage }
			Update                 *update
			ConditionCheck, Delete json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	for _, action := range in.TransactItems {
		switch {
		case action.Put != nil:
			if err := e.table.put(action.Put.Item); err != nil {
				return nil, err
			}
		case action.Update != nil && strings.HasPrefix(action.Update.UpdateExpression, "ADD "): // a count, which no question reads
		case action.Update != nil:
			item, err := action.Update.item()
			if err == nil {
				err = e.table.put(item)
			}
			if err != nil {
				return nil, err
			}
		case action.ConditionCheck == nil && action.Delete == nil:
			return nil, errors.New("only Put, Update, ConditionCheck and Delete are implemented here")
		}
	}
	return []byte("{}"), nil
}

// update is an update of a row that is not there before.
type update struct {
	Key                       map[string]json.RawMessage
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]json.RawMessage
}

// setting is a part of the only kind of expression that is implemented here: #name = :value, or the same where there is none.
var setting = regexp.MustCompile(`(#\w+) = (?:if_not_exists\(#\w+, )?(:\w+)`)

// item returns the row that the update makes.
func (u *update) item() (json.RawMessage, error) {
	item := maps.Clone(u.Key)
	for _, set := range setting.FindAllStringSubmatch(u.UpdateExpression, -1) {
		item[u.ExpressionAttributeNames[set[1]]] = u.ExpressionAttributeValues[set[2]]
	}
	return json.Marshal(item)
}

// createTable remembers what the table is said to be; rows are kept by the indexes of [keyAttributes] in any case.
func (e *engine) createTable(body []byte) ([]byte, error) {
	var description map[string]any
	if err := json.Unmarshal(body, &description); err != nil {
		return nil, err
	}
	description["TableStatus"] = "ACTIVE"
	e.tables.Store(description["TableName"], description)
	return json.Marshal(map[string]any{"TableDescription": description})
}

func (e *engine) describeTable(body []byte) ([]byte, error) {
	var in struct{ TableName string }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	description, ok := e.tables.Load(in.TableName)
	if !ok {
		return nil, exception("ResourceNotFoundException")
	}
	return json.Marshal(map[string]any{"Table": description})
}

func array(out *bytes.Buffer, rows []*row, attributes []string) {
	out.WriteByte('[')
	for i, row := range rows {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(row.projected(attributes))
	}
	out.WriteByte(']')
}

func unit(table string) string {
	return fmt.Sprintf(`{"TableName":%q,"CapacityUnits":1.0}`, table)
}

// capacity adds what was consumed, when it was asked for.
func capacity(out *bytes.Buffer, asked, member string) {
	if asked != "TOTAL" {
		return
	}
	if out.Len() > 1 {
		out.WriteByte(',')
	}
	out.WriteString(member)
}

func finish(out *bytes.Buffer) []byte {
	out.WriteByte('}')
	return out.Bytes()
}
