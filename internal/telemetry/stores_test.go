package telemetry

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answer is an answer of Redis that is an error.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestCallsToRedis(t *testing.T) {
	m := NewMetrics()
	for err, want := range map[error]string{
		nil: "ok", redis.Nil: "ok", answer("NOSCRIPT No matching script"): "refused", context.Canceled: "cancelled", context.DeadlineExceeded: "timeout",
		&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}: "timeout", errors.New("connection refused"): "failed",
	} {
		before := testutil.ToFloat64(m.redisCalls.WithLabelValues(want))
		process := redisHook{dialHook{m}}.ProcessHook(func(context.Context, redis.Cmder) error { return err })
		assert.Equal(t, err, process(t.Context(), redis.NewCmd(t.Context(), "PING")), "hooks pass on what they see")
		pipeline := redisHook{dialHook{m}}.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return err })
		assert.Equal(t, err, pipeline(t.Context(), make([]redis.Cmder, 3)))
		assert.InDelta(t, 2, testutil.ToFloat64(m.redisCalls.WithLabelValues(want))-before, 0, "%v", err)
	}
	for _, err := range []error{nil, errors.New("connection refused")} {
		dial := redisHook{dialHook{m}}.DialHook(func(context.Context, string, string) (net.Conn, error) { return nil, err })
		_, dialled := dial(t.Context(), "tcp", "redis:6379")
		assert.Equal(t, err, dialled)
	}
	assert.InDelta(t, 1, testutil.ToFloat64(m.dials.WithLabelValues("redis")), 0)
}

func TestConnectionsToAClusterAreCounted(t *testing.T) {
	m := NewMetrics()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		MaxRedirects: -1, MaxRetries: -1,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: "redis:6379"}}}}, nil
		},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			return here, there.Close() // it says nothing
		},
	})
	defer func() { assert.NoError(t, client.Close()) }()
	m.ObserveRedis(client)
	require.Error(t, client.Get(t.Context(), "key").Err())
	assert.Positive(t, testutil.ToFloat64(m.dials.WithLabelValues("redis")))
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestCallsToS3(t *testing.T) {
	m := NewMetrics()
	status := http.StatusOK
	client := s3.New(s3.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String("http://engine"), UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		APIOptions: []func(*middleware.Stack) error{m.S3()},
		HTTPClient: transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}, nil
		}),
	})
	_, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
	require.NoError(t, err)
	status = http.StatusNotFound
	_, err = client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
	require.Error(t, err)
	_, err = s3.NewPresignClient(client).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
	require.NoError(t, err)
	require.NoError(t, testutil.CollectAndCompare(m.s3Calls, strings.NewReader(`# HELP taggie_s3_calls_total Calls to S3.
# TYPE taggie_s3_calls_total counter
taggie_s3_calls_total{operation="HeadObject",outcome="NotFound"} 1
taggie_s3_calls_total{operation="HeadObject",outcome="ok"} 1
`)))
	assert.Equal(t, 1, testutil.CollectAndCount(m.s3Seconds))
}
