package scalar

import (
	"strconv"
	"time"
)

const hexDigits = "0123456789ABCDEF"

// AppendString appends text as graphql.MarshalString writes it.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '\n':
			b = append(b, `\n`...)
		case '"', '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, `\u00`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(append(b, s[start:]...), '"')
}

// AppendInt appends a whole number.
func AppendInt(b []byte, i int) []byte { return strconv.AppendInt(b, int64(i), 10) }

// AppendInt64 appends a whole number.
func AppendInt64(b []byte, i int64) []byte { return strconv.AppendInt(b, i, 10) }

// AppendDateTime appends an instant that is not the zero time.
func AppendDateTime(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(append(b, '"'), time.RFC3339) // for which the library has a shorter way than for Milli
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}
