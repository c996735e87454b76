package scalar

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONKeepsDigits(t *testing.T) {
	in := map[string]any{"n": json.Number("12345678901234567890.5"), "list": []any{int64(1), 2.5, nil, true, "x"}, "object": map[string]any{}}
	read, err := UnmarshalJSON(in)
	require.NoError(t, err)
	var b bytes.Buffer
	MarshalJSON(read).MarshalGQL(&b)
	assert.JSONEq(t, `{"n":12345678901234567890.5,"list":[1,2.5,null,true,"x"],"object":{}}`, b.String())
	assert.Contains(t, b.String(), "12345678901234567890.5")
}

func TestJSONTakesObjectsOnly(t *testing.T) {
	for _, v := range []any{nil, "text", []any{}, json.Number("1"), true, map[string]any{"x": struct{}{}}} {
		_, err := UnmarshalJSON(v)
		assert.Error(t, err, "%v", v)
	}
}

func TestInt64(t *testing.T) {
	for _, v := range []any{int64(-5), json.Number("-5"), "-5"} {
		n, err := UnmarshalInt64(v)
		require.NoError(t, err)
		assert.EqualValues(t, -5, n)
	}
	for _, v := range []any{nil, 1.5, json.Number("1.5"), "x", json.Number("9223372036854775808"), true} {
		_, err := UnmarshalInt64(v)
		assert.Error(t, err, "%v", v)
	}
}

func TestIndexKeyIsATextOrANumberOrAListOfThese(t *testing.T) {
	for _, c := range []struct{ in, want any }{{"a", "a"}, {int64(3), json.Number("3")}, {2.5, json.Number("2.5")}, {json.Number("1e3"), json.Number("1e3")},
		{[]any{"a", int64(3)}, []any{"a", json.Number("3")}}} {
		got, err := UnmarshalIndexKey(c.in)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	for _, v := range []any{nil, true, []any{}, []any{true}, []any{[]any{"a"}}, []any{"a", nil}, map[string]any{}} {
		_, err := UnmarshalIndexKey(v)
		assert.Error(t, err, "%v", v)
	}
	var b bytes.Buffer
	MarshalIndexKey([]any{"a", json.Number("-12.5")}).MarshalGQL(&b)
	assert.JSONEq(t, `["a", -12.5]`, b.String())
}
