package httpapi

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/taggie/taggie/internal/telemetry"
)

// Requests of these tests come from 192.0.2.1.
func traced(believed bool, spans *tracetest.InMemoryExporter) func(*Options) {
	return func(o *Options) {
		o.Traces = telemetry.TracesTo(sdktrace.WithSyncer(spans))
		if believed {
			o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}
	}
}

// A request is a span, with its operation below it. What it says itself of traces counts only when a trusted proxy has sent it.
func TestRequestsAreSpans(t *testing.T) {
	const theirs, unsampled = "0af7651916cd43dd8448eb211c80319c", "-00"
	for _, believed := range []bool{false, true} {
		for _, flags := range []string{"-01", unsampled} {
			spans := tracetest.NewInMemoryExporter()
			s := newServer(t, traced(believed, spans))
			a := s.ask(`{ viewer { name } nothing: node(id: "`+adaGID+`") { id } }`, nil, "traceparent", "00-"+theirs+"-b7ad6b7169203331"+flags, "tracestate", "they=wrote", "X-Request-Id", "R1")
			require.Empty(t, a.Errors)
			answered := a.Header().Get("traceparent")
			require.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`, answered)
			assert.Equal(t, believed, answered[3:35] == theirs)
			if believed && flags == unsampled {
				assert.Empty(t, spans.GetSpans(), "the proxy said that it is not recorded")
				assert.NotContains(t, s.log.String(), "trace_id")
				continue
			}
			all := spans.GetSpans()
			request, operation := all[len(all)-1], all[len(all)-2]
			assert.Equal(t, "POST /graphql", request.Name)
			assert.Equal(t, trace.SpanKindServer, request.SpanKind)
			assert.Equal(t, believed, request.Parent.IsValid())
			assert.Empty(t, request.SpanContext.TraceState().String())
			assert.Equal(t, "query", operation.Name)
			assert.Equal(t, request.SpanContext.SpanID(), operation.Parent.SpanID())
			assert.Equal(t, answered, "00-"+request.SpanContext.TraceID().String()+"-"+request.SpanContext.SpanID().String()+"-01")
			for _, below := range all[:len(all)-2] {
				assert.Equal(t, request.SpanContext.TraceID(), below.SpanContext.TraceID(), below.Name)
			}
			assert.Contains(t, s.log.String(), `"request_id":"R1","trace_id":"`+answered[3:35]+`"`)
		}
	}
}

func TestWhatIsNoOperationIsNoSpan(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	s := newServer(t, traced(true, spans))
	for _, path := range []string{"/", "/healthz", "/readyz", "/session", "/metrics"} {
		assert.Empty(t, s.get(path).Header().Get("traceparent"), path)
	}
	assert.Empty(t, spans.GetSpans())
	assert.Empty(t, newServer(t).ask(`{ viewer { name } }`, nil).Header().Get("traceparent"), "there are no traces")
}
