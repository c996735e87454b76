// Package gid makes the global ids of the graph.
//
// It knows their spelling: a type and the immutable parts of a key, so that an
// object can be read by its id without a look-up. It must not know what the
// types are. Start reading at [ID].
package gid

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// MaxBytes bounds an id as a client may send it.
const MaxBytes = 1024

// ID is a decoded global id.
type ID struct {
	Type string   // the GraphQL type: "Note"
	Key  []string // the key parts, none of them holding NUL
}

// Of returns the id of an object.
func Of(typ string, key ...string) ID { return ID{Type: typ, Key: key} }

// String returns the id as clients see it.
func (id ID) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(id.Type + "\x00" + strings.Join(id.Key, "\x00")))
}

// Parse reads an id as clients send it. Each id has exactly one spelling.
func Parse(s string) (ID, error) {
	if len(s) > MaxBytes {
		return ID{}, fault.New(fault.Invalid, "an id has at most %d bytes: send it as the API gave it", MaxBytes)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	parts := strings.Split(string(raw), "\x00")
	if err != nil || len(parts) < 2 || parts[0] == "" || !utf8.Valid(raw) || strings.ContainsAny(s, "\r\n") {
		return ID{}, fault.New(fault.Invalid, "this is not an id that Taggie made")
	}
	return ID{Type: parts[0], Key: parts[1:]}, nil
}

// MarshalGQL writes the id as a GraphQL string.
func (id ID) MarshalGQL(w io.Writer) { _, _ = w.Write(id.AppendGQL(nil)) }

// AppendGQL appends the id as a GraphQL string. Base64 needs no escaping.
func (id ID) AppendGQL(b []byte) []byte {
	var buf [128]byte
	raw := append(append(buf[:0], id.Type...), 0)
	for i, part := range id.Key {
		if i > 0 {
			raw = append(raw, 0)
		}
		raw = append(raw, part...)
	}
	return append(base64.RawURLEncoding.AppendEncode(append(b, '"'), raw), '"')
}

// Single is an id with one key part, written without the slice that [ID] needs.
type Single struct{ Type, Key string }

// MarshalGQL writes the id as a GraphQL string.
func (id Single) MarshalGQL(w io.Writer) {
	var text [128]byte
	_, _ = w.Write(id.AppendGQL(text[:0]))
}

// AppendGQL appends the id as a GraphQL string. Base64 needs no escaping.
func (id Single) AppendGQL(b []byte) []byte {
	var buf [128]byte
	raw := append(append(append(buf[:0], id.Type...), 0), id.Key...)
	return append(base64.RawURLEncoding.AppendEncode(append(b, '"'), raw), '"')
}

// UnmarshalGQL reads the id from a GraphQL string. Text that is no id becomes an id of no type, which [ID.As] refuses: one bad
// id of a list must not take the others with it.
func (id *ID) UnmarshalGQL(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("an id is a string")
	}
	parsed, err := Parse(s)
	if err == nil {
		*id = parsed
	}
	return nil
}

// As returns the key parts of an id of the given type with n parts, or an Invalid fault that names field.
func (id ID) As(field, typ string, n int) ([]string, error) {
	if id.Type != typ || len(id.Key) != n {
		return nil, fault.Invalidf(field, "this is not an id of the type %s", typ)
	}
	return id.Key, nil
}
