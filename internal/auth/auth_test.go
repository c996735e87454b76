package auth_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

var secret = []byte(strings.Repeat("local-secret-", 3))

func TestBearer(t *testing.T) {
	for value, want := range map[string]string{
		"Bearer abc": "abc", "bearer a.b-c_d~e+f/g==": "a.b-c_d~e+f/g==", "BEARER   x": "x",
	} {
		token, found, err := auth.Bearer([]string{value})
		require.NoError(t, err, value)
		assert.True(t, found, value)
		assert.Equal(t, want, token)
	}
	_, found, err := auth.Bearer(nil)
	require.NoError(t, err)
	assert.False(t, found)

	for name, test := range map[string]struct {
		values []string
		says   string
	}{
		"several":           {[]string{"Bearer a", "Bearer b"}, "one Authorization header"},
		"the same twice":    {[]string{"Bearer a", "Bearer a"}, "one Authorization header"},
		"empty":             {[]string{""}, "form"},
		"basic":             {[]string{"Basic YTpi"}, "form"},
		"token alone":       {[]string{"abc.def.ghi"}, "form"},
		"tab":               {[]string{"Bearer\tabc"}, "form"},
		"blank before":      {[]string{" Bearer abc"}, "form"},
		"scheme alone":      {[]string{"Bearer"}, "one token"},
		"nothing but blank": {[]string{"Bearer "}, "one token"},
		"padding alone":     {[]string{"Bearer =="}, "one token"},
		"padding inside":    {[]string{"Bearer a=b"}, "one token"},
		"two tokens":        {[]string{"Bearer a b"}, "one token"},
		"joined headers":    {[]string{"Bearer a, Bearer b"}, "one token"},
		"blank after":       {[]string{"Bearer a "}, "one token"},
		"quotes":            {[]string{`Bearer "a"`}, "one token"},
		"not ASCII":         {[]string{"Bearer ä"}, "one token"},
		"broken UTF-8":      {[]string{"Bearer \xff"}, "one token"},
		"huge":              {[]string{"Bearer " + strings.Repeat("a", 8193)}, "larger"},
	} {
		token, found, err := auth.Bearer(test.values)
		requireUnauthenticated(t, err, test.says)
		assert.False(t, found, name)
		assert.Empty(t, token, name)
	}
}

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer  a.b.c==", "Basic x", "Bearer a,b", "", "Bearer \xff"} {
		f.Add(seed)
	}
	form := regexp.MustCompile(`^(?i:bearer) +([A-Za-z0-9._~+/-]+=*)$`) // RFC 6750, section 2.1
	f.Fuzz(func(t *testing.T, value string) {
		token, found, err := auth.Bearer([]string{value})
		match := form.FindStringSubmatch(value)
		if match == nil || len(match[1]) > 8192 || strings.HasSuffix(value, "\n") {
			assert.Equal(t, fault.Unauthenticated, fault.KindOf(err))
			assert.False(t, found)
			assert.Empty(t, token)
			return
		}
		assert.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, match[1], token)
	})
}

// encoding/json reads U+FFFD for half of a surrogate pair: two subjects would be one.
func TestHalfCharactersInClaimsAreRefused(t *testing.T) {
	clock := newClock()
	v, err := auth.NewStatic(accepting("HS256", secret), clock.Now)
	require.NoError(t, err)
	for subject, taken := range map[string]bool{`\ud83d\ude00`: true, `\ufffd`: true, `\ud83d`: false, `\udfff`: false} {
		encoded := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
		text := encoded(`{"alg":"HS256"}`) + "." + encoded(fmt.Sprintf(`{"sub":"%s","exp":%d}`, subject, clock.Now().Add(time.Hour).Unix()))
		signature, err := jwt.SigningMethodHS256.Sign(text, secret)
		require.NoError(t, err)
		_, err = v.Verify(background, text+"."+base64.RawURLEncoding.EncodeToString(signature))
		if taken {
			assert.NoError(t, err, subject)
		} else {
			assert.Equal(t, fault.Unauthenticated, fault.KindOf(err), subject)
		}
	}
}

