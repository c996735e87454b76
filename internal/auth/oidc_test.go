package auth_test

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/viewer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOIDCIdentity(t *testing.T) {
	clock := newClock()
	sign, key := newKey(t, "k1")
	issuer := newIssuer(t, key)
	v := issuer.verifier(clock)

	got, err := v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	require.NoError(t, err)
	assert.Equal(t, viewer.Identity{
		Issuer: issuer.URL, Subject: "alice", Email: "alice@example.com", EmailVerified: true,
		IssuedAt: got.IssuedAt, ExpiresAt: got.ExpiresAt,
	}, got)
	assert.True(t, got.IssuedAt.Equal(clock.Now()))
	assert.True(t, got.ExpiresAt.Equal(clock.Now().Add(time.Hour)))

	for name, test := range map[string]struct {
		changes jwt.MapClaims
		want    func(viewer.Identity) bool
	}{
		"audience among several": {jwt.MapClaims{"aud": []string{"x", "mobile"}}, func(i viewer.Identity) bool { return true }},
		"verified as text":       {jwt.MapClaims{"email_verified": "true"}, func(i viewer.Identity) bool { return i.EmailVerified }},
		"Entra's word by others": {jwt.MapClaims{"email_verified": nil, "xms_edov": true}, func(i viewer.Identity) bool { return !i.EmailVerified }},
		"not verified":           {jwt.MapClaims{"email_verified": false}, func(i viewer.Identity) bool { return !i.EmailVerified }},
		"verified as a number":   {jwt.MapClaims{"email_verified": 1}, func(i viewer.Identity) bool { return !i.EmailVerified }},
		"nothing to verify":      {jwt.MapClaims{"email": nil}, func(i viewer.Identity) bool { return !i.EmailVerified && i.Email == "" }},
		"endless e-mail":         {jwt.MapClaims{"email": strings.Repeat("a", 255)}, func(i viewer.Identity) bool { return !i.EmailVerified && i.Email == "" }},
		"admin":                  {jwt.MapClaims{"roles": []any{"x", 1, "admin"}}, func(i viewer.Identity) bool { return i.Admin }},
		"admin in words":         {jwt.MapClaims{"roles": "x admin"}, func(i viewer.Identity) bool { return i.Admin }},
		"almost an admin":        {jwt.MapClaims{"roles": []string{"Admin", "administrator"}}, func(i viewer.Identity) bool { return !i.Admin }},
		"roles of another name":  {jwt.MapClaims{"Roles": []string{"admin"}, "ROLES": "admin"}, func(i viewer.Identity) bool { return !i.Admin }},
		"subject of another name": {jwt.MapClaims{"Sub": "bob", "SUB": "bob"}, func(i viewer.Identity) bool {
			return i.Subject == "alice"
		}},
		"slightly in the future": {jwt.MapClaims{"iat": clock.Now().Add(20 * time.Second).Unix()}, func(i viewer.Identity) bool { return true }},
	} {
		got, err := v.Verify(background, sign.token(t, issuer.claims(clock, test.changes)))
		require.NoError(t, err, name)
		assert.True(t, test.want(got), "%s: %+v", name, got)
		assert.False(t, got.Local, name)
	}
}

