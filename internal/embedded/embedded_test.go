package embedded

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func all(dir string) Options { return Options{Dir: dir, DynamoDB: true, S3: true, Redis: true} }

func start(t *testing.T, o Options) *Engines {
	t.Helper()
	e, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stop(e)) })
	return e
}

// stop is not bound to the context of a test, which is over when clean-up runs.
func stop(e *Engines) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return e.Stop(ctx)
}

func httpClient(t *testing.T, e Endpoint) *http.Client {
	transport := &http.Transport{DialContext: e.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func dynamoClient(t *testing.T, e Endpoint) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &e.URL, Region: e.Region, HTTPClient: httpClient(t, e),
		Credentials: awscredentials.NewStaticCredentialsProvider(e.AccessKey, e.SecretKey, ""),
	})
}

func s3Client(t *testing.T, e Endpoint) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &e.URL, Region: e.Region, HTTPClient: httpClient(t, e), UsePathStyle: true,
		Credentials: awscredentials.NewStaticCredentialsProvider(e.AccessKey, e.SecretKey, ""),
	})
}

func redisClient(t *testing.T, e Endpoint) *redis.Client {
	options, err := redis.ParseURL(e.URL)
	require.NoError(t, err)
	return redisAs(t, *options)
}

func redisAs(t *testing.T, options redis.Options) *redis.Client {
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

var things = aws.String("things")

func put(t *testing.T, client *dynamodb.Client, id string) {
	t.Helper()
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: things, Item: key(id)})
	require.NoError(t, err)
}

func key(id string) map[string]ddb.AttributeValue {
	return map[string]ddb.AttributeValue{"PK": &ddb.AttributeValueMemberS{Value: id}}
}

func makeTable(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: things, BillingMode: ddb.BillingModePayPerRequest,
		AttributeDefinitions: []ddb.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: ddb.ScalarAttributeTypeS}},
		KeySchema:            []ddb.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: ddb.KeyTypeHash}},
	})
	require.NoError(t, err)
}

func TestASecondStartFindsTheDataAgain(t *testing.T) {
	testSecondStart(t, func(dir string) string { return dir })
}

// What people copy with is not always asked to keep extended attributes.
func TestAPlainCopyOfTheDirectoryIsABackup(t *testing.T) {
	testSecondStart(t, func(dir string) string {
		to := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
		return to
	})
}

func testSecondStart(t *testing.T, move func(dir string) string) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := Start(t.Context(), all(dir))
	require.NoError(t, err)

	tables, objects := dynamoClient(t, first.DynamoDB), s3Client(t, first.S3)
	makeTable(t, tables)
	put(t, tables, "kept")
	_, err = objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: things})
	require.NoError(t, err)
	_, err = objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: things, Key: aws.String("a/b"),
		Body: strings.NewReader("kept"), ContentType: aws.String("text/x-kept"), Metadata: map[string]string{"by": "test"}})
	require.NoError(t, err)
	_, err = objects.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: things, Key: aws.String("copy"), CopySource: aws.String("things/a/b")})
	require.NoError(t, err)
	pong, err := redisClient(t, first.Redis).Ping(t.Context()).Result()
	require.NoError(t, err)
	require.Equal(t, "PONG", pong)
	began := time.Now()
	require.NoError(t, stop(first))
	dir = move(dir)
	require.Less(t, time.Since(began), 5*time.Second, "open connections of clients must not hold up the end")
	require.NoError(t, stop(first), "stopping twice")

	second := start(t, all(dir))
	assert.Equal(t, first.S3.SecretKey, second.S3.SecretKey)
	item, err := dynamoClient(t, second.DynamoDB).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: things, Key: key("kept")})
	require.NoError(t, err)
	assert.NotEmpty(t, item.Item)
	for _, name := range []string{"a/b", "copy"} {
		object, err := s3Client(t, second.S3).GetObject(t.Context(), &s3.GetObjectInput{Bucket: things, Key: &name})
		require.NoError(t, err)
		content, err := io.ReadAll(object.Body)
		require.NoError(t, err)
		require.NoError(t, object.Body.Close())
		assert.Equal(t, "kept", string(content))
		assert.Equal(t, "text/x-kept", aws.ToString(object.ContentType))
		assert.Equal(t, map[string]string{"by": "test"}, object.Metadata)
	}
}

func TestOnlyTheOwnerCanReadTheData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	start(t, all(dir))
	for name, want := range map[string]os.FileMode{"": 0o700, "dynamodb": 0o700, "s3": 0o700, "credentials.json": 0o600, "lock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), "%s", name)
	}
}

