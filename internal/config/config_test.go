package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
)

var secret32 = strings.Repeat("s3cr3t-x", 4)

func TestNothingSetIsTheEmbeddedServerOnLoopback(t *testing.T) {
	c, err := config.Load([]string{"PATH=/bin", "TAGGIE_ADDR="})
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:8080", c.Addr, "an empty variable counts as not set")
	assert.Equal(t, "./data", c.Data)
	assert.Equal(t, "taggie_", c.TablePrefix)
	assert.Equal(t, slog.LevelInfo, c.LogLevel)
	assert.Equal(t, "text", c.LogFormat)
	assert.Equal(t, 10*time.Second, c.OperationTimeout)
	assert.Zero(t, c.DrainDelay)
	assert.Equal(t, 30*time.Second, c.StreamPatience)
	assert.Equal(t, 16, c.DynamoConcurrency)
	assert.Empty(t, c.Secrets)
	assert.True(t, c.EmbeddedDynamoDB())
	assert.True(t, c.EmbeddedS3())
	assert.True(t, c.EmbeddedRedis())
	assert.True(t, c.LocalIssuer())
}

func TestEverythingSet(t *testing.T) {
	c, err := config.Load([]string{
		"TAGGIE_ADDR=:8080", "TAGGIE_PATH_PREFIX=/apps/taggie-2.0", "TAGGIE_DATA=/var/lib/taggie", "TAGGIE_TABLE_PREFIX=prod-", "TAGGIE_REDIS_URL=redis://cache", "TAGGIE_REDIS_PREFIX=eu-1.blue_:",
		"TAGGIE_S3_BUCKET=notes.example", "TAGGIE_SECRET=" + secret32 + "," + secret32 + "2",
		"TAGGIE_OIDC_ISSUER=https://id.example.com/", "TAGGIE_OIDC_AUDIENCE=web,mobile",
		"TAGGIE_ALLOWED_ORIGINS=https://a.example,http://localhost:3000", "TAGGIE_TRUSTED_PROXIES=10.0.0.0/8,fd00::/8", "TAGGIE_ALLOWANCES=notes=5,items=7", "TAGGIE_LOG_LEVEL=DEBUG", "TAGGIE_LOG_FORMAT=json",
		"TAGGIE_PPROF=[::1]:6060", "TAGGIE_METRICS_ADDR=:9090", "TAGGIE_OPERATION_TIMEOUT=30s", "TAGGIE_DRAIN_DELAY=5s", "TAGGIE_STREAM_PATIENCE=1m", "TAGGIE_DYNAMO_CONCURRENCY=32", "TAGGIE_ENGINE_REDIS=/opt/redis",
		"AWS_REGION=eu-central-1", "AWS_ENDPOINT_URL_DYNAMODB=http://db:8000", "AWS_ENDPOINT_URL_S3=http://s3:9000",
	})
	require.NoError(t, err)
	assert.Equal(t, []config.Secret{config.Secret(secret32), config.Secret(secret32 + "2")}, c.Secrets)
	assert.Equal(t, []string{"web", "mobile"}, c.OIDCAudience)
	assert.Equal(t, []string{"https://a.example", "http://localhost:3000"}, c.AllowedOrigins)
	assert.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}, c.TrustedProxies)
	assert.Equal(t, slog.LevelDebug, c.LogLevel)
	assert.Equal(t, 30*time.Second, c.OperationTimeout)
	assert.Equal(t, 5*time.Second, c.DrainDelay)
	assert.Equal(t, time.Minute, c.StreamPatience)
	assert.Equal(t, 32, c.DynamoConcurrency)
	assert.Equal(t, map[string]int{"notes": 5, "items": 7}, c.Allowances)
	assert.Equal(t, "/opt/redis", c.EngineRedis)
	assert.Equal(t, ":9090", c.MetricsAddr)
	assert.Equal(t, "eu-1.blue_:", c.RedisPrefix)
	assert.Equal(t, "/apps/taggie-2.0", c.PathPrefix)
	assert.False(t, c.EmbeddedDynamoDB())
	assert.False(t, c.EmbeddedS3())
	assert.False(t, c.EmbeddedRedis())
	assert.False(t, c.LocalIssuer())
}

