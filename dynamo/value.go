package dynamo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/go-faster/jx"

	"github.com/taggie/taggie/dynamo/keys"
)

// value is an attribute value on the wire: an object with one field that names the type, such as {"S":"text"}.
type value struct{ d *jx.Decoder }

// attributes calls each for every attribute of an item. each must read the value or [value.skip] it.
func attributes(item []byte, each func(name []byte, v value) error) error {
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(item)
	return d.ObjBytes(func(d *jx.Decoder, name []byte) error { return each(name, value{d}) })
}

// open enters the object of the given type.
func (v value) open(typ string) (jx.ObjIter, error) {
	it, err := v.d.ObjIter()
	if err != nil {
		return it, err
	}
	if !it.Next() || string(it.Key()) != typ {
		return it, fmt.Errorf("attribute is of type %q, want %s", it.Key(), typ)
	}
	return it, nil
}

func end(it *jx.ObjIter) error {
	if it.Next() {
		return fmt.Errorf("attribute has two types")
	}
	return it.Err()
}

func (v value) skip() error { return v.d.Skip() }

func (v value) str() (string, error) {
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

func (v value) int() (int, error) {
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

// instant reads a string that keys.Instant wrote.
func (v value) instant() (time.Time, error) {
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

// set reads a string set.
func (v value) set(each func(s string) error) error {
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

// list reads a list of strings.
func (v value) list(each func(s string) error) error {
	it, err := v.open("L")
	if err != nil {
		return err
	}
	if err := v.d.Arr(func(d *jx.Decoder) error {
		s, err := value{d}.str()
		if err != nil {
			return err
		}
		return each(s)
	}); err != nil {
		return err
	}
	return end(&it)
}

// anyTexts reads the texts of a list, and skips whatever is something else.
func (v value) anyTexts(each func(s string) error) error {
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

// object calls each for every attribute of a map. each must read the value or [value.skip] it.
func (v value) object(each func(name []byte, v value) error) error {
	it, err := v.open("M")
	if err != nil {
		return err
	}
	if err := v.d.ObjBytes(func(d *jx.Decoder, name []byte) error { return each(name, value{d}) }); err != nil {
		return err
	}
	return end(&it)
}

// binary reads bytes.
func (v value) binary() ([]byte, error) {
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
