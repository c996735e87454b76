package telemetry

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

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
	for environ, want := range map[string]string{
		"":                                     "off",
		"OTEL_SERVICE_NAME=a":                  "off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=":         "off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c": "on",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/v1/traces": "on",
		"OTEL_TRACES_EXPORTER=otlp":                             "on",
		"OTEL_TRACES_EXPORTER=none":                             "off",
		"OTEL_TRACES_EXPORTER=zipkin":                           `OTEL_TRACES_EXPORTER is "zipkin": want "otlp" or "none"`,
	} {
		for further, instead := range map[string]string{
			"": "", "OTEL_SDK_DISABLED=true": "off", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf": "",
			"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc": `the protocol of OTLP is "grpc": want "http/protobuf" in OTEL_EXPORTER_OTLP_PROTOCOL`,
		} {
			want := want
			if instead == "off" || want == "on" && instead != "" {
				want = instead
			}
			traces, err := NewTraces(t.Context(), []string{environ, further}, "v1", slog.New(slog.DiscardHandler))
			switch want {
			case "off", "on":
				require.NoError(t, err, "%s %s", environ, further)
				assert.Equal(t, want == "on", traces != nil, "%s %s", environ, further)
				require.NoError(t, traces.Close(t.Context()))
			default:
				require.EqualError(t, err, want)
			}
		}
	}
}

// What stores are asked becomes spans below that of the operation, with when it was, and whether it failed.
func TestCallsAreSpansOfTheirOperation(t *testing.T) {
	traces, spans := recordedTraces()
	m := NewMetrics()
	ctx, operation := traces.Operation(WithRequestID(t.Context(), "R1"), "query")
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
	m.ObserveCall(ctx, &Call{Operation: "Query", Attempts: 1}) // what comes after the end belongs to nothing

	all := map[string]tracetest.SpanStub{}
	for _, s := range spans.GetSpans() {
		all[s.Name] = s
	}
	require.Len(t, all, 5)
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
	assert.Equal(t, map[string]any{"graphql.operation.type": "query", "taggie.request_id": "R1", "error.type": "NOT_FOUND"}, attributesOf(query))
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

// Without traces, and for a request that is not recorded, everything works and nothing is allocated for spans.
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
	span.Answered("GET", "/graphql", 200, "R1")
	assert.Same(t, r, same)
	assert.Empty(t, w.Header())
}
