// Package jsontext finds in JSON text what encoding/json would silently replace.
//
// JSON may escape half of a surrogate pair (\ud800), which is no character: encoding/json reads U+FFFD in its place, so two
// different texts become one. The package knows bytes only; it must not know what the text is about, or how a caller says
// that it refuses it. Start reading at [LoneSurrogate].
package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// LoneSurrogate returns the place (from 0, in bytes) of the first escape of half a character in JSON text, or in the inside of a
// string of a GraphQL document, and -1 when there is none.
func LoneSurrogate[Text string | ~[]byte](text Text) int {
	for i := 0; i+1 < len(text); {
		if text[i] != '\\' {
			i++
			continue
		}
		unit, ok := escapedUnit(text[i:])
		switch {
		case ok && 0xDC00 <= unit && unit <= 0xDFFF:
			return i
		case ok && 0xD800 <= unit && unit <= 0xDBFF:
			if low, ok := escapedUnit(text[i+6:]); !ok || low < 0xDC00 || low > 0xDFFF {
				return i
			}
			i += 12
		default:
			i += 2 // past the escaped character, which may be a backslash
		}
	}
	return -1
}

// escapedUnit reads an escape of the form \uXXXX at the beginning of text.
func escapedUnit[Text string | ~[]byte](text Text) (unit uint32, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		c := text[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint32(c)
	}
	return unit, true
}

// Path names the member of a JSON value in which the byte at a place (from 0) stands, in dots and without quotation marks
// ("input.keywords.2"), and "" for the value itself. Text behind the place is not looked at.
func Path(text []byte, at int) string {
	type level struct {
		name  string // of the member that is read; "" before the first of an object
		index int    // of the element that is read, -1 in an object
		key   bool   // the next token is a name
	}
	var levels []level
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil || d.InputOffset() > int64(at) {
			break
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			levels = levels[:len(levels)-1]
		} else {
			if n := len(levels); n > 0 && levels[n-1].key {
				name, _ := token.(string)
				levels[n-1].name, levels[n-1].key = name, false
				continue
			}
			if ok { // { or [
				levels = append(levels, level{index: -1, key: delim == '{'})
				if delim == '[' {
					levels[len(levels)-1].index = 0
				}
				continue
			}
		}
		if n := len(levels); n > 0 { // behind a value
			if levels[n-1].index >= 0 {
				levels[n-1].index++
			} else {
				levels[n-1].key = true
			}
		}
	}
	var path []string
	for _, l := range levels {
		switch {
		case l.index >= 0:
			path = append(path, strconv.Itoa(l.index))
		case !l.key:
			path = append(path, l.name)
		}
	}
	return strings.Join(path, ".")
}
