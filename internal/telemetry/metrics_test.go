package telemetry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script answers each request to the engine by the next of its answers.
type script struct {
	answers  []string // JSON; one with __type has status 400
	requests int
}

func (s *script) Do(*http.Request) (*http.Response, error) {
	body := s.answers[s.requests]
	s.requests++
	if body == "reset" {
		return nil, errors.New("connection reset by peer")
	}
	status := http.StatusOK
	if strings.Contains(body, "__type") {
		status = http.StatusBadRequest
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func client(m *Metrics, engine aws.HTTPClient) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String("http://engine"), HTTPClient: engine,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		APIOptions:  []func(*middleware.Stack) error{m.DynamoDB()},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		}),
	})
}

func key(pk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}}
}

const throttling = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`

func TestCallsAreTallied(t *testing.T) {
	m, engine := NewMetrics(), &script{answers: []string{
		`{"ConsumedCapacity":[{"TableName":"notes","CapacityUnits":1.5},{"TableName":"users","CapacityUnits":0.5}],
		  "UnprocessedKeys":{"notes":{"Keys":[{"PK":{"S":"b"}}]}}}`,
		throttling, "reset", `{"ConsumedCapacity":{"TableName":"notes","CapacityUnits":2}}`,
		`{"__type":"x#ConditionalCheckFailedException"}`,
	}}
	db := client(m, engine)
	ctx, tally := WithTally(t.Context())

	_, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"users": {Keys: []map[string]types.AttributeValue{key("u")}},
		"notes": {Keys: []map[string]types.AttributeValue{key("a"), key("b")}},
	}})
	require.NoError(t, err)
	_, err = db.Query(ctx, &dynamodb.QueryInput{TableName: aws.String("notes"), KeyConditionExpression: aws.String("PK = :p")})
	require.NoError(t, err)
	_, err = db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("notes"), Item: key("a")}},
		{Delete: &types.Delete{TableName: aws.String("users"), Key: key("b")}},
	}})
	require.Error(t, err)

	spent := tally.Snapshot()
	assert.Equal(t, Spent{
		Calls: 3, Operations: map[string]int{"BatchGetItem": 1, "Query": 1, "TransactWriteItems": 1},
		Keys: 5, Retries: 2, Throttled: 1, Unprocessed: 1, Failed: 1, Capacity: 4,
	}, spent)
	assert.Equal(t, engine.requests, spent.Calls+spent.Retries, "what is counted is what reached the engine")

	value := testutil.ToFloat64
	assert.EqualValues(t, 1, value(m.calls.WithLabelValues("notes,users", "BatchGetItem", "ok")))
	assert.EqualValues(t, 1, value(m.calls.WithLabelValues("notes", "Query", "ok")))
	assert.EqualValues(t, 1, value(m.calls.WithLabelValues("notes,users", "TransactWriteItems", "ConditionalCheckFailedException")))
	assert.EqualValues(t, 0.5, value(m.capacity.WithLabelValues("users", "BatchGetItem")))
	assert.EqualValues(t, 2, value(m.capacity.WithLabelValues("notes", "Query")))
	assert.EqualValues(t, 2, value(m.retries.WithLabelValues("Query")))
	assert.EqualValues(t, 1, value(m.throttles.WithLabelValues("notes", "Query")))
	assert.EqualValues(t, 1, value(m.unprocessed.WithLabelValues("BatchGetItem")))
}

func TestCallThatWasNeverSentCostsNothing(t *testing.T) {
	m, engine := NewMetrics(), &script{}
	ctx, tally := WithTally(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err := client(m, engine).GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("notes"), Key: key("a")})
	require.ErrorIs(t, err, context.Canceled)
	_, err = client(m, engine).GetItem(t.Context(), &dynamodb.GetItemInput{})
	require.Error(t, err, "refused by the SDK's own validation")
	assert.Zero(t, tally.Snapshot())
	assert.Zero(t, engine.requests)
	assert.EqualValues(t, 1, testutil.ToFloat64(m.calls.WithLabelValues("notes", "GetItem", "cancelled")))
}

func TestTallyIsOfOneResponse(t *testing.T) {
	ctx, a := WithTally(t.Context())
	other, b := WithTally(t.Context())
	m := NewMetrics()
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			m.ObserveCall(ctx, &Call{Operation: "Query", Attempts: 1, Capacity: []Consumed{{"notes", 0.5}}})
		})
	}
	calls.Wait()
	m.ObserveCall(other, &Call{Operation: "GetItem", Attempts: 1, Keys: 1})
	assert.Equal(t, Spent{Calls: 50, Operations: map[string]int{"Query": 50}, Capacity: 25}, a.Snapshot())
	assert.Equal(t, Spent{Calls: 1, Operations: map[string]int{"GetItem": 1}, Keys: 1}, b.Snapshot())
	assert.Same(t, a, TallyFrom(ctx))

	assert.Nil(t, TallyFrom(t.Context()))
	assert.Zero(t, TallyFrom(t.Context()).Snapshot(), "no tally counts nothing")
	m.ObserveCall(t.Context(), &Call{Operation: "Query", Attempts: 1})
}

func TestSnapshotDoesNotChange(t *testing.T) {
	ctx, tally := WithTally(t.Context())
	m := NewMetrics()
	m.ObserveCall(ctx, &Call{Operation: "Query", Attempts: 1})
	before := tally.Snapshot()
	m.ObserveCall(ctx, &Call{Operation: "Query", Attempts: 1})
	assert.Equal(t, 1, before.Operations["Query"])
}

func TestHandlerTellsEverything(t *testing.T) {
	m := NewMetrics()
	m.Operation("query", "ok", time.Millisecond)
	m.HTTPRequest("/graphql", http.MethodPost, 200, time.Millisecond)
	m.HTTPRequest("/graphql", "ANYTHING-A-CLIENT-SENDS", 405, time.Millisecond)
	_, done := m.Batch(t.Context(), "user", 37)
	done()
	m.Dialled("dynamodb")
	m.ObserveCall(t.Context(), &Call{Operation: "Query", Tables: []string{"notes"}, Attempts: 1, Err: context.DeadlineExceeded})

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body := w.Body.String()
	for _, line := range []string{
		`taggie_operations_total{operation_type="query",outcome="ok"} 1`,
		`taggie_operation_duration_seconds_count{operation_type="query"} 1`,
		`taggie_http_requests_total{code="200",method="POST",route="/graphql"} 1`,
		`taggie_http_requests_total{code="405",method="other",route="/graphql"} 1`,
		`taggie_loader_batch_size_bucket{loader="user",le="50"} 1`,
		`taggie_connections_opened_total{store="dynamodb"} 1`,
		`taggie_dynamodb_calls_total{operation="Query",outcome="timeout",table="notes"} 1`,
		"go_goroutines", "go_build_info", "process_cpu_seconds_total",
	} {
		assert.Contains(t, body, line)
	}
	assert.NotContains(t, body, "ANYTHING")
}
