package main

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// remote returns settings that take the test engines for the cloud's.
func remote(t *testing.T) []string {
	t.Helper()
	db, s3, redis := embeddedtest.DynamoDB(t), embeddedtest.S3(t), embeddedtest.Redis(t)
	tables := "r" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	embeddedtest.DropTables(t, tables)
	t.Setenv("AWS_ACCESS_KEY_ID", s3.AccessKey) // the SDK reads credentials by itself; this DynamoDB checks none
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3.SecretKey)
	return []string{
		"AWS_REGION=" + s3.Region, "AWS_ENDPOINT_URL_DYNAMODB=" + db.URL, "AWS_ENDPOINT_URL_S3=" + s3.URL,
		"TAGGIE_S3_BUCKET=b" + strings.ReplaceAll(uuid.NewString(), "-", ""), "TAGGIE_REDIS_URL=" + redis.URL,
		"TAGGIE_TABLE_PREFIX=" + tables,
		"TAGGIE_SECRET=" + strings.Repeat("secret", 8), "TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ALLOWED_ORIGINS=https://app.example.com",
	}
}

func run(t *testing.T, env []string, command func(context.Context, *terminal) error) (string, error) {
	t.Helper()
	out := &lockedBuffer{}
	err := command(t.Context(), &terminal{environ: env, stdout: out, stderr: &lockedBuffer{}})
	return out.String(), err
}

func TestTablesAreMadeAndCheckedOnRemoteStores(t *testing.T) {
	env := remote(t)
	out, err := run(t, env, tablesCheck{}.Run)
	require.Error(t, err, "nothing is there yet")
	assert.Contains(t, out, "PROBLEM  table ")
	assert.Contains(t, out, "does not exist")

	out, err = run(t, env, tablesApply{}.Run)
	require.NoError(t, err)
	assert.Contains(t, out, "notes: created")
	assert.Contains(t, out, "time to live switched on")
	assert.Contains(t, out, "CORS rules set")

	out, err = run(t, env, tablesCheck{}.Run)
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, out, "PROBLEM")

	again, err := run(t, env, tablesApply{}.Run)
	require.NoError(t, err, "apply can be run again")
	assert.NotContains(t, again, "created")
}

func TestTablesThatAreNotWhatTheyShouldBeAreRefused(t *testing.T) {
	env := remote(t)
	engine := embeddedtest.DynamoDB(t)
	client, err := awsclient.DynamoDB(t.Context(), awsclient.Options{Endpoint: engine.URL, Region: engine.Region,
		Credentials: awsclient.Credentials{AccessKeyID: engine.AccessKey, SecretAccessKey: engine.SecretKey}})
	require.NoError(t, err)
	table := ""
	for _, setting := range env {
		if prefix, ok := strings.CutPrefix(setting, "TAGGIE_TABLE_PREFIX="); ok {
			table = prefix + "notes"
		}
	}
	// The keys are right, and there is no index.
	_, err = client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("SK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange}},
	})
	require.NoError(t, err)

	out, err := run(t, env, tablesApply{}.Run)
	require.ErrorContains(t, err, "3 of the above are not right")
	assert.Contains(t, out, "PROBLEM  table "+table+": index GSI1 is missing")
	assert.Contains(t, out, "CORS rules set", "what can be made is made")

	_, err = run(t, append(env, "TAGGIE_ADDR=127.0.0.1:0"), serveCommand{}.Run)
	require.ErrorContains(t, err, table)
	assert.ErrorContains(t, err, "index GSI1")
}

func TestServerDoesNotStartWithoutItsTables(t *testing.T) {
	_, err := run(t, append(remote(t), "TAGGIE_ADDR=127.0.0.1:0"), serveCommand{}.Run)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "taggie tables apply")
}

func TestTokenIsForTheEmbeddedIssuerOnly(t *testing.T) {
	command := tokenCommand{Email: "ada@example.com", TTL: time.Hour}
	out, err := run(t, []string{"TAGGIE_DATA=" + t.TempDir()}, func(_ context.Context, term *terminal) error { return command.Run(term) })
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(out), "."), 3)

	_, err = run(t, []string{"TAGGIE_JWT_KEY=HS256:" + strings.Repeat("QUJD", 16)}, func(_ context.Context, term *terminal) error { return command.Run(term) })
	require.ErrorContains(t, err, "there is no embedded issuer")

	command.Email = "ada"
	out, err = run(t, []string{"TAGGIE_DATA=" + t.TempDir()}, func(_ context.Context, term *terminal) error { return command.Run(term) })
	require.ErrorContains(t, err, "--email")
	assert.Empty(t, out)
}