// Each store is decided for itself, and a region that a shell exports decides nothing.
func TestStoresAreEmbeddedUnlessSet(t *testing.T) {
	for _, test := range []struct {
		environ           string
		dynamo, s3, redis bool
	}{
		{"AWS_REGION=eu-west-1", true, true, true},
		{"AWS_REGION=eu-west-1 AWS_PROFILE=work AWS_ENDPOINT_URL=http://x", true, true, true},
		{"AWS_REGION=eu-west-1 TAGGIE_DYNAMODB=aws", false, true, true},
		{"AWS_REGION=local AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000", false, true, true},
		{"TAGGIE_DYNAMODB=embedded AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000", true, true, true},
		{"AWS_REGION=eu-west-1 TAGGIE_S3_BUCKET=abc", true, false, true},
		{"TAGGIE_REDIS_URL=redis://127.0.0.1", true, true, false},
	} {
		c, err := config.Load(append(strings.Fields(test.environ), "TAGGIE_SECRET="+secret32))
		require.NoError(t, err, test.environ)
		assert.Equal(t, []bool{test.dynamo, test.s3, test.redis},
			[]bool{c.EmbeddedDynamoDB(), c.EmbeddedS3(), c.EmbeddedRedis()}, test.environ)
	}
}

func TestProblems(t *testing.T) {
	for name, test := range map[string]struct {
		environ  []string
		variable string
		says     string
	}{
		"address without port":       {[]string{"TAGGIE_ADDR=127.0.0.1"}, "TAGGIE_ADDR", "host:port"},
		"address with a big port":    {[]string{"TAGGIE_ADDR=127.0.0.1:65536"}, "TAGGIE_ADDR", "65535"},
		"local issuer everywhere":    {[]string{"TAGGIE_ADDR=:8080"}, "TAGGIE_ADDR", "loopback"},
		"local issuer on 0.0.0.0":    {[]string{"TAGGIE_ADDR=0.0.0.0:8080"}, "TAGGIE_ADDR", "loopback"},
		"local issuer on [::]":       {[]string{"TAGGIE_ADDR=[::]:8080"}, "TAGGIE_ADDR", "loopback"},
		"local issuer on a name":     {[]string{"TAGGIE_ADDR=localhost.example.com:8080"}, "TAGGIE_ADDR", "loopback"},
		"path without a slash":       {[]string{"TAGGIE_PATH_PREFIX=taggie"}, "TAGGIE_PATH_PREFIX", "begins with '/'"},
		"path that ends with one":    {[]string{"TAGGIE_PATH_PREFIX=/taggie/"}, "TAGGIE_PATH_PREFIX", "does not end with it"},
		"path of nothing":            {[]string{"TAGGIE_PATH_PREFIX=/"}, "TAGGIE_PATH_PREFIX", "such as /taggie"},
		"path that goes up":          {[]string{"TAGGIE_PATH_PREFIX=/a/../b"}, "TAGGIE_PATH_PREFIX", "such as /taggie"},
		"path in two spellings":      {[]string{"TAGGIE_PATH_PREFIX=/%74aggie"}, "TAGGIE_PATH_PREFIX", "letters"},
		"path as a pattern":          {[]string{"TAGGIE_PATH_PREFIX=/{a}"}, "TAGGIE_PATH_PREFIX", "letters"},
		"path of a probe":            {[]string{"TAGGIE_PATH_PREFIX=/healthz/a"}, "TAGGIE_PATH_PREFIX", "not below /healthz"},
		"path in 129 bytes":          {[]string{"TAGGIE_PATH_PREFIX=/" + strings.Repeat("x", 128)}, "TAGGIE_PATH_PREFIX", "at most 128"},
		"metrics without a port":     {[]string{"TAGGIE_METRICS_ADDR=localhost"}, "TAGGIE_METRICS_ADDR", "127.0.0.1:9464"},
		"metrics on the same port":   {[]string{"TAGGIE_METRICS_ADDR=127.0.0.1:8080"}, "TAGGIE_METRICS_ADDR", "another"},
		"metrics of a demo for all":  {[]string{"TAGGIE_METRICS_ADDR=:9090"}, "TAGGIE_METRICS_ADDR", "loopback"},
		"profiles at the metrics":    {[]string{"TAGGIE_METRICS_ADDR=127.0.0.1:6060", "TAGGIE_PPROF=127.0.0.1:6060"}, "TAGGIE_PPROF", "another"},
		"profiles for everybody":     {[]string{"TAGGIE_PPROF=:6060"}, "TAGGIE_PPROF", "loopback"},
		"profiles on the same port":  {[]string{"TAGGIE_PPROF=127.0.0.1:8080"}, "TAGGIE_PPROF", "another"},
		"trust in something else":    {[]string{"TAGGIE_TRUSTED_DOCUMENTS_MODE=on"}, "TAGGIE_TRUSTED_DOCUMENTS_MODE", "off, log or enforce"},
		"trust in nothing":           {[]string{"TAGGIE_TRUSTED_DOCUMENTS_MODE=enforce"}, "TAGGIE_TRUSTED_DOCUMENTS", "required"},
		"log level":                  {[]string{"TAGGIE_LOG_LEVEL=loud"}, "TAGGIE_LOG_LEVEL", "debug, info"},
		"log format":                 {[]string{"TAGGIE_LOG_FORMAT=xml"}, "TAGGIE_LOG_FORMAT", "text or json"},
		"timeout without unit":       {[]string{"TAGGIE_OPERATION_TIMEOUT=10"}, "TAGGIE_OPERATION_TIMEOUT", "such as 10s"},
		"timeout above 30 seconds":   {[]string{"TAGGIE_OPERATION_TIMEOUT=30001ms"}, "TAGGIE_OPERATION_TIMEOUT", "up to 30s"},
		"drain delay below nothing":  {[]string{"TAGGIE_DRAIN_DELAY=-1s"}, "TAGGIE_DRAIN_DELAY", "from 0s"},
		"drain delay of an hour":     {[]string{"TAGGIE_DRAIN_DELAY=1h"}, "TAGGIE_DRAIN_DELAY", "to 5m"},
		"no patience of streams":     {[]string{"TAGGIE_STREAM_PATIENCE=0s"}, "TAGGIE_STREAM_PATIENCE", "above 0"},
		"drain delay without unit":   {[]string{"TAGGIE_DRAIN_DELAY=5"}, "TAGGIE_DRAIN_DELAY", "such as 5s"},
		"timeout of nothing":         {[]string{"TAGGIE_OPERATION_TIMEOUT=0s"}, "TAGGIE_OPERATION_TIMEOUT", "above 0"},
		"concurrency of words":       {[]string{"TAGGIE_DYNAMO_CONCURRENCY=many"}, "TAGGIE_DYNAMO_CONCURRENCY", "1 to 256"},
		"concurrency of none":        {[]string{"TAGGIE_DYNAMO_CONCURRENCY=0"}, "TAGGIE_DYNAMO_CONCURRENCY", "1 to 256"},
		"no shards":                  {[]string{"TAGGIE_TAG_SHARDS=0"}, "TAGGIE_TAG_SHARDS", "1 to 64"},
		"too many shards":            {[]string{"TAGGIE_TAG_SHARDS=65"}, "TAGGIE_TAG_SHARDS", "1 to 64"},
		"allowances of nothing":      {[]string{"TAGGIE_ALLOWANCES=notes"}, "TAGGIE_ALLOWANCES", "notes=200000"},
		"allowances of words":        {[]string{"TAGGIE_ALLOWANCES=notes=many"}, "TAGGIE_ALLOWANCES", "notes=200000"},
		"quota of nothing":           {[]string{"TAGGIE_ITEM_QUOTA=0"}, "TAGGIE_ITEM_QUOTA", "above 0"},
		"table prefix":               {[]string{"TAGGIE_TABLE_PREFIX=a/b"}, "TAGGIE_TABLE_PREFIX", "letters"},
		"Redis prefix with braces":   {[]string{"TAGGIE_REDIS_PREFIX={eu}"}, "TAGGIE_REDIS_PREFIX", "no braces"},
		"Redis prefix with a blank":  {[]string{"TAGGIE_REDIS_PREFIX=eu "}, "TAGGIE_REDIS_PREFIX", "such as eu:"},
		"Redis prefix as a pattern":  {[]string{"TAGGIE_REDIS_PREFIX=eu*"}, "TAGGIE_REDIS_PREFIX", "such as eu:"},
		"Redis prefix in 65 bytes":   {[]string{"TAGGIE_REDIS_PREFIX=" + strings.Repeat("x", 65)}, "TAGGIE_REDIS_PREFIX", "at most 64"},
		"bucket":                     {[]string{"TAGGIE_S3_BUCKET=A", "AWS_REGION=x"}, "TAGGIE_S3_BUCKET", "bucket name"},
		"bucket without region":      {[]string{"TAGGIE_S3_BUCKET=abc"}, "AWS_REGION", "required"},
		"S3 endpoint without bucket": {[]string{"AWS_ENDPOINT_URL_S3=http://x"}, "TAGGIE_S3_BUCKET", "required with AWS_ENDPOINT_URL_S3"},
		"endpoint":                   {[]string{"AWS_ENDPOINT_URL_DYNAMODB=db:8000", "AWS_REGION=x", "TAGGIE_SECRET=" + secret32}, "AWS_ENDPOINT_URL_DYNAMODB", "URL"},
		"kind of DynamoDB":           {[]string{"TAGGIE_DYNAMODB=cloud"}, "TAGGIE_DYNAMODB", "aws or embedded"},
		"remote without secret":      {[]string{"TAGGIE_DYNAMODB=aws", "AWS_REGION=x"}, "TAGGIE_SECRET", "required"},
		"short secret":               {[]string{"TAGGIE_SECRET=hunter2"}, "TAGGIE_SECRET", "32"},
		"short previous secret":      {[]string{"TAGGIE_SECRET=" + secret32 + ",hunter2"}, "TAGGIE_SECRET", "32"},
		"three secrets":              {[]string{"TAGGIE_SECRET=" + strings.Repeat(secret32+",", 2) + secret32}, "TAGGIE_SECRET", "current,previous"},
		"origin with path":           {[]string{"TAGGIE_ALLOWED_ORIGINS=https://a.example/"}, "TAGGIE_ALLOWED_ORIGINS", "no path"},
		"any origin":                 {[]string{"TAGGIE_ALLOWED_ORIGINS=*"}, "TAGGIE_ALLOWED_ORIGINS", "no wildcard"},
		"origin with default port":   {[]string{"TAGGIE_ALLOWED_ORIGINS=https://a.example:443"}, "TAGGIE_ALLOWED_ORIGINS", "default port"},
		"pictures of everywhere":     {[]string{"TAGGIE_PICTURE_ORIGINS=https:"}, "TAGGIE_PICTURE_ORIGINS", "no wildcard"},
		"pictures and more":          {[]string{"TAGGIE_PICTURE_ORIGINS=https://a.example;script-src"}, "TAGGIE_PICTURE_ORIGINS", "no path"},
		"origin in capitals":         {[]string{"TAGGIE_ALLOWED_ORIGINS=https://A.example"}, "TAGGIE_ALLOWED_ORIGINS", "lower case"},
		"proxies that are no list":   {[]string{"TAGGIE_TRUSTED_PROXIES=proxy.example"}, "TAGGIE_TRUSTED_PROXIES", "networks"},
		"one address as a proxy":     {[]string{"TAGGIE_TRUSTED_PROXIES=10.0.0.1"}, "TAGGIE_TRUSTED_PROXIES", "networks"},
		"bits behind the mask":       {[]string{"TAGGIE_TRUSTED_PROXIES=10.0.0.0/8,10.0.0.1/8"}, "TAGGIE_TRUSTED_PROXIES", "behind the mask"},
		"everybody as a proxy":       {[]string{"TAGGIE_TRUSTED_PROXIES=::/0"}, "TAGGIE_TRUSTED_PROXIES", "not everybody"},
		"proxies of two forms":       {[]string{"TAGGIE_TRUSTED_PROXIES=::ffff:10.0.0.0/104"}, "TAGGIE_TRUSTED_PROXIES", "its own form"},
		"second origin":              {[]string{"TAGGIE_ALLOWED_ORIGINS=https://a.example, https://b.example"}, "TAGGIE_ALLOWED_ORIGINS", "commas"},
		"issuer without audience":    {[]string{"TAGGIE_OIDC_ISSUER=https://id.example"}, "TAGGIE_OIDC_AUDIENCE", "required"},
		"audience without issuer":    {[]string{"TAGGIE_OIDC_AUDIENCE=web"}, "TAGGIE_OIDC_AUDIENCE", "TAGGIE_OIDC_ISSUER"},
		"empty audience":             {[]string{"TAGGIE_OIDC_ISSUER=https://id.example", "TAGGIE_OIDC_AUDIENCE=web,"}, "TAGGIE_OIDC_AUDIENCE", "none of them empty"},
		"client without issuer":      {[]string{"TAGGIE_OIDC_CLIENT_ID=pages"}, "TAGGIE_OIDC_ISSUER", "required with TAGGIE_OIDC_CLIENT_ID"},
		"secret without client":      {[]string{"TAGGIE_OIDC_ISSUER=https://id.example", "TAGGIE_OIDC_AUDIENCE=web", "TAGGIE_OIDC_CLIENT_SECRET=x"}, "TAGGIE_OIDC_CLIENT_ID", "required"},
		"secret of two words":        {[]string{"TAGGIE_OIDC_ISSUER=https://id.example", "TAGGIE_OIDC_AUDIENCE=web", "TAGGIE_OIDC_CLIENT_ID=pages", "TAGGIE_OIDC_CLIENT_SECRET=x y"}, "TAGGIE_OIDC_CLIENT_SECRET", "without blanks"},
		"scopes without openid":      {[]string{"TAGGIE_OIDC_SCOPES=profile email"}, "TAGGIE_OIDC_SCOPES", "openid"},
		"issuer over http":           {[]string{"TAGGIE_OIDC_ISSUER=http://id.example", "TAGGIE_OIDC_AUDIENCE=web"}, "TAGGIE_OIDC_ISSUER", "https"},
		"issuer with a query":        {[]string{"TAGGIE_OIDC_ISSUER=https://id.example/?tenant=x", "TAGGIE_OIDC_AUDIENCE=web"}, "TAGGIE_OIDC_ISSUER", "without user"},
		"issuer with a password":     {[]string{"TAGGIE_OIDC_ISSUER=https://u:hunter2@id.example", "TAGGIE_OIDC_AUDIENCE=web"}, "TAGGIE_OIDC_ISSUER", "without user"},
		"issuer that is no URL":      {[]string{"TAGGIE_OIDC_ISSUER=id.example", "TAGGIE_OIDC_AUDIENCE=web"}, "TAGGIE_OIDC_ISSUER", "URL"},
		"misspelled":                 {[]string{"TAGGIE_TABEL_PREFIX=x"}, "TAGGIE_TABEL_PREFIX", "did you mean TAGGIE_TABLE_PREFIX?"},
		"unheard of":                 {[]string{"TAGGIE_FROBNICATION=x"}, "TAGGIE_FROBNICATION", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Load(test.environ)
			all, ok := errors.AsType[*config.Error](err)
			require.True(t, ok, "%v", err)
			require.Len(t, all.Problems, 1, "%v", err)
			assert.Equal(t, test.variable, all.Problems[0].Variable)
			assert.Contains(t, all.Problems[0].Expected, test.says)
			assert.Zero(t, c, "nothing of a bad environment is used")
		})
	}
}

