package capacity

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Recorder counts what requests to DynamoDB consume. It must see all requests to its tables, those that create them included. Writes go
// one after the other, so that it knows each row as it was before and is after.
//
// It counts as DynamoDB bills:
//   - a read of a row takes a unit for each started 4 KB, half of it where it is eventually consistent, twice in a transaction; a
//     row that is not there counts as one of 4 KB;
//   - a Query or Scan takes what the engine says, which has looked at the rows;
//   - a write of a row takes a unit for each started KB of the larger of the rows before and after, twice in a transaction, also for a
//     condition that is only checked, and also where a condition fails;
//   - a global index takes a unit for each started KB of what it has of the row, if that changes, and for the entry that goes where the
//     key of the index changes: never twice, because DynamoDB writes it after the transaction. A local index is part of the transaction;
//   - a transaction that was carried out before, with the same token, takes two read units for each started 4 KB;
//   - a read takes nothing that the server gave up before it was answered.
//
// All methods may be called while requests are in flight.
type Recorder struct {
	prefix  string // of the tables
	base    http.RoundTripper
	writing sync.Mutex

	mu     sync.Mutex
	tables map[string]*table // by full name
	rows   map[rowKey]*row
	used   Usage
	tokens map[string]bool // of the transactions that were carried out
	doubts map[string]int  // what could not be counted, and how often
	apart  map[string]int  // by operation: how often the engine tells other units for the table
}

// NewRecorder returns a recorder for tables that are still to be created, and whose names have the prefix.
func NewRecorder(prefix string) *Recorder {
	return &Recorder{prefix: prefix, tables: map[string]*table{}, rows: map[rowKey]*row{}, tokens: map[string]bool{},
		used: Usage{Units: map[Key]Units{}, Calls: map[string]int{}, Rows: map[Key]string{}}, doubts: map[string]int{}, apart: map[string]int{}}
}

// Wrap puts the recorder in front of the transport to the engine; one recorder wraps one transport.
func (r *Recorder) Wrap(base http.RoundTripper) http.RoundTripper {
	r.base = base
	return roundTripper(r.roundTrip)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Usage returns what was consumed so far.
func (r *Recorder) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used.clone()
}

// Doubts returns what could not be counted, and how often: empty if all that was consumed is known.
func (r *Recorder) Doubts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.doubts)
}

// Apart returns, by operation, how often the engine told other units for a table than the recorder counted for it and its indexes.
func (r *Recorder) Apart() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.apart)
}

const target = "DynamoDB_20120810."

var writes = []string{"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}

func (r *Recorder) roundTrip(request *http.Request) (*http.Response, error) {
	operation, found := strings.CutPrefix(request.Header.Get("X-Amz-Target"), target)
	if !found || request.Body == nil {
		return r.base.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err = errors.Join(err, request.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if slices.Contains(writes, operation) {
		r.writing.Lock()
		defer r.writing.Unlock()
		if err := request.Context().Err(); err != nil { // it was given up while it waited
			return nil, err
		}
	}
	response, answer, err := r.send(request, operation, body)
	if err != nil {
		if slices.Contains(writes, operation) { // perhaps it was carried out
			r.doubt(operation + " without an answer")
		}
		return nil, err
	}
	c := call{operation: operation, body: body, status: response.StatusCode}
	c.decode(answer)
	if c.status == http.StatusOK && slices.Contains(writes, operation) {
		if c.updated, err = r.readUpdated(request, c); err != nil {
			r.doubt(operation + ": " + err.Error())
		}
	}
	r.count(c)
	return response, nil
}

// send sends a request with a body, and reads all of its answer.
func (r *Recorder) send(request *http.Request, operation string, body []byte) (*http.Response, []byte, error) {
	request = request.Clone(request.Context())
	request.Header.Set("X-Amz-Target", target+operation)
	request.Header.Set("Content-Length", strconv.Itoa(len(body)))
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response, err := r.base.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	answer, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	return response, answer, nil
}

func (r *Recorder) doubt(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubts[what]++
}
