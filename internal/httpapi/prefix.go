package httpapi

import (
	"fmt"
	"net/http"
	"strings"
)

// below serves routes below a path, for proxies that pass on requests as they are. Programs that ask the server past the proxy know nothing of it:
// /healthz and /readyz stay where they are, too, and /metrics is only there, so that nobody reaches it through the proxy. The routes do not
// learn of the path, nor do metrics and logs.
func below(prefix string, routes http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, routes)
	}
	mux.HandleFunc(prefix+"/", func(w http.ResponseWriter, outside *http.Request) {
		http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Pattern = ""
			defer func() { outside.Pattern = r.Pattern }()
			if r.URL.Path == "/metrics" {
				http.NotFound(w, r)
				return
			}
			routes.ServeHTTP(w, r)
		})).ServeHTTP(w, outside)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, fmt.Sprintf("There is no such page. Everything is below %s/.", prefix), http.StatusNotFound)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r)
		if strings.HasPrefix(r.Pattern, prefix+"/") { // it was redirected, or spelled otherwise: no route has seen it
			r.Pattern = ""
		}
	})
}