func TestOIDCRefusals(t *testing.T) {
	clock := newClock()
	sign, key := newKey(t, "k1")
	stranger, _ := newKey(t, "k1")
	rsaKey := newRSA(t, 2048)
	issuer := newIssuer(t, key, published("r1", rsaKey.Public()))
	v := issuer.verifier(clock)
	good := sign.token(t, issuer.claims(clock, nil))
	parts := strings.Split(good, ".")
	unix := func(d time.Duration) int64 { return clock.Now().Add(d).Unix() }
	with := func(header map[string]any) signer {
		merged := map[string]any{"kid": "k1"}
		for name, value := range header {
			merged[name] = value
		}
		return signer{sign.method, sign.key, merged}
	}
	// The attacker's own key, brought along in the header that some libraries trust.
	own, ownPublic := newKey(t, "k1")
	keyServer := newIssuer(t, ownPublic)

	for name, test := range map[string]struct{ token, says string }{
		"expired":               {sign.token(t, issuer.claims(clock, jwt.MapClaims{"exp": unix(-time.Hour)})), "expired"},
		"expired this second":   {sign.token(t, issuer.claims(clock, jwt.MapClaims{"exp": unix(0)})), "expired"},
		"not yet valid":         {sign.token(t, issuer.claims(clock, jwt.MapClaims{"nbf": unix(time.Minute)})), "not valid yet"},
		"issued in the future":  {sign.token(t, issuer.claims(clock, jwt.MapClaims{"iat": unix(time.Minute)})), "not valid yet"},
		"another audience":      {sign.token(t, issuer.claims(clock, jwt.MapClaims{"aud": "other"})), "another audience"},
		"no audience":           {sign.token(t, issuer.claims(clock, jwt.MapClaims{"aud": nil})), "lacks a claim"},
		"expired and misguided": {sign.token(t, issuer.claims(clock, jwt.MapClaims{"aud": "other", "exp": unix(-time.Hour)})), "another audience"},
		"another issuer":        {sign.token(t, issuer.claims(clock, jwt.MapClaims{"iss": "https://evil.example"})), "issuer that is not accepted"},
		"no issuer":             {sign.token(t, issuer.claims(clock, jwt.MapClaims{"iss": nil})), "issuer that is not accepted"},
		"never expires":         {sign.token(t, issuer.claims(clock, jwt.MapClaims{"exp": nil})), "lacks a claim"},
		"expiry is text":        {sign.token(t, issuer.claims(clock, jwt.MapClaims{"exp": "tomorrow"})), "well-formed"},
		"no subject":            {sign.token(t, issuer.claims(clock, jwt.MapClaims{"sub": nil})), "subject"},
		"empty subject":         {sign.token(t, issuer.claims(clock, jwt.MapClaims{"sub": ""})), "subject"},
		"subject is a number":   {sign.token(t, issuer.claims(clock, jwt.MapClaims{"sub": 7})), "subject"},
		"subject with NUL":      {sign.token(t, issuer.claims(clock, jwt.MapClaims{"sub": "a\x00b"})), "subject"},
		"endless subject":       {sign.token(t, issuer.claims(clock, jwt.MapClaims{"sub": strings.Repeat("a", 256)})), "subject"},
		"forged signature":      {stranger.token(t, issuer.claims(clock, nil)), "signature"},
		"claims exchanged":      {parts[0] + "." + strings.Split(stranger.token(t, issuer.claims(clock, jwt.MapClaims{"sub": "bob"})), ".")[1] + "." + parts[2], "signature"},
		"no signature":          {parts[0] + "." + parts[1] + ".", "signature"},
		"two parts":             {parts[0] + "." + parts[1], "well-formed"},
		"four parts":            {good + ".x", "well-formed"},
		"not base64":            {"!." + parts[1] + "." + parts[2], "well-formed"},
		"padded":                {parts[0] + "." + parts[1] + "." + parts[2] + "==", "well-formed"},
		"empty":                 {"", "well-formed"},
		"huge":                  {sign.token(t, issuer.claims(clock, jwt.MapClaims{"x": strings.Repeat("x", 8192)})), "larger than 8192"},
		"none": {signer{jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil}.
			token(t, issuer.claims(clock, nil)), "algorithm"},
		"public key as HMAC secret": {signer{jwt.SigningMethodHS256, rsaKey.N.Bytes(), map[string]any{"kid": "r1"}}.
			token(t, issuer.claims(clock, nil)), "algorithm"},
		"key of another algorithm": {signer{jwt.SigningMethodEdDSA, stranger.key, map[string]any{"kid": "r1"}}.
			token(t, issuer.claims(clock, nil)), "does not publish"},
		"unknown extension": {with(map[string]any{"crit": []string{"b64"}, "b64": false}).token(t, issuer.claims(clock, nil)), "well-formed"},
		"logout token":      {with(map[string]any{"typ": "logout+jwt"}).token(t, issuer.claims(clock, nil)), "another kind"},
		"kid is a number":   {with(map[string]any{"kid": 1}).token(t, issuer.claims(clock, nil)), "well-formed"},
		"unknown kid":       {with(map[string]any{"kid": "../k1"}).token(t, issuer.claims(clock, nil)), "does not publish"},
		"jku": {signer{own.method, own.key, map[string]any{"kid": "k1", "jku": keyServer.URL + "/keys", "x5u": keyServer.URL}}.
			token(t, issuer.claims(clock, nil)), "signature"},
		"jwk": {signer{own.method, own.key, map[string]any{"kid": "k1", "jwk": ownPublic, "x5c": []string{"AAAA"}}}.
			token(t, issuer.claims(clock, nil)), "signature"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := v.Verify(background, test.token)
			requireUnauthenticated(t, err, test.says)
			assert.Zero(t, got)
		})
	}
	assert.Zero(t, keyServer.times(), "the address in a token's header is never asked")
	_, err := v.Verify(background, good)
	assert.NoError(t, err, "the token that the bad ones were made of is good")
}

