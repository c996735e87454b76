package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
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
// [Metrics]. Spans hold names from our code, numbers and ids of requests. An id of a request can come from the client (X-Request-Id); nothing else does.
// A nil Traces begins none.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	roots    bool // the parents of others are never believed
}

// What the variables of OpenTelemetry may say here. The SDK reads them itself, and goes on with its defaults where it does not understand them, of
// which one is to record everything.
var tracing = []struct {
	name string
	may  []string
}{
	{"OTEL_TRACES_EXPORTER", []string{"otlp", "none"}},
	{"OTEL_EXPORTER_OTLP_PROTOCOL", []string{"http/protobuf"}},
	{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", []string{"http/protobuf"}},
	{"OTEL_TRACES_SAMPLER", []string{"always_on", "always_off", ratioSampler, "parentbased_always_on", "parentbased_always_off", "parentbased_" + ratioSampler}},
}

const ratioSampler = "traceidratio"

// endpoints are the variables that say where traces go. The exporter would send to a port of this machine if it could not read one.
var endpoints = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// variables returns the variables of OpenTelemetry that are set, or says which asks for what there is not.
func variables(environ []string) (map[string]string, error) {
	set := map[string]string{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); strings.HasPrefix(name, "OTEL_") && value != "" {
			set[name] = value
		}
	}
	if strings.EqualFold(set["OTEL_TRACES_EXPORTER"], "none") {
		return set, nil // nobody looks at the others
	}
	for _, v := range tracing {
		if value, is := set[v.name]; is && !slices.Contains(v.may, strings.ToLower(value)) {
			return nil, fmt.Errorf("%s is %q: want one of %s", v.name, value, strings.Join(v.may, ", "))
		}
	}
	for _, name := range endpoints { // the first one is used
		value, is := set[name]
		if !is {
			continue
		}
		if u, err := url.Parse(value); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, fmt.Errorf("%s is no URL with http or https and a host: want one such as http://collector:4318", name) // the value could have a password
		}
		break
	}
	if value, is := set["OTEL_TRACES_SAMPLER_ARG"]; is && strings.HasSuffix(strings.ToLower(set["OTEL_TRACES_SAMPLER"]), ratioSampler) {
		if ratio, err := strconv.ParseFloat(value, 64); err != nil || ratio < 0 || ratio > 1 {
			return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q: want a number from 0 to 1, such as 0.01", value)
		}
	}
	return set, nil
}

// NewTraces returns what the standard variables of OpenTelemetry ask for: spans that are sent by OTLP over HTTP when one of the endpoints is
// set, or OTEL_TRACES_EXPORTER is "otlp", and otherwise nil. version is that of the program. What cannot be sent is logged, and counted in
// metrics. An error says which variable asks for what there is not.
func NewTraces(ctx context.Context, environ []string, version string, metrics *Metrics, log *slog.Logger) (*Traces, error) {
	if slices.ContainsFunc(environ, func(line string) bool { return strings.EqualFold(line, "OTEL_SDK_DISABLED=true") }) {
		return nil, nil
	}
	set, err := variables(environ)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(set["OTEL_TRACES_EXPORTER"]) {
	case "none":
		return nil, nil
	case "":
		if !slices.ContainsFunc(endpoints, func(name string) bool { return set[name] != "" }) {
			return nil, nil
		}
	}
	otel.SetErrorHandler(&troubles{log: log, now: time.Now})
	otel.SetLogger(logr.New(settings{log}))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.New("traces cannot be sent with these variables of OpenTelemetry") // the text of err could have a password
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("taggie"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(uuid.NewString()),
	), resource.WithFromEnv())
	if err != nil {
		log.WarnContext(ctx, "OTEL_RESOURCE_ATTRIBUTES is not a list of name=value; traces do without what could not be read")
	}
	t := TracesTo(sdktrace.WithSpanProcessor(recording{metrics}), sdktrace.WithBatcher(exporting{exporter, metrics}), sdktrace.WithResource(about))
	t.roots = strings.EqualFold(set["OTEL_PROPAGATORS"], "none")
	return t, nil
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

// recording counts the spans that are to be exported. Those that are neither exported nor failed a few seconds later were dropped, because
// more came than could be sent.
type recording struct{ metrics *Metrics }

// OnStart counts nothing.
func (recording) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd counts a span.
func (r recording) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		r.metrics.spansRecorded.Inc()
	}
}

