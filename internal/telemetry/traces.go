package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// scope is what our spans say they were made by.
const scope = "github.com/taggie/taggie"

// The headers of W3C Trace Context: a request names the span that it belongs to, and is answered with the span that was made of it.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
)

// Traces begins spans: of requests, and of operations. What an operation asks of stores is added below the span that its context carries, see
// [Metrics]. Spans hold names from our code, numbers and ids of requests, and nothing that a client wrote. A nil Traces begins none.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// tracing are the variables of OpenTelemetry that decide whether and how spans are sent; the SDK reads them and all others itself.
type tracing struct{ disabled, exporter, protocol, endpoint string }

func tracingOf(environ []string) (v tracing) {
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		switch {
		case value == "": // means the same as not set
		case name == "OTEL_SDK_DISABLED":
			v.disabled = strings.ToLower(value)
		case name == "OTEL_TRACES_EXPORTER":
			v.exporter = value
		case name == "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", name == "OTEL_EXPORTER_OTLP_PROTOCOL" && v.protocol == "":
			v.protocol = value
		case name == "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", name == "OTEL_EXPORTER_OTLP_ENDPOINT":
			v.endpoint = value
		}
	}
	return v
}

// NewTraces returns what the standard variables of OpenTelemetry ask for: spans that are sent by OTLP over HTTP when one of the endpoints is
// set, or OTEL_TRACES_EXPORTER is "otlp", and otherwise nil. version is that of the program. What cannot be sent is logged. An error says
// which variable asks for what there is not.
func NewTraces(ctx context.Context, environ []string, version string, log *slog.Logger) (*Traces, error) {
	v := tracingOf(environ)
	switch {
	case v.disabled == "true", v.exporter == "none", v.exporter == "" && v.endpoint == "":
		return nil, nil
	case v.exporter != "" && v.exporter != "otlp":
		return nil, fmt.Errorf(`OTEL_TRACES_EXPORTER is %q: want "otlp" or "none"`, v.exporter)
	case v.protocol != "" && v.protocol != "http/protobuf":
		return nil, fmt.Errorf(`the protocol of OTLP is %q: want "http/protobuf" in OTEL_EXPORTER_OTLP_PROTOCOL`, v.protocol)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err) }))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("taggie"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(uuid.NewString()),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return TracesTo(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about)), nil
}

// TracesTo returns traces with these options of the SDK.
func TracesTo(options ...sdktrace.TracerProviderOption) *Traces {
	provider := sdktrace.NewTracerProvider(options...)
	return &Traces{provider: provider, tracer: provider.Tracer(scope)}
}

// Close sends the spans that have ended and waits for it, no longer than until ctx ends.
func (t *Traces) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Span is the span of a request or an operation; nil where none is made.
type Span struct{ span trace.Span }

// Request begins the span of an HTTP request, which is answered with its traceparent. The span that the request itself names becomes its
// parent, and decides whether it is recorded, only when the request is believed: anybody can write such a header.
func (t *Traces) Request(w http.ResponseWriter, r *http.Request, believed bool) (*http.Request, *Span) {
	if t == nil {
		return r, nil
	}
	ctx := r.Context()
	if believed {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	ctx, span := t.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	answer := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, answer)
	w.Header().Set(HeaderTraceparent, answer[HeaderTraceparent])
	return r.WithContext(ctx), &Span{span}
}

// Answered ends the span of a request. The route is the pattern that the request matched.
func (s *Span) Answered(method, route string, status int, id string) {
	if s == nil || !s.span.IsRecording() {
		return
	}
	s.span.SetName(method + " " + route)
	s.span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.HTTPRoute(route), semconv.HTTPResponseStatusCode(status), attribute.String("taggie.request_id", id))
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Operation begins the span of a GraphQL operation: below that of its request, and a trace of its own on a socket, where each operation is a
// request.
func (t *Traces) Operation(ctx context.Context, operationType string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, operationType)
	if span.IsRecording() {
		span.SetAttributes(semconv.GraphQLOperationTypeKey.String(operationType), attribute.String("taggie.request_id", RequestID(ctx)))
	}
	return ctx, &Span{span}
}

// Ended ends the span of an operation; outcome is "ok" or the code of its first error.
func (s *Span) Ended(outcome string) {
	if s == nil || !s.span.IsRecording() {
		return
	}
	fail(s.span, outcome)
	s.span.End()
}

// fail marks a span whose outcome is not "ok".
func fail(span trace.Span, outcome string) {
	if outcome != "ok" {
		span.SetAttributes(semconv.ErrorTypeKey.String(outcome))
		span.SetStatus(codes.Error, "")
	}
}

// Untraced returns a context whose calls are added to no trace.
func Untraced(ctx context.Context) context.Context {
	if recorded(ctx) == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, nil)
}

// recorded returns the span that ctx carries if it is recorded, else nil: most are not.
func recorded(ctx context.Context) trace.Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return span
	}
	return nil
}

// below adds a span for what took this long until now, below another one.
func below(parent trace.Span, name, outcome string, took time.Duration, attributes ...attribute.KeyValue) {
	ended := time.Now()
	_, span := parent.TracerProvider().Tracer(scope).Start(trace.ContextWithSpan(context.Background(), parent), name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(ended.Add(-took)), trace.WithAttributes(attributes...))
	fail(span, outcome)
	span.End(trace.WithTimestamp(ended))
}

// batch begins the span of a batch of a loader.
func batch(ctx context.Context, loader string, keys int) (context.Context, func()) {
	parent := recorded(ctx)
	if parent == nil {
		return ctx, func() {}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, "load "+loader, trace.WithAttributes(attribute.Int("taggie.loader.keys", keys)))
	return ctx, func() { span.End() }
}