func TestOIDCAlgorithms(t *testing.T) {
	clock := newClock()
	rsaKey := newRSA(t, 2048)
	bound := published("bound", rsaKey.Public())
	bound.Algorithm = "RS256"
	issuer := newIssuer(t, published("any", rsaKey.Public()), bound)
	v := issuer.verifier(clock)
	for _, method := range []jwt.SigningMethod{jwt.SigningMethodRS256, jwt.SigningMethodRS512, jwt.SigningMethodPS256} {
		_, err := v.Verify(background, signer{method, rsaKey, map[string]any{"kid": "any"}}.token(t, issuer.claims(clock, nil)))
		assert.NoError(t, err, method.Alg())
	}
	_, err := v.Verify(background, signer{jwt.SigningMethodRS256, rsaKey, map[string]any{"kid": "bound"}}.token(t, issuer.claims(clock, nil)))
	assert.NoError(t, err)
	_, err = v.Verify(background, signer{jwt.SigningMethodPS256, rsaKey, map[string]any{"kid": "bound"}}.token(t, issuer.claims(clock, nil)))
	requireUnauthenticated(t, err, "does not publish")
}

func TestTokenWithoutKidIsCheckedWithEachKey(t *testing.T) {
	clock := newClock()
	_, first := newKey(t, "k1")
	sign, second := newKey(t, "k2")
	issuer := newIssuer(t, first, second)
	v := issuer.verifier(clock)
	_, err := v.Verify(background, signer{sign.method, sign.key, nil}.token(t, issuer.claims(clock, nil)))
	assert.NoError(t, err)
	stranger, _ := newKey(t, "")
	_, err = v.Verify(background, signer{stranger.method, stranger.key, nil}.token(t, issuer.claims(clock, nil)))
	requireUnauthenticated(t, err, "signature")
}