// Shutdown has nothing to end.
func (recording) Shutdown(context.Context) error { return nil }

// ForceFlush has nothing to send.
func (recording) ForceFlush(context.Context) error { return nil }

// exporting counts what is exported.
type exporting struct {
	sdktrace.SpanExporter
	metrics *Metrics
}

// ExportSpans sends spans.
func (e exporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	e.metrics.spansExported.WithLabelValues(outcome).Add(float64(len(spans)))
	return err
}

// troubleEvery is how often it is logged that traces cannot be sent: each few hundred spans fail again.
const troubleEvery = time.Minute

// troubles logs why traces cannot be sent.
type troubles struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	silent time.Time // until when
	times  int       // since it was last told
}

// Handle is told by the SDK.
func (t *troubles) Handle(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.times++; t.now().Before(t.silent) {
		return
	}
	text := err.Error()
	t.log.Warn("traces could not be sent", "times", t.times, "error", text[:min(len(text), 300)]) // it may have a whole answer in it
	t.silent, t.times = t.now().Add(troubleEvery), 0
}

// settings logs what the SDK says of its settings, without their values: headers have tokens.
type settings struct{ log *slog.Logger }

// Init is told nothing that matters.
func (settings) Init(logr.RuntimeInfo) {}

// Enabled is true for warnings.
func (settings) Enabled(level int) bool { return level <= 1 }

// Info logs a warning.
func (s settings) Info(_ int, message string, _ ...any) { s.log.Warn("traces", "said", message) }

// Error logs an error.
func (s settings) Error(_ error, message string, _ ...any) { s.log.Warn("traces", "said", message) }

// WithValues drops values.
func (s settings) WithValues(...any) logr.LogSink { return s }

// WithName drops the name.
func (s settings) WithName(string) logr.LogSink { return s }

// Span is the span of a request or an operation; nil where none is made.
type Span struct{ span trace.Span }

// Request begins the span of an HTTP request, which is answered with its traceparent. The span that the request itself names becomes its
// parent, and decides whether it is recorded, only when the request is believed: anybody can write such a header. tracestate is not looked at.
func (t *Traces) Request(w http.ResponseWriter, r *http.Request, believed bool) (*http.Request, *Span) {
	if t == nil {
		return r, nil
	}
	ctx := r.Context()
	if believed && !t.roots {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{HeaderTraceparent: r.Header.Get(HeaderTraceparent)})
	}
	ctx, span := t.begin(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	answer := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, answer)
	w.Header().Set(HeaderTraceparent, answer[HeaderTraceparent])
	return r.WithContext(ctx), span
}

// Message begins the span of a message of a socket that brings an operation: there it is what a request is over HTTP.
func (t *Traces) Message(ctx context.Context) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.begin(ctx, "message", trace.WithSpanKind(trace.SpanKindServer))
}

// begin begins the span of a request, which has its id.
func (t *Traces) begin(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, *Span) {
	ctx, span := t.tracer.Start(ctx, name, options...)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("taggie.request_id", RequestID(ctx)))
	}
	return ctx, &Span{span}
}

// Answered ends the span of a request, unless it has ended. The route is the pattern that the request matched.
func (s *Span) Answered(method, route string, status int) {
	if s == nil || !s.span.IsRecording() {
		return
	}
	s.span.SetName(method + " " + route)
	s.span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.HTTPRoute(route), semconv.HTTPResponseStatusCode(status))
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Operation begins the span of a GraphQL operation, below that of its request or message.
func (t *Traces) Operation(ctx context.Context, operationType string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, operationType)
	if span.IsRecording() {
		span.SetAttributes(semconv.GraphQLOperationTypeKey.String(operationType))
	}
	return ctx, &Span{span}
}

// Cancelled is the outcome of what nobody waits for any more.
const Cancelled = "cancelled"

// Ended ends the span of an operation, unless it has ended; outcome is "ok", [Cancelled] or the code of its first error.
func (s *Span) Ended(outcome string) {
	if s == nil || !s.span.IsRecording() {
		return
	}
	fail(s.span, outcome)
	s.span.End()
}

// fail marks a span whose outcome is not "ok". To be cancelled is no error.
func fail(span trace.Span, outcome string) {
	switch outcome {
	case "ok":
	case Cancelled:
		span.SetAttributes(attribute.Bool("taggie.cancelled", true))
	default:
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
