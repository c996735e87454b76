package viewer

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMayUse(t *testing.T) {
	verified := Identity{Email: "Ada@Example.com", EmailVerified: true}
	for _, test := range []struct {
		who    Identity
		email  string
		want   bool
		reason string
	}{
		{verified, "ada@example.com", true, "case of ASCII letters is disregarded"},
		{verified, "ada@example.org", false, "another address"},
		{Identity{Email: "ada@example.com"}, "ada@example.com", false, "nobody verified it"},
		{Identity{}, "", false, "nobody at all"},
		{Identity{Local: true}, "anybody@example.com", true, "the embedded issuer trusts whoever reaches it"},
		{Identity{Email: "\u017fmith@example.com", EmailVerified: true}, "smith@example.com", false, "a look-alike is another mailbox"},
		{Identity{Email: "\u212aate@example.com", EmailVerified: true}, "kate@example.com", false, "a look-alike is another mailbox"},
	} {
		assert.Equal(t, test.want, test.who.MayUse(test.email), "%s: %s", test.email, test.reason)
	}
}

func TestSignedUpIsSeenThroughDerivedContexts(t *testing.T) {
	ctx := With(t.Context(), Viewer{Identity: Identity{Subject: "s"}})
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	SignedUp(derived, "u1")
	assert.True(t, From(ctx).Is("u1"))
	assert.Equal(t, "s", From(derived).Identity.Subject)

	SignedUp(t.Context(), "u1") // a context without a viewer stays without one
	assert.True(t, From(t.Context()).Anonymous())
}

func TestNobodyIsNobody(t *testing.T) {
	assert.False(t, Viewer{}.Is(""), "an anonymous viewer is no user, not even the one without an id")
}

func Example() {
	ctx := With(context.Background(), Viewer{Identity: Identity{Issuer: "https://id.example.com", Subject: "ada"}, UserID: "u1"})
	fmt.Println(From(ctx).UserID, From(context.Background()).Anonymous())
	// Output: u1 true
}
