package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/taggie/taggie/internal/fault"
)

// Cursor is an opaque, signed position in one list of one viewer.
type Cursor string

// MarshalGQL writes the cursor as a GraphQL string.
func (c Cursor) MarshalGQL(w io.Writer) { _, _ = w.Write(c.AppendGQL(nil)) }

// AppendGQL appends the cursor as a GraphQL string.
func (c Cursor) AppendGQL(b []byte) []byte { return strconv.AppendQuote(b, string(c)) }

// UnmarshalGQL reads a cursor; whether it is a good one only [Codec.Open] can tell.
func (c *Cursor) UnmarshalGQL(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("a cursor is a string")
	}
	*c = Cursor(s)
	return nil
}

// macSize is how much of the HMAC-SHA-256 a cursor carries: 128 bits are out of reach of guessing.
const macSize = 16

// Codec signs cursors with the first of its secrets and accepts those signed with any.
type Codec struct{ secrets [][]byte }

// NewCodec returns a codec for the given secrets, the current one first.
func NewCodec(secrets ...[]byte) *Codec {
	c := &Codec{}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte("taggie cursor v1"))
		c.secrets = append(c.secrets, mac.Sum(nil))
	}
	return c
}

// Binding ties cursors: to the viewer, to the list, and to all arguments of it but the paging ones.
type Binding struct {
	Viewer string
	Name   string   // "User.notes"
	Args   []string // the object the list belongs to, filters
}

// bytes returns an unambiguous form of the binding.
func (b Binding) bytes() []byte {
	raw := fmt.Appendf(nil, "%q %q", b.Viewer, b.Name)
	for _, arg := range b.Args {
		raw = fmt.Appendf(raw, " %q", arg)
	}
	return append(raw, '\n')
}

// sealer makes the cursors of one list. Most lists are shown without any, so that what binds them is made at the first.
type sealer struct {
	codec   *Codec
	binding Binding
	once    sync.Once
	list    []byte
}

func (s *sealer) mac(secret []byte, position string) []byte {
	s.once.Do(func() { s.list = s.binding.bytes() })
	mac := hmac.New(sha256.New, secret)
	mac.Write(s.list)
	mac.Write([]byte(position))
	return mac.Sum(nil)[:macSize]
}

func (s *sealer) seal(position string) Cursor {
	raw := append(s.mac(s.codec.secrets[0], position), position...)
	return Cursor(base64.RawURLEncoding.EncodeToString(raw))
}

func (s *sealer) open(field string, c Cursor) (string, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err == nil && len(raw) > macSize && !strings.ContainsAny(string(c), "\r\n") { // which the decoder skips
		position := string(raw[macSize:])
		for _, secret := range s.codec.secrets {
			if hmac.Equal(raw[:macSize], s.mac(secret, position)) {
				return position, nil
			}
		}
	}
	return "", fault.Invalidf(field, "this cursor does not belong to this list: it was changed, or made for another viewer, list or arguments")
}

// Opened is a list whose arguments were found good: what to ask the store for, and how to make cursors afterwards.
type Opened struct {
	Window Window
	sealer *sealer
}

// Open checks the paging arguments of a list. It returns an Invalid fault that names the argument at fault.
func (c *Codec) Open(list Binding, args Args) (Opened, error) {
	w, err := args.window()
	if err != nil {
		return Opened{}, err
	}
	o := Opened{Window: w, sealer: &sealer{codec: c, binding: list}}
	switch {
	case args.After != nil:
		o.Window.From, err = o.sealer.open("after", *args.After)
	case args.Before != nil:
		o.Window.From, err = o.sealer.open("before", *args.Before)
	}
	return o, err
}

// Position is where an edge stands; it makes its cursor when asked to, since signing costs more than reading the edge.
type Position struct {
	sealer *sealer
	at     string
}

// At returns the cursor for a position of the list, for edges that a mutation returns.
func (o Opened) At(position string) Position { return Position{sealer: o.sealer, at: position} }

// Cursor returns the signed cursor.
func (p Position) Cursor() Cursor { return p.sealer.seal(p.at) }
