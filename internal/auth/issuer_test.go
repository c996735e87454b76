package auth_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/fault"
)

// fakeClock is a clock that only moves when told.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fakeIssuer is an OpenID Connect issuer in this process.
type fakeIssuer struct {
	*httptest.Server
	mu        sync.Mutex
	keys      any // the array of the key set
	down      bool
	asked     int                  // how often the keys were
	answered  chan struct{}        // gets a value with each answer of keys
	configure func(map[string]any) // changes the discovery document
}

func newIssuer(t *testing.T, keys ...jose.JSONWebKey) *fakeIssuer {
	t.Helper()
	f := &fakeIssuer{keys: keys, answered: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		document := map[string]any{"issuer": f.URL, "jwks_uri": f.URL + "/keys"}
		if f.configure != nil {
			f.configure(document)
		}
		f.answer(w, document)
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asked++
		f.answered <- struct{}{}
		f.answer(w, map[string]any{"keys": f.keys})
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeIssuer) answer(w http.ResponseWriter, document any) {
	if f.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

func (f *fakeIssuer) change(change func(*fakeIssuer)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// waitForAnswers returns when keys were answered n more times.
func (f *fakeIssuer) waitForAnswers(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-f.answered:
		case <-time.After(10 * time.Second):
			require.FailNow(t, "the issuer was not asked for its keys")
		}
	}
}

func (f *fakeIssuer) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *fakeIssuer) verifier(clock *fakeClock) *auth.OIDC {
	return auth.NewOIDC(auth.Issuer{URL: f.URL, Audiences: []string{"web", "mobile"}, Client: f.Client()}, clock.Now)
}

// claims are those of a good token, with changes; nil removes one.
func (f *fakeIssuer) claims(clock *fakeClock, changes jwt.MapClaims) jwt.MapClaims {
	claims := jwt.MapClaims{
		"iss": f.URL, "aud": "web", "sub": "alice", "iat": clock.Now().Unix(), "exp": clock.Now().Add(time.Hour).Unix(),
		"email": "alice@example.com", "email_verified": true, "name": "Alice",
	}
	for name, value := range changes {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	return claims
}

type signer struct {
	method jwt.SigningMethod
	key    any
	header map[string]any
}

func (s signer) token(t *testing.T, claims jwt.Claims) string {
	t.Helper()
	token := jwt.NewWithClaims(s.method, claims)
	for name, value := range s.header {
		token.Header[name] = value
	}
	text, err := token.SignedString(s.key)
	require.NoError(t, err)
	return text
}

// newKey returns an Ed25519 key as its issuer signs with it and as it publishes it.
func newKey(t *testing.T, kid string) (signer, jose.JSONWebKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return signer{jwt.SigningMethodEdDSA, private, map[string]any{"kid": kid}}, published(kid, public)
}

func newRSA(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return key
}

func published(kid string, public crypto.PublicKey) jose.JSONWebKey {
	return jose.JSONWebKey{KeyID: kid, Key: public, Use: "sig"}
}

func requireUnauthenticated(t *testing.T, err error, says string) {
	t.Helper()
	f := new(fault.Error)
	require.ErrorAs(t, err, &f)
	assert.Equal(t, fault.Unauthenticated, f.Kind, "%v", err)
	assert.Contains(t, f.Message, says)
}

func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
}

var background = context.Background()
