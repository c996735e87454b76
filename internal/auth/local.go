package auth

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

const (
	localIssuer   = "taggie:local"
	localAudience = "taggie"
)

// Local issues and verifies the tokens of the embedded mode. Whoever may use the secret may be anybody.
type Local struct {
	*Verifier
	key []byte
	now func() time.Time
}

// NewLocal returns the local issuer of the servers that share the secret, which has at least 32 bytes.
func NewLocal(secret []byte, now func() time.Time) (*Local, error) {
	if len(secret) < 32 {
		return nil, fmt.Errorf("make the local issuer: its secret has %d bytes and needs 32", len(secret))
	}
	// A key of its own: the same secret signs cursors.
	key, err := hkdf.Key(sha256.New, secret, nil, "taggie local issuer", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the local issuer's key: %w", err)
	}
	d := demands{algorithms: []string{"HS256"}, issuer: localIssuer, audiences: []string{localAudience}, local: true}
	return &Local{Verifier: newVerifier(staticKeys{{Algorithm: "HS256", Key: key}}, d, now), key: key, now: now}, nil
}

// Person is whom a local token is for.
type Person struct {
	Subject string // who it is for ever; derived from the e-mail address when empty
	Email   string
	Name    string
	Admin   bool
}

// Mint returns a token for the person that is valid from now on. Fault: Invalid when it names nobody, or for
// no time.
func (l *Local) Mint(p Person, ttl time.Duration) (string, error) {
	email := strings.TrimSpace(p.Email)
	subject := p.Subject
	if subject == "" && email != "" {
		subject = subjectOf(email)
	}
	if subject == "" {
		return "", fault.Invalidf("email", "a token needs an e-mail address or a subject")
	}
	if !validSubject(subject) {
		return "", fault.Invalidf("subject", "a subject has at most %d bytes and no control characters", maxSubject)
	}
	if len(email) > maxEmail {
		return "", fault.Invalidf("email", "an e-mail address has at most %d bytes", maxEmail)
	}
	if ttl < time.Second { // exp counts whole seconds
		return "", fault.Invalidf("ttl", "a token must be valid for a second or longer")
	}
	now := l.now()
	claims := jwt.MapClaims{
		"iss": localIssuer, "aud": localAudience, "sub": subject,
		"iat": now.Unix(), "exp": now.Add(ttl).Unix(),
	}
	if email != "" {
		claims["email"], claims["email_verified"] = email, true
	}
	if p.Name != "" {
		claims["name"] = p.Name
	}
	if p.Admin {
		claims["roles"] = []string{adminRole}
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(l.key)
	if err != nil {
		return "", fmt.Errorf("sign a local token: %w", err)
	}
	if len(token) > maxToken {
		return "", fault.Invalidf("name", "the token would be larger than %d bytes", maxToken)
	}
	return token, nil
}

// subjectOf is the same for all spellings of an address that are one address: whoever signs in with another spelling stays the
// same user.
func subjectOf(email string) string {
	sum := sha256.Sum256([]byte(viewer.FoldEmail(email)))
	return "email-" + hex.EncodeToString(sum[:16])
}
