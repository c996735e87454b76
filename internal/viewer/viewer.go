// Package viewer says who is asking.
//
// It knows identities and the ids of users, and carries the viewer through a
// context. It must not know how a token is checked (internal/auth) nor what a
// user owns (the domain rooms). Start reading at [Viewer].
package viewer

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/taggie/taggie/internal/casefold"
)

// UserID identifies a user: a UUID in its canonical text form.
type UserID string

// Identity is what a verified token says of its bearer.
type Identity struct {
	Issuer        string    // "iss": who vouches
	Subject       string    // "sub": who it is, in the issuer's words
	Email         string    // "email", or ""
	EmailVerified bool      // "email_verified"
	Admin         bool      // the admin role is claimed
	Local         bool      // vouched for by the embedded issuer, which trusts whoever can reach loopback
	IssuedAt      time.Time // zero for a token that does not say
	ExpiresAt     time.Time
}

// IssuedBy reports whether the token was issued by that moment, as far as it tells: one that tells nothing was.
func (i Identity) IssuedBy(moment time.Time) bool { return !i.IssuedAt.After(moment) }

// FoldEmail returns the form by which addresses are compared, wherever that is done: spellings that differ in case, in normal
// form or in the white space around them are one address; see [casefold.Canonical].
func FoldEmail(email string) string { return casefold.Canonical(strings.TrimSpace(email)) }

// MayUse reports whether the identity may call the address its own: the issuer verified exactly this one, or the issuer is
// the embedded one. Only the normal form and the case of ASCII letters are disregarded: mailboxes that look alike in Unicode ("ſ" for
// "s") are different people's.
func (i Identity) MayUse(email string) bool {
	return i.Local || (i.EmailVerified && provable(i.Email) == provable(email))
}

// provable is the form by which an issuer's word for an address is compared, stricter than [FoldEmail]. The normal forms of three
// characters are in ASCII (that of the Kelvin sign is K): an address with one of them is proved by the same spelling only.
func provable(email string) string {
	if strings.ContainsAny(email, "\u212a\u037e\u1fef") {
		return email
	}
	return lowerASCII(norm.NFC.String(email))
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Viewer is who sends a request. The zero Viewer is anonymous.
type Viewer struct {
	Identity Identity
	UserID   UserID   // "" until the identity has signed up, and after its user was deleted
	Deletion Deletion // of the user of the identity; the zero value of one who is not deleted
	// Network is where the request comes from, such as 192.0.2.0/24: all that is known of who is anonymous. "" when nobody can tell.
	Network string
	// Looked is when it was last looked, at the beginning of the reading, whether the token was revoked; zero for who is anonymous.
	Looked time.Time
}

// Deletion says that the user of an identity was deleted. Such a viewer is no user.
type Deletion struct {
	User      UserID
	UndoUntil time.Time // from then on the user cannot be brought back
	Erasing   bool      // it is too late to bring the user back
}

// Anonymous reports whether no valid token came with the request.
func (v Viewer) Anonymous() bool { return v.Identity.Subject == "" }

// Admin reports whether the viewer has the admin role.
func (v Viewer) Admin() bool { return v.Identity.Admin }

// Is reports whether the viewer is the given user.
func (v Viewer) Is(id UserID) bool { return v.UserID != "" && v.UserID == id }

type key struct{}

// With returns a context that carries the viewer.
func With(ctx context.Context, v Viewer) context.Context {
	holder := new(atomic.Pointer[Viewer])
	holder.Store(&v)
	return context.WithValue(ctx, key{}, holder)
}

// From returns the viewer that ctx carries, the anonymous one when it carries none.
func From(ctx context.Context) Viewer {
	if holder, ok := ctx.Value(key{}).(*atomic.Pointer[Viewer]); ok {
		return *holder.Load()
	}
	return Viewer{}
}

// LookedAgain notes that the token of the viewer that ctx carries still counted at that moment.
func LookedAgain(ctx context.Context, at time.Time) {
	holder, ok := ctx.Value(key{}).(*atomic.Pointer[Viewer])
	for ok {
		was := holder.Load()
		v := *was
		if v.Looked = at; !at.After(was.Looked) || holder.CompareAndSwap(was, &v) {
			return
		}
	}
}

// SignedUp makes the viewer that ctx carries the user that was just created or brought back, for the rest of the request: its answer shows
// the user's own fields, and mutations that follow are the user's.
func SignedUp(ctx context.Context, id UserID) {
	holder, ok := ctx.Value(key{}).(*atomic.Pointer[Viewer])
	for ok {
		was := holder.Load()
		v := *was
		if v.UserID, v.Deletion = id, (Deletion{}); holder.CompareAndSwap(was, &v) {
			return
		}
	}
}
