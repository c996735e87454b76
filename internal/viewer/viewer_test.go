package viewer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
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
		{Identity{Email: "jose\u0301@example.com", EmailVerified: true}, "JOS\u00c9@example.com", false, "case is disregarded in ASCII only"},
		{Identity{Email: "jose\u0301@example.com", EmailVerified: true}, "Jos\u00e9@Example.com", true, "two normal forms of one address"},
		{Identity{Email: "\u212aate@example.com", EmailVerified: true}, "\u212aate@example.com", true, "the same spelling"},
	} {
		assert.Equal(t, test.want, test.who.MayUse(test.email), "%s: %s", test.email, test.reason)
	}
}

func TestAddressesAreComparedInAnyNormalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		email := rapid.StringOfN(rapid.RuneFrom([]rune("aZß.+é\u0301\u0323ᾳΆÅ\u212b\u212a가\u1100\u1161が楽譜ǆǅﬃᎠꭰᏸᏰ")), 1, 12, -1).Draw(t, "email") + "@Example.com"
		folded := FoldEmail(email)
		for name, other := range map[string]string{
			"composed": norm.NFC.String(email), "decomposed": norm.NFD.String(email), "folded": folded, "spaced": " " + email + "\n", "upper": strings.ToUpper(email),
		} {
			require.Equal(t, folded, FoldEmail(other), name)
		}
	})
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
