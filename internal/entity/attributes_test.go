package entity

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

func invalid(t *testing.T, err error, field, message string) {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	assert.Equal(t, fault.Invalid, f.Kind)
	assert.Equal(t, field, f.Field)
	assert.Contains(t, f.Message, message)
}

func nested(levels int) any {
	var of any = "core"
	for i := range levels {
		if i%2 == 0 {
			of = []any{of}
		} else {
			of = map[string]any{"a": of}
		}
	}
	return of
}

func TestAttributesAreCopied(t *testing.T) {
	list := []any{json.Number("1.50"), map[string]any{"x": nil}}
	in := map[string]any{"a": list, "b": true, "c": "", "d": int64(7), "e": 1e21, "f": 3, "with:and#": "é\x00"}
	got, err := parseAttributes("input.attributes", in)
	require.NoError(t, err)
	list[0] = "changed"
	assert.Equal(t, map[string]any{
		"a": []any{json.Number("1.50"), map[string]any{"x": nil}}, "b": true, "c": "", "d": json.Number("7"),
		"e": json.Number("1e+21"), "f": json.Number("3"), "with:and#": "é\x00",
	}, got)

	got, err = parseAttributes("input.attributes", nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{}, got)
	_, err = parseAttributes("input.attributes", map[string]any{"a": nested(MaxDepth - 1)})
	require.NoError(t, err)
	_, err = parseAttributes("input.attributes", map[string]any{"a": map[string]any{"_fine": 1}})
	require.NoError(t, err)
}

func TestAttributesThatCannotBeKept(t *testing.T) {
	digits := strings.Repeat("7", 39)
	for message, c := range map[string]struct {
		field string
		in    map[string]any
	}{
		"reserved":          {"input.attributes._meta", map[string]any{"a": 1, "_meta": 1}},
		"may not be empty":  {"input.attributes.a", map[string]any{"a": map[string]any{"": 1}}},
		"at most 255 bytes": {"input.attributes", map[string]any{strings.Repeat("n", 256): 1}},
		"30 levels":         {"", map[string]any{"a": nested(MaxDepth)}},
		"350000 bytes":      {"input.attributes", map[string]any{"a": strings.Repeat("x", MaxAttributeBytes)}},
		"bytes in DynamoDB": {"input.attributes", map[string]any{"a": make([]any, 0), "b": zeros(170_000)}},
		"38 significant":    {"input.attributes.a.1.b", map[string]any{"a": []any{1, map[string]any{"b": json.Number(digits)}}}},
		"between 1e-125":    {"input.attributes.a", map[string]any{"a": json.Number("1e126")}},
		"not a number":      {"input.attributes.a", map[string]any{"a": json.Number("seven")}},
		"no JSON value":     {"input.attributes.a", map[string]any{"a": math.Inf(1)}},
		"this is no JSON":   {"input.attributes.a", map[string]any{"a": []string{"of another type"}}},
		"text must be":      {"input.attributes.a", map[string]any{"a": "\xff"}},
		"attribute must be": {"input.attributes", map[string]any{"\xff": 1}},
	} {
		_, err := parseAttributes("input.attributes", c.in)
		if c.field == "" {
			assert.ErrorContains(t, err, message)
			assert.True(t, fault.Is(err, fault.Invalid))
			continue
		}
		invalid(t, err, c.field, message)
	}
	_, err := parseRelationAttributes("input.objects.0.attributes", map[string]any{"a": strings.Repeat("x", MaxRelationAttributeBytes)})
	invalid(t, err, "input.objects.0.attributes", "10000 bytes")
}

func TestTheLimitOfBytesIsExact(t *testing.T) {
	const around = len(`{"a":""}`)
	_, err := parseAttributes("f", map[string]any{"a": strings.Repeat("<", MaxAttributeBytes-around)})
	require.NoError(t, err, "HTML has no say in how long a text is")
	_, err = parseAttributes("f", map[string]any{"a": strings.Repeat("<", MaxAttributeBytes-around+1)})
	invalid(t, err, "f", "these have 350001")
}

func zeros(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = json.Number("0")
	}
	return list
}

func TestNamesAndIDs(t *testing.T) {
	for _, name := range []string{"a", "Z9_-", strings.Repeat("n", MaxNameBytes)} {
		assert.NoError(t, checkName("f", "a type", name), name)
	}
	for _, name := range []string{"", "9a", "_a", "-a", "a b", "a:b", "a~01", "é", "aé", "a\x00", strings.Repeat("n", MaxNameBytes+1)} {
		invalid(t, checkName("f", "a type", name), "f", "a type is a letter")
	}
	for _, id := range []string{"1", "a:b#c%d", "ärger", strings.Repeat("n", MaxIDBytes), " "} {
		assert.NoError(t, checkID("f", id), id)
	}
	for _, id := range []string{"", "a\x00", "a\nb", "a\u0085", "\xff", strings.Repeat("n", MaxIDBytes+1)} {
		invalid(t, checkID("f", id), "f", "an id")
	}
}

func ExampleIndex_Mapper() {
	price := Index{Name: "by-price", Type: "Book", Path: []string{"offers", "price"}, Kind: NumberKey}
	var attributes map[string]any
	decoder := json.NewDecoder(strings.NewReader(`{"offers": [{"price": 12.50}, {"price": 9}, {"price": 12.5}, {"price": "ask"}]}`))
	decoder.UseNumber()
	if err := decoder.Decode(&attributes); err != nil {
		fmt.Println(err)
	}
	for _, entry := range price.Mapper()(Entity{ID: ID{Type: "Book"}, Attributes: attributes}) {
		fmt.Println(entry.Name, entry.Key)
	}
	// Output:
	// by-price 2502125
	// by-price 25019
}
