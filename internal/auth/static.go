package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// StaticKey is one key and what is demanded of the tokens that it signs.
type StaticKey struct {
	Algorithm string   // the only one accepted: RS256, PS256, ES256, EdDSA, HS256, …
	Key       any      // *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey, or []byte with HS…
	Issuer    string   // the demanded iss; "" accepts any
	Audiences []string // one of them is demanded as aud; none accepts any
}

// NewStatic returns a verifier with one configured key. The kid of a token does not matter to it.
func NewStatic(k StaticKey, now func() time.Time) (*Verifier, error) {
	if !suits(k.Key, k.Algorithm) {
		return nil, fmt.Errorf("make a verifier: a key of type %T cannot be used with the algorithm %q", k.Key, k.Algorithm)
	}
	d := demands{algorithms: []string{k.Algorithm}, issuer: k.Issuer, audiences: k.Audiences}
	return newVerifier(oneKey{k.Key}, d, now), nil
}

type oneKey struct{ key jwt.VerificationKey }

func (k oneKey) find(context.Context, string, string) ([]jwt.VerificationKey, error) {
	return []jwt.VerificationKey{k.key}, nil
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
