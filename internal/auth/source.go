package auth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// maxAnswer bounds what is read of an issuer's answer; key sets have a few kilobytes.
const maxAnswer = 1 << 20

// source reads an issuer's keys over HTTP. Only one attempt at a time uses it.
type source struct {
	issuer  string
	client  *http.Client
	jwksURL string // "" until it is discovered
}

// fetch returns the keys that the issuer publishes now.
func (s *source) fetch(ctx context.Context) ([]publishedKey, error) {
	if s.jwksURL == "" {
		if err := s.discover(ctx); err != nil {
			return nil, fmt.Errorf("discover the issuer: %w", err)
		}
	}
	keys, err := s.read(ctx)
	if err != nil {
		s.jwksURL = "" // it may have moved
		return nil, fmt.Errorf("read the issuer's keys: %w", err)
	}
	return keys, nil
}

func (s *source) discover(ctx context.Context) error {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, s.client), s.issuer)
	if err != nil {
		return err
	}
	var document struct {
		JWKSURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return err
	}
	issuer, err := url.Parse(s.issuer)
	if err != nil {
		return err
	}
	keys, err := url.Parse(document.JWKSURL)
	if err != nil || keys.Host == "" || keys.Scheme != "https" && keys.Scheme != issuer.Scheme {
		return errors.New("its jwks_uri is no https URL")
	}
	s.jwksURL = document.JWKSURL
	return nil
}

func (s *source) read(ctx context.Context) ([]publishedKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.jwksURL, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		return nil, err
	}
	var keys []publishedKey
	for _, raw := range document.Keys {
		if key, ok := usable(raw); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 { // better the ones we have than none
		return nil, errors.New("no usable key among the published ones")
	}
	return keys, nil
}

// usable reads one published key. Those of unknown types, for encryption, symmetric or private ones, and RSA
// keys that are too short (RFC 7518, section 3.3) are passed over, and the others still count.
func usable(raw json.RawMessage) (publishedKey, bool) {
	var key jose.JSONWebKey
	if json.Unmarshal(raw, &key) != nil || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
		return publishedKey{}, false
	}
	if public, ok := key.Key.(*rsa.PublicKey); ok && public.N.BitLen() < 2048 {
		return publishedKey{}, false
	}
	return publishedKey{id: key.KeyID, algorithm: key.Algorithm, key: key.Key}, true
}

// keepTLS refuses to be sent from https to http, where anybody on the way could answer with keys of his own.
func keepTLS(request *http.Request, via []*http.Request) error {
	if len(via) >= 5 || via[0].URL.Scheme == "https" && request.URL.Scheme != "https" {
		return errors.New("redirected too often, or from https to http")
	}
	return nil
}

// bounded is a transport whose answers end after maxAnswer bytes.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	next := b.next
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(request)
	if err == nil {
		response.Body = limited{io.LimitReader(response.Body, maxAnswer), response.Body}
	}
	return response, err
}

type limited struct {
	io.Reader
	io.Closer
}
