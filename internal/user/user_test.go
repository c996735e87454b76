package user

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

func refused(t *testing.T, err error, field string) {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, fault.Invalid, e.Kind)
	assert.Equal(t, field, e.Field)
}

func TestAddresses(t *testing.T) {
	for _, good := range []string{"ada@example.com", "Ada.Lovelace+notes@sub.example.co.uk", "日本@example.jp", "a@b"} {
		got, err := ParseEmail("  " + good + " ")
		require.NoError(t, err, good)
		assert.Equal(t, good, got)
	}
	for name, bad := range map[string]string{
		"empty": "", "no at": "ada", "no name": "@example.com", "no domain": "ada@", "two": "a@b.c, d@e.f", "with a name": "Ada <ada@example.com>",
		"brackets": "<ada@example.com>", "NUL": "ada\x00@example.com", "line break": "ada@exam\nple.com", "white space": "a da@example.com",
		"broken UTF-8": "ada\xff@example.com", "too long": strings.Repeat("a", MaxEmail) + "@example.com",
	} {
		_, err := ParseEmail(bad)
		t.Run(name, func(t *testing.T) { refused(t, err, "input.email") })
	}
}

func TestNames(t *testing.T) {
	got, err := parseName("  Ada Lovelace ")
	require.NoError(t, err)
	assert.Equal(t, "Ada Lovelace", got)
	_, err = parseName(strings.Repeat("本", MaxName))
	require.NoError(t, err, "characters, not bytes")
	for name, bad := range map[string]string{
		"empty": "", "white space": " 　", "NUL": "a\x00", "line break": "a\nb", "broken UTF-8": "a\xff", "too long": strings.Repeat("本", MaxName+1),
	} {
		_, err := parseName(bad)
		t.Run(name, func(t *testing.T) { refused(t, err, "input.name") })
	}
}

func TestAddressesAreFolded(t *testing.T) {
	assert.Equal(t, FoldEmail("ada@example.com"), FoldEmail(" ADA@Example.COM "))
	assert.Equal(t, FoldEmail("straße@example.com"), FoldEmail("STRASSE@example.com"))
	assert.NotEqual(t, FoldEmail("ada@example.com"), FoldEmail("ada@example.org"))
	rapid.Check(t, func(t *rapid.T) {
		email := rapid.StringMatching(`[a-zA-Zäöüß0-9.+]{1,10}@[a-zA-Z.]{1,10}`).Draw(t, "email")
		require.Equal(t, FoldEmail(email), FoldEmail(FoldEmail(email)))
		require.Equal(t, FoldEmail(email), FoldEmail(strings.ToLower(email)))
	})
}

func TestWhoMaySeeAnAddress(t *testing.T) {
	as := func(v viewer.Viewer) bool { return MaySeeEmail(viewer.With(t.Context(), v), "ada") }
	assert.True(t, as(viewer.Viewer{UserID: "ada"}))
	assert.True(t, as(viewer.Viewer{UserID: "root", Identity: viewer.Identity{Admin: true}}))
	assert.False(t, as(viewer.Viewer{UserID: "grace"}))
	assert.False(t, as(viewer.Viewer{}))
	assert.False(t, MaySeeEmail(t.Context(), ""), "nobody is not the user whose id is empty")
}

func ExampleFoldEmail() {
	fmt.Println(FoldEmail(" Ada@Example.com "))
	// Output: ada@example.com
}