func TestStaticKeys(t *testing.T) {
	clock := newClock()
	rsaKey := newRSA(t, 2048)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	edPublic, edPrivate, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	claims := jwt.MapClaims{"sub": "alice", "exp": clock.Now().Add(time.Hour).Unix(), "iss": "me", "aud": "web"}

	for _, test := range []struct {
		static auth.Static
		sign   any
	}{
		{accepting("RS256", rsaKey.Public()), rsaKey},
		{accepting("PS256", rsaKey.Public()), rsaKey},
		{accepting("ES256", p256.Public()), p256},
		{accepting("EdDSA", edPublic), edPrivate},
		{accepting("HS256", secret), secret},
		{auth.Static{Keys: accepting("HS256", secret).Keys, Issuer: "me", Audiences: []string{"web"}}, secret},
	} {
		name := test.static.Keys[0].Algorithm
		v, err := auth.NewStatic(test.static, clock.Now)
		require.NoError(t, err, name)
		got, err := v.Verify(background, signer{jwt.GetSigningMethod(name), test.sign, map[string]any{"kid": "whatever"}}.token(t, claims))
		require.NoError(t, err, name)
		assert.Equal(t, "alice", got.Subject)
		assert.Equal(t, "me", got.Issuer)
		assert.False(t, got.Local)
	}

	v, err := auth.NewStatic(auth.Static{Keys: accepting("RS256", rsaKey.Public()).Keys, Issuer: "you", Audiences: []string{"web"}}, clock.Now)
	require.NoError(t, err)
	_, err = v.Verify(background, signer{jwt.SigningMethodRS256, rsaKey, nil}.token(t, claims))
	requireUnauthenticated(t, err, "issuer")
	_, err = v.Verify(background, signer{jwt.SigningMethodPS256, rsaKey, nil}.token(t, claims))
	requireUnauthenticated(t, err, "algorithm")
	der, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	require.NoError(t, err)
	for _, public := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})} {
		_, err = v.Verify(background, signer{jwt.SigningMethodHS256, public, nil}.token(t, claims))
		requireUnauthenticated(t, err, "algorithm")
	}
	_, err = v.Verify(background, signer{jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil}.token(t, claims))
	requireUnauthenticated(t, err, "algorithm")

	for _, bad := range []auth.StaticKey{
		{}, {Algorithm: "none", Key: secret}, {Algorithm: "HS256", Key: rsaKey.Public()}, {Algorithm: "RS256", Key: secret},
		{Algorithm: "ES384", Key: p256.Public()}, {Algorithm: "HS256", Key: []byte("short")}, {Algorithm: "EdDSA", Key: edPrivate},
	} {
		_, err := auth.NewStatic(accepting(bad.Algorithm, bad.Key), clock.Now)
		assert.Error(t, err, "%s with %T", bad.Algorithm, bad.Key)
	}
	_, err = auth.NewStatic(auth.Static{}, clock.Now)
	assert.Error(t, err)
}

// A key is replaced in three steps, in each of which servers that have made it and servers that have not accept what the others do.
func TestStaticKeysAreReplaced(t *testing.T) {
	clock := newClock()
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	before, another := auth.StaticKey{Algorithm: "HS256", Key: secret}, []byte(strings.Repeat("x", 64))
	claims := jwt.MapClaims{"sub": "alice", "exp": clock.Now().Add(time.Hour).Unix()}
	for _, test := range []struct {
		after auth.StaticKey
		sign  signer
	}{
		{auth.StaticKey{Algorithm: "HS256", Key: another}, signer{jwt.SigningMethodHS256, another, nil}},
		{auth.StaticKey{Algorithm: "HS512", Key: another}, signer{jwt.SigningMethodHS512, another, nil}},
		{auth.StaticKey{Algorithm: "ES256", Key: p256.Public()}, signer{jwt.SigningMethodES256, p256, nil}},
	} {
		old, next := signer{jwt.SigningMethodHS256, secret, nil}.token(t, claims), test.sign.token(t, claims)
		for _, step := range []struct {
			keys      []auth.StaticKey
			old, next bool
		}{
			{[]auth.StaticKey{before}, true, false}, {[]auth.StaticKey{before, test.after}, true, true},
			{[]auth.StaticKey{test.after, before}, true, true}, {[]auth.StaticKey{test.after}, false, true},
		} {
			v, err := auth.NewStatic(auth.Static{Keys: step.keys}, clock.Now)
			require.NoError(t, err)
			for token, accepted := range map[string]bool{old: step.old, next: step.next} {
				_, err := v.Verify(background, token)
				assert.Equal(t, accepted, err == nil, "%v", err)
			}
			_, err = v.Verify(background, signer{jwt.SigningMethodHS512, secret, nil}.token(t, claims))
			assert.Equal(t, fault.Unauthenticated, fault.KindOf(err), "each key has its own algorithm")
		}
	}
}

