package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/jsontext"
)

func TestLoneSurrogate(t *testing.T) {
	for text, at := range map[string]int{
		``:                         -1,
		`"plain"`:                  -1,
		`"\ud83d\ude00"`:           -1,
		`"\uD83D\uDE00\uFFFD"`:     -1,
		`"\\ud800"`:                -1,
		`"\\\ud800"`:               3,
		`"\ud800"`:                 1,
		`"a\udc00"`:                2,
		`"\ud83d\ud83d\ude00"`:     1,
		`"\ud83d \ude00"`:          1,
		`"\n\ud83d\n"`:             3,
		`"\ud83d`:                  1,
		`"\ud83`:                   -1, // no escape
		`\`:                        -1,
		`{"a":"\u00e9","b\udfff"`:  16,
		strings.Repeat(`\\`, 1000): -1,
	} {
		assert.Equal(t, at, jsontext.LoneSurrogate(text), text)
		assert.Equal(t, at, jsontext.LoneSurrogate([]byte(text)), text)
	}
}

func TestPath(t *testing.T) {
	for text, path := range map[string]string{
		`"@"`:                                   "",
		`{"a":"@"}`:                             "a",
		`{"a":1,"b":{"c":[0,{"d":"@"}]}}`:       "b.c.1.d",
		`{"a":[],"b":{},"c":["x","y","@"]}`:     "c.2",
		`{"a":{"b":"x"},"@":1}`:                 "",
		`[{"a":true},{"a":null},[[1],["@"]]]`:   "2.1.0",
		`{"a":"x","b":"@","c":"never looked at`: "b",
	} {
		assert.Equal(t, path, jsontext.Path([]byte(text), strings.Index(text, "@")), text)
	}
}

// What the function passes, encoding/json keeps as it was written.
func FuzzLoneSurrogate(f *testing.F) {
	for _, text := range []string{`"a"`, `"\ud800"`, `"\ud83d\ude00"`, `"\\ud800"`, `"\ufffd"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var read string
		if json.Unmarshal([]byte(text), &read) != nil || strings.ToValidUTF8(text, "") != text {
			return
		}
		replaced := strings.Count(read, "\uFFFD") > strings.Count(text, "\uFFFD")+strings.Count(strings.ToLower(text), `\ufffd`)
		if at := jsontext.LoneSurrogate(text); at < 0 && replaced {
			t.Fatalf("%q became %q", text, read)
		}
	})
}
