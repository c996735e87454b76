package tag

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
)

func TestEqualTags(t *testing.T) {
	for _, same := range [][]string{
		{"Work", "WORK", " work\t"},
		{"Straße", "STRASSE", "strasse"},
		{"ＦＵＬＬ　width", "full width"}, // full-width letters and an ideographic space
		{"ﾃｽﾄ", "テスト"},               // half-width kana
		{"が", "か\u3099"},             // composed and decomposed
		{"é", "e\u0301", "É"},        //
		{"ﬁn", "fin", "FIN"},         // a ligature
		{"Σίσυφος", "ΣΊΣΥΦΟΣ"},       // final sigma
		{"①", "1"},                   // compatibility
		{"\u00a8", "\u0308", " ̈"},   // normalising makes a space, which is trimmed
	} {
		for _, s := range same[1:] {
			assert.Equal(t, Fold(same[0]), Fold(s), "%q and %q", same[0], s)
		}
	}
	for _, pair := range [][2]string{{"work", "workout"}, {"は", "ば"}, {"👍", "👍🏽"}, {"a b", "ab"}, {"i", "ı"}, {"日本", "日本語"}} {
		assert.NotEqual(t, Fold(pair[0]), Fold(pair[1]), "%q", pair)
	}
}

func TestShownAsTyped(t *testing.T) {
	for _, value := range []string{"Straße", "c#", "a:b", "100%", "🎼", "👩‍👩‍👧", "日本語", "<b>", "TAG#x", "ﬁ", "-"} {
		word, err := Parse("input.tags", value)
		require.NoError(t, err)
		assert.Equal(t, value, word.Value)
		assert.NotEmpty(t, word.Key)
	}
	word, err := Parse("input.tags", "  two words  ")
	require.NoError(t, err)
	assert.Equal(t, "two words", word.Value)
}

func TestRefusedTags(t *testing.T) {
	for name, value := range map[string]string{
		"empty": "", "white space": " \t ", "ideographic space": "　", "NUL": "a\x00b", "line break": "a\nb", "control": "a\u0085b",
		"broken UTF-8": "a\xff", "no character": "a\U0010FFFF", "too long": strings.Repeat("a", MaxBytes+1),
		"too long when escaped": strings.Repeat("#", MaxBytes/3+1), "too long in Japanese": strings.Repeat("本", MaxBytes/3+1),
		"too long when normalised": strings.Repeat("\ufdfa", 7), // each becomes 33 bytes
	} {
		_, err := Parse("input.tags", value)
		e, ok := errors.AsType[*fault.Error](err)
		require.True(t, ok, name)
		assert.Equal(t, fault.Invalid, e.Kind, name)
		assert.Equal(t, "input.tags", e.Field, name)
	}
	for name, value := range map[string]string{
		"the longest": strings.Repeat("a", MaxBytes), "the longest escaped": strings.Repeat("#", MaxBytes/3), "in Japanese": strings.Repeat("本", MaxBytes/3),
	} {
		_, err := Parse("input.tags", value)
		assert.NoError(t, err, name)
	}
}

// check holds for every string, whoever made it.
func check(t require.TestingT, value string) {
	key := Fold(value)
	require.Equal(t, key, Fold(key), "folding again changes nothing")
	require.Equal(t, key, Fold(" "+value+" "))
	word, err := Parse("f", value)
	if err != nil {
		require.True(t, fault.Is(err, fault.Invalid))
		return
	}
	require.Equal(t, key, word.Key)
	require.Equal(t, word.Key, Fold(word.Value), "what is shown leads back to the tag")
	require.True(t, utf8.ValidString(word.Key))
	require.LessOrEqual(t, escapedLen(word.Key), MaxBytes)
	require.NotContains(t, word.Key, "\x00")
	again, err := Parse("f", word.Value)
	require.NoError(t, err)
	require.Equal(t, word, again)
}

func TestFolding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "value")) })
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"Work", "Straße", "\u00a8", "\ufdfa", "ﾊﾞ", "👩‍👩‍👧", "\u0345\u0399", "a\xff", "İ", "ǰ", "\u1e9e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) { check(t, s) })
}

func ExampleParse() {
	word, _ := Parse("input.tags", " Straße ")
	fmt.Printf("%q is compared as %q\n", word.Value, word.Key)
	// Output: "Straße" is compared as "strasse"
}

// Every single character folds to something that stays, and to the same in both cases.
func TestEveryCharacterFolds(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.S, unicode.P) || unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hangul, r) {
			continue
		}
		once := Fold(string(r))
		if Fold(once) != once {
			t.Errorf("%U: %+q folds to %+q", r, once, Fold(once))
		}
		if o := unicode.SimpleFold(r); o != r && Fold(string(o)) != once && r != 'ı' && r != 'İ' {
			t.Errorf("%U and %U fold to %+q and %+q", r, o, once, Fold(string(o)))
		}
	}
}
