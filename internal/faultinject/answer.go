package faultinject

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// answer is what the engine said, or what a rule says in its place.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// response is the answer as HTTP, with the checksum that DynamoDB sends.
func (a *answer) response(r *http.Request) *http.Response {
	header := a.header.Clone()
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10))
	return &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}
}

// ok reports whether the call succeeded.
func (a *answer) ok() bool { return a.status == http.StatusOK }

// errorCode returns the code of an error answer without its name space.
func (a *answer) errorCode() string {
	var e struct {
		Type string `json:"__type"`
	}
	if a.ok() || json.Unmarshal(a.body, &e) != nil {
		return ""
	}
	return e.Type[strings.LastIndexByte(e.Type, '#')+1:]
}

// refuse is an error answer with more fields than its code and message, if given.
func refuse(status int, code, message string, more map[string]any) *answer {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": message}
	for k, v := range more {
		body[k] = v
	}
	return &answer{
		status: status,
		header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"FAULTINJECT"}},
		body:   encode(body),
	}
}

func throttled() *answer {
	return refuse(http.StatusBadRequest, "ProvisionedThroughputExceededException",
		"The level of configured provisioned throughput for the table was exceeded.", nil)
}

const conflictMessage = "Transaction is ongoing for the item"

// cancelled is a cancelled transaction of n actions, of which those in conflict have met another one.
func cancelled(n int, conflict ...int) *answer {
	reasons, codes := make([]map[string]string, n), make([]string, n)
	for i := range n {
		codes[i], reasons[i] = "None", map[string]string{"Code": "None"}
		if slices.Contains(conflict, i) {
			codes[i], reasons[i] = "TransactionConflict", map[string]string{"Code": "TransactionConflict", "Message": conflictMessage}
		}
	}
	return refuse(http.StatusBadRequest, "TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons ["+strings.Join(codes, ", ")+"]",
		map[string]any{"CancellationReasons": reasons})
}