func TestATakenPortIsSaid(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, err = run(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=" + listener.Addr().String()}, serveCommand{}.Run)
	require.ErrorContains(t, err, "cannot listen on")
	assert.ErrorContains(t, err, "TAGGIE_ADDR")
}

// freePort returns an address that nothing listens on. It is not one of those that the kernel hands out, which somebody else could
// get before it is used.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(20_000+rand.IntN(12_000)))
		if err == nil {
			require.NoError(t, listener.Close())
			return listener.Addr().String()
		}
	}
	require.FailNow(t, "no port is free")
	return ""
}

// start runs the server as its command does and returns a client and what ends it.
func start(t *testing.T, env []string, addr string) (*testServer, func()) {
	t.Helper()
	return startAs(t, serveCommand{}, env, addr)
}

// startAs does so with flags.
func startAs(t *testing.T, command serveCommand, env []string, addr string) (*testServer, func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	logs := &lockedBuffer{}
	ended := make(chan error, 1)
	go func() {
		ended <- command.Run(ctx, &terminal{environ: append(slices.Clip(env), "TAGGIE_ADDR="+addr), stdout: logs, stderr: logs})
	}()
	s := &testServer{t: t, url: "http://" + addr, logs: logs}
	require.Eventually(t, func() bool {
		resp, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 30*time.Second, 20*time.Millisecond, "%s", logs)
	return s, func() {
		t.Helper()
		stop()
		select {
		case err := <-ended:
			assert.NoError(t, err)
		case <-time.After(30 * time.Second):
			t.Fatalf("the server does not end: %s", logs)
		}
	}
}

func TestASecondStartFindsTheData(t *testing.T) {
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	token, err := run(t, env, func(_ context.Context, term *terminal) error {
		return tokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)

	s, stop := start(t, env, freePort(t))
	ada := &client{testServer: s, token: strings.TrimSpace(token)}
	ada.must(`mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } createNote(input: {title: "kept", content: "here"}) { note { id } } }`, nil)
	stop()

	s, stop = start(t, env, freePort(t))
	defer stop()
	ada = &client{testServer: s, token: strings.TrimSpace(token)}
	assert.Len(t, ada.must(`{ viewer { name notes { nodes { title } } } }`, nil).list("viewer.notes.nodes"), 1)
}

func TestReadyzNamesTheStoreAtFault(t *testing.T) {
	env := remote(t)
	_, err := run(t, env, tablesApply{}.Run)
	require.NoError(t, err)
	var away atomic.Bool
	for i, setting := range env {
		if address, ok := strings.CutPrefix(setting, "AWS_ENDPOINT_URL_DYNAMODB="); ok {
			target, err := url.Parse(address)
			require.NoError(t, err)
			engine := httputil.NewSingleHostReverseProxy(target)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if away.Load() {
					panic(http.ErrAbortHandler) // hangs up
				}
				engine.ServeHTTP(w, r)
			}))
			t.Cleanup(front.Close)
			env[i] = "AWS_ENDPOINT_URL_DYNAMODB=" + front.URL
		}
		if strings.HasPrefix(setting, "TAGGIE_REDIS_URL=") {
			env[i] = "TAGGIE_REDIS_URL=redis://" + freePort(t)
		}
	}
	// start waits for 200: Redis, which is away, does not keep the server from being ready.
	s, stop := start(t, append(env, "TAGGIE_JWT_KEY=HS256:"+strings.Repeat("QUJD", 16)), freePort(t))
	defer stop()
	status, checks := s.ready()
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok", checks["dynamodb"])
	assert.Regexp(t, "^degraded: ", checks["redis"])

	away.Store(true)
	require.Eventually(t, func() bool {
		status, checks = s.ready()
		return status == http.StatusServiceUnavailable
	}, 30*time.Second, 50*time.Millisecond, "%s", s.logs)
	assert.NotEqual(t, "ok", checks["dynamodb"])
	assert.Equal(t, "ok", checks["s3"])
}
