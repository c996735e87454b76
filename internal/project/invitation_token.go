package project

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"
)

// A token names an invitation and proves that its bearer was given it. It is the base64url form, without padding, of
//
//	project (16 bytes) | created, in milliseconds (8) | invitation (16) | secret (16)
//
// The secret is derived from a secret of the server, so that managers can be shown the token again. The row of the invitation has a hash of the secret
// only: who reads the database cannot join.

const (
	tokenSecretBytes = 16
	tokenIDBytes     = 16 + 8 + 16
)

// token is a token that was read.
type token struct {
	InvitationID
	secret []byte
}

// newToken returns the token of a new invitation, and the hash of its secret.
func (s *Service) newToken(id InvitationID) (text, hash string, err error) {
	if len(s.o.Secrets) == 0 {
		return "", "", errors.New("there is no secret to make tokens with")
	}
	secret := secretOf(s.o.Secrets[0], id)
	text, err = spellToken(id, secret)
	return text, hashOf(secret), err
}

// tokenOf returns the token of an invitation; "" when none of the secrets is that with which it was made.
func (s *Service) tokenOf(i Invitation) string {
	for _, key := range s.o.Secrets {
		secret := secretOf(key, i.InvitationID)
		if hashOf(secret) != i.Hash {
			continue
		}
		if text, err := spellToken(i.InvitationID, secret); err == nil {
			return text
		}
	}
	return ""
}

// secretOf derives the secret part of a token.
func secretOf(key []byte, id InvitationID) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "taggie invitation v1 %q %q", id.Project, id.ID)
	return mac.Sum(nil)[:tokenSecretBytes]
}

// hashOf is what is kept of a secret. It has 128 bits of chance, so that no slow hash is needed.
func hashOf(secret []byte) string {
	sum := sha256.Sum256(secret)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// spellToken fails for an id whose parts are no UUIDs.
func spellToken(id InvitationID, secret []byte) (string, error) {
	project, err := uuid.Parse(string(id.Project))
	if err != nil {
		return "", fmt.Errorf("the id of the project: %w", err)
	}
	invitation, err := uuid.Parse(id.ID)
	if err != nil {
		return "", fmt.Errorf("the id of the invitation: %w", err)
	}
	raw := make([]byte, 0, tokenIDBytes+tokenSecretBytes)
	raw = append(raw, project[:]...)
	raw = binary.BigEndian.AppendUint64(raw, uint64(id.Created)) //nolint:gosec // not before 1970
	raw = append(append(raw, invitation[:]...), secret...)
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// parseToken reads a token; false for what none can be.
func parseToken(text string) (token, bool) {
	if strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return token{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != tokenIDBytes+tokenSecretBytes {
		return token{}, false
	}
	created := binary.BigEndian.Uint64(raw[16:])
	if created > math.MaxInt64 {
		return token{}, false
	}
	return token{
		InvitationID: InvitationID{Project: ID(uuid.UUID(raw[:16]).String()), Created: int64(created), ID: uuid.UUID(raw[24:tokenIDBytes]).String()},
		secret:       raw[tokenIDBytes:],
	}, true
}

// opens reports whether the secret is the one of the hash, in the same time for all that are not.
func (t token) opens(hash string) bool {
	return subtle.ConstantTimeCompare([]byte(hashOf(t.secret)), []byte(hash)) == 1
}
