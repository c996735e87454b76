package dynamo

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
)

// Value is an attribute value of an answer that was scanned. It is gone when the answer is.
type Value struct {
	s  *scanner
	at uint32 // its node
}

// Item is a row, or a key: a map of attribute values.
type Item struct{ Value }

// ParseItem reads an item that is spelled as DynamoDB spells it.
func ParseItem(text []byte) (Item, error) {
	s := &scanner{text: text, nodes: make([]node, 0, 16)}
	item, err := s.item()
	if err == nil {
		err = s.end()
	}
	return Item{Value{s, item}}, err
}

// Size is how many bytes the item has as DynamoDB spells it, which is more than it has in a table.
func (item Item) Size() int {
	of := item.node().of
	return int(of.to - of.from)
}

// Attributes calls each for every attribute of an item. each need not read the value.
func Attributes(item Item, each func(name []byte, v Value) error) error { return item.Object(each) }

func (v Value) node() *node { return &v.s.nodes[v.at] }

// text returns the text of a value, which must be of a type.
func (v Value) text(of kind) ([]byte, error) {
	n := v.node()
	if n.kind != of {
		return nil, v.want(of)
	}
	return v.s.bytes(n.of), nil
}

// want says that the value ought to be of another type.
func (v Value) want(of kind) error {
	return fmt.Errorf("attribute is of type %s, want %s", kindNames[v.node().kind], kindNames[of])
}

// within calls each for every value in a value that must be of a type.
func (v Value) within(of kind, each func(Value) error) error {
	n := v.node()
	if n.kind != of {
		return v.want(of)
	}
	for i := v.at + 1; i < n.next; i = v.s.nodes[i].next {
		if err := each(Value{v.s, i}); err != nil {
			return err
		}
	}
	return nil
}

// Str reads a text.
func (v Value) Str() (string, error) {
	text, err := v.text(isString)
	return v.s.string(text), err
}

// Int reads a whole number.
func (v Value) Int() (int, error) {
	text, err := v.text(isNumber)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// Instant reads a string that keys.Instant wrote.
func (v Value) Instant() (time.Time, error) {
	text, err := v.text(isString)
	if err != nil {
		return time.Time{}, err
	}
	return keys.ReadInstant(text)
}

// Set reads a string set.
func (v Value) Set(each func(s string) error) error { return v.strs(isSet, each) }

// List reads a list of strings.
func (v Value) List(each func(s string) error) error { return v.strs(isList, each) }

func (v Value) strs(of kind, each func(s string) error) error {
	return v.within(of, func(v Value) error {
		s, err := v.Str()
		if err != nil {
			return err
		}
		return each(s)
	})
}

// Len is how many values there are in a set.
func (v Value) Len() int { return int(v.node().next - v.at - 1) }

// Maps calls each for every map of a list of maps.
func (v Value) Maps(each func(v Value) error) error { return v.within(isList, each) }

// AnyTexts reads the texts of a list, and skips whatever is something else.
func (v Value) AnyTexts(each func(s string) error) error {
	if v.node().kind != isList {
		return nil
	}
	return v.within(isList, func(v Value) error {
		if v.node().kind != isString {
			return nil
		}
		s, _ := v.Str() // it is one
		return each(s)
	})
}

// Object calls each for every attribute of a map. each need not read the value.
func (v Value) Object(each func(name []byte, v Value) error) error {
	n := v.node()
	if n.kind != isMap {
		return v.want(isMap)
	}
	for i := v.at + 1; i < n.next; {
		of := &v.s.nodes[i]
		if err := each(v.s.bytes(of.name), Value{v.s, i}); err != nil {
			return err
		}
		i = of.next
	}
	return nil
}

// binary reads bytes.
func (v Value) binary() ([]byte, error) {
	text, err := v.text(isBinary)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendDecode(nil, text)
}
