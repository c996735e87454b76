package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/memory"
)

// seen keeps the requests that reach an engine.
type seen struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	answer   func(*http.Request) *http.Response // in place of the engine; nil leaves it to the engine
}

func (s *seen) between(engine http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r.Clone(context.Background())), append(s.bodies, body)
		answer := s.answer
		s.mu.Unlock()
		if answer != nil {
			if made := answer(r); made != nil {
				return made, nil
			}
		}
		return engine.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// since returns which requests since the last call of it were made by the SDK's middleware, and forgets them.
func (s *seen) since() (bySDK []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		bySDK = append(bySDK, r.Header.Get("Amz-Sdk-Invocation-Id") != "")
	}
	s.requests, s.bodies = nil, nil
	return bySDK
}

func (s *seen) answering(f func(*http.Request) *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

func respond(r *http.Request, status int, body string) *http.Response {
	sum := crc32.ChecksumIEEE([]byte(body))
	return &http.Response{
		StatusCode: status, Header: http.Header{"X-Amz-Crc32": {strconv.FormatUint(uint64(sum), 10)}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// reads are a read of each operation, each of one call.
var reads = map[string]func(ctx context.Context, db *DB) error{
	"GetItem": func(ctx context.Context, db *DB) error {
		_, err := db.Get(ctx, NotesTable, Key{"p", "1"}, func(Item) error { return nil })
		return err
	},
	"Query": func(ctx context.Context, db *DB) error {
		low, high := Prefixed("N \"quoted\" \u2028 é ")
		_, err := db.Query(ctx, Span{Table: NotesTable, PK: "p", Low: low, High: high, Limit: 3}, func(Item) (bool, error) { return true, nil })
		return err
	},
	"BatchGetItem": func(ctx context.Context, db *DB) error {
		err := db.BatchGet(ctx, []Want{{NotesTable, Key{"p", "1"}, func(Item) error { return nil }}})[0]
		if err == ErrMissing { //nolint:errorlint // BatchGet returns it bare
			return nil
		}
		return err
	},
}

func seenDB(t *testing.T) (*DB, *seen) {
	t.Helper()
	s := new(seen)
	client, prefix := embeddedtest.Tables(t, s.between)
	db := New(Options{Client: client, TablePrefix: prefix})
	require.NoError(t, db.ApplyTables(t.Context(), func(Step) {}))
	s.since()
	return db, s
}

func TestReadsAfterTheFirstGoPastTheSDK(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	for name, read := range reads {
		for range 3 {
			require.NoError(t, read(t.Context(), db), name)
		}
		assert.Equal(t, []bool{true, false, false}, s.since(), name)
	}
	db.connect(Options{Client: db.Client, SDKReads: true})
	for name, read := range reads {
		for range 2 {
			require.NoError(t, read(t.Context(), db), name)
		}
		assert.Equal(t, []bool{true, true}, s.since(), name)
	}
}

// The text of a batch is ours, and is what the SDK would write.
func TestTheTextOfABatchIsTheSDKs(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	light := db.Projecting(Projections{*db.Table(NotesTable): ProjectionOf("PK", "SK", "title")})
	var wants []Want
	for _, key := range []string{"1", "\"", "\\", "\u2028<é>", "\x01", "1"} {
		for _, table := range []Table{NotesTable, ScoresTable} {
			wants = append(wants, Want{table, Key{"p" + key, key}, func(Item) error { return nil }})
		}
	}
	db.BatchGet(t.Context(), wants) // by the SDK
	for _, of := range []*DB{db, light} {
		of.BatchGet(t.Context(), wants)
		own := s.bodies[len(s.bodies)-1]
		bySDK := *of
		bySDK.narrow = nil
		bySDK.BatchGet(t.Context(), wants)
		assert.JSONEq(t, string(s.bodies[len(s.bodies)-1]), string(own))
	}
	assert.Contains(t, s.since(), false)
}

func TestReadsPastTheSDKAreSentAndSignedAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	credentials, err := db.Client.Options().Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	for name, read := range reads {
		require.NoError(t, read(t.Context(), db), name)
		require.NoError(t, read(t.Context(), db), name)
		sdk, own := s.requests[0], s.requests[1]
		assert.JSONEq(t, string(s.bodies[0]), string(s.bodies[1]), name)
		assert.Equal(t, sdk.URL, own.URL, name)
		assert.Equal(t, sdk.Host, own.Host, name)
		assert.EqualValues(t, len(s.bodies[1]), own.ContentLength, name)

		signed := own.Header.Get("Authorization")
		at, err := time.Parse(amzDate, own.Header.Get("X-Amz-Date"))
		require.NoError(t, err, name)
		assert.WithinDuration(t, time.Now(), at, 10*time.Second, name)
		own.Header.Del("Authorization")
		sum := sha256.Sum256(s.bodies[1])
		require.NoError(t, v4.NewSigner().SignHTTP(t.Context(), credentials, own, hex.EncodeToString(sum[:]), "dynamodb", db.Client.Options().Region, at))
		assert.Equal(t, own.Header.Get("Authorization"), signed, name)

		for _, of := range perCall {
			sdk.Header.Del(of)
			own.Header.Del(of)
		}
		assert.Equal(t, sdk.Header, own.Header, name)
		s.since()
	}
}

// meter gives room as a test says.
type meter func() error

func (m meter) Take(context.Context, int) error { return m() }

// Who finds no room for an answer is told that, and the question is not asked again.
func TestAnAnswerWithoutRoomIsNotReadAgain(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	_, err := db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: db.Table(NotesTable), Item: NotesTable.Key(Key{"p", "1"})})
	require.NoError(t, err)
	s.since()
	ctx := memory.Metered(t.Context(), meter(func() error { return fault.New(fault.Exhausted, "no room") }))
	for name, read := range reads {
		for _, bySDK := range []bool{true, false} {
			err := read(ctx, db)
			assert.True(t, fault.Is(err, fault.Exhausted), "%s: %v", name, err)
			assert.Equal(t, []bool{bySDK}, s.since(), name)
		}
	}
}

// An answer that waits for room takes nobody's place at DynamoDB.
func TestAnAnswerThatWaitsForRoomHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for _, sdk := range []bool{true, false} {
		db, _ := seenDB(t)
		db.connect(Options{Client: db.Client, MaxInFlight: 1, SDKReads: sdk})
		readWithOnePlace(t, db)
	}
}

