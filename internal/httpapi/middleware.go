package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/viewer"
)

const headerRequestID = "X-Request-Id"

// recorder remembers what was answered, for the log.
type recorder struct {
	http.ResponseWriter
	status    int
	operation string     // its type; the name is the client's own text and stays out of logs
	code      string     // of the first error
	began     *time.Time // of a stream of events, when it began
	ended     string     // why it ended before its operation did
	span      *telemetry.Span
}

// WriteHeader remembers the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
		r.ResponseWriter = uncompressed(r.ResponseWriter)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write remembers that a status was sent by the way.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// observe is the outermost handler: it gives the request an id, counts and logs it, and survives panics.
func observe(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, level := time.Now(), o.Requests.Level()
		id := requestID(r.Header.Get(headerRequestID))
		w.Header().Set(headerRequestID, id)
		r = r.WithContext(telemetry.WithRequestID(r.Context(), id))
		rec := &recorder{ResponseWriter: w}
		if r.URL.Path == o.PathPrefix+"/graphql" && !forSocket(r) { // the messages of a socket have spans of their own
			r, rec.span = o.Traces.Request(w, r, caller.Proxies(o.TrustedProxies).Sent(r))
		}
		defer func() {
			if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // net/http documents this very value
				panic(p)
			} else if p != nil {
				o.Log.ErrorContext(r.Context(), "panic", "route", r.Pattern, "error", fmt.Sprint(p), "stack", string(debug.Stack()))
				if rec.status == 0 {
					writeError(rec, r, http.StatusInternalServerError, fmt.Errorf("panic: %v", p))
				}
			}
			took := time.Since(start)
			status := rec.status
			if status == 0 {
				status = http.StatusOK // what net/http sends for a handler that wrote nothing
			}
			route := r.Pattern // never the path: paths and query strings are the client's text
			if route == "" {
				route = "none"
			}
			answered := took
			if rec.began != nil {
				answered = rec.began.Sub(start) // how long a stream goes on says nothing about the server
			}
			o.Metrics.HTTPRequest(route, r.Method, status, answered)
			rec.span.Answered(knownMethod(r.Method), route, status)
			if route != "/graphql" && route != "/session" {
				level = slog.LevelDebug
			}
			attrs := []slog.Attr{
				slog.String("method", knownMethod(r.Method)), slog.String("route", route), slog.Int("status", status),
				slog.Duration("took", took),
			}
			if rec.operation != "" {
				attrs = append(attrs, slog.String("operation", rec.operation))
			}
			if rec.code != "" {
				attrs = append(attrs, slog.String("outcome", rec.code))
			}
			if rec.ended != "" {
				attrs = append(attrs, slog.String("ended", rec.ended))
			}
			o.Log.LogAttrs(r.Context(), level, "request", attrs...)
		}()
		next.ServeHTTP(rec, r)
	})
}

func knownMethod(method string) string {
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions}, method) {
		return method
	}
	return "other"
}

// requestID returns the id that came with the request if it is fit for logs, and a new one otherwise.
func requestID(given string) string {
	fit := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._-", c)
	}
	if given == "" || len(given) > 64 || strings.ContainsFunc(given, func(c rune) bool { return !fit(c) }) {
		return rand.Text()
	}
	return given
}

// plain sets the headers of answers that are data for programs.
func plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// only refuses all methods but those given.
func only(next http.Handler, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			writeError(w, r, http.StatusMethodNotAllowed, refusal.Of(model.ErrorCodeBadRequest, "this address answers %s only", strings.Join(methods, " and ")))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// crossOrigin answers preflight requests. Without a list no other origin may read anything, and pages of our own need no
// leave. No origin may send credentials: tokens travel in a header that a page sets itself.
func crossOrigin(origins []string, next http.Handler) http.Handler {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if allowed := w.Header().Get("Access-Control-Allow-Origin"); allowed != "" {
			w.Header().Set("Timing-Allow-Origin", allowed)
		}
		if r.Method == http.MethodOptions {
			w.Header().Set("Allow", request.Methods)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
	return cors.New(cors.Options{
		// A function, because rs/cors takes an asterisk in a list for a pattern, and an empty list for every origin.
		AllowOriginFunc: func(origin string) bool { return slices.Contains(origins, origin) },
		AllowedMethods:  []string{http.MethodGet, http.MethodPost},
		AllowedHeaders:  []string{"Authorization", "Content-Type", request.HeaderExtensions, headerLastEventID, headerRequestID, telemetry.HeaderTraceparent, telemetry.HeaderTracestate},
		ExposedHeaders:  []string{headerRequestID, telemetry.HeaderTraceparent},
		MaxAge:          600,
	}).Handler(h)
}

// signedIn finds out who is asking. Without a token that is nobody, who may still ask what is public, such as the schema.
func (a api) signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		v, err := a.signIn.Identify(r.Context(), r.Header.Values("Authorization"), caller.Proxies(a.options.TrustedProxies).Network(r))
		timed(w.Header(), "sign-in", time.Since(start))
		if err == nil {
			next.ServeHTTP(w, r.WithContext(viewer.With(r.Context(), v)))
			return
		}
		refuseSignIn(w, r, err)
	})
}

// refuseSignIn answers a request of which it is not known who sends it.
func refuseSignIn(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case fault.Is(err, fault.Unauthenticated):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	case fault.Is(err, fault.Unavailable), errors.Is(err, context.DeadlineExceeded):
		w.Header().Set("Retry-After", "1")
	}
	writeError(w, r, 0, err)
}

// solvent refuses requests of callers who have overdrawn before they are read.
func solvent(run *execution.Runner, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := run.Solvent(r.Context())
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		refused := gqlerror.Wrap(err)
		w.Header().Set("Connection", "close") // rather than read the body
		writeError(w, r, statusOfLimit(w.Header(), gqlerror.List{refused}), refused)
	})
}

// thisMachine refuses requests that name another host than this machine: a page whose name was made to resolve to
// 127.0.0.1 (DNS rebinding) is of the same origin to the browser, but cannot hide its name.
func thisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			w.Header().Set("Cache-Control", "no-store")
			writeError(w, r, http.StatusForbidden, refusal.Of(model.ErrorCodeForbidden, "this server answers only as localhost, 127.0.0.1 or [::1]"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback reports whether a Host header names this machine.
func loopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}
