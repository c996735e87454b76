package dynamo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readTree reads an item with the standard library; not ok where it is none. JSON keeps the last of several members of one name.
func readTree(text []byte) (item map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree map[string]any
	if !json.Valid(text) || d.Decode(&tree) != nil || tree == nil {
		return nil, false
	}
	return treeMap(tree)
}

func treeMap(tree map[string]any) (map[string]any, bool) {
	m := map[string]any{}
	for name, value := range tree {
		of, ok := treeValue(value)
		if !ok {
			return nil, false
		}
		m[name] = of
	}
	return m, true
}

// other is a value that JSON does not have.
type other string

func treeValue(value any) (any, bool) {
	m, ok := value.(map[string]any)
	if !ok || len(m) != 1 {
		return nil, false
	}
	for typ, of := range m {
		switch typ {
		case "S":
			_, ok = of.(string)
			return of, ok
		case "N":
			n, ok := of.(string)
			return json.Number(n), ok
		case "B":
			_, ok = of.(string)
			return other("B"), ok
		case "BOOL":
			_, ok = of.(bool)
			return of, ok
		case "NULL":
			return nil, of == true
		case "M":
			if m, ok := of.(map[string]any); ok {
				return treeMap(m)
			}
			return nil, false
		case "L":
			list, ok := of.([]any)
			l := []any{}
			for _, element := range list {
				of, valid := treeValue(element)
				l, ok = append(l, of), ok && valid
			}
			return l, ok
		case "SS", "NS", "BS":
			list, ok := of.([]any)
			for _, element := range list {
				_, is := element.(string)
				ok = ok && is
			}
			return other(typ), ok
		default:
			return other("unknown"), true
		}
	}
	return nil, false
}

// readScanned reads an item with the scanner into the same shape.
func readScanned(item Value) map[string]any {
	m := map[string]any{}
	_ = item.Object(func(name []byte, v Value) error {
		m[string(name)] = scannedValue(v)
		return nil
	})
	return m
}

func scannedValue(v Value) any {
	switch k := v.node().kind; k {
	case isMap:
		return readScanned(v)
	case isList:
		l := []any{}
		_ = v.within(isList, func(v Value) error { l = append(l, scannedValue(v)); return nil })
		return l
	case isBinary, isSet, isNumberSet, isBinarySet, unknown:
		return other(kindNames[k])
	default:
		of, _ := v.Any()
		return of
	}
}

// ambiguous are texts that the library reads more leniently: it merges members of one name, and mends what is not UTF-8.
func ambiguous(text []byte) bool {
	return !utf8.Valid(text) || repeats(json.NewDecoder(bytes.NewReader(text)))
}

func repeats(d *json.Decoder) bool {
	type level struct {
		names map[string]bool // nil in an array
		value bool            // next is the value of a member
	}
	var levels []level
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		at := len(levels) - 1
		if name, is := token.(string); is && at >= 0 && levels[at].names != nil && !levels[at].value {
			if levels[at].names[name] {
				return true
			}
			levels[at].names[name], levels[at].value = true, true
			continue
		}
		if at >= 0 {
			levels[at].value = false
		}
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{names: map[string]bool{}})
		case json.Delim('['):
			levels = append(levels, level{})
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:at]
		}
	}
}