func TestAllProblemsAtOnceInTheOrderOfTheTable(t *testing.T) {
	_, err := config.Load([]string{
		"TAGGIE_ZZZ_UNHEARD=1", "AWS_ENDPOINT_URL_S3=:", "TAGGIE_SECRET=hunter2", "TAGGIE_REDIS_URL=http://user:hunter2@x",
		"TAGGIE_JWT_KEY=HS256:aHVudGVyMg==", "TAGGIE_LOG_LEVEL=loud", "TAGGIE_DYNAMO_CONCURRENCY=x", "TAGGIE_ADDR=x",
		"TAGGIE_AADR=y",
	})
	require.Error(t, err)
	var names []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		name, expected, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		assert.NotEmpty(t, expected)
		names = append(names, name)
	}
	assert.Equal(t, []string{
		"TAGGIE_ADDR", "TAGGIE_JWT_KEY", "TAGGIE_SECRET", "TAGGIE_LOG_LEVEL", "TAGGIE_DYNAMO_CONCURRENCY", "TAGGIE_S3_BUCKET",
		"TAGGIE_REDIS_URL", "AWS_ENDPOINT_URL_S3", "TAGGIE_AADR", "TAGGIE_ZZZ_UNHEARD",
	}, names)
	assert.NotContains(t, err.Error(), "hunter2", "a secret is never echoed")
	assert.NotContains(t, err.Error(), "aHVudGVyMg", "a secret is never echoed")
}

