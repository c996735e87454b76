// Package auth turns a bearer token into the identity of whom it was issued to.
//
// It knows JSON Web Tokens, OpenID Connect discovery and key sets, and the
// local issuer of the embedded mode. It must not know users, stores or how a
// request came in: it is handed header values and returns a
// [viewer.Identity] or a fault that a client may read. Start reading at
// [Verifier.Authenticate].
//
// Three sources of keys exist: [NewOIDC] (an issuer's published keys),
// [NewStatic] (configured keys) and [NewLocal] (the server's own).
//
// [Client] is Taggie as a client of an issuer: it signs people in to pages.
//
// The claims that count are iss, sub, aud, exp, nbf, iat, email,
// email_verified (or xms_edov), and roles: an array of strings (or a string of words)
// that makes its bearer an administrator when it contains "admin".
package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/jsontext"
	"github.com/taggie/taggie/internal/viewer"
)

const (
	// maxToken bounds the work that a header can cause before anything is known of its sender.
	maxToken = 8 << 10
	// leeway forgives an issuer whose clock is ahead. An expired token is not forgiven: sockets close at exp.
	leeway = 30 * time.Second
	// A token that was found valid is not checked again for this long, so that one answer costs one signature
	// check at most, and a key that its issuer withdrew is not accepted much longer.
	cacheFor  = time.Minute
	cacheSize = 4096
)

// keySource finds the keys that may have signed a token, by its kid ("" when it has none) and its algorithm.
type keySource interface {
	find(ctx context.Context, kid, algorithm string) ([]jwt.VerificationKey, error)
}

// Verifier checks tokens against one source of keys. It is safe for concurrent use.
type Verifier struct {
	keys       keySource
	algorithms []string
	issuer     string // "" accepts any
	local      bool
	now        func() time.Time
	parser     *jwt.Parser
	cache      *lru.Cache[[sha256.Size]byte, checked]
}

type checked struct {
	identity viewer.Identity
	at       time.Time
}

type demands struct {
	algorithms []string
	issuer     string
	audiences  []string
	local      bool
}

func newVerifier(keys keySource, d demands, now func() time.Time) *Verifier {
	options := []jwt.ParserOption{
		jwt.WithValidMethods(d.algorithms), jwt.WithTimeFunc(now), jwt.WithLeeway(leeway),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithStrictDecoding(),
	}
	if d.issuer != "" {
		options = append(options, jwt.WithIssuer(d.issuer))
	}
	if len(d.audiences) > 0 {
		options = append(options, jwt.WithAudience(d.audiences...))
	}
	cache, _ := lru.New[[sha256.Size]byte, checked](cacheSize) // fails only for sizes below 1
	return &Verifier{
		keys: keys, algorithms: d.algorithms, issuer: d.issuer, local: d.local, now: now,
		parser: jwt.NewParser(options...), cache: cache,
	}
}

// Authenticate returns the identity of the bearer, given all values of the Authorization header (or the one of
// a connection_init payload). Without any value the caller is anonymous: the zero Identity.
// Faults: Unauthenticated for what is no valid token, Unavailable when its issuer cannot be asked for the key.
func (v *Verifier) Authenticate(ctx context.Context, authorization []string) (viewer.Identity, error) {
	token, found, err := Bearer(authorization)
	if err != nil || !found {
		return viewer.Identity{}, err
	}
	return v.Verify(ctx, token)
}

// Verify returns the identity that a token vouches for. Faults as with Authenticate.
func (v *Verifier) Verify(ctx context.Context, token string) (viewer.Identity, error) {
	if len(token) > maxToken {
		return viewer.Identity{}, errTooLarge()
	}
	sum := sha256.Sum256([]byte(token))
	now := v.now()
	if hit, ok := v.cache.Get(sum); ok && now.Before(hit.identity.ExpiresAt) && !now.Before(hit.at) && now.Sub(hit.at) < cacheFor {
		return hit.identity, nil
	}
	// MapClaims and not a struct: encoding/json fills struct fields whatever the case of the name, and a claim
	// "SUB" or "Roles" that users may choose must not pass for the issuer's own.
	claims := jwt.MapClaims{}
	parsed, err := v.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return v.key(ctx, t) })
	if err != nil {
		if parsed != nil && parsed.Method != nil && !slices.Contains(v.algorithms, parsed.Method.Alg()) {
			return viewer.Identity{}, errAlgorithm(err)
		}
		return viewer.Identity{}, explain(err)
	}
	// Two subjects must not become one, whatever the issuer lets users choose.
	if text, err := v.parser.DecodeSegment(strings.Split(parsed.Raw, ".")[1]); err != nil || jsontext.LoneSurrogate(text) >= 0 {
		return viewer.Identity{}, errMalformed(errors.Join(err, errors.New("half of a surrogate pair in the claims")))
	}
	identity, err := identify(claims)
	if err != nil {
		return viewer.Identity{}, err
	}
	if !now.Before(identity.ExpiresAt) {
		return viewer.Identity{}, errExpired(nil)
	}
	identity.Local = v.local
	v.cache.Add(sum, checked{identity: identity, at: now})
	return identity, nil
}

// key finds the key of a token whose signature is not checked yet. Of its header it uses kid and alg alone:
// keys that a token brings along or points to (jwk, jku, x5c, x5u) prove nothing.
func (v *Verifier) key(ctx context.Context, token *jwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok { // RFC 7515, section 4.1.11: extensions we do not understand
		return nil, errMalformed(errors.New("crit header"))
	}
	if typ, ok := token.Header["typ"]; ok && !accessType(typ) {
		return nil, fault.New(fault.Unauthenticated, "the token is of another kind than an access or ID token")
	}
	// Asking the issuer for a key on behalf of somebody else's token would let strangers spend our refreshes.
	if iss, err := token.Claims.GetIssuer(); v.issuer != "" && (err != nil || iss != v.issuer) {
		return nil, errIssuer(err)
	}
	kid := ""
	if value, ok := token.Header["kid"]; ok {
		if kid, ok = value.(string); !ok || kid == "" {
			return nil, errMalformed(errors.New("kid header"))
		}
	}
	keys, err := v.keys.find(ctx, kid, token.Method.Alg())
	return jwt.VerificationKeySet{Keys: keys}, err
}