var itemTexts = []string{
	`{}`, ` { } `, `{"a":{"S":"text"}}`, `{"a":{"N":"1.50e-7"},"b":{"BOOL":true},"c":{"BOOL":false},"d":{"NULL":true}}`, "{\n\t\"a\" :\r{ \"S\" : \"\" } , \"\":{\"S\":\"no name\"}}",
	`{"a":{"M":{"b":{"L":[{"S":"x"},{"M":{}},{"L":[]},{"N":"-0"}]}}},"c":{"S":"behind"}}`, `{"a":{"SS":["x","y\n"]},"b":{"NS":["1","2"]},"c":{"BS":["YQ=="]},"d":{"B":"YWI="},"e":{"SS":[]}}`,
	`{"a":{"S":"\"\\\/\b\f\n\r\t\u00e9\u2028é日本"}}`, `{"\u0061\"":{"S":"name"}}`, `{"a":{"\u0053":"type"}}`, `{"a":{"S":"\ud83d\ude00"},"b":{"S":"\ud83d"},"c":{"S":"\ude00x"},"d":{"S":"\ud83d\ud83d\ude00"},"e":{"S":"\ud83d\u0041"}}`,
	`{"a":{"S":"1234567"},"b":{"S":"12345678"},"c":{"S":"123456789"},"d":{"S":"1234567\n"},"e":{"S":"12345678\u0000123456789"}}`,
	`{"a":{"X":[1,{"b":[null,-0.5E+3,true,"\u0041"]}]},"b":{"S":"behind"}}`, `{"a":{"S":"` + strings.Repeat("long \\\" ", 200) + `"}}`,
	`{"a":{"S":"1"},"a":{"S":"2"}}`, "{\"a\":{\"S\":\"\xff\"}}",
	`{"a":"b"}`, `{"a":{}}`, `{"a":{"S":1}}`, `{"a":{"N":1}}`, `{"a":{"S":null}}`, `{"a":null}`, `{"a":{"S":"a","N":"1"}}`, `{"a":{"S":"a","S":"b"}}`, `{"a":{"SS":[1]}}`, `{"a":{"SS":"x"}}`, `{"a":{"L":[1]}}`, `{"a":{"L":{}}}`, `{"a":{"M":[]}}`,
	`{"a":{"BOOL":"true"}}`, `{"a":{"BOOL":null}}`, `{"a":{"NULL":false}}`, `{"a":{"BOOL":tru`, `{"a":{"BOOL":truex}}`, `{"a":{"S":"x"}`, `{"a":{"S":"x"}}}`, `{"a":{"S":"x"},}`, `{,"a":{"S":"x"}}`, `{"a":{"S":"x"}"b":{"S":"x"}}`, `{"a"{"S":"x"}}`,
	`{"a":{"S":"x}}`, `{"a":{"S":"\x"}}`, `{"a":{"S":"\u12g4"}}`, `{"a":{"S":"\u12`, `{"a":{"S":"\`, "{\"a\":{\"S\":\"a\nb\"}}", "{\"a\":{\"S\":\"12345678\x00\"}}", `{"a":{"S":'x'}}`, `{"a":{"X":01}}`, `{"a":{"X":[1,]}}`, `{"a":{"X":}}`,
	``, `null`, `[]`, `"x"`, `{`, `{"`, `{"a`, `{"a":`, "\x00", "{}\x00", "{\x00}",
}

func sameAsTheLibrary(t require.TestingT, text []byte) {
	item, err := ParseItem(text)
	if err == nil {
		require.True(t, json.Valid(text), "%q is no JSON", text)
	}
	if ambiguous(text) {
		return
	}
	want, ok := readTree(text)
	require.Equal(t, ok, err == nil, "%q: %v", text, err)
	if ok {
		require.Equal(t, want, readScanned(item.Value), "%q", text)
	}
}

func TestItemsAreReadAsTheLibraryReadsThem(t *testing.T) {
	t.Parallel()
	for _, text := range itemTexts {
		sameAsTheLibrary(t, []byte(text))
		for cut := range text { // whatever is missing at the end, also where the words of eight bytes end
			if _, ok := readTree([]byte(text[:cut])); !ok {
				_, err := ParseItem([]byte(text[:cut]))
				require.Error(t, err, text[:cut])
			}
		}
	}
}

func FuzzItem(f *testing.F) {
	for _, text := range itemTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) > maxNesting {
			t.Skip("may be too deep for us")
		}
		sameAsTheLibrary(t, text)
	})
}

// Each byte ends a text, or does not, at each place in a word.
func TestEveryByteInEveryPlaceOfAText(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for before := range 17 {
			text := fmt.Appendf(nil, `{"a":{"S":"%s%c%s"}}`, strings.Repeat("x", before), 0, "yyyyyyyyy")
			text[bytes.IndexByte(text, 0)] = byte(c)
			sameAsTheLibrary(t, text)
		}
	}
}

func TestDeepNestingIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	deep := func(open, within, end string, n int) []byte {
		return []byte(`{"a":` + strings.Repeat(open, n) + within + strings.Repeat(end, n) + `}`)
	}
	for _, form := range [][3]string{
		{`{"L":[`, `{"S":"x"}`, `]}`}, {`{"M":{"a":`, `{"S":"x"}`, `}}`}, {`{"X":[{"b":`, `1`, `}]}`},
	} {
		_, err := ParseItem(deep(form[0], form[1], form[2], 32))
		require.NoError(t, err, "DynamoDB has 32 levels")
		_, err = ParseItem(deep(form[0], form[1], form[2], 1_000_000))
		require.ErrorContains(t, err, "fewer")
	}
}

func TestValuesOfAnotherTypeAreErrors(t *testing.T) {
	t.Parallel()
	item, err := ParseItem([]byte(`{"text":{"S":"x"},"number":{"N":"1.5"},"list":{"L":[{"N":"1"}]},"set":{"SS":["a"]},"numbers":{"NS":["1"]},"bytes":{"B":"YQ=="},"bad":{"B":"?"},"map":{"M":{}},"new":{"X":1}}`))
	require.NoError(t, err)
	of := map[string]Value{}
	require.NoError(t, Attributes(item, func(name []byte, v Value) error { of[string(name)] = v; return nil }))
	fails := func(name string, err error) {
		t.Helper()
		assert.Error(t, err, name)
	}
	nothing := func(string) error { return nil }
	for name, v := range of {
		if name != "text" {
			_, err := v.Str()
			fails(name, err)
		}
		_, err := v.Int()
		fails(name, err)
		_, err = v.Instant()
		fails(name, err)
		fails(name, v.List(nothing))
		if name != "list" {
			fails(name, v.Maps(func(Value) error { return nil }))
		}
		if name != "set" {
			fails(name, v.Set(nothing))
		}
		if name != "map" {
			fails(name, v.Object(func([]byte, Value) error { return nil }))
		}
		if name != "bytes" {
			_, err = v.binary()
			fails(name, err)
		}
	}
	b, err := of["bytes"].binary()
	require.NoError(t, err)
	assert.Equal(t, "YQ==", base64.StdEncoding.EncodeToString(b))
}

// Escapes are read each time that a text is, and do not reach into the answer.
func TestEscapesLeaveTheAnswerAsItIs(t *testing.T) {
	t.Parallel()
	text := []byte(`{"a\n":{"S":"x\ty"}}`)
	item, err := ParseItem(text)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, Attributes(item, func(name []byte, v Value) error {
			assert.Equal(t, "a\n", string(name))
			s, err := v.Str()
			assert.Equal(t, "x\ty", s)
			return err
		}))
	}
	assert.Equal(t, `{"a\n":{"S":"x\ty"}}`, string(text))
}
