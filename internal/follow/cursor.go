package follow

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Cursor is where a follower is: in one stream, that of the user's notes or of the score, and in those of each owner who shares notes with the user.
type Cursor struct {
	of     mark
	Own    string
	Owners map[mark]string
}

// mark stands for a stream: who resumes knows them. It has eight bytes, so that a cursor with 300 owners fits into a header, of which proxies
// take 8 KB.
type mark [8]byte

func markOf(s Stream) (m mark) {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(s.String())) // never fails
	return mark(hash.Sum(m[:0]))
}

// cursorOf returns the cursor of a stream and of others that belong to it, with these positions.
func cursorOf(own Stream, positions map[Stream]string) Cursor {
	c := Cursor{of: markOf(own), Own: positions[own], Owners: make(map[mark]string, len(positions))}
	for owner, at := range positions {
		if owner != own {
			c.Owners[markOf(owner)] = at
		}
	}
	return c
}

// Of reports whether the cursor is one of the stream.
func (c Cursor) Of(s Stream) bool { return c.of == markOf(s) }

// at returns the position in the stream of an owner, "" where it has none.
func (c Cursor) at(owner Stream) string { return c.Owners[markOf(owner)] }

// cursorForm is the first byte of each cursor: another one would be of a later form.
const cursorForm = 1

// String writes the cursor as clients have it.
func (c Cursor) String() string {
	b := appendPosition(append([]byte{cursorForm}, c.of[:]...), c.Own)
	for _, owner := range slices.SortedFunc(maps.Keys(c.Owners), func(a, b mark) int { return slices.Compare(a[:], b[:]) }) {
		b = appendPosition(append(b, owner[:]...), c.Owners[owner])
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// appendPosition appends the two numbers of a position.
func appendPosition(b []byte, id string) []byte {
	ms, seq, _ := strings.Cut(id, "-")
	for _, text := range []string{ms, seq} {
		n, _ := strconv.ParseUint(text, 10, 64)
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// maxCursor is the most bytes that a cursor with as many owners as there may be can have.
const maxCursor = 1 + (1+MaxOwners)*(len(mark{})+2*binary.MaxVarintLen64)

var errCursor = errors.New("this is not a cursor of these events")

// ParseCursor reads a cursor.
func ParseCursor(s string) (Cursor, error) {
	if len(s) > base64.RawURLEncoding.EncodedLen(maxCursor) || strings.ContainsAny(s, "\r\n") {
		return Cursor{}, errCursor
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) == 0 || b[0] != cursorForm {
		return Cursor{}, errCursor
	}
	c := Cursor{Owners: map[mark]string{}}
	b = b[1:]
	for first := true; first || len(b) > 0; first = false {
		var of mark
		if len(b) < len(of) {
			return Cursor{}, errCursor
		}
		b = b[copy(of[:], b):]
		ms, n := binary.Uvarint(b)
		if n <= 0 {
			return Cursor{}, errCursor
		}
		seq, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return Cursor{}, errCursor
		}
		b = b[n+m:]
		at := strconv.FormatUint(ms, 10) + "-" + strconv.FormatUint(seq, 10)
		if first {
			c.of, c.Own = of, at
		} else {
			c.Owners[of] = at
		}
	}
	return c, nil
}
