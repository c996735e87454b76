package auth

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// published holds the algorithms that an issuer's published keys are accepted with. None of them is symmetric:
// otherwise a public key, which everybody has, could serve as the secret of an HMAC.
var published = [...]string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Issuer describes an OpenID Connect issuer and what is demanded of its tokens.
type Issuer struct {
	URL       string       // exactly as in the iss claim
	Audiences []string     // a token must name one of them
	Client    *http.Client // nil means the default transport
	Log       *slog.Logger // told when the key set cannot be read; nil means nobody is
}

// OIDC verifies tokens with the keys that an OpenID Connect issuer publishes. Keys that were read once stay
// usable while the issuer is down.
type OIDC struct {
	*Verifier
	keys *keySet
}

// NewOIDC returns a verifier for the issuer's tokens. It asks nothing yet, so that a server can start while
// the issuer is down: call Ready to read the keys early, otherwise the first token does.
func NewOIDC(issuer Issuer, now func() time.Time) *OIDC {
	keys := newKeySet(issuer, now)
	d := demands{algorithms: published[:], issuer: issuer.URL, audiences: issuer.Audiences}
	return &OIDC{Verifier: newVerifier(keys, d, now), keys: keys}
}

// Ready returns nil when tokens can be verified; if no keys were read yet it tries to read them.
// Fault: Unavailable.
func (o *OIDC) Ready(ctx context.Context) error {
	if len(o.keys.current()) > 0 {
		return nil
	}
	if err := o.keys.refresh(ctx); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the issuer of tokens cannot be reached")
	}
	return nil
}
