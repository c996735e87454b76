package awsclient

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answer writes what DynamoDB would: JSON with its checksum.
func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// engine starts a server and returns the options of a client that speaks to it, with the connections dialled so far.
func engine(t *testing.T, h http.HandlerFunc) (Options, *atomic.Int64) {
	t.Helper()
	isolate(t)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	dials := new(atomic.Int64)
	return Options{
		Endpoint: srv.URL, Region: "eu-central-1",
		Credentials: Credentials{AccessKeyID: "id", SecretAccessKey: "secret"},
		OnDial:      func() { dials.Add(1) },
	}, dials
}

// isolate keeps the settings of whoever runs the tests out of them.
func isolate(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_MAX_ATTEMPTS"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func client(t *testing.T, o Options) *dynamodb.Client {
	t.Helper()
	c, err := DynamoDB(t.Context(), o)
	require.NoError(t, err)
	return c
}

func put(size int) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{TableName: aws.String("notes"), Item: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: strings.Repeat("x", size)},
	}}
}

func TestThousandCallsUseOneConnection(t *testing.T) {
	var calls atomic.Int64
	// The answer is on its way before the request's body has been read.
	o, dials := engine(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answer(w, http.StatusOK, "{}")
	})
	db := client(t, o)
	for range 1000 {
		_, err := db.PutItem(t.Context(), put(20_000))
		require.NoError(t, err)
	}
	assert.EqualValues(t, 1, dials.Load(), "connections")
	assert.EqualValues(t, 1000, calls.Load(), "calls that reached the engine")
}

func TestFanOutKeepsItsConnections(t *testing.T) {
	const wide = 64
	var arrived sync.WaitGroup
	o, dials := engine(t, func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait() // all calls of a round are in flight at once
		answer(w, http.StatusOK, "{}")
	})
	db := client(t, o)
	for range 3 {
		arrived.Add(wide)
		var done sync.WaitGroup
		for range wide {
			done.Go(func() {
				_, err := db.PutItem(t.Context(), put(100))
				assert.NoError(t, err)
			})
		}
		done.Wait()
	}
	// A connection returns to the pool just after its answer was read, so that a later round may dial a few of its own.
	assert.Less(t, dials.Load(), int64(2*wide))
}

