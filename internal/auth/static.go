package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Static are configured keys, and what is demanded of the tokens that they sign.
type Static struct {
	Keys      []StaticKey // each is accepted; a second one while a key is replaced
	Issuer    string      // the demanded iss; "" accepts any
	Audiences []string    // one of them is demanded as aud; none accepts any
}

// StaticKey is a key with the only algorithm that it is used with.
type StaticKey struct {
	Algorithm string // RS256, PS256, ES256, EdDSA, HS256, …
	Key       any    // *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey, or []byte with HS…
}

// NewStatic returns a verifier with configured keys. The kid of a token does not matter to it.
func NewStatic(s Static, now func() time.Time) (*Verifier, error) {
	d := demands{issuer: s.Issuer, audiences: s.Audiences}
	for _, k := range s.Keys {
		if !suits(k.Key, k.Algorithm) {
			return nil, fmt.Errorf("make a verifier: a key of type %T cannot be used with the algorithm %q", k.Key, k.Algorithm)
		}
		d.algorithms = append(d.algorithms, k.Algorithm)
	}
	if len(s.Keys) == 0 {
		return nil, errors.New("make a verifier: there is no key")
	}
	return newVerifier(staticKeys(s.Keys), d, now), nil
}

type staticKeys []StaticKey

// find returns the keys of an algorithm: a public key is never tried as the secret of another one.
func (s staticKeys) find(_ context.Context, _, algorithm string) ([]jwt.VerificationKey, error) {
	var found []jwt.VerificationKey
	for _, k := range s {
		if k.Algorithm == algorithm {
			found = append(found, k.Key)
		}
	}
	return found, nil
}

// suits reports whether the key may be used with the algorithm: with one family of algorithms only, so that
// nobody uses a public key as the secret of an HMAC.
func suits(key any, algorithm string) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[key.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	case []byte:
		return strings.HasPrefix(algorithm, "HS") && len(key) >= 32
	}
	return false
}