// accepting is one key.
func accepting(algorithm string, key any) auth.Static {
	return auth.Static{Keys: []auth.StaticKey{{Algorithm: algorithm, Key: key}}}
}

func TestEntraVouchesForAddressesInItsOwnWay(t *testing.T) {
	const first, second, other = "https://sts.windows.net/t/", "https://login.microsoftonline.com/t/v2.0", "https://login.microsoftonline.com.example.com/"
	clock := newClock()
	for _, test := range []struct {
		issuer string
		more   jwt.MapClaims
		want   bool
	}{
		{second, jwt.MapClaims{"xms_edov": true}, true},
		{second, jwt.MapClaims{"xms_edov": "true"}, true},
		{second, jwt.MapClaims{"xms_edov": 1}, true},
		{first, jwt.MapClaims{"xms_edov": "1"}, true},
		{first, jwt.MapClaims{}, false},
		{second, jwt.MapClaims{"xms_edov": false}, false},
		{second, jwt.MapClaims{"xms_edov": 0}, false},
		{second, jwt.MapClaims{"xms_edov": "0"}, false},
		{second, jwt.MapClaims{"xms_edov": true, "email_verified": false}, false},
		{second, jwt.MapClaims{"email_verified": 1}, false},
		{other, jwt.MapClaims{"xms_edov": true}, false},
		{other, jwt.MapClaims{"xms_edov": 1}, false},
	} {
		claims := jwt.MapClaims{"iss": test.issuer, "aud": "web", "sub": "ada", "email": "ada@example.com", "exp": clock.Now().Add(time.Hour).Unix()}
		maps.Copy(claims, test.more)
		v, err := auth.NewStatic(auth.Static{Keys: accepting("HS256", secret).Keys, Issuer: test.issuer, Audiences: []string{"web"}}, clock.Now)
		require.NoError(t, err)
		got, err := v.Verify(background, signer{jwt.SigningMethodHS256, secret, nil}.token(t, claims))
		require.NoError(t, err)
		assert.Equal(t, test.want, got.EmailVerified, "%s: %v", test.issuer, test.more)
	}
}

func TestLocalIssuer(t *testing.T) {
	clock := newClock()
	local, err := auth.NewLocal(secret, clock.Now)
	require.NoError(t, err)
	mint := func(p auth.Person) string {
		token, err := local.Mint(p, time.Hour)
		require.NoError(t, err)
		return token
	}
	demo, err := local.Authenticate(background, []string{"Bearer " + mint(auth.Person{Email: " Demo@Example.com", Name: "Demo"})})
	require.NoError(t, err)
	assert.True(t, demo.Local)
	assert.True(t, demo.EmailVerified)
	assert.False(t, demo.Admin)
	assert.Equal(t, "Demo@Example.com", demo.Email)
	assert.True(t, demo.ExpiresAt.Equal(clock.Now().Add(time.Hour)))

	same, err := local.Verify(background, mint(auth.Person{Email: "dEMO@example.COM", Admin: true}))
	require.NoError(t, err)
	assert.Equal(t, demo.Subject, same.Subject, "the case of an address does not make another user")
	assert.True(t, same.Admin)
	upper, err := local.Verify(background, mint(auth.Person{Email: "STRASSE@example.com"}))
	require.NoError(t, err)
	lower, err := local.Verify(background, mint(auth.Person{Email: "straße@example.com"}))
	require.NoError(t, err)
	assert.Equal(t, upper.Subject, lower.Subject, "addresses are folded as the user room does it")
	other, err := local.Verify(background, mint(auth.Person{Email: "demo2@example.com"}))
	require.NoError(t, err)
	assert.NotEqual(t, demo.Subject, other.Subject)
	named, err := local.Verify(background, mint(auth.Person{Subject: "robot"}))
	require.NoError(t, err)
	assert.Equal(t, "robot", named.Subject)
	assert.False(t, named.EmailVerified)

	nobody, err := local.Authenticate(background, nil)
	require.NoError(t, err)
	assert.Zero(t, nobody, "without a header the caller is anonymous")

	// Servers and commands that share the secret accept one another's tokens; others do not.
	twin, err := auth.NewLocal(secret, clock.Now)
	require.NoError(t, err)
	_, err = twin.Verify(background, mint(auth.Person{Email: "a@b.c"}))
	assert.NoError(t, err)
	stranger, err := auth.NewLocal([]byte(strings.Repeat("x", 32)), clock.Now)
	require.NoError(t, err)
	_, err = stranger.Verify(background, mint(auth.Person{Email: "a@b.c"}))
	requireUnauthenticated(t, err, "signature")

	token := mint(auth.Person{Email: "a@b.c"})
	clock.Add(time.Hour)
	_, err = local.Verify(background, token)
	requireUnauthenticated(t, err, "expired")
}

