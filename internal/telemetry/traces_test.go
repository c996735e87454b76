package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func recordedTraces() (*Traces, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	return TracesTo(sdktrace.WithSyncer(spans)), spans
}

func TestVariablesDecideWhetherThereAreTraces(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c"
	for environ, want := range map[string]string{
		"":                             "off",
		"OTEL_SERVICE_NAME=a":          "off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=": "off",
		endpoint:                       "on",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/v1/traces": "on",
		"OTEL_TRACES_EXPORTER=OTLP":                             "on",
		endpoint + "\nOTEL_TRACES_EXPORTER=none":                "off",
		"OTEL_TRACES_EXPORTER=none\nOTEL_EXPORTER_OTLP_ENDPOINT=collector:4317\nOTEL_EXPORTER_OTLP_PROTOCOL=grpc": "off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317\nOTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/v1/traces":       "on",
		"OTEL_EXPORTER_OTLP_ENDPOINT= ":                       "off",
		endpoint + "\nOTEL_SDK_DISABLED=TRUE":                 "off",
		"OTEL_TRACES_EXPORTER=zipkin\nOTEL_SDK_DISABLED=true": "off",
		endpoint + "\nOTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\nOTEL_TRACES_SAMPLER=parentbased_traceidratio\nOTEL_TRACES_SAMPLER_ARG=0.01": "on",
		"OTEL_TRACES_EXPORTER=zipkin":                                                     `OTEL_TRACES_EXPORTER is "zipkin": want one of otlp, none`,
		endpoint + "\nOTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc":                            `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "grpc": want one of http/protobuf`,
		endpoint + "\nOTEL_TRACES_SAMPLER=ratio":                                          `OTEL_TRACES_SAMPLER is "ratio": want one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318":                                      "OTEL_EXPORTER_OTLP_ENDPOINT is no URL with http or https and a host: want one such as http://collector:4318",
		endpoint + "\nOTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://a:b:hunter2@%":            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no URL with http or https and a host: want one such as http://collector:4318",
		endpoint + "\nOTEL_TRACES_SAMPLER=TraceIdRatio\nOTEL_TRACES_SAMPLER_ARG=1%":       `OTEL_TRACES_SAMPLER_ARG is "1%": want a number from 0 to 1, such as 0.01`,
		endpoint + "\nOTEL_TRACES_SAMPLER=parentbased_always_on\nOTEL_TRACES_SAMPLER_ARG": "on",
	} {
		traces, err := NewTraces(t.Context(), strings.Split(environ, "\n"), "v1", NewMetrics(), slog.New(slog.DiscardHandler))
		switch want {
		case "off", "on":
			require.NoError(t, err, environ)
			assert.Equal(t, want == "on", traces != nil, environ)
			require.NoError(t, traces.Close(t.Context()))
		default:
			require.EqualError(t, err, want)
		}
	}
}

// The SDK would print headers that it cannot read, which have tokens, and a line for each few hundred spans.
func TestWhatTheSDKSaysIsLoggedWithoutValuesAndRarely(t *testing.T) {
	var logged strings.Builder
	log, err := NewLogger(&logged, "text", "warn")
	require.NoError(t, err)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer hunter2")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "shown")
	traces, err := NewTraces(t.Context(), []string{"OTEL_TRACES_EXPORTER=otlp"}, "v1", NewMetrics(), log)
	require.NoError(t, err)
	require.NoError(t, traces.Close(t.Context()))
	assert.Contains(t, logged.String(), "level=WARN msg=traces said=")
	assert.Contains(t, logged.String(), "OTEL_RESOURCE_ATTRIBUTES is not a list")
	assert.NotContains(t, logged.String(), "hunter2")

	logged.Reset()
	now := time.Now()
	told := troubles{log: log, now: func() time.Time { return now }}
	for range 100 {
		told.Handle(errors.New(strings.Repeat("x", 1_000)))
	}
	now = now.Add(troubleEvery)
	told.Handle(errors.New("away"))
	assert.Equal(t, 2, strings.Count(logged.String(), "msg=\"traces could not be sent\""))
	assert.Contains(t, logged.String(), "times=100 error=away")
	assert.NotContains(t, logged.String(), strings.Repeat("x", 301))
}

// An operator sees when spans are lost, though requests go on.
func TestSpansThatAreNotSentAreCounted(t *testing.T) {
	broken := false
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	for _, broken = range []bool{false, true} {
		metrics := NewMetrics()
		traces, err := NewTraces(t.Context(), os.Environ(), "v1", metrics, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		for range 3 {
			_, span := traces.Operation(t.Context(), "query")
			span.Ended("ok")
		}
		_ = traces.Close(t.Context())
		assert.Equal(t, 3.0, testutil.ToFloat64(metrics.spansRecorded))
		assert.Equal(t, map[bool]float64{false: 3, true: 0}[broken], testutil.ToFloat64(metrics.spansExported.WithLabelValues("ok")))
		assert.Equal(t, map[bool]float64{false: 0, true: 3}[broken], testutil.ToFloat64(metrics.spansExported.WithLabelValues("error")))
	}
}

// What stores are asked becomes spans below that of the operation, with when it was, and whether it failed.
func TestCallsAreSpansOfTheirOperation(t *testing.T) {
	traces, spans := recordedTraces()
	m := NewMetrics()
	message, received := traces.Message(WithRequestID(t.Context(), "R1"))
	ctx, operation := traces.Operation(message, "query")
	within, done := m.Batch(ctx, "users", 37)
	began := time.Now()
	m.ObserveCall(within, &Call{
		Operation: "BatchGetItem", Tables: []string{"notes", "users"}, Keys: 37, Attempts: 3, Throttled: 1, Unprocessed: 2, Took: time.Second,
		Capacity: []Consumed{{"notes", 1.5}, {"users", 0.5}}, Err: context.DeadlineExceeded,
	})
	done()
	hook := redisHook{dialHook{m}}.ProcessHook(func(context.Context, redis.Cmder) error { return redis.Nil })
	_ = hook(WithScript(ctx, "reserve items"), redis.NewCmd(ctx, "evalsha", "0123", 1, "a key with the name of a user"))
	_ = hook(ctx, redis.NewCmd(ctx, "get", "a key"))
	operation.Ended("NOT_FOUND")
	operation.Ended("ok") // it has ended
	received.Ended(Cancelled)
	m.ObserveCall(ctx, &Call{Operation: "Query", Attempts: 1}) // what comes after the end belongs to nothing

	all := map[string]tracetest.SpanStub{}
	for _, s := range spans.GetSpans() {
		all[s.Name] = s
	}
	require.Len(t, all, 6)
	query, batch, call := all["query"], all["load users"], all["BatchGetItem"]
	assert.Equal(t, query.SpanContext.SpanID(), batch.Parent.SpanID())
	assert.Equal(t, batch.SpanContext.SpanID(), call.Parent.SpanID())
	assert.Equal(t, query.SpanContext.SpanID(), all["reserve items"].Parent.SpanID())
	assert.Equal(t, query.SpanContext.SpanID(), all["get"].Parent.SpanID())
	assert.Equal(t, time.Second, call.EndTime.Sub(call.StartTime))
	assert.WithinDuration(t, began, call.EndTime, time.Minute)
	assert.Equal(t, map[string]any{
		"db.system.name": "aws.dynamodb", "db.operation.name": "BatchGetItem", "aws.dynamodb.table_names": []string{"notes", "users"},
		"taggie.dynamodb.keys": int64(37), "taggie.dynamodb.consumed_capacity": 2.0, "taggie.dynamodb.retries": int64(2), "taggie.dynamodb.throttled": int64(1),
		"taggie.dynamodb.unprocessed": int64(2), "error.type": "timeout",
	}, attributesOf(call))
	assert.Equal(t, map[string]any{"graphql.operation.type": "query", "error.type": "NOT_FOUND"}, attributesOf(query))
	assert.Equal(t, map[string]any{"taggie.request_id": "R1", "taggie.cancelled": true}, attributesOf(all["message"]))
	assert.Equal(t, codes.Unset, all["message"].Status.Code)
	assert.Equal(t, codes.Error, query.Status.Code)
	assert.Equal(t, codes.Unset, all["get"].Status.Code, "there is nothing, which is an answer")
	assert.Equal(t, map[string]any{"db.system.name": "redis", "db.operation.name": "reserve items", "taggie.redis.commands": int64(1)}, attributesOf(all["reserve items"]))
}

func attributesOf(s tracetest.SpanStub) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// Without traces everything works, and for a request that is not recorded the calls of stores add nothing.
func TestNoSpansCostNothing(t *testing.T) {
	var none *Traces
	unsampled := TracesTo(sdktrace.WithSampler(sdktrace.NeverSample()))
	without, span := unsampled.Operation(t.Context(), "query")
	span.Ended("ok")
	call := &Call{Operation: "Query", Tables: []string{"notes"}, Attempts: 1}
	for _, ctx := range []context.Context{t.Context(), without} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			ctx, span := none.Operation(ctx, "query")
			span.Ended("ok")
			_, done := batch(ctx, "users", 1)
			done()
			call.trace(Untraced(WithScript(ctx, "reserve items")))
		}))
	}
	r := httptest.NewRequest("GET", "/graphql", nil)
	w := httptest.NewRecorder()
	same, span := none.Request(w, r, true)
	span.Answered("GET", "/graphql", 200)
	assert.Same(t, r, same)
	assert.Empty(t, w.Header())
}

// BenchmarkTraces is a request with an operation, two batches and four calls.
func BenchmarkTraces(b *testing.B) {
	for name, traces := range map[string]*Traces{
		"off": nil, "unsampled": TracesTo(sdktrace.WithSampler(sdktrace.NeverSample())), "recorded": TracesTo(),
	} {
		b.Run(name, func(b *testing.B) {
			call := &Call{Operation: "Query", Tables: []string{"notes"}, Attempts: 1}
			for b.Loop() {
				r, request := traces.Request(httptest.NewRecorder(), httptest.NewRequest("POST", "/graphql", nil), false)
				ctx, operation := traces.Operation(r.Context(), "query")
				for range 2 {
					within, done := batch(ctx, "users", 1)
					call.trace(within)
					call.trace(within)
					done()
				}
				operation.Ended("ok")
				request.Answered("POST", "/graphql", 200)
			}
		})
	}
}