func TestIssuerOnLoopbackMayUseHTTP(t *testing.T) {
	_, err := config.Load([]string{"TAGGIE_OIDC_ISSUER=http://127.0.0.1:5556/dex", "TAGGIE_OIDC_AUDIENCE=web"})
	assert.NoError(t, err)
}

func TestLocalIssuerListensOnLoopback(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "127.8.8.8:80", "[::1]:8080", "localhost:8080", "[::ffff:127.0.0.1]:80"} {
		_, err := config.Load([]string{"TAGGIE_ADDR=" + addr})
		assert.NoError(t, err, addr)
	}
}

// A pod whose service is called taggie gets variables that nobody wrote; clients read some of their own.
func TestForeignVariablesWithThePrefixAreLeftAlone(t *testing.T) {
	_, err := config.Load([]string{
		"TAGGIE_SERVICE_HOST=10.0.0.1", "TAGGIE_SERVICE_PORT=80", "TAGGIE_SERVICE_PORT_HTTP=80", "TAGGIE_PORT=tcp://10.0.0.1:80",
		"TAGGIE_PORT_80_TCP=x", "TAGGIE_PORT_80_TCP_ADDR=x", "TAGGIE_REDIS_SERVICE_HOST=x", "TAGGIE_REDIS_PORT_6379_TCP_PROTO=tcp",
		"TAGGIE_TEST_ANYTHING=1", "OTHER_TAGGIE_ADDR=1", "TAGGIE_URL=http://127.0.0.1:8080", "TAGGIE_TOKEN=x", "TAGGIE_BIN=x", "TAGGIE_README=x",
	})
	assert.NoError(t, err)
}

