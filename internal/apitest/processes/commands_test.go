package processes

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

func TestTablesAreMadeAndCheckedOnRemoteStores(t *testing.T) {
	env := apitest.Remote(t)
	out, err := apitest.Run(t, env, cli.TablesCheck{}.Run)
	require.Error(t, err, "nothing is there yet")
	assert.Contains(t, out, "PROBLEM  table ")
	assert.Contains(t, out, "does not exist")

	out, err = apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	assert.Contains(t, out, "notes: created")
	assert.Contains(t, out, "time to live switched on")
	assert.Contains(t, out, "CORS rules set")

	out, err = apitest.Run(t, env, cli.TablesCheck{}.Run)
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, out, "PROBLEM")

	again, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err, "apply can be run again")
	assert.NotContains(t, again, "created")
}

func TestTablesThatAreNotWhatTheyShouldBeAreRefused(t *testing.T) {
	env := apitest.Remote(t)
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

	serves := func(problem string) {
		t.Helper()
		_, err := apitest.Run(t, append(env, "TAGGIE_ADDR=127.0.0.1:0"), cli.ServeCommand{}.Run)
		require.ErrorContains(t, err, table)
		assert.ErrorContains(t, err, problem)
	}
	serves("index GSI1")
	out, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.ErrorContains(t, err, "1 of the above are not right")
	assert.Contains(t, out, "PROBLEM  table "+table+": index LSI1 is missing", "a local index cannot be added")
	assert.NotContains(t, out, "index GSI1 is missing")
	assert.Contains(t, out, "CORS rules set", "what can be made is made")
	serves("index LSI1")
}

func TestServerDoesNotStartWithoutItsTables(t *testing.T) {
	_, err := apitest.Run(t, append(apitest.Remote(t), "TAGGIE_ADDR=127.0.0.1:0"), cli.ServeCommand{}.Run)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "taggie tables apply")
}

func TestTokenIsForTheEmbeddedIssuerOnly(t *testing.T) {
	command := cli.TokenCommand{Email: "ada@example.com", TTL: time.Hour}
	out, err := apitest.Run(t, []string{"TAGGIE_DATA=" + t.TempDir()}, func(_ context.Context, term *cli.Terminal) error { return command.Run(term) })
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(out), "."), 3)

	_, err = apitest.Run(t, []string{"TAGGIE_JWT_KEY=HS256:" + strings.Repeat("QUJD", 16)}, func(_ context.Context, term *cli.Terminal) error { return command.Run(term) })
	require.ErrorContains(t, err, "there is no embedded issuer")

	command.Email = "ada"
	out, err = apitest.Run(t, []string{"TAGGIE_DATA=" + t.TempDir()}, func(_ context.Context, term *cli.Terminal) error { return command.Run(term) })
	require.ErrorContains(t, err, "--email")
	assert.Empty(t, out)
}

func TestATakenPortIsSaid(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, err = apitest.Run(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=" + listener.Addr().String()}, cli.ServeCommand{}.Run)
	require.ErrorContains(t, err, "cannot listen on")
	assert.ErrorContains(t, err, "TAGGIE_ADDR")
}

// start runs the server as its command does and returns a client and what ends it.
func start(t *testing.T, env []string, addr string) (*apitest.Server, func()) {
	t.Helper()
	return startAs(t, cli.ServeCommand{}, env, addr)
}

// startAs does so with flags.
func startAs(t *testing.T, command cli.ServeCommand, env []string, addr string) (*apitest.Server, func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	logs := &apitest.LockedBuffer{}
	ended := make(chan error, 1)
	go func() {
		ended <- command.Run(ctx, &cli.Terminal{Environ: slices.Concat([]string{"TAGGIE_OPERATION_TIMEOUT=" + apitest.OperationTimeout.String()}, env, []string{"TAGGIE_ADDR=" + addr}), Stdout: logs, Stderr: logs})
	}()
	s := &apitest.Server{T: t, URL: "http://" + addr, Logs: logs}
	require.Eventually(t, func() bool {
		resp, err := http.Get(s.URL + "/readyz")
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
	token, err := apitest.Run(t, env, func(_ context.Context, term *cli.Terminal) error {
		return cli.TokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)

	s, stop := start(t, env, apitest.FreePort(t))
	ada := &apitest.Client{Server: s, Token: strings.TrimSpace(token)}
	ada.Must(`mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } createNote(input: {title: "kept", content: "here"}) { note { id } } }`, nil)
	stop()

	s, stop = start(t, env, apitest.FreePort(t))
	defer stop()
	ada = &apitest.Client{Server: s, Token: strings.TrimSpace(token)}
	assert.Len(t, ada.Must(`{ viewer { name notes { nodes { title } } } }`, nil).List("viewer.notes.nodes"), 1)
}

func TestReadyzNamesTheStoreAtFault(t *testing.T) {
	env := apitest.Remote(t)
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
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
			env[i] = "TAGGIE_REDIS_URL=redis://" + apitest.FreePort(t)
		}
	}
	// start waits for 200: Redis, which is away, does not keep the server from being ready.
	s, stop := start(t, append(env, "TAGGIE_JWT_KEY=HS256:"+strings.Repeat("QUJD", 16)), apitest.FreePort(t))
	defer stop()
	status, checks := s.Ready()
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok", checks["dynamodb"])
	assert.Regexp(t, "^degraded: ", checks["redis"])

	away.Store(true)
	require.Eventually(t, func() bool {
		status, checks = s.Ready()
		return status == http.StatusServiceUnavailable
	}, 30*time.Second, 50*time.Millisecond, "%s", s.Logs)
	assert.NotEqual(t, "ok", checks["dynamodb"])
	assert.Equal(t, "ok", checks["s3"])
}