func TestUnusablePublishedKeysArePassedOver(t *testing.T) {
	clock := newClock()
	sign, key := newKey(t, "k1")
	short := newRSA(t, 1024)
	encryptionKey := newRSA(t, 2048)
	encryption := published("enc", encryptionKey.Public())
	encryption.Use = "enc"
	var set []any
	for _, raw := range []string{
		`{"kty":"OKP","crv":"Ed448","kid":"x","x":"AAAA"}`, `{"kty":"strange"}`, `7`,
		`{"kty":"oct","kid":"h1","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
	} {
		set = append(set, json.RawMessage(raw))
	}
	issuer := newIssuer(t)
	issuer.keys = append(set, published("short", short.Public()), encryption, key)
	v := issuer.verifier(clock)
	_, err := v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	require.NoError(t, err)
	for kid, key := range map[string]*rsa.PrivateKey{"short": short, "enc": encryptionKey} {
		_, err = v.Verify(background, signer{jwt.SigningMethodRS256, key, map[string]any{"kid": kid}}.token(t, issuer.claims(clock, nil)))
		requireUnauthenticated(t, err, "does not publish")
	}
}

func TestKeyRotation(t *testing.T) {
	clock := newClock()
	_, oldKey := newKey(t, "old")
	newSign, newer := newKey(t, "new")
	issuer := newIssuer(t, oldKey)
	v := issuer.verifier(clock)
	require.NoError(t, v.Ready(background))
	require.Equal(t, 1, issuer.times())

	issuer.change(func(f *fakeIssuer) { f.keys = []jose.JSONWebKey{oldKey, newer} })
	clock.Add(2 * time.Minute)
	_, err := v.Verify(background, newSign.token(t, issuer.claims(clock, nil)))
	require.NoError(t, err, "an unknown kid makes the verifier read the keys again")
	assert.Equal(t, 2, issuer.times())

}

func TestWithdrawnKeyIsNotAcceptedForLong(t *testing.T) {
	clock := newClock()
	oldSign, oldKey := newKey(t, "old")
	newSign, newer := newKey(t, "new")
	issuer := newIssuer(t, oldKey)
	v := issuer.verifier(clock)
	require.NoError(t, v.Ready(background))
	issuer.waitForAnswers(t, 1)

	issuer.change(func(f *fakeIssuer) { f.keys = []jose.JSONWebKey{newer} })
	clock.Add(10 * time.Minute)
	last := oldSign.token(t, issuer.claims(clock, nil))
	_, err := v.Verify(background, last)
	require.NoError(t, err, "the token that starts the reading does not wait for it")
	issuer.waitForAnswers(t, 1) // though nobody asked for an unknown kid
	_, err = v.Verify(background, signer{newSign.method, newSign.key, map[string]any{"kid": "x"}}.token(t, issuer.claims(clock, nil)))
	require.Error(t, err) // an unknown kid waits for the attempt under way
	_, err = v.Verify(background, oldSign.token(t, issuer.claims(clock, jwt.MapClaims{"sub": "bob"})))
	requireUnauthenticated(t, err, "does not publish")
	clock.Add(time.Minute) // until then the first token is remembered as good
	_, err = v.Verify(background, last)
	requireUnauthenticated(t, err, "does not publish")
}

func TestUnknownKidFloodAsksTheIssuerOnceAMinute(t *testing.T) {
	clock := newClock()
	sign, key := newKey(t, "k1")
	issuer := newIssuer(t, key)
	v := issuer.verifier(clock)
	require.NoError(t, v.Ready(background))
	flood := func() {
		var all sync.WaitGroup
		for i := range 50 {
			bad := signer{sign.method, sign.key, map[string]any{"kid": fmt.Sprint("invented-", i)}}.token(t, issuer.claims(clock, nil))
			all.Go(func() {
				_, err := v.Verify(background, bad)
				assert.Error(t, err)
			})
		}
		all.Wait()
	}
	flood()
	assert.Equal(t, 1, issuer.times(), "within a minute of the first reading nobody asks")
	clock.Add(59 * time.Second)
	flood()
	assert.Equal(t, 1, issuer.times())
	clock.Add(time.Second)
	flood()
	assert.Equal(t, 2, issuer.times())
	// Tokens of other issuers and of other algorithms never make us ask.
	clock.Add(2 * time.Minute)
	_, err := v.Verify(background, signer{sign.method, sign.key, map[string]any{"kid": "x"}}.
		token(t, issuer.claims(clock, jwt.MapClaims{"iss": "https://evil.example"})))
	require.Error(t, err)
	_, err = v.Verify(background, signer{jwt.SigningMethodHS256, []byte("x"), map[string]any{"kid": "x"}}.token(t, issuer.claims(clock, nil)))
	require.Error(t, err)
	assert.Equal(t, 2, issuer.times())
}

func TestIssuerOutage(t *testing.T) {
	clock := newClock()
	sign, key := newKey(t, "k1")
	issuer := newIssuer(t, key)
	issuer.down = true
	v := issuer.verifier(clock)

	requireUnavailable(t, v.Ready(background))
	_, err := v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	requireUnavailable(t, err)

	issuer.change(func(f *fakeIssuer) { f.down = false })
	_, err = v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	requireUnavailable(t, err) // asked a moment ago
	clock.Add(5 * time.Second)
	_, err = v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	require.NoError(t, err, "the issuer is found again without a restart")

	issuer.change(func(f *fakeIssuer) { f.down = true })
	clock.Add(24 * time.Hour)
	_, err = v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	assert.NoError(t, err, "keys that were read once stay usable while the issuer is down")
	assert.NoError(t, v.Ready(background))
	_, err = v.Verify(background, signer{sign.method, sign.key, map[string]any{"kid": "k2"}}.token(t, issuer.claims(clock, nil)))
	requireUnavailable(t, err) // it may be a new key

	_, private := newKey(t, "k2")
	private.Key = sign.key
	issuer.change(func(f *fakeIssuer) { f.down, f.keys = false, []jose.JSONWebKey{private} })
	clock.Add(2 * time.Minute)
	asked := issuer.times()
	_, err = v.Verify(background, signer{sign.method, sign.key, map[string]any{"kid": "k2"}}.token(t, issuer.claims(clock, nil)))
	requireUnavailable(t, err)
	assert.Equal(t, asked+1, issuer.times())
	_, err = v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	assert.NoError(t, err, "a key set without a usable key does not replace a good one")
}

func TestFirstCallersCancellationHarmsNobody(t *testing.T) {
	clock := newClock()
	sign, key := newKey(t, "k1")
	issuer := newIssuer(t, key)
	v := issuer.verifier(clock)
	cancelled, cancel := context.WithCancel(background)
	cancel()
	issuer.mu.Lock() // the issuer does not answer yet
	_, err := v.Verify(cancelled, sign.token(t, issuer.claims(clock, nil)))
	requireUnavailable(t, err)
	issuer.mu.Unlock()
	_, err = v.Verify(background, sign.token(t, issuer.claims(clock, nil)))
	assert.NoError(t, err)
	assert.Equal(t, 1, issuer.times())
}

func TestBadDiscovery(t *testing.T) {
	for name, configure := range map[string]func(map[string]any){
		"another issuer": func(d map[string]any) { d["issuer"] = "https://evil.example" },
		"no key address": func(d map[string]any) { delete(d, "jwks_uri") },
		"file":           func(d map[string]any) { d["jwks_uri"] = "file:///etc/passwd" },
		"endless":        func(d map[string]any) { d["x"] = strings.Repeat("x", 2<<20) },
	} {
		issuer := newIssuer(t)
		issuer.configure = configure
		requireUnavailable(t, issuer.verifier(newClock()).Ready(background))
		assert.Zero(t, issuer.times(), name)
	}
}

func TestRedirectFromHTTPSToHTTPIsNotFollowed(t *testing.T) {
	_, key := newKey(t, "k1")
	plain := newIssuer(t, key)
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/.well-known/openid-configuration", http.StatusFound))
	defer secure.Close()
	plain.configure = func(d map[string]any) { d["issuer"] = secure.URL }
	v := auth.NewOIDC(auth.Issuer{URL: secure.URL, Audiences: []string{"web"}, Client: secure.Client()}, newClock().Now)
	err := v.Ready(background)
	requireUnavailable(t, err)
	assert.ErrorContains(t, err, "redirected")
}

func TestCachedTokenStillExpires(t *testing.T) {
	clock := newClock()
	sign, key := newKey(t, "k1")
	issuer := newIssuer(t, key)
	v := issuer.verifier(clock)
	token := sign.token(t, issuer.claims(clock, jwt.MapClaims{"exp": clock.Now().Add(40 * time.Second).Unix()}))
	for range 2 {
		_, err := v.Verify(background, token)
		require.NoError(t, err)
	}
	clock.Add(39 * time.Second)
	_, err := v.Verify(background, token)
	require.NoError(t, err)
	clock.Add(time.Second)
	_, err = v.Verify(background, token)
	requireUnauthenticated(t, err, "expired")
}
