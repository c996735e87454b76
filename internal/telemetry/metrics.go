package telemetry

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/smithy-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is everything that /metrics tells. Labels take names from our code only, so that their number is bounded.
type Metrics struct {
	registry *prometheus.Registry

	operations       *prometheus.CounterVec
	operationSeconds *prometheus.HistogramVec
	requests         *prometheus.CounterVec
	requestSeconds   *prometheus.HistogramVec
	batchSize        *prometheus.HistogramVec
	dials            *prometheus.CounterVec

	calls       *prometheus.CounterVec
	callSeconds *prometheus.HistogramVec
	capacity    *prometheus.CounterVec
	retries     *prometheus.CounterVec
	throttles   *prometheus.CounterVec
	unprocessed *prometheus.CounterVec

	s3Calls      *prometheus.CounterVec
	s3Seconds    *prometheus.HistogramVec
	redisCalls   *prometheus.CounterVec
	redisSeconds prometheus.Observer

	charged prometheus.Counter
	refused prometheus.Counter

	spansRecorded prometheus.Counter
	spansExported *prometheus.CounterVec

	queues    *queueMetrics
	readUnits readUnits
}

// NewMetrics returns the metrics on a registry of their own, with those of the Go runtime, the process and the build.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// A query takes between one round trip (0.5 ms embedded) and its deadline.
	seconds := prometheus.ExponentialBuckets(0.0005, 2, 15) // … 8.2 s

	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		r.MustRegister(h)
		return h
	}
	return &Metrics{
		registry:         r,
		operations:       counter("taggie_operations_total", "GraphQL operations.", "operation_type", "outcome"),
		operationSeconds: histogram("taggie_operation_duration_seconds", "Time from the parsed operation to its response.", seconds, "operation_type"),
		requests:         counter("taggie_http_requests_total", "HTTP requests.", "route", "method", "code"),
		requestSeconds:   histogram("taggie_http_request_duration_seconds", "Time from the request's header to the end of its response.", seconds, "route"),
		batchSize:        histogram("taggie_loader_batch_size", "Keys in one batch of a loader.", []float64{1, 2, 5, 10, 25, 50, 100, 200, 500}, "loader"),
		dials:            counter("taggie_connections_opened_total", "New connections to a store.", "store"),
		calls:            counter("taggie_dynamodb_calls_total", "Calls to DynamoDB; a call on several tables names them all, joined by a comma.", "table", "operation", "outcome"),
		callSeconds:      histogram("taggie_dynamodb_call_duration_seconds", "Time of a call to DynamoDB with its retries.", seconds, "operation"),
		capacity:         counter("taggie_dynamodb_consumed_capacity_units_total", "Capacity units that DynamoDB reported.", "table", "operation"),
		retries:          counter("taggie_dynamodb_retries_total", "Attempts after the first of a call.", "operation"),
		throttles:        counter("taggie_dynamodb_throttles_total", "Attempts that DynamoDB refused for throttling.", "table", "operation"),
		unprocessed:      counter("taggie_dynamodb_unprocessed_total", "Keys or writes that an answer left unprocessed.", "operation"),
		s3Calls:          counter("taggie_s3_calls_total", "Calls to S3.", "operation", "outcome"),
		s3Seconds:        histogram("taggie_s3_call_duration_seconds", "Time of a call to S3 with its retries, until the head of its answer.", seconds, "operation"),
		redisCalls:       counter("taggie_redis_calls_total", "Calls to Redis. Several commands that are sent together count as one call. Calls that wait for messages and events are not counted.", "outcome"),
		redisSeconds:     histogram("taggie_redis_call_duration_seconds", "Time of a call to Redis.", seconds).WithLabelValues(),
		charged:          counter("taggie_budget_charged_units_total", "Units that callers were charged for operations, refused requests and messages of subscriptions.").WithLabelValues(),
		refused:          counter("taggie_budget_refusals_total", "Requests that were refused because the budget of their caller was spent.").WithLabelValues(),
		spansRecorded:    counter("taggie_spans_recorded_total", "Spans of recorded traces. Spans that were not exported some seconds later were dropped.").WithLabelValues(),
		spansExported:    counter("taggie_spans_exported_total", "Spans that were sent by OTLP (ok), or could not be sent (error).", "outcome"),
		queues:           newQueueMetrics(r),
	}
}

