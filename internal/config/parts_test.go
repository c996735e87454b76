package config_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
)

func TestRedisURL(t *testing.T) {
	for url, want := range map[string]config.Redis{
		"redis://localhost":                  {Mode: config.RedisSingle, Addrs: []string{"localhost:6379"}},
		"redis://[::1]/3":                    {Mode: config.RedisSingle, Addrs: []string{"[::1]:6379"}, Database: 3},
		"rediss://:p%40ss:x@cache:6380":      {Mode: config.RedisSingle, Addrs: []string{"cache:6380"}, TLS: true, Password: "p@ss:x"},
		"redis+sentinel://u:p@a,b:1/main/2":  {Mode: config.RedisSentinel, Addrs: []string{"a:26379", "b:1"}, Master: "main", Database: 2, Username: "u", Password: "p"},
		"rediss+cluster://u@a:7000,[::1]:70": {Mode: config.RedisCluster, Addrs: []string{"a:7000", "[::1]:70"}, TLS: true, Username: "u"},
		"redis+sentinel://a/main?sentinel_password=p%2Bq&sentinel_username=s": {
			Mode: config.RedisSentinel, Addrs: []string{"a:26379"}, Master: "main", SentinelUsername: "s", SentinelPassword: "p+q"},
	} {
		var got config.Redis
		require.NoError(t, got.UnmarshalText([]byte(url)), url)
		assert.Equal(t, want, got, url)
	}
	for _, url := range []string{
		"localhost:6379", "redis:", "redis://", "http://a", "redis+://a", "redis+ring://a", "redis://a,b", "redis://a:0", "redis://a:99999",
		"redis://a/x", "redis://a/-1", "redis://a?x=1", "redis://%zz@a", "redis+sentinel://a", "redis+sentinel://a/", "redis+sentinel://a/m?x=1",
		"redis+cluster://a,", "redis+cluster://a/1", "redis://a:b:c", "redis+sentinel://a/m?%zz",
	} {
		var got config.Redis
		assert.Error(t, got.UnmarshalText([]byte(url)), url)
		assert.Zero(t, got, url)
	}
}

func FuzzRedisURL(f *testing.F) {
	for _, seed := range []string{"redis://a", "rediss://u:p@[::1]:1/2", "redis+sentinel://a,b/m?sentinel_password=x", "redis+cluster://a,b:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		var got config.Redis
		if got.UnmarshalText([]byte(url)) != nil {
			assert.Zero(t, got)
			return
		}
		assert.NotEqual(t, config.RedisNone, got.Mode)
		assert.NotEmpty(t, got.Addrs)
	})
}

func TestJWTKey(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	shortKey, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	require.NoError(t, err)
	edPublic, edPrivate, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(file, []byte("PS512:"+publicPEM(t, rsaKey.Public())), 0o600))
	pkcs1 := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey)}))
	hmac := []byte("0123456789abcdef0123456789abcde?")

	for name, test := range map[string]struct {
		value, algorithm string
		key              any
	}{
		"RSA":            {publicPEM(t, rsaKey.Public()), "RS256", rsaKey.Public()},
		"PKCS #1":        {pkcs1, "RS256", rsaKey.Public()},
		"RSA-PSS":        {"PS256:" + publicPEM(t, rsaKey.Public()), "PS256", rsaKey.Public()},
		"P-256":          {publicPEM(t, p256.Public()), "ES256", p256.Public()},
		"P-521":          {publicPEM(t, p521.Public()), "ES512", p521.Public()},
		"Ed25519":        {publicPEM(t, edPublic), "EdDSA", edPublic},
		"on one line":    {strings.ReplaceAll(publicPEM(t, edPublic), "\n", `\n`), "EdDSA", edPublic},
		"file":           {"@" + file, "PS512", rsaKey.Public()},
		"HMAC":           {"HS256:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZT8=", "HS256", hmac},
		"HMAC, unpadded": {"HS256:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZT8", "HS256", hmac},
	} {
		var got config.JWTKey
		require.NoError(t, got.UnmarshalText([]byte(test.value)), name)
		assert.Equal(t, test.algorithm, got.Algorithm, name)
		assert.Equal(t, test.key, got.Key, name)
	}

	der, err := x509.MarshalPKCS8PrivateKey(edPrivate)
	require.NoError(t, err)
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for name, test := range map[string]struct{ value, says string }{
		"private key":            {private, "private"},
		"two keys":               {publicPEM(t, edPublic) + publicPEM(t, edPublic), "nothing after"},
		"no key":                 {"hello", "PEM"},
		"certificate":            {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "PUBLIC KEY"},
		"short RSA key":          {publicPEM(t, shortKey.Public()), "2048"},
		"unsupported curve":      {publicPEM(t, p224.Public()), "P-256"},
		"HMAC with public key":   {"HS256:" + publicPEM(t, rsaKey.Public()), "base64"},
		"short HMAC":             {"HS512:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZT8=", "64 bytes"},
		"algorithm of another":   {"ES256:" + publicPEM(t, rsaKey.Public()), "RS256"},
		"none":                   {"none:" + publicPEM(t, rsaKey.Public()), "RS256"},
		"file that is not there": {"@" + file + ".gone", "readable file"},
	} {
		var got config.JWTKey
		assert.ErrorContains(t, got.UnmarshalText([]byte(test.value)), test.says, name)
		assert.Empty(t, got.Algorithm, name)
	}
}

func TestAConfiguredKeyReplacesTheLocalIssuer(t *testing.T) {
	c, err := config.Load([]string{"TAGGIE_ADDR=:80", "TAGGIE_OIDC_AUDIENCE=web", "TAGGIE_JWT_KEY=HS256:" + strings.Repeat("QUJD", 12)})
	require.NoError(t, err)
	assert.False(t, c.LocalIssuer())
	const one, another = "HS256:QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD", "HS512:QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD"
	c, err = config.Load([]string{"TAGGIE_ADDR=:80", "TAGGIE_JWT_KEY=" + one + "," + another})
	require.NoError(t, err)
	require.Len(t, c.JWTKeys, 2)
	assert.Equal(t, "HS256", c.JWTKeys[0].Algorithm)
	assert.Equal(t, "HS512", c.JWTKeys[1].Algorithm)
	for _, wrong := range []string{"broken", one + ",broken", one + ",", one + "," + another + "," + one} {
		_, err = config.Load([]string{"TAGGIE_ADDR=:80", "TAGGIE_JWT_KEY=" + wrong})
		all := new(config.Error)
		require.ErrorAs(t, err, &all, wrong)
		assert.ErrorContains(t, err, "TAGGIE_JWT_KEY", wrong)
		assert.NotContains(t, err.Error(), "QUJD")
		assert.Len(t, all.Problems, 1, "a key that cannot be read is one problem, not also a missing one: %v", err)
	}
}

func publicPEM(t *testing.T, key crypto.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}
