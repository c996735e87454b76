package project

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bad holds texts that are no name of anything.
func bad(runes int) map[string]string {
	return map[string]string{
		"empty": "", "white space": " \t ", "NUL": "a\x00b", "line break": "a\nb", "escape": "a\x1bb", "C1": "a\u0085b",
		"broken UTF-8": "a\xffb", "too long": strings.Repeat("木", runes+1),
	}
}

func numbered(n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint("word ", i)
	}
	return words
}

func TestKeywordsAreKeptOnceWhateverTheirCase(t *testing.T) {
	keywords, err := ParseKeywords("f", []string{" Ｏwl ", "OWL", "nacht\u00a0", "Straße", "STRASSE"}, 3)
	require.NoError(t, err)
	assert.Equal(t, []string{"Owl", "nacht", "Straße"}, keywords, "normalised and trimmed, as typed first")
	_, err = ParseKeywords("f", numbered(MaxKeywords+1), MaxKeywords)
	refused(t, err, "f")
	_, err = ParseKeywords("f", append(numbered(MaxKeywords), "WORD 0"), MaxKeywords)
	require.NoError(t, err, "one that is there already does not count")
	_, err = ParseKeywords("f", []string{strings.Repeat("ﷺ", MaxKeywordRunes/10)}, MaxKeywords)
	refused(t, err, "f") // one character becomes eighteen
}

func good() Imported {
	return Imported{
		Line: 7, ExternalID: "bird:1#a", Name: "Owl", Type: "image/jpeg", URL: "https://example.com/owl.jpg?x=1#y",
		Metadata: map[string]any{"size": json.Number("12")},
	}
}

var imported = Import{TransferID: TransferID{"1f6f1f4e-9f6b-4a8e-8f4e-6b3f0f6f1c11", "m"}, CreatedAt: morning}

func TestALineBecomesAnItem(t *testing.T) {
	item, err := imported.Item(good(), morning.Add(time.Hour+time.Microsecond))
	require.NoError(t, err)
	assert.Equal(t, Item{
		ItemID: ItemIDOf(imported.Project, "bird:1#a"), ExternalID: "bird:1#a", Name: "Owl", Type: "image/jpeg",
		URL: "https://example.com/owl.jpg?x=1#y", Metadata: map[string]any{"size": json.Number("12")}, Status: New,
		Seq: "17951616000000000007", Version: 1, CreatedAt: morning.Add(time.Hour), UpdatedAt: morning.Add(time.Hour), Import: "m", Line: 7,
	}, item)

	bare, err := imported.Item(Imported{Line: 1, ExternalID: " kept as it is ", Name: "n", Metadata: map[string]any{}}, morning)
	require.NoError(t, err)
	assert.Equal(t, " kept as it is ", bare.ExternalID)
	assert.Nil(t, bare.Metadata)
	assert.Less(t, bare.Seq, item.Seq, "lines come in their order")
	later := imported
	later.CreatedAt = morning.Add(time.Millisecond)
	next, err := later.Item(Imported{Line: 1, ExternalID: "x", Name: "n"}, morning)
	require.NoError(t, err)
	assert.Less(t, item.Seq, next.Seq, "and imports in theirs")
}