// The secret itself is no key: it signs cursors, too, and may be seen by what handles those.
func TestLocalIssuerDerivesItsKey(t *testing.T) {
	clock := newClock()
	local, err := auth.NewLocal(secret, clock.Now)
	require.NoError(t, err)
	forged := signer{jwt.SigningMethodHS256, secret, nil}.token(t, jwt.MapClaims{
		"iss": "taggie:local", "aud": "taggie", "sub": "x", "exp": clock.Now().Add(time.Hour).Unix()})
	_, err = local.Verify(background, forged)
	requireUnauthenticated(t, err, "signature")
}

func TestLocalIssuerMintsOnlyWhatItAccepts(t *testing.T) {
	local, err := auth.NewLocal(secret, newClock().Now)
	require.NoError(t, err)
	for field, mint := range map[string]func() (string, error){
		"email":   func() (string, error) { return local.Mint(auth.Person{Name: "nobody"}, time.Hour) },
		"subject": func() (string, error) { return local.Mint(auth.Person{Subject: strings.Repeat("a", 256)}, time.Hour) },
		"ttl":     func() (string, error) { return local.Mint(auth.Person{Subject: "a"}, 0) },
		"name": func() (string, error) {
			return local.Mint(auth.Person{Subject: "a", Name: strings.Repeat("n", 9000)}, time.Hour)
		},
	} {
		token, err := mint()
		f := new(fault.Error)
		require.ErrorAs(t, err, &f, field)
		assert.Equal(t, fault.Invalid, f.Kind)
		assert.Equal(t, field, f.Field)
		assert.Empty(t, token)
	}
	_, err = local.Mint(auth.Person{Email: strings.Repeat("a", 251) + "@b.c"}, time.Hour)
	assert.Equal(t, fault.Invalid, fault.KindOf(err))
	_, err = auth.NewLocal([]byte("short"), newClock().Now)
	assert.Error(t, err)
}

func ExampleLocal_Mint() {
	now := func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
	local, err := auth.NewLocal([]byte("a secret of 32 bytes or more ..."), now)
	if err != nil {
		panic(err)
	}
	token, err := local.Mint(auth.Person{Email: "demo@example.com", Name: "Demo"}, time.Hour)
	if err != nil {
		panic(err)
	}
	identity, err := local.Authenticate(background, []string{"Bearer " + token})
	fmt.Println(identity.Email, identity.ExpiresAt.UTC().Format(time.TimeOnly), err)
	// Output: demo@example.com 13:00:00 <nil>
}

func ExampleBearer() {
	_, _, err := auth.Bearer([]string{"Basic dXNlcjpwYXNz"})
	fmt.Println(err)
	// Output: unauthenticated: the Authorization header must have the form: Bearer, a blank, the token
}

func BenchmarkVerify(b *testing.B) {
	local, err := auth.NewLocal(secret, time.Now)
	require.NoError(b, err)
	token, err := local.Mint(auth.Person{Email: "a@b.c"}, time.Hour)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := local.Verify(background, token); err != nil {
			b.Fatal(err)
		}
	}
}

// A subject that is too long belongs to nobody, and an address that is too long is none.
func TestClaimsAreBounded(t *testing.T) {
	const maxSubject, maxEmail = 255, 254
	clock := newClock()
	v, err := auth.NewStatic(accepting("HS256", secret), clock.Now)
	require.NoError(t, err)
	verified := func(subject, email string) (viewer.Identity, error) {
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": subject, "email": email, "email_verified": true, "exp": clock.Now().Add(time.Hour).Unix()}).SignedString(secret)
		require.NoError(t, err)
		return v.Verify(background, token)
	}
	long := strings.Repeat("x", maxEmail-len("@a.b")) + "@a.b"
	who, err := verified(strings.Repeat("x", maxSubject), long)
	require.NoError(t, err)
	assert.Equal(t, long, who.Email)
	who, err = verified("ada", "x"+long)
	require.NoError(t, err)
	assert.Empty(t, who.Email)
	assert.False(t, who.EmailVerified)
	for _, subject := range []string{"", strings.Repeat("x", maxSubject+1)} {
		_, err = verified(subject, "ada@example.com")
		assert.Equal(t, fault.Unauthenticated, fault.KindOf(err), "%v", err)
	}
}
