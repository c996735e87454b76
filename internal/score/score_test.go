package score

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
)

// The hash of a text is of its kind, too: equal texts of two kinds are two rows.
func TestHashesOfTexts(t *testing.T) {
	annotation, description := NewText(AnnotationText, "rit."), NewText(DescriptionText, "rit.")
	assert.Equal(t, "9zKjBtWuyPdq2YzkP9t5+A==", annotation.Hash)
	assert.NotEqual(t, annotation.Hash, description.Hash)
	assert.Len(t, description.Hash, 24)
	assert.Equal(t, annotation, NewText(AnnotationText, "rit."))
}

// The hash of the data is that of its JSON in the document's form.
func TestHashOfData(t *testing.T) {
	s := Score{Ref: Ref{"o", "s"}, Title: "t", DescriptionHash: "d", Pages: []Page{{"i", "s", "image.jpg", "1"}, {"j", Library, "", ""}}, Annotations: []string{"h"}}.seal()
	assert.Equal(t, hashOf("", `{"title":"t","des_h":"d","v":"1","p_count":2,"page":[{"i":0,"it":"i","o":"image.jpg","p":"1"},`+
		`{"i":1,"it":"j","o":"","p":"","s":"00000000-0000-0000-0000-000000000000"}],"a_count":1,"anno":[{"i":0,"h":"h"}]}`), s.Hash)
	for _, other := range []Score{{Ref: s.Ref, Title: "u"}, {Ref: s.Ref, Title: "t"}} {
		assert.NotEqual(t, s.Hash, other.seal().Hash)
	}
	public := s
	public.Access, public.Version, public.Snapshots = Public, 7, 3
	assert.Equal(t, s.Hash, public.seal().Hash, "only what a snapshot keeps")
}

func TestNamesAreCountedInCharacters(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 64), strings.Repeat("🎼", 64), strings.Repeat("ス", 64), " a ", "a"} {
		_, err := parseName(name)
		require.NoError(t, err)
	}
	for _, name := range []string{"", "  ", strings.Repeat("x", 65), strings.Repeat("🎼", 65), "a\tb", "\xff", "a\x00"} {
		_, err := parseName(name)
		require.Error(t, err)
		require.True(t, fault.Is(err, fault.Invalid))
	}
	composed, err := parseName("e\u0301")
	require.NoError(t, err)
	assert.Equal(t, "é", composed)
}

// Taking out what went or moved and putting in what came or moved makes one list of the other, and what stays is the most
// that can.
func TestDifferencesMakeOneListOfTheOther(t *testing.T) {
	list := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		before, after := list.Draw(t, "before"), list.Draw(t, "after")
		all := differences(before, after)
		out, in := map[int]bool{}, map[int]int{}
		for _, d := range all {
			require.False(t, d.Before == nil && d.After == nil)
			if d.Before != nil {
				require.Equal(t, before[*d.Before], d.Of)
				out[*d.Before] = true
			}
			if d.After != nil {
				require.Equal(t, after[*d.After], d.Of)
				in[*d.After] = d.Of
			}
		}
		var stays []int
		for i, of := range before {
			if !out[i] {
				stays = append(stays, of)
			}
		}
		for i := range after {
			if of, came := in[i]; came {
				stays = slices.Insert(stays, i, of)
			}
		}
		require.Equal(t, len(after), len(stays))
		require.True(t, slices.Equal(after, stays), "%v %v: %v", before, after, all)
		if slices.Equal(before, after) {
			require.Empty(t, all)
		}
	})
}

func TestDifferences(t *testing.T) {
	at := func(n int) *int { return &n }
	for _, test := range []struct {
		before, after string
		want          []Difference[string]
	}{
		{"abc", "abc", nil},
		{"", "a", []Difference[string]{{After: at(0), Of: "a"}}},
		{"ab", "b", []Difference[string]{{Before: at(0), Of: "a"}}},
		{"abc", "bca", []Difference[string]{{Before: at(0), After: at(2), Of: "a"}}},
		{"abcd", "axcd", []Difference[string]{{Before: at(1), Of: "b"}, {After: at(1), Of: "x"}}},
		{"aab", "ab", []Difference[string]{{Before: at(1), Of: "a"}}},
	} {
		split := func(s string) []string { return strings.Split(s, "")[:len(s)] }
		assert.Equal(t, test.want, differences(split(test.before), split(test.after)), "%s %s", test.before, test.after)
	}
}

// The first hundred texts are annotations: a description besides would not fit into one read.
func TestTheDescriptionIsReadLast(t *testing.T) {
	t.Parallel()
	s := Score{Ref: Ref{"o", "s"}, DescriptionHash: "d", Annotations: []string{"a", "b", "a"}}
	var hashes []string
	for _, id := range s.Texts() {
		hashes = append(hashes, string(id.Kind)+id.Hash)
	}
	assert.Equal(t, []string{"anno:a", "anno:b", "desc:d"}, hashes)
}
