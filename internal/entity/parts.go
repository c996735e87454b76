package entity

import "strings"

// Part is one part of the keys of an index.
type Part struct {
	Path []string // names of attributes, from the outside in
	Kind KeyKind
}

// Where is a condition that entities meet which are in an index: that one of the values at a path is equal to something, or that there is a
// value at all. One of Equals, Is and Exists is given.
type Where struct {
	Path   []string
	Equals any // a text or a json.Number
	Is     *bool
	Exists *bool // false also for null
}

// parts returns the parts of the keys of the index.
func (x Index) parts() []Part {
	return append([]Part{{Path: x.Path, Kind: x.Kind}}, x.ThenBy...)
}

// Keys of several parts sort as their parts do, one after the other: each part but the last one ends with what sorts before everything
// that a part may hold.
const (
	endOfPart  = "\x00"
	behindPart = "\x01" // sorts behind the end of a part, and before everything else that may follow a part that is longer
)

var (
	partEscaper   = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
	partUnescaper = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")
)

func escapePart(part string) string { return partEscaper.Replace(part) }

// appendPart adds a part to a key. The last one stands as it is.
func appendPart(key, part string, last bool) string {
	if last {
		return key + part
	}
	return key + escapePart(part) + endOfPart
}

// splitParts returns the parts of a key that has so many.
func splitParts(key string, n int) []string {
	parts := strings.SplitN(key, endOfPart, n)
	for i := range len(parts) - 1 {
		parts[i] = partUnescaper.Replace(parts[i])
	}
	return parts
}