// readWithOnePlace has a second read answered while the first waits for room.
func readWithOnePlace(t *testing.T, db *DB) {
	for name, read := range reads {
		require.NoError(t, read(t.Context(), db), name) // by the SDK
		waits, room := make(chan bool), make(chan bool)
		ctx := memory.Metered(t.Context(), meter(func() error { waits <- true; <-room; return nil }))
		waited := make(chan error)
		go func() { waited <- read(ctx, db) }()
		<-waits
		require.NoError(t, read(t.Context(), db), name)
		close(room)
		require.NoError(t, <-waited, name)
	}
}

func TestAFailedFirstAttemptIsOneOfTheSDKsAttempts(t *testing.T) {
	t.Parallel()
	for failure, answer := range map[string]func(*http.Request) *http.Response{
		"throttled": func(r *http.Request) *http.Response {
			return respond(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`)
		},
		"broken":       func(r *http.Request) *http.Response { return respond(r, http.StatusInternalServerError, ``) },
		"without JSON": func(r *http.Request) *http.Response { return respond(r, http.StatusOK, `<html>`) },
		"cut":          func(r *http.Request) *http.Response { return respond(r, http.StatusOK, `{"Items":[{"PK":{"S":`) },
		"damaged": func(r *http.Request) *http.Response {
			made := respond(r, http.StatusOK, `{}`)
			made.Header.Set("X-Amz-Crc32", "1")
			return made
		},
	} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			db, s := seenDB(t)
			watch := new(watched)
			db.connect(Options{Client: db.Client, Watch: watch})
			get := func(ctx context.Context) error {
				in := dynamodb.GetItemInput{TableName: db.Table(NotesTable), Key: NotesTable.Key(Key{"p", "1"})}
				return read(ctx, db.narrow, call[*dynamodb.GetItemInput, *dynamodb.GetItemOutput]{name: "GetItem", in: &in, out: &dynamodb.GetItemOutput{}, sdk: db.Client.GetItem}, new(filled))
			}
			require.NoError(t, get(t.Context()))
			s.since()

			s.answering(answer)
			require.Error(t, get(t.Context()))
			bySDK := s.since()
			require.NotEmpty(t, bySDK)
			assert.False(t, bySDK[0])
			assert.NotContains(t, bySDK[1:], false, "one attempt past the SDK")
			assert.LessOrEqual(t, len(bySDK), db.Client.Options().Retryer.MaxAttempts(), "attempts")
			if failure != "without JSON" && failure != "cut" { // which the SDK does not ask for again
				assert.Len(t, bySDK, db.Client.Options().Retryer.MaxAttempts(), "attempts")
			}

			left := 1
			s.answering(func(r *http.Request) *http.Response {
				if left--; left >= 0 {
					return answer(r)
				}
				return nil
			})
			require.NoError(t, get(t.Context()))
			assert.Equal(t, []bool{false, true}, s.since())
			require.NoError(t, get(t.Context()))
			assert.Equal(t, []bool{false}, s.since())
			assert.Equal(t, []string{"refused", "refused", "answered"}, watch.heard)
		})
	}
}

// filled is an answer, where a variable has that name.
type filled = answer

type watched struct{ heard []string }

func (w *watched) ReadAnswered(context.Context, string, any, any, time.Duration) {
	w.heard = append(w.heard, "answered")
}

func (w *watched) ReadRefused(_ context.Context, _ string, _ any, err error) {
	if err != nil {
		w.heard = append(w.heard, "refused")
	}
}

func TestReadsPastTheSDKKeepItsClock(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	ahead := 20 * time.Minute // the clock of DynamoDB
	s.answering(func(r *http.Request) *http.Response {
		signed, err := time.Parse(amzDate, r.Header.Get("X-Amz-Date"))
		now := time.Now().Add(ahead)
		made := respond(r, http.StatusOK, `{}`)
		if err != nil || signed.Sub(now).Abs() > 5*time.Minute {
			made = respond(r, http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"Signature expired: %s"}`, signed))
		}
		made.Header.Set("Date", now.UTC().Format(http.TimeFormat))
		return made
	})
	get := reads["GetItem"]
	require.NoError(t, get(t.Context(), db))
	assert.Equal(t, []bool{true, true}, s.since(), "the SDK finds out what time it is")
	require.NoError(t, get(t.Context(), db))
	assert.Equal(t, []bool{false}, s.since())
	s.mu.Lock()
	ahead = -20 * time.Minute
	s.mu.Unlock()
	require.NoError(t, get(t.Context(), db))
	s.since()
	require.NoError(t, get(t.Context(), db))
	assert.Equal(t, []bool{false}, s.since(), "it found out again")
}

func TestAReadWhoseContextEndsIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := new(seen)
	db, inj := openDBOn(t, nil, s.between)
	s.since()
	get := reads["GetItem"]
	require.NoError(t, get(t.Context(), db))
	s.since()
	gate := inj.Hold(faultinject.Always)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = gate.Wait(soon(t, 20*time.Second), 1)
		cancel()
	}()
	require.ErrorIs(t, get(ctx, db), context.Canceled)
	gate.Open()
	assert.LessOrEqual(t, len(s.since()), 1)
}