// Clock has asked at each scrape how far this server's clock is ahead of the one that servers share; ahead must not wait.
func (m *Metrics) Clock(ahead func() time.Duration) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "taggie_clock_ahead_seconds", Help: "How far the clock of this server is ahead of that of Redis, or of DynamoDB while Redis does not answer; 2 and more is a warning.",
	}, func() float64 { return ahead().Seconds() }))
}

// Certificate has asked at each scrape when the certificate for TLS expires; expires must not wait.
func (m *Metrics) Certificate(expires func() time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "taggie_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate that is in use for TLS expires, in seconds since 1970.",
	}, func() float64 { return float64(expires().Unix()) }))
}

// Handler serves the metrics in the format that was asked for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Operation counts a GraphQL operation; outcome is "ok" or the code of its first error.
func (m *Metrics) Operation(operationType, outcome string, took time.Duration) {
	m.operations.WithLabelValues(operationType, outcome).Inc()
	m.operationSeconds.WithLabelValues(operationType).Observe(took.Seconds())
}

// HTTPRequest counts a request; route is the pattern it matched, never its path.
func (m *Metrics) HTTPRequest(route, method string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions:
	default:
		method = "other" // a client may send any word as a method
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.requestSeconds.WithLabelValues(route).Observe(took.Seconds())
}

// Batch counts one batch of a loader, and begins its span. The context is for what the batch reads; done ends it.
func (m *Metrics) Batch(ctx context.Context, loader string, keys int) (_ context.Context, done func()) {
	m.batchSize.WithLabelValues(loader).Observe(float64(keys))
	return batch(ctx, loader, keys)
}

// BudgetCharged counts what a caller was charged.
func (m *Metrics) BudgetCharged(units int) { m.charged.Add(float64(units)) }

// BudgetRefused counts a request that was refused because the budget of its caller was spent.
func (m *Metrics) BudgetRefused() { m.refused.Inc() }

// Dialled counts a new connection to a store ("dynamodb", "s3", "redis").
func (m *Metrics) Dialled(store string) { m.dials.WithLabelValues(store).Inc() }

// Call is one call to DynamoDB as its caller sees it: with all its attempts.
type Call struct {
	Operation   string     // "BatchGetItem"
	Tables      []string   // the tables it names, sorted
	Keys        int        // items asked for or written by key; 0 for a Query
	Unprocessed int        // keys or writes that the answer left unprocessed
	Attempts    int        // HTTP requests sent; 0 if none left the server
	Throttled   int        // attempts refused for throttling
	Capacity    []Consumed // what the answer reported, by table
	Took        time.Duration
	Err         error
}

// Consumed is what a call consumed of one table.
type Consumed struct {
	Table string
	Units float64
}

// ObserveCall takes a call into the metrics, and into the tally and the trace that ctx carries. [Metrics.DynamoDB] does so for each call of
// a client; only what bypasses the client calls it itself.
func (m *Metrics) ObserveCall(ctx context.Context, c *Call) {
	TallyFrom(ctx).add(c)
	c.trace(ctx)

	table := strings.Join(c.Tables, ",")
	m.calls.WithLabelValues(table, c.Operation, outcome(c.Err)).Inc()
	m.callSeconds.WithLabelValues(c.Operation).Observe(c.Took.Seconds())
	if c.Attempts > 1 {
		m.retries.WithLabelValues(c.Operation).Add(float64(c.Attempts - 1))
	}
	if c.Throttled > 0 {
		m.throttles.WithLabelValues(table, c.Operation).Add(float64(c.Throttled))
	}
	if c.Unprocessed > 0 {
		m.unprocessed.WithLabelValues(c.Operation).Add(float64(c.Unprocessed))
	}
	for _, consumed := range c.Capacity {
		m.readUnits.add(c.Operation, consumed.Units)
		m.capacity.WithLabelValues(consumed.Table, c.Operation).Add(consumed.Units)
	}
}

// outcome is "ok", the engine's error code, "cancelled", "timeout" or "failed".
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "failed"
}

// throttleCodes are the error codes by which DynamoDB refuses a call for its rate; sorted.
var throttleCodes = []string{"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}

func throttled(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	_, found := slices.BinarySearch(throttleCodes, api.ErrorCode())
	return found
}

// readUnits is a sum that only grows.
type readUnits struct {
	mu  sync.Mutex
	sum float64
}

func (r *readUnits) add(operation string, units float64) {
	switch operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sum += units
	}
}

// ReadUnits returns how many units this server has read of DynamoDB so far.
func (m *Metrics) ReadUnits() float64 {
	m.readUnits.mu.Lock()
	defer m.readUnits.mu.Unlock()
	return m.readUnits.sum
}
