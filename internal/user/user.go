// Package user says what is true about users.
//
// It knows names, addresses, who may see what of a user, and the store it
// needs. It must not know notes, engines or GraphQL. Start reading at [User]
// and [Service].
package user

import (
	"context"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/casefold"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/viewer"
)

// ID identifies a user.
type ID = viewer.UserID

// User is a person who uses Taggie.
type User struct {
	ID        ID
	Name      string
	Email     string // as typed
	Version   int    // grows with each change of name or address
	CreatedAt time.Time
	UpdatedAt time.Time
	Deletion  domain.Deletion // the zero value of who is not deleted; others are shown to nobody but as a [DeletedUser]
}

// Limits of a user's fields. An address is bounded by RFC 5321, section 4.5.3.1.3.
const (
	MaxName  = 100 // characters
	MaxEmail = 254 // bytes
)

// Expected outcomes.
var (
	ErrEmailTaken      = &fault.Error{Kind: fault.Conflict, Field: "input.email", Message: "this e-mail address is taken"}
	ErrAlreadySignedUp = &fault.Error{Kind: fault.Conflict, Message: "the bearer of this token has a user already"}
)

// AlreadySignedUp is [ErrAlreadySignedUp] with the user that exists.
type AlreadySignedUp struct{ User ID }

// Error says so.
func (*AlreadySignedUp) Error() string { return ErrAlreadySignedUp.Message }

// Unwrap returns [ErrAlreadySignedUp].
func (*AlreadySignedUp) Unwrap() error { return ErrAlreadySignedUp }

// VersionConflict is the outcome of a change that expected another version.
type VersionConflict struct{ Current User }

// Error says so.
func (*VersionConflict) Error() string { return "the user has changed since" }

// Store keeps users. Its faults are Unavailable and Exhausted besides those named.
type Store interface {
	idempotency.Store
	Blocks
	Deletions
	// UsersByID returns the user or the error of each id, in the order of ids; NotFound for one that does not exist, or is deleted.
	UsersByID(ctx context.Context, ids []ID) ([]User, []error)
	// UserIDByEmail returns the holder of the folded address, or NotFound, also for one who is deleted. It sees every acknowledged write.
	UserIDByEmail(ctx context.Context, folded string) (ID, error)
	// UserIDBySubject returns the user of an identity, or NotFound.
	UserIDBySubject(ctx context.Context, issuer, subject string) (ID, error)
	// ListUsers lists all users in the order of their folded addresses; with a prefix, which is folded, those whose address or name begins with it,
	// each once, in the order of what begins with it; of address and name that is the first one. It may miss a change that was acknowledged a moment ago.
	ListUsers(ctx context.Context, prefix string, w page.Window) (page.Slice[User], error)
	// AccessByID returns for each id which tokens count, in the order of ids: the zero Access for who was never revoked, or does not exist. It
	// sees every acknowledged write.
	AccessByID(ctx context.Context, ids []ID) ([]Access, []error)
	// RevokeUser revokes the tokens of the user that were issued by then, and has [Store.Revocations] tell it for a day.
	// It returns NotFound or *idempotency.Replayed.
	RevokeUser(ctx context.Context, id ID, at time.Time, once idempotency.Key) error
	// Revocations returns who was revoked between two moments, which are less than a day apart, both included, the first one first. It sees
	// every acknowledged write.
	Revocations(ctx context.Context, from, to time.Time) ([]Revocation, error)
	// CreateUser creates the user, the lock of its address and the row of its subject, all or nothing. It returns
	// [ErrEmailTaken], *[AlreadySignedUp] or *idempotency.Replayed.
	CreateUser(ctx context.Context, u User, issuer, subject string, once idempotency.Key) error
	// UpdateUser replaces before, which must be the current version, and moves the lock when the address changes, all
	// or nothing. It returns [ErrEmailTaken], *[VersionConflict] or *idempotency.Replayed.
	UpdateUser(ctx context.Context, before, after User, once idempotency.Key) error
}

// FoldEmail returns the form under which an address is unique, as [viewer.FoldEmail] has it.
func FoldEmail(email string) string { return viewer.FoldEmail(email) }

// FoldName returns the form of a name, or of the beginning of a name or an address, by which users are found.
func FoldName(name string) string {
	return casefold.Canonical(strings.TrimLeftFunc(name, unicode.IsSpace))
}

func parseName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", fault.Invalidf("input.name", "a name is valid UTF-8 without control characters")
	case name == "":
		return "", fault.Invalidf("input.name", "a name may not be empty")
	case utf8.RuneCountInString(name) > MaxName:
		return "", fault.Invalidf("input.name", "a name has at most %d characters", MaxName)
	}
	return name, nil
}

// ParseEmail returns a typed address as it is kept. Faults: Invalid.
func ParseEmail(email string) (string, error) {
	email = strings.TrimSpace(email)
	parsed, err := mail.ParseAddress(email)
	switch {
	case len(email) > MaxEmail:
		return "", fault.Invalidf("input.email", "an e-mail address has at most %d bytes", MaxEmail)
	case err != nil || parsed.Address != email || strings.ContainsFunc(email, unicode.IsControl) || !utf8.ValidString(email):
		return "", fault.Invalidf("input.email", "this is not an e-mail address such as ada@example.com")
	}
	return email, nil
}