func TestCommandsThatOnlyReachTheStoresNeedNoIdentity(t *testing.T) {
	environ := []string{"TAGGIE_DYNAMODB=aws", "AWS_REGION=eu-west-1", "TAGGIE_ADDR=:8080"}
	_, err := config.LoadStores(environ)
	require.NoError(t, err)
	_, err = config.Load(environ)
	assert.ErrorContains(t, err, "TAGGIE_SECRET")
	_, err = config.LoadStores([]string{"TAGGIE_DYNAMODB=aws"})
	assert.ErrorContains(t, err, "AWS_REGION")
}

func TestSecretsAreNotPrinted(t *testing.T) {
	c, err := config.Load([]string{
		"TAGGIE_SECRET=" + secret32, "TAGGIE_REDIS_URL=redis://u:hunter2hunter2@h",
		"TAGGIE_JWT_KEY=HS256:c2VjcmV0LWtleS1zZWNyZXQta2V5LXNlY3JldC1rZXk=",
		"TAGGIE_OIDC_ISSUER=https://id.example", "TAGGIE_OIDC_AUDIENCE=web", "TAGGIE_OIDC_CLIENT_ID=pages", "TAGGIE_OIDC_CLIENT_SECRET=GOCSPX-x",
	})
	require.NoError(t, err)
	assert.Equal(t, "GOCSPX-x", string(c.OIDCClientSecret.Secret))
	encoded, err := json.Marshal(c)
	require.NoError(t, err)
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("config", "all", c, "key", c.JWTKeys[0], "secret", c.Secrets[0])
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", c, c, c), string(encoded), logged.String()} {
		assert.Contains(t, text, "[secret]")
		for _, leak := range []string{secret32, "hunter2", "GOCSPX", "secret-key", fmt.Sprint([]byte("secret-key"))[1:20]} {
			assert.NotContains(t, text, leak)
		}
	}
}

func TestVariablesDescribeEveryField(t *testing.T) {
	names := map[string]bool{}
	for _, v := range config.Variables() {
		assert.NotEmpty(t, v.Name)
		assert.NotEmpty(t, v.Description, v.Name)
		assert.False(t, names[v.Name], "%s twice", v.Name)
		names[v.Name] = true
	}
	for _, line := range strings.Split(strings.TrimSpace(config.Markdown()), "\n") {
		assert.Equal(t, 4, strings.Count(line, "|"), line)
	}
	assert.Contains(t, config.Markdown(), "| `TAGGIE_ADDR` | `127.0.0.1:8080` | ")
}

func ExampleLoad() {
	_, err := config.Load([]string{"TAGGIE_LOG_FORMAT=xml", "TAGGIE_PPORF=127.0.0.1:6060"})
	fmt.Println(err)
	// Output:
	// TAGGIE_LOG_FORMAT: expected text or json
	// TAGGIE_PPORF: unknown; did you mean TAGGIE_PPROF?
}
