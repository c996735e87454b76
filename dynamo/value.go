package dynamo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/go-faster/jx"

	"github.com/taggie/taggie/dynamo/keys"
)

// Value is an attribute value on the wire: an object with one field that names the type, such as {"S":"text"}.
type Value struct{ d *jx.Decoder }

// Attributes calls each for every attribute of an item. each must read the value or [Value.Skip] it.
func Attributes(item []byte, each func(name []byte, v Value) error) error {
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(item)
	return d.ObjBytes(func(d *jx.Decoder, name []byte) error { return each(name, Value{d}) })
}

// open enters the object of the given type.
func (v Value) open(typ string) (jx.ObjIter, error) {
	it, err := v.d.ObjIter()
	if err != nil {
		return it, err
	}
	if !it.Next() || string(it.Key()) != typ {
		return it, fmt.Errorf("attribute is of type %q, want %s", it.Key(), typ)
	}
	return it, nil
}

// end returns what kept an iteration from coming to its end.
func end(it *jx.ObjIter) error {
	if it.Next() {
		return fmt.Errorf("attribute has two types")
	}
	return it.Err()
}

// Skip goes past the value.
func (v Value) Skip() error { return v.d.Skip() }

// Str reads a text.
func (v Value) Str() (string, error) {
	it, err := v.open("S")
	if err != nil {
		return "", err
	}
	s, err := v.d.Str()
	if err != nil {
		return "", err
	}
	return s, end(&it)
}

// Int reads a whole number.
func (v Value) Int() (int, error) {
	it, err := v.open("N")
	if err != nil {
		return 0, err
	}
	b, err := v.d.StrBytes()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return 0, err
	}
	return n, end(&it)
}

// Instant reads a string that keys.Instant wrote.
func (v Value) Instant() (time.Time, error) {
	it, err := v.open("S")
	if err != nil {
		return time.Time{}, err
	}
	b, err := v.d.StrBytes()
	if err != nil {
		return time.Time{}, err
	}
	t, err := keys.ReadInstant(b)
	if err != nil {
		return time.Time{}, err
	}
	return t, end(&it)
}

// Set reads a string set.
func (v Value) Set(each func(s string) error) error {
	it, err := v.open("SS")
	if err != nil {
		return err
	}
	if err := v.d.Arr(func(d *jx.Decoder) error {
		s, err := d.Str()
		if err != nil {
			return err
		}
		return each(s)
	}); err != nil {
		return err
	}
	return end(&it)
}

// List reads a list of strings.
func (v Value) List(each func(s string) error) error {
	it, err := v.open("L")
	if err != nil {
		return err
	}
	if err := v.d.Arr(func(d *jx.Decoder) error {
		s, err := Value{d}.Str()
		if err != nil {
			return err
		}
		return each(s)
	}); err != nil {
		return err
	}
	return end(&it)
}

// Maps calls each for every map of a list of maps.
func (v Value) Maps(each func(v Value) error) error {
	it, err := v.open("L")
	if err != nil {
		return err
	}
	if err := v.d.Arr(func(d *jx.Decoder) error { return each(Value{d}) }); err != nil {
		return err
	}
	return end(&it)
}

// AnyTexts reads the texts of a list, and skips whatever is something else.
func (v Value) AnyTexts(each func(s string) error) error {
	return v.d.ObjBytes(func(d *jx.Decoder, typ []byte) error {
		if string(typ) != "L" {
			return d.Skip()
		}
		return d.Arr(func(d *jx.Decoder) error {
			return d.ObjBytes(func(d *jx.Decoder, typ []byte) error {
				if string(typ) != "S" {
					return d.Skip()
				}
				s, err := d.Str()
				if err != nil {
					return err
				}
				return each(s)
			})
		})
	})
}

// Object calls each for every attribute of a map. each must read the value or [Value.Skip] it.
func (v Value) Object(each func(name []byte, v Value) error) error {
	it, err := v.open("M")
	if err != nil {
		return err
	}
	if err := v.d.ObjBytes(func(d *jx.Decoder, name []byte) error { return each(name, Value{d}) }); err != nil {
		return err
	}
	return end(&it)
}

// binary reads bytes.
func (v Value) binary() ([]byte, error) {
	it, err := v.open("B")
	if err != nil {
		return nil, err
	}
	b, err := v.d.Base64()
	if err != nil {
		return nil, err
	}
	return b, end(&it)
}
