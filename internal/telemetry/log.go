// Package telemetry keeps the server's logs, its metrics and the tally of one response.
//
// It knows slog, Prometheus and how to watch clients of stores. It must not know the domain: what it counts has a
// name from our code (an operation, a table, a loader), never from a client's input.
//
// What may be logged: ids (of requests, users, notes), names of operations and tables, sizes, durations, kinds of faults
// and the text of internal errors. What may not: names, e-mail addresses, titles, contents, tags, tokens, query
// variables and request bodies. [NewLogger] blanks attributes that carry such names, as a second line of defence only.
//
// Start reading at [NewLogger], [Metrics] and [Tally].
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// NewLogger returns a logger that writes "text" or "json" lines of the given level ("debug", "info", "warn", "error") and above,
// each with the request id of its context.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: blankPersonal}
	switch format {
	case "text":
		return slog.New(requestIDs{slog.NewTextHandler(w, options)}), nil
	case "json":
		return slog.New(requestIDs{slog.NewJSONHandler(w, options)}), nil
	}
	return nil, fmt.Errorf("log format %q: want text or json", format)
}

// personal names attributes that hold what belongs to a person; blank must be sorted.
var personal = []string{"authorization", "body", "content", "cookie", "email", "name", "tag", "title", "token", "variables"}

func blankPersonal(_ []string, a slog.Attr) slog.Attr {
	if _, found := slices.BinarySearch(personal, strings.ToLower(a.Key)); found {
		return slog.String(a.Key, "[blank]")
	}
	return a
}

type requestID struct{}

// WithRequestID returns a context whose log lines carry the request id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestID{}, id)
}

// RequestID returns the request id that ctx carries, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestID{}).(string)
	return id
}

// requestIDs adds the request id to each line, and the id of the trace when the request is recorded in one.
type requestIDs struct{ slog.Handler }

func (h requestIDs) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h requestIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestIDs{h.Handler.WithAttrs(attrs)}
}

func (h requestIDs) WithGroup(name string) slog.Handler {
	return requestIDs{h.Handler.WithGroup(name)}
}
