package faultinject_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/taggie/taggie/internal/faultinject"
)

// engineOfOneWord stands for the connections to DynamoDB.
type engineOfOneWord struct{}

func (engineOfOneWord) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func ExampleInjector() {
	inj := faultinject.New()
	inj.Throttle(faultinject.Every(2), faultinject.Operation("GetItem"))
	transport := inj.Wrap(engineOfOneWord{}) // awsclient.Options{Wrap: inj.Wrap} does this for the SDK

	for range 3 {
		r, _ := http.NewRequest(http.MethodPost, "http://engine", strings.NewReader(`{"TableName":"notes"}`))
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
		resp, _ := transport.RoundTrip(r)
		_ = resp.Body.Close()
	}
	for _, call := range inj.Recorder().Calls() {
		fmt.Printf("%s %d %q\n", call.Operation, call.Status, call.ErrorCode)
	}
	// Output:
	// GetItem 200 ""
	// GetItem 400 "ProvisionedThroughputExceededException"
	// GetItem 200 ""
}