func TestEnginesListenOnLoopbackAndCheckWhoAsks(t *testing.T) {
	e := start(t, all(t.TempDir()))
	for _, address := range []string{e.S3.URL, e.Redis.URL} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		assert.Equal(t, "127.0.0.1", u.Hostname())
	}
	stranger := e.S3
	stranger.SecretKey = "wrong"
	_, err := s3Client(t, stranger).ListBuckets(t.Context(), &s3.ListBucketsInput{})
	assert.ErrorContains(t, err, "SignatureDoesNotMatch")
	u, err := url.Parse(e.Redis.URL)
	require.NoError(t, err)
	anonymous := redis.NewClient(&redis.Options{Addr: u.Host})
	defer func() { _ = anonymous.Close() }()
	assert.ErrorContains(t, anonymous.Get(t.Context(), "x").Err(), "NOAUTH")
}

func TestOnlyWhatWasAskedForIsStarted(t *testing.T) {
	e := start(t, Options{Dir: t.TempDir(), Redis: true})
	assert.NotEmpty(t, e.Redis.URL)
	assert.Empty(t, e.DynamoDB)
	assert.Empty(t, e.S3)
}

func TestASecondServerOnTheSameDirectoryIsToldSo(t *testing.T) {
	o := Options{Dir: t.TempDir(), Redis: true}
	first := start(t, o)
	_, err := Start(t.Context(), o)
	require.ErrorContains(t, err, "another server is using the data directory "+o.Dir)
	require.NoError(t, redisClient(t, first.Redis).Ping(t.Context()).Err(), "the first one is left in peace")
	require.NoError(t, stop(first))
	start(t, o)
}

func TestAMissingBinaryIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Chdir(t.TempDir()) // no sources above
	dir := filepath.Join(t.TempDir(), "data")
	_, err := Start(t.Context(), all(dir))
	require.ErrorIs(t, err, ErrMissing)
	for _, want := range []string{
		"dynoxide", "taggie-s3", "taggie-redis", "make engines", "PATH", "TAGGIE_ENGINE_S3",
		"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "TAGGIE_REDIS_URL",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.NoDirExists(t, dir, "nothing is made when nothing can be started")

	_, err = Start(t.Context(), Options{Dir: dir, Redis: true, Binaries: Binaries{Redis: "/nowhere/redis"}})
	require.ErrorIs(t, err, ErrMissing)
	assert.ErrorContains(t, err, "/nowhere/redis")
	assert.ErrorContains(t, err, "TAGGIE_ENGINE_REDIS")
}

// Commands may be run from any directory: the program of the server tells where the sources are.
func TestProgramsAreFoundFromAnywhere(t *testing.T) {
	_, working := whereabouts()
	sources := filepath.Dir(filepath.Dir(working))
	places := dynamoProgram(false).places("", filepath.Join(sources, "bin"), t.TempDir())
	assert.Contains(t, places, filepath.Join(sources, "embedded", "dynamodb", "node_modules", "@dynoxide", npmPlatform(runtime.GOOS, runtime.GOARCH), "dynoxide"+executableSuffix()))
	assert.NotContains(t, strings.Join(dynamoProgram(false).places("", t.TempDir(), t.TempDir()), " "), "node_modules")
}

func TestAProgramThatEndsAtOnceIsQuoted(t *testing.T) {
	program := filepath.Join(t.TempDir(), "engine")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho the disk is on fire\nexit 3\n"), 0o700))
	o := Options{Dir: t.TempDir(), Redis: true, Binaries: Binaries{Redis: program}}
	_, err := Start(t.Context(), o)
	require.ErrorContains(t, err, "the Redis engine does not start")
	assert.ErrorContains(t, err, "exit status 3")
	assert.ErrorContains(t, err, "the disk is on fire")
	o.Binaries = Binaries{}
	start(t, o) // the lock was given back
}

func TestAStartThatIsCancelledLeavesNothing(t *testing.T) {
	program := filepath.Join(t.TempDir(), "engine")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	dir := t.TempDir()
	_, err := Start(ctx, Options{Dir: dir, DynamoDB: true, Redis: true, Binaries: Binaries{Redis: program}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NoFileExists(t, filepath.Join(dir, "redis.pid"))
	assert.NoFileExists(t, filepath.Join(dir, "dynamodb.pid"))
}

func TestOutputIsBounded(t *testing.T) {
	var logged strings.Builder
	out := &output{log: slog.New(slog.NewTextHandler(&logged, nil))}
	_, err := io.WriteString(out, strings.Repeat("x", 10*maxLine)+"\n")
	require.NoError(t, err)
	require.Less(t, logged.Len(), maxLine+200)
	for range 10 * linesASecond {
		_, err = io.WriteString(out, "again\nand ")
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, strings.Count(logged.String(), "\n"), 3*linesASecond)
	assert.Len(t, out.last, linesForError)
	assert.NotContains(t, out.tail(), "xxx")
}

func TestAddressesAreFreeUntilSomebodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	assert.False(t, addressFree(listener.Addr().String()))
	require.NoError(t, listener.Close())
	assert.True(t, addressFree(listener.Addr().String()))
}
