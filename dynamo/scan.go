package dynamo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner goes once over the JSON text of an answer. It keeps where each attribute value is, in the order of the text, so
// that nothing is looked for again: see [Value].
type scanner struct {
	text    []byte
	at      int
	nodes   []node
	format  uint16          // of the item that is being kept; 0 while it says none
	strings strings.Builder // see string
}

// span is a part of the text.
type span struct {
	from, to uint32
	escaped  bool
}

// maxNesting is how deep an answer may be nested. DynamoDB has 32 levels, of two objects each, within its own of an answer.
const maxNesting = 100

func (s *scanner) fail(want string) error {
	if s.at >= len(s.text) {
		return fmt.Errorf("the answer ends where it should have %s: %w", want, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("the answer has %q at byte %d where it should have %s", s.text[s.at], s.at, want)
}

// peek goes past white space and returns what comes then; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		if c := s.text[s.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// take goes past c and white space before it, and reports whether c is there.
func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c || s.peek() == c {
		s.at++
		return true
	}
	return false
}

// end makes sure that there is no more.
func (s *scanner) end() error {
	if s.peek(); s.at < len(s.text) {
		return s.fail("nothing more")
	}
	return nil
}

// literal goes past a word.
func (s *scanner) literal(word string) error {
	s.peek()
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		return s.fail(word)
	}
	s.at += len(word)
	return nil
}

// absent goes past a null and reports whether there is one.
func (s *scanner) absent() bool { return s.peek() == 'n' && s.literal("null") == nil }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special returns a word with the high bit of the first byte set that ends a text or is not plain in it: a quote, a backslash, or a
// control character. Bits behind the first may be wrong.
func special(w uint64) uint64 {
	quote, backslash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (backslash-ones)&^backslash | (w-ones*' ')&^w) & highs
}

// str goes past a text.
func (s *scanner) str() (span, error) {
	if !s.take('"') {
		return span{}, s.fail("a text")
	}
	from, escaped := s.at, false
	for {
		for s.at+8 <= len(s.text) {
			if found := special(binary.LittleEndian.Uint64(s.text[s.at:])); found != 0 {
				s.at += bits.TrailingZeros64(found) / 8
				break
			}
			s.at += 8
		}
		for s.at < len(s.text) && s.text[s.at] >= ' ' && s.text[s.at] != '"' && s.text[s.at] != '\\' { // the last bytes of the answer
			s.at++
		}
		switch {
		case s.at >= len(s.text) || s.text[s.at] < ' ':
			return span{}, s.fail("the end of a text")
		case s.text[s.at] == '"':
			s.at++
			return span{uint32(from), uint32(s.at - 1), escaped}, nil
		}
		escaped = true
		if err := s.escape(); err != nil {
			return span{}, err
		}
	}
}

// escape goes past a backslash and what belongs to it.
func (s *scanner) escape() error {
	s.at++
	if s.at >= len(s.text) || bytes.IndexByte([]byte(`"\/bfnrtu`), s.text[s.at]) < 0 {
		return s.fail("what a backslash can stand before")
	}
	digits := 0
	if s.text[s.at] == 'u' {
		digits = 4
	}
	s.at++
	for range digits {
		if s.at >= len(s.text) || !isHex(s.text[s.at]) {
			return s.fail("a hexadecimal digit")
		}
		s.at++
	}
	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// number goes past a number and returns it.
func (s *scanner) number() ([]byte, error) {
	s.peek()
	from := s.at
	s.sign('-', '-')
	if s.at < len(s.text) && s.text[s.at] == '0' {
		s.at++
	} else if err := s.digits(); err != nil {
		return nil, err
	}
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		if err := s.digits(); err != nil {
			return nil, err
		}
	}
	if s.at < len(s.text) && s.text[s.at]|0x20 == 'e' {
		s.at++
		s.sign('+', '-')
		if err := s.digits(); err != nil {
			return nil, err
		}
	}
	return s.text[from:s.at], nil
}

func (s *scanner) sign(a, b byte) {
	if s.at < len(s.text) && (s.text[s.at] == a || s.text[s.at] == b) {
		s.at++
	}
}

func (s *scanner) digits() error {
	from := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	if s.at == from {
		return s.fail("a digit")
	}
	return nil
}

// object goes past an object; each goes past the value of each of its members.
func (s *scanner) object(each func(name span) error) error {
	if !s.take('{') {
		return s.fail("an object")
	}
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.fail("a colon")
		}
		if err := each(name); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.fail("the next member of an object")
		}
	}
}

// array goes past an array; each goes past each of its elements.
func (s *scanner) array(each func() error) error {
	if !s.take('[') {
		return s.fail("an array")
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.fail("the next element of an array")
		}
	}
}

// skip goes past any value.
func (s *scanner) skip(depth int) (err error) {
	if depth > maxNesting {
		return s.fail("fewer objects and arrays within one another")
	}
	switch s.peek() {
	case '{':
		return s.object(func(span) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case '"':
		_, err = s.str()
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	default:
		_, err = s.number()
	}
	return err
}

// bytes returns a text of the answer; it is part of the answer unless it was escaped.
func (s *scanner) bytes(of span) []byte {
	raw := s.text[of.from:of.to]
	if of.escaped {
		return unescaped(raw)
	}
	return raw
}

const (
	// sharedBytes is how large the memory is that short strings share. It is kept as long as any of them is.
	sharedBytes = 4 << 10
	// shortString is the most that shares.
	shortString = 512
)

// string copies a part of the answer. Short ones share memory, since a row has many.
func (s *scanner) string(part []byte) string {
	if len(part) > shortString {
		return string(part)
	}
	if s.strings.Cap()-s.strings.Len() < len(part) {
		s.strings = strings.Builder{}
		s.strings.Grow(max(min(sharedBytes, len(s.text)), len(part)))
	}
	from := s.strings.Len()
	s.strings.Write(part)
	return s.strings.String()[from:]
}

// unescaped returns a text without its escapes, of which the scanner knows that they are right. As everywhere, half a surrogate pair becomes the
// replacement character.
func unescaped(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(out, raw...)
		}
		out = append(out, raw[:i]...)
		c := raw[i+1]
		raw = raw[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := codeUnit(raw)
			raw = raw[4:]
			if utf16.IsSurrogate(r) {
				both := rune(utf8.RuneError)
				if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
					both = utf16.DecodeRune(r, codeUnit(raw[2:]))
				}
				if r = both; r != utf8.RuneError {
					raw = raw[6:]
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, c)
	}
}

func codeUnit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // the scanner has seen that they are digits
	return rune(n)
}
