package faultinject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Call is one attempt of the SDK to call DynamoDB.
type Call struct {
	Operation     string   // "BatchGetItem"
	Tables        []string // sorted
	Keys          []Key    // the keys that the request spells out; a Put has its key inside its item
	Writes        int      // rows that the request writes
	Index         string   // of a Query or Scan
	Consistent    bool     // a consistent read (of each table)
	KeyCondition  string   // of a Query, as an expression
	Limit         int      // of a Query or Scan; 0 without
	Body          []byte   // the request as it was sent; not to be changed
	Reached       bool     // the engine received it, perhaps changed by a rule
	NewConnection bool     // a connection was dialled for it
	Status        int      // of the answer; 0 without one
	ErrorCode     string   // "ThrottlingException"; "" when all is well or the connection broke

	start, end int // when the engine worked on it, in ticks of the recorder

	decoded bool // the fields that the body says are set
}

// Key is the primary key of one row.
type Key struct {
	Table      string
	Attributes string // DynamoDB's JSON, attributes in alphabetical order: {"PK":{"S":"a"},"SK":{"S":"b"}}
}

// attributes are those of an item or a key, in DynamoDB's JSON.
type attributes = map[string]json.RawMessage

// spell writes the key; encoding/json sorts the attributes and takes out the white space.
func spell(table string, key attributes) Key {
	text, err := json.Marshal(key)
	if err != nil {
		return Key{Table: table}
	}
	return Key{Table: table, Attributes: string(text)}
}

const target = "DynamoDB_20120810."

// request is the part of all requests that the rules look at.
type request struct {
	TableName              string
	IndexName              string
	KeyConditionExpression string
	ConsistentRead         bool
	Limit                  int
	Key                    attributes
	Item                   attributes
	RequestItems           json.RawMessage
	TransactItems          []map[string]action
}

// action is one entry of a transaction: {"Put": action}.
type action struct {
	TableName string
	Key       attributes
	Item      attributes
}

// asked is what BatchGetItem asks of one table.
type asked struct {
	Keys           []attributes
	ConsistentRead bool
}

// written is one write of BatchWriteItem.
type written struct {
	PutRequest    *struct{ Item attributes }
	DeleteRequest *struct{ Key attributes }
}

// receive reads the request into memory, and does not decode it: most calls are never looked at. It returns no call when the request
// is not one to DynamoDB; its body is then untouched.
func receive(r *http.Request) (*Call, []byte, error) {
	operation, found := strings.CutPrefix(r.Header.Get("X-Amz-Target"), target)
	if !found || r.Body == nil {
		return nil, nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if closed := r.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the request: %w", err)
	}
	return &Call{Operation: operation, Body: body}, body, nil
}

// decode sets the fields that the body says, once: before rules look at the call, else under the lock of the recorder.
func (c *Call) decode() {
	if c.decoded {
		return
	}
	c.decoded = true
	var in request
	if json.Unmarshal(c.Body, &in) == nil { // else the engine says what is wrong with it
		c.read(&in)
	}
}

func (c *Call) read(in *request) {
	c.Index, c.KeyCondition, c.Limit, c.Consistent = in.IndexName, in.KeyConditionExpression, in.Limit, in.ConsistentRead
	tables := map[string]bool{}
	if in.TableName != "" {
		tables[in.TableName] = true
	}
	switch c.Operation {
	case "GetItem":
		c.Keys = append(c.Keys, spell(in.TableName, in.Key))
	case "UpdateItem", "DeleteItem":
		c.Keys = append(c.Keys, spell(in.TableName, in.Key))
		c.Writes = 1
	case "PutItem":
		c.Writes = 1
	case "BatchGetItem":
		var items map[string]asked
		_ = json.Unmarshal(in.RequestItems, &items)
		c.Consistent = len(items) > 0
		for _, table := range slices.Sorted(maps.Keys(items)) {
			tables[table] = true
			c.Consistent = c.Consistent && items[table].ConsistentRead
			for _, key := range items[table].Keys {
				c.Keys = append(c.Keys, spell(table, key))
			}
		}
	case "BatchWriteItem":
		var items map[string][]written
		_ = json.Unmarshal(in.RequestItems, &items)
		for _, table := range slices.Sorted(maps.Keys(items)) {
			tables[table] = true
			for _, w := range items[table] {
				c.Writes++
				if w.DeleteRequest != nil {
					c.Keys = append(c.Keys, spell(table, w.DeleteRequest.Key))
				}
			}
		}
	case "TransactWriteItems", "TransactGetItems":
		for _, entry := range in.TransactItems {
			for verb, a := range entry {
				tables[a.TableName] = true
				if a.Key != nil {
					c.Keys = append(c.Keys, spell(a.TableName, a.Key))
				}
				if verb != "ConditionCheck" && verb != "Get" {
					c.Writes++
				}
			}
		}
	}
	c.Tables = slices.Sorted(maps.Keys(tables))
}

// edit decodes a JSON object, lets f change it, and encodes it again.
func edit(body []byte, f func(map[string]json.RawMessage) error) ([]byte, error) {
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("decode the message: %w", err)
	}
	if err := f(object); err != nil {
		return nil, err
	}
	return encode(object), nil
}

// encode writes what came from JSON, or consists of strings and numbers, and so can be written.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("faultinject: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
