package capacity

import (
	"encoding/base64"
	"strings"
)

// item is an item, or a key, as DynamoDB's JSON has it.
type item map[string]value

// value is one attribute: exactly one of its fields is set.
type value struct {
	S    *string          `json:",omitempty"`
	N    *string          `json:",omitempty"`
	B    *string          `json:",omitempty"`
	BOOL *bool            `json:",omitempty"`
	NULL *bool            `json:",omitempty"`
	SS   []string         `json:",omitempty"`
	NS   []string         `json:",omitempty"`
	BS   []string         `json:",omitempty"`
	L    []value          `json:",omitempty"`
	M    map[string]value `json:",omitempty"`
}

// size returns how many bytes DynamoDB counts for an item: the UTF-8 of the names, and what each value takes.
func (i item) size() (bytes int) {
	for name, v := range i {
		bytes += len(name) + v.size()
	}
	return bytes
}

// size is as DynamoDB documents it: a list or map takes three bytes, and one for each thing in it besides that itself.
func (v value) size() int {
	switch {
	case v.S != nil:
		return len(*v.S)
	case v.N != nil:
		return numberSize(*v.N)
	case v.B != nil:
		return base64.StdEncoding.DecodedLen(len(*v.B)) - strings.Count(*v.B, "=")
	case v.SS != nil:
		return sum(v.SS, func(s string) int { return len(s) })
	case v.NS != nil:
		return sum(v.NS, numberSize)
	case v.BS != nil:
		return sum(v.BS, func(s string) int { return value{B: &s}.size() })
	case v.L != nil:
		return 3 + sum(v.L, func(e value) int { return 1 + e.size() })
	case v.M != nil:
		size := 3
		for name, e := range v.M {
			size += 1 + len(name) + e.size()
		}
		return size
	default:
		return 1 // a flag, or null
	}
}

// text is the text, or the number, of a key attribute.
func (v value) text() string {
	switch {
	case v.S != nil:
		return *v.S
	case v.N != nil:
		return *v.N
	default:
		return ""
	}
}

// numberSize is a byte for two significant digits, and one more; a sign takes another one.
func numberSize(n string) int {
	digits, negative := strings.CutPrefix(n, "-")
	digits, _, _ = strings.Cut(strings.ToLower(digits), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	if digits = strings.TrimLeft(whole+fraction, "0"); fraction == "" {
		digits = strings.TrimRight(digits, "0")
	}
	size := (len(digits)+1)/2 + 1
	if negative {
		size++
	}
	return size
}

func sum[E any](all []E, size func(E) int) (n int) {
	for _, e := range all {
		n += size(e)
	}
	return n
}

// readUnits are those of one item that is read consistently: at least one, also where there is no item.
func readUnits(bytes int) float64 { return float64(max(1, (bytes+4095)/4096)) }

// writeUnits are those of one item that is written: at least one.
func writeUnits(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }
