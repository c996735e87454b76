// Package scalar reads and writes the scalars of the contract.
//
// It knows their spelling and bounds. It must not know any type of the graph.
// Start reading at [UnmarshalDateTime].
package scalar

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// Milli is the form of instants in answers: UTC, fixed width, to the millisecond.
const Milli = "2006-01-02T15:04:05.000Z"

// MarshalDateTime writes an instant; the zero time is null.
func MarshalDateTime(t time.Time) graphql.Marshaler {
	if t.IsZero() {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = w.Write(AppendDateTime(make([]byte, 0, len(Milli)+2), t))
	})
}

// strict is the form of RFC 3339; time.Parse also takes "T8:00:00", a comma before the fraction and offsets of a day or more.
var strict = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:([0-9]{2})(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// UnmarshalDateTime reads RFC 3339, whose T and Z may be lower-case letters, cuts off what is finer than a millisecond, and refuses
// years outside 1 to 9999. A leap second is the second after it, without its fraction: clocks here do not count it.
func UnmarshalDateTime(v any) (time.Time, error) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, fmt.Errorf("a DateTime is a string such as 2026-11-20T08:00:00Z")
	}
	t, ok := parseInstant(strings.ToUpper(s))
	if !ok {
		return time.Time{}, fmt.Errorf("%.40q is not an RFC 3339 date and time such as 2026-11-20T08:00:00Z", s)
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < 1 || t.Year() > 9999 || t.IsZero() {
		return time.Time{}, fmt.Errorf("a DateTime lies after the first instant of the year 1 and before the year 10000")
	}
	return t, nil
}

// parseInstant reads the form in capital letters. Leap seconds are inserted at the end of a day of UTC (RFC 3339, section 5.7).
func parseInstant(s string) (time.Time, bool) {
	parts := strict.FindStringSubmatchIndex(s)
	if parts == nil {
		return time.Time{}, false
	}
	seconds, offset := parts[2], parts[6]
	leap := s[seconds:seconds+2] == "60"
	if leap {
		s = s[:seconds] + "59" + s[offset:]
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, false
	}
	if leap {
		t = t.Add(time.Second)
		if !t.Equal(t.UTC().Truncate(24 * time.Hour)) {
			return time.Time{}, false
		}
	}
	return t, true
}

// MarshalInt writes a whole number.
func MarshalInt(i int) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Itoa(i)) })
}

// UnmarshalInt reads a whole number of 32 bits and nothing else: no text, no fraction, nothing larger.
func UnmarshalInt(v any) (int, error) {
	var n int64
	switch v := v.(type) {
	case int:
		n = int64(v)
	case int64:
		n = v
	case json.Number:
		parsed, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%.40q is not an Int", v.String())
		}
		n = parsed
	default:
		return 0, fmt.Errorf("%.40v is not an Int", v)
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%d does not fit an Int of 32 bits", n)
	}
	return int(n), nil
}

// MarshalString writes text.
func MarshalString(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalString reads text and nothing else: a number is not text.
func UnmarshalString(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%.40v is not a String", v)
	}
	return s, nil
}