func TestBodyIsIntactAfterRetry(t *testing.T) {
	var bodies [][]byte // calls come one after another
	o, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		bodies = append(bodies, body)
		switch len(bodies) {
		case 1:
			answer(w, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`)
		case 2:
			panic(http.ErrAbortHandler) // the connection is lost
		default:
			answer(w, http.StatusOK, "{}")
		}
	})
	_, err := client(t, o).PutItem(t.Context(), put(50_000))
	require.NoError(t, err)
	require.Len(t, bodies, 3)
	assert.Greater(t, len(bodies[0]), 50_000)
	assert.Equal(t, bodies[0], bodies[1])
	assert.Equal(t, bodies[0], bodies[2])
}

func TestThrottlingOfOneTableLeavesRetriesToTheOthers(t *testing.T) {
	var throttled atomic.Int64
	o, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("busy")) || throttled.Add(1)%2 == 1 {
			answer(w, http.StatusBadRequest, `{"__type":"x#ThrottlingException"}`)
			return
		}
		answer(w, http.StatusOK, "{}")
	})
	db := client(t, o)
	// The standard bucket holds 500 tokens and a retry costs 5: these 30 × 4 retries would empty it.
	var busy sync.WaitGroup
	for range 30 {
		busy.Go(func() {
			in := put(1)
			in.TableName = aws.String("busy")
			_, err := db.PutItem(t.Context(), in)
			var exhausted *types.ThrottlingException
			assert.ErrorAs(t, err, &exhausted)
		})
	}
	busy.Wait()
	_, err := db.PutItem(t.Context(), put(1))
	require.NoError(t, err)
	assert.EqualValues(t, 2, throttled.Load(), "the quiet table answered the second attempt")
}

func TestCancellationStopsACall(t *testing.T) {
	arrived := make(chan struct{})
	var calls atomic.Int64
	o, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		calls.Add(1)
		close(arrived)
		<-r.Context().Done() // the engine never answers
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := client(t, o).PutItem(ctx, put(1))
	require.ErrorIs(t, err, context.Canceled)
	assert.EqualValues(t, 1, calls.Load(), "a cancelled call is not repeated")
}

func TestHungEngineIsGivenUpAndAskedAgain(t *testing.T) {
	var calls atomic.Int64
	o, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) == 1 {
			<-r.Context().Done()
			return
		}
		answer(w, http.StatusOK, "{}")
	})
	o.Timeouts.Response = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := client(t, o).PutItem(ctx, put(1))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, calls.Load(), int64(2))
}

func TestDamagedAnswerIsAskedForAgain(t *testing.T) {
	var calls atomic.Int64
	o, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		sum := crc32.ChecksumIEEE([]byte(`{"Item":{"PK":{"S":"a"}}}`))
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(sum), 10))
		if calls.Add(1) < 3 {
			_, _ = io.WriteString(w, `{"Item":{"PK":{"S":"b"}}}`)
			return
		}
		_, _ = io.WriteString(w, `{"Item":{"PK":{"S":"a"}}}`)
	})
	db := client(t, o)
	get := &dynamodb.GetItemInput{TableName: aws.String("notes"), Key: put(1).Item}
	out, err := db.GetItem(t.Context(), get)
	require.NoError(t, err)
	assert.Equal(t, &types.AttributeValueMemberS{Value: "a"}, out.Item["PK"])
	assert.EqualValues(t, 3, calls.Load())

	calls.Store(-100)
	_, err = db.GetItem(t.Context(), get)
	var damaged *checksumError
	require.ErrorAs(t, err, &damaged)
	assert.EqualValues(t, -100+maxAttempts, calls.Load())
}

func TestWrapSeesTheBodyInMemory(t *testing.T) {
	o, _ := engine(t, func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, "{}") })
	seen := 0
	o.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			seen++
			again, err := r.GetBody()
			assert.NoError(t, err)
			body, err := io.ReadAll(again)
			assert.NoError(t, err)
			assert.Len(t, body, int(r.ContentLength))
			return next.RoundTrip(r)
		})
	}
	_, err := client(t, o).PutItem(t.Context(), put(1))
	require.NoError(t, err)
	assert.Equal(t, 1, seen)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestEndpoint(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		env     map[string]string
		want    string
	}{
		"of the region":      {Options{Region: "eu-central-1"}, nil, "https://dynamodb.eu-central-1.amazonaws.com"},
		"of another part":    {Options{Region: "cn-north-1"}, nil, "https://dynamodb.cn-north-1.amazonaws.com.cn"},
		"given":              {Options{Region: "eu-central-1", Endpoint: "http://127.0.0.1:8000"}, nil, "http://127.0.0.1:8000"},
		"from the variable":  {Options{}, map[string]string{"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_DYNAMODB": "http://db:1"}, "http://db:1"},
		"given wins":         {Options{Region: "eu-west-1", Endpoint: "http://own:2"}, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "http://db:1"}, "http://own:2"},
		"FIPS from variable": {Options{Region: "us-east-1"}, map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}, "https://dynamodb-fips.us-east-1.amazonaws.com"},
	} {
		t.Run(name, func(t *testing.T) {
			isolate(t)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			options := client(t, c.options).Options()
			got, err := options.EndpointResolverV2.ResolveEndpoint(t.Context(), dynamodb.EndpointParameters{})
			require.NoError(t, err)
			assert.Equal(t, c.want, strings.TrimSuffix(got.URI.String(), "/"))
		})
	}
}

func TestMissingRegionIsSaidAtStart(t *testing.T) {
	isolate(t)
	_, err := DynamoDB(t.Context(), Options{})
	require.ErrorContains(t, err, "no region")
	_, err = S3(t.Context(), Options{})
	require.ErrorContains(t, err, "no region")
}

func TestDelaysStayShort(t *testing.T) {
	assert.Equal(t, 25*time.Millisecond, delayBound(1))
	assert.Equal(t, 200*time.Millisecond, delayBound(4))
	assert.Equal(t, time.Second, delayBound(1000))
	r := newRetryer()
	for attempt := range 10 {
		delay, err := r.RetryDelay(attempt+1, nil)
		require.NoError(t, err)
		assert.Less(t, delay, time.Second)
	}
}

func TestS3(t *testing.T) {
	var paths []string
	var sizes []int
	o, dials := engine(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		paths, sizes = append(paths, r.URL.Path), append(sizes, len(body))
		if len(paths) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	o.Endpoint = strings.Replace(o.Endpoint, "127.0.0.1", "localhost", 1) // the SDK itself uses paths for bare addresses
	var inMemory []bool
	o.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			inMemory = append(inMemory, r.GetBody != nil)
			return next.RoundTrip(r)
		})
	}
	c, err := S3(t.Context(), o)
	require.NoError(t, err)
	for _, size := range []int{1000, largestS3Body + 1} {
		_, err = c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("files"), Key: aws.String(fmt.Sprint(size)), Body: bytes.NewReader(make([]byte, size))})
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"/files/1000", "/files/1000", fmt.Sprint("/files/", largestS3Body+1)}, paths)
	assert.GreaterOrEqual(t, sizes[1], 1000)
	assert.Equal(t, sizes[0], sizes[1])
	assert.Greater(t, sizes[2], largestS3Body)
	assert.Equal(t, []bool{true, true, false}, inMemory)
	assert.NotZero(t, dials.Load())
}

func TestS3InAnotherRegionIsAnError(t *testing.T) {
	calls := 0
	o, _ := engine(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	c, err := S3(t.Context(), o)
	require.NoError(t, err)
	_, err = c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("files"), Key: aws.String("k")})
	require.ErrorContains(t, err, "307")
	assert.Equal(t, 1, calls)
}

func TestBodyThatIsShorterThanSaidIsAnError(t *testing.T) {
	c := newHTTPClient(Options{}, 100)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1", strings.NewReader("abc"))
	require.NoError(t, err)
	r.ContentLength = 4
	_, err = c.Do(r)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