func TestItemIDsComeFromExternalIDs(t *testing.T) {
	// As any implementation of UUIDv5 has it: uuid5(UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "python.org").
	assert.Equal(t, "886313e1-3b8a-5372-9b90-0c9aee199e5d", ItemIDOf("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "python.org").ID)
	ids := map[string]bool{}
	for _, project := range []ID{"", "p", "q", imported.Project} {
		for _, external := range []string{"", "a", "A", "a "} {
			ids[ItemIDOf(project, external).ID] = true
		}
	}
	assert.Len(t, ids, 16)
}

func TestLinesThatAreNoItems(t *testing.T) {
	change := func(f func(*Imported)) Imported { in := good(); f(&in); return in }
	refuse := func(field string, in Imported) {
		t.Helper()
		_, err := imported.Item(in, morning)
		refused(t, err, field)
	}
	for _, id := range []string{"", " ", "a\nb", "\xff", "\x00", strings.Repeat("x", MaxExternalIDBytes+1)} {
		refuse("externalId", change(func(in *Imported) { in.ExternalID = id }))
	}
	for _, name := range bad(MaxItemNameRunes) {
		refuse("name", change(func(in *Imported) { in.Name = name }))
	}
	refuse("type", change(func(in *Imported) { in.Type = strings.Repeat("x", MaxItemTypeRunes+1) }))
	refuse("type", change(func(in *Imported) { in.Type = "a\x00" }))
	for _, url := range []string{
		"owl.jpg", "/owl.jpg", "//example.com/x", "ftp://example.com/x", "javascript:alert(1)", "data:text/plain,x", "https://", "https:///x",
		"https:example.com", "https://:80/", "https://exa mple.com/", "https://example.com/a b", "https://example.com/\x00", "https://example.com\\@evil/",
		"https://example.com/\xff", "https://example.com/%zz", "https://example.com/" + strings.Repeat("x", MaxURLBytes),
		// Those that url.Parse takes, and browsers do not.
		"https://pics.example:99999/a.jpg", "https://pics.example:65536/", "https://a<b/x", "https://a>b/x", `https://a"b/x`, "https://a＜b/x", "https://a／b/x",
		"https://1.2.3.999/x", "https://1.2.3.999./x", "https://１.2.3.999/x", "https://example.0x/", "https://999999999999/", "https://[fe80::1%25en0]/",
	} {
		refuse("url", change(func(in *Imported) { in.URL = url }))
	}
	for _, url := range []string{
		"https://pics.example:65535/a.jpg", "https://pics.example:/", "https://a_b.example/", "https://a..example./", "https://1.2.3.4/", "https://[::1]:8080/x", "https://bücher.example/",
		"https://user:secret@example.com/", "https://4.example/", "https://example.4u/", "http://localhost/<x>",
	} {
		_, err := imported.Item(change(func(in *Imported) { in.URL = url }), morning)
		require.NoError(t, err, url)
	}
	for _, metadata := range []map[string]any{
		{"_id": 1}, {"": 1}, {"a": strings.Repeat("x", MaxMetadataBytes)}, {"a": nested(MaxMetadataDepth)}, {"a": map[string]any{"b": nested(MaxMetadataDepth)}},
		{"a": "\xff"}, {"a\xff": "x"}, {"a": json.Number("1e126")}, {"a": json.Number("1e-131")}, {"a": json.Number("1e99999999999")},
		{"a": json.Number(strings.Repeat("1", 39))}, {"a": json.Number("null")}, {"a": json.Number("")}, {"a": json.Number("0x1")},
		{"a": map[string]any{"": 1}}, {"a": []any{map[string]any{"": nil}}}, {strings.Repeat("x", 256): nil}, {"a": map[string]any{strings.Repeat("x", 66_000): nil}},
		{"a": math.NaN()}, {"a": math.Inf(1)}, {"a": struct{}{}}, {"a": 1},
	} {
		refuse("metadata", change(func(in *Imported) { in.Metadata = metadata }))
	}
	for _, metadata := range []map[string]any{
		{"a_": map[string]any{"_b": ""}}, {strings.Repeat("x", 255): map[string]any{strings.Repeat("é", 127): nil}}, {"a": nested(MaxMetadataDepth - 1)}, {"a": strings.Repeat("x", MaxMetadataBytes-len(`{"a":""}`))},
		{"a": json.Number("-9.99e125")}, {"a": json.Number("1E-130")}, {"a": json.Number("0e999")}, {"a": json.Number(strings.Repeat("1", 38) + "000")}, {"a": 1.5},
	} {
		_, err := imported.Item(change(func(in *Imported) { in.Metadata = metadata }), morning)
		require.NoError(t, err)
	}
}

// nested returns lists within one another.
func nested(depth int) any {
	var v any = "x"
	for range depth {
		v = []any{v}
	}
	return v
}

func TestSizeIsThatOfJSON(t *testing.T) {
	text := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("a\"\\\n\t\b\f\r\x01<&é木😀")), rapid.Rune())).
		Filter(func(s string) bool { return !strings.ContainsAny(s, "\u2028\u2029") }) // encoding/json escapes these, for scripts
	name := text.Filter(func(s string) bool { return s != "" && len(s) <= maxMetadataNameBytes })
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		plain := []*rapid.Generator[any]{
			text.AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
			rapid.Map(rapid.Int64(), func(n int64) any { return json.Number(fmt.Sprint(n)) }),
		}
		if depth > 0 {
			plain = append(plain, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(name, value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(plain...)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		var want strings.Builder
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(v))
		got, err := jsonSize("f", v, 0)
		require.NoError(t, err)
		require.Equal(t, want.Len()-len("\n"), got, want.String())
	})
}

func ExampleImport_Item() {
	i := Import{TransferID: TransferID{Project: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", ID: "m"}, CreatedAt: time.UnixMilli(1_795_161_600_000)}
	item, err := i.Item(Imported{Line: 2, ExternalID: "owl-1", Name: "Snowy owl", URL: "https://example.com/1.jpg"}, time.Now())
	fmt.Println(item.Status, item.Name, item.Seq, err)
	_, err = i.Item(Imported{Line: 3, ExternalID: "owl-2", Name: "Barn owl", URL: "owls/2.jpg"}, time.Now())
	fmt.Println(err)
	// Output:
	// NEW Snowy owl 17951616000000000002 <nil>
	// invalid: url: a URL begins with https:// or http:// and the name of a host
}
