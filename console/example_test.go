package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/taggie/taggie/console"
)

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/", console.Handler(console.Options{}))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