func TestWithOneAttemptReadsAreTheSDKs(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	once := dynamodb.New(db.Client.Options(), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	db.connect(Options{Client: once})
	for range 3 {
		require.NoError(t, reads["Query"](t.Context(), db))
	}
	assert.Equal(t, []bool{true, true, true}, s.since())
}

// Headers of a session are signed anew for each call, so that credentials may change.
func TestReadsPastTheSDKAskForCredentialsEachTime(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	asked := 0
	rotating := dynamodb.New(db.Client.Options(), func(o *dynamodb.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			asked++
			return aws.Credentials{AccessKeyID: fmt.Sprint("key", asked), SecretAccessKey: "secret", SessionToken: fmt.Sprint("token", asked)}, nil
		})
	})
	db.connect(Options{Client: rotating})
	s.answering(func(r *http.Request) *http.Response { return respond(r, http.StatusOK, `{}`) })
	for range 3 {
		require.NoError(t, reads["GetItem"](t.Context(), db))
	}
	for i, r := range s.requests {
		assert.Equal(t, fmt.Sprint("token", i+1), r.Header.Get("X-Amz-Security-Token"))
		assert.Contains(t, r.Header.Get("Authorization"), fmt.Sprintf("Credential=key%d/", i+1))
		assert.Contains(t, r.Header.Get("Authorization"), "x-amz-security-token")
	}
	assert.Equal(t, []bool{true, false, false}, s.since())
}

// A field that Taggie does not set today is sent as well but for batches, since the SDK's serialiser writes the body.
func TestReadsPastTheSDKSendAllOfTheirInput(t *testing.T) {
	t.Parallel()
	db, s := seenDB(t)
	in := dynamodb.GetItemInput{TableName: db.Table(NotesTable), Key: NotesTable.Key(Key{"p", "1"}), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes, ConsistentRead: aws.Bool(true)}
	for range 2 {
		require.NoError(t, read(t.Context(), db.narrow, call[*dynamodb.GetItemInput, *dynamodb.GetItemOutput]{name: "GetItem", in: &in, out: &dynamodb.GetItemOutput{}, sdk: db.Client.GetItem}, new(answer)))
	}
	assert.Contains(t, string(s.bodies[1]), `"ReturnConsumedCapacity":"INDEXES"`)
	assert.Equal(t, []bool{true, false}, s.since())
}

// What a read costs beside its decoding.
func BenchmarkRead(b *testing.B) {
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String("http://engine"), Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}),
		HTTPClient: engineFunc(func(r *http.Request) (*http.Response, error) { return respond(r, http.StatusOK, `{}`), nil }),
	})
	for name, sdk := range map[string]bool{"past the SDK": false, "by the SDK": true} {
		b.Run(name, func(b *testing.B) {
			db := New(Options{Client: client, SDKReads: sdk})
			for b.Loop() {
				if err := reads["Query"](b.Context(), db); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type engineFunc func(*http.Request) (*http.Response, error)

func (f engineFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
