package capacity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// call is a request with what matters of its answer.
type call struct {
	operation string
	body      []byte
	status    int
	in        request
	out       answer
	updated   map[rowKey]item // the rows that were updated, as they are afterwards; nil for one that is not there
}

// request is the part of all requests that matters.
type request struct {
	TableName                 string
	IndexName                 string
	KeyConditionExpression    string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues item
	ConsistentRead            bool
	Key                       item
	Item                      item
	RequestItems              json.RawMessage
	TransactItems             []map[string]action
	ClientRequestToken        string

	asked   map[string]asked     // of BatchGetItem
	written map[string][]written // of BatchWriteItem
}

// action is one entry of a transaction: {"Put": action}.
type action struct {
	TableName string
	Key, Item item
}

type asked struct {
	Keys           []item
	ConsistentRead bool
}

// written is one write of BatchWriteItem.
type written struct {
	PutRequest    *struct{ Item item }
	DeleteRequest *struct{ Key item }
}

// answer is the part of all answers that matters.
type answer struct {
	Type             string               `json:"__type"` // of an error
	ConsumedCapacity json.RawMessage      // one, or a list
	UnprocessedKeys  map[string]asked     // of BatchGetItem
	UnprocessedItems map[string][]written // of BatchWriteItem
}

// consumed is what the engine says of a table.
type consumed struct {
	TableName     string
	CapacityUnits float64
}

// decode reads request and answer. What is not JSON is refused by the engine.
func (c *call) decode(text []byte) {
	_ = json.Unmarshal(c.body, &c.in)
	_ = json.Unmarshal(text, &c.out)
	switch c.operation {
	case "BatchGetItem":
		_ = json.Unmarshal(c.in.RequestItems, &c.in.asked)
	case "BatchWriteItem":
		_ = json.Unmarshal(c.in.RequestItems, &c.in.written)
	}
}

// consumed returns what the engine says that the call took, by full name of the table.
func (c call) consumed() map[string]float64 {
	var all []consumed
	if json.Unmarshal(c.out.ConsumedCapacity, &all) != nil {
		all = make([]consumed, 1)
		if json.Unmarshal(c.out.ConsumedCapacity, &all[0]) != nil {
			return nil
		}
	}
	units := map[string]float64{}
	for _, of := range all {
		units[of.TableName] += of.CapacityUnits
	}
	return units
}

// failed reports whether a condition was not met: what DynamoDB bills all the same.
func (c call) failed() bool {
	return strings.HasSuffix(c.out.Type, "#ConditionalCheckFailedException") || strings.HasSuffix(c.out.Type, "#TransactionCanceledException")
}

// updates returns the keys of the rows that a write updates, by full name of the table.
func (in request) updates(operation string) map[string][]item {
	keys := map[string][]item{}
	if operation == "UpdateItem" {
		keys[in.TableName] = append(keys[in.TableName], in.Key)
	}
	for _, entry := range in.TransactItems {
		if a, is := entry["Update"]; is {
			keys[a.TableName] = append(keys[a.TableName], a.Key)
		}
	}
	return keys
}

// readUpdated reads the rows that a call updated. They are not told by the request, and nobody else writes meanwhile.
func (r *Recorder) readUpdated(of *http.Request, c call) (map[rowKey]item, error) {
	keys := c.in.updates(c.operation)
	if len(keys) == 0 {
		return nil, nil
	}
	wanted := map[string]any{}
	rows := map[rowKey]item{}
	for name, list := range keys {
		wanted[name] = map[string]any{"Keys": list, "ConsistentRead": true}
	}
	body, err := json.Marshal(map[string]any{"RequestItems": wanted})
	if err != nil {
		return nil, fmt.Errorf("ask for updated rows: %w", err)
	}
	response, text, err := r.send(of, "BatchGetItem", body)
	if err != nil {
		return nil, fmt.Errorf("read updated rows: %w", err)
	}
	_ = response.Body.Close() // all of it was read
	var found struct {
		Responses       map[string][]item
		UnprocessedKeys map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &found); err != nil || response.StatusCode != http.StatusOK || len(found.UnprocessedKeys) > 0 {
		return nil, fmt.Errorf("read updated rows: status %d: %w", response.StatusCode, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, items := range found.Responses {
		if t := r.tables[name]; t != nil {
			for _, i := range items {
				rows[t.keyOf(i)] = i
			}
		}
	}
	return rows, nil
}
