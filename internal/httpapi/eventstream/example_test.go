package eventstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/httpapi/eventstream"
)

func ExampleStream() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := eventstream.New(w, r)
		defer s.End()
		s.Begin()
		s.Next("7", &graphql.Response{Data: []byte(`{"noteChanges":{"id":"n"}}`)})
		s.Complete(nil)
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Print(string(text), err, "\n")
	// Output:
	// retry: 2000
	//
	// event: next
	// id: 7
	// data: {"data":{"noteChanges":{"id":"n"}}}
	//
	// event: complete
	// data:
	//
	// <nil>
}
