package page

import (
	"crypto/aes"
	"crypto/cipher"
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

// Cursor is a position in one list of one viewer, signed and encrypted: it may be that of a row which the viewer may not see.
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

// Codec makes cursors with the first of its secrets and accepts those made with any.
type Codec struct{ secrets []secret }

// secret has the keys that are made of a secret. A cursor is the HMAC of a position, and the position encrypted under that as the initial counter, as in
// RFC 5297 (SIV): the same position has the same cursor, and nothing is told of others.
type secret struct {
	signing []byte
	cipher  cipher.Block
}

// NewCodec returns a codec for the given secrets, the current one first.
func NewCodec(secrets ...[]byte) *Codec {
	c := &Codec{}
	for _, s := range secrets {
		key := func(use string) []byte {
			mac := hmac.New(sha256.New, s)
			mac.Write([]byte(use))
			return mac.Sum(nil)
		}
		block, err := aes.NewCipher(key("taggie cursor v2: encrypt"))
		if err != nil {
			panic(err) // a key has 32 bytes
		}
		c.secrets = append(c.secrets, secret{signing: key("taggie cursor v2: sign"), cipher: block})
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

func (s *sealer) mac(with secret, position []byte) []byte {
	s.once.Do(func() { s.list = s.binding.bytes() })
	mac := hmac.New(sha256.New, with.signing)
	mac.Write(s.list)
	mac.Write(position)
	return mac.Sum(nil)[:macSize]
}

func (s *sealer) seal(position string) Cursor {
	with := s.codec.secrets[0]
	raw := append(s.mac(with, []byte(position)), position...)
	cipher.NewCTR(with.cipher, raw[:macSize]).XORKeyStream(raw[macSize:], raw[macSize:])
	return Cursor(base64.RawURLEncoding.EncodeToString(raw))
}

func (s *sealer) open(field string, c Cursor) (string, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err == nil && len(raw) > macSize && !strings.ContainsAny(string(c), "\r\n") { // which the decoder skips
		position := make([]byte, len(raw)-macSize)
		for _, with := range s.codec.secrets {
			cipher.NewCTR(with.cipher, raw[:macSize]).XORKeyStream(position, raw[macSize:])
			if hmac.Equal(raw[:macSize], s.mac(with, position)) {
				return string(position), nil
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

// Position is where an edge stands; it makes its cursor when asked to, since making it costs more than reading the edge.
type Position struct {
	sealer *sealer
	at     string
}

// At returns the cursor for a position of the list, for edges that a mutation returns.
func (o Opened) At(position string) Position { return Position{sealer: o.sealer, at: position} }

// Cursor returns the cursor.
func (p Position) Cursor() Cursor { return p.sealer.seal(p.at) }
