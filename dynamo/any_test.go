package dynamo

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wire spells an attribute value as DynamoDB does.
func wire(t require.TestingT, v types.AttributeValue) json.RawMessage {
	var typ string
	var of any
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		typ, of = "S", v.Value
	case *types.AttributeValueMemberN:
		typ, of = "N", v.Value
	case *types.AttributeValueMemberBOOL:
		typ, of = "BOOL", v.Value
	case *types.AttributeValueMemberNULL:
		typ, of = "NULL", v.Value
	case *types.AttributeValueMemberB:
		typ, of = "B", base64.StdEncoding.EncodeToString(v.Value)
	case *types.AttributeValueMemberM:
		m := map[string]json.RawMessage{}
		for name, element := range v.Value {
			m[name] = wire(t, element)
		}
		typ, of = "M", m
	case *types.AttributeValueMemberL:
		l := make([]json.RawMessage, len(v.Value))
		for i, element := range v.Value {
			l[i] = wire(t, element)
		}
		typ, of = "L", l
	}
	text, err := json.Marshal(map[string]any{typ: of})
	require.NoError(t, err)
	return text
}

// readAny reads the attribute "v" of an item.
func readAny(item string) (read any, err error) {
	of, err := ParseItem([]byte(item))
	if err != nil {
		return nil, err
	}
	err = Attributes(of, func(_ []byte, v Value) (err error) {
		read, err = v.Any()
		return err
	})
	return read, err
}

func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			return json.Number(fmt.Sprintf("%s%de%d", rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign"),
				rapid.Int64Range(1, 1<<62).Draw(t, "mantissa"), rapid.IntRange(-130, 100).Draw(t, "exponent")))
		}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := anyValue(depth - 1)
	return rapid.OneOf(append(scalars, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), inner, 0, 4).AsAny())...)
}

func TestAnyValueComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyValue(4).Draw(t, "value")
		written, err := Attribute(want)
		require.NoError(t, err)
		read, err := readAny(`{"v":` + string(wire(t, written)) + `}`)
		require.NoError(t, err)
		require.Equal(t, want, read)
	})
}

func FuzzAny(f *testing.F) {
	for _, seed := range []string{`"text"`, `-1.50e-7`, `{"a":[null,true,{}],"":0}`, `[[[]]]`, `1e126`, `0e999999999999999999999`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var want any
		if d.Decode(&want) != nil {
			t.Skip("not JSON")
		}
		written, err := Attribute(want)
		if err != nil {
			require.ErrorIs(t, err, ErrUnkept)
			return
		}
		read, err := readAny(`{"v":` + string(wire(t, written)) + `}`)
		require.NoError(t, err)
		again, err := Attribute(read)
		require.NoError(t, err)
		require.Equal(t, written, again)
	})
}

func TestNumbersThatDynamoDBKeeps(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 38)
	for number, ok := range map[string]bool{
		"0": true, "-0": true, "0e999999999999999999999": true, "0.000": true, "1": true, "-1.50": true, "1E+2": true,
		nines: true, "-0." + nines: true, nines + "00": true, "000" + nines: false, nines + "1": false, "1" + nines: false,
		"0." + strings.Repeat("0", 50) + nines: true, "1." + nines: false, "1." + nines[1:] + "000": true,
		"1e125": true, "9.99e125": true, "1e126": false, "10e125": false, "0.1e126": true,
		"1e-130": true, "0.1e-130": false, "10e-131": true, "1e-131": false, "1e99999999999999999999": false, "1e-99999999999999999999": false,
		"": false, " 1": false, "1 ": false, "+1": false, "01": false, "1.": false, ".1": false, "1e": false, "NaN": false, "-": false, "0x1": false, "true": false, `"1"`: false, "[1]": false, "1,1": false,
	} {
		_, err := Attribute(json.Number(number))
		if ok {
			assert.NoError(t, err, "%q", number)
		} else {
			assert.ErrorIs(t, err, ErrUnkept, "%q", number)
		}
	}
}

func TestWhatIsNoValueIsAnError(t *testing.T) {
	t.Parallel()
	nested := any("x")
	for range maxDepth {
		nested = []any{nested}
	}
	_, err := Attribute(nested)
	require.NoError(t, err)
	for _, of := range []any{[]any{nested}, map[string]any{"a": nested}, 1, []string{"a"}, map[string]any{"a": json.Number("x")}, []any{1.5}} {
		_, err := Attribute(of)
		assert.ErrorIs(t, err, ErrUnkept)
	}
	for _, item := range []string{`{"v":{"SS":["a"]}}`, `{"v":{"B":"YQ=="}}`, `{"v":{}}`, `{"v":{"S":"a","N":"1"}}`, `{"v":{"N":1}}`, `{"v":{"L":[{"S":1}]}}`, `{"v":{"M":{"a":{"X":""}}}}`, `{"v":"a"}`} {
		_, err := readAny(item)
		assert.Error(t, err, item)
	}
}
