package dynamo

import (
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
)

// RowAttribute is one attribute of a kind of row that is kept in a T: its name on the wire, and how it is written and read.
type RowAttribute[T any] struct {
	Name  string
	large bool                          // light reads leave it out
	Write func(*T) types.AttributeValue // nil for a row that lacks it; none when only updates write the attribute
	Read  func(*T, Value) error         // none when only an index needs the attribute
	empty func(*T) bool                 // whether the field is at its zero value; see optional
}

// Layout is how a kind of row is kept: each attribute is declared once, and written, read and projected by that.
type Layout[T any] struct {
	all      []RowAttribute[T]
	byLength [][]reader[T] // those that are read, by the length of their name
	spare    sync.Pool     // of T, since what functions are called with is allocated
}

// reader is how an attribute of a name is read.
type reader[T any] struct {
	name string
	last byte // of the name
	read func(*T, Value) error
}

// LayoutOf declares the attributes of a kind of rows.
func LayoutOf[T any](all ...RowAttribute[T]) *Layout[T] {
	l := &Layout[T]{all: all, spare: sync.Pool{New: func() any { return new(T) }}}
	for _, a := range all {
		if a.Read == nil {
			continue
		}
		for len(l.byLength) <= len(a.Name) {
			l.byLength = append(l.byLength, nil)
		}
		l.byLength[len(a.Name)] = append(l.byLength[len(a.Name)], reader[T]{a.Name, a.Name[len(a.Name)-1], a.Read})
	}
	return l
}

// Row returns what keeps a T.
func (l *Layout[T]) Row(of *T) Attrs {
	row := make(Attrs, len(l.all))
	l.Write(of, row)
	return row
}

// Write adds to a row what keeps a T.
func (l *Layout[T]) Write(of *T, row Attrs) {
	for _, a := range l.all {
		if a.Write == nil {
			continue
		}
		if v := a.Write(of); v != nil {
			row[a.Name] = v
		}
	}
}

// Read reads an attribute, and skips what is not declared.
func (l *Layout[T]) Read(into *T, name []byte, v Value) error {
	if n := len(name); 0 < n && n < len(l.byLength) {
		last := name[n-1] // names of one length differ there, most of them
		for i := range l.byLength[n] {
			if of := &l.byLength[n][i]; of.last == last && of.name == string(name) {
				return of.read(into, v)
			}
		}
	}
	return nil
}

// Decode reads a row, and skips what is not declared.
func (l *Layout[T]) Decode(item Item, into *T) error {
	return Attributes(item, func(name []byte, v Value) error { return l.Read(into, name, v) })
}

// Take returns a T to decode one row into, which is given back with give. It is the zero value.
func (l *Layout[T]) Take() *T { return l.spare.Get().(*T) } //nolint:errcheck,forcetypeassert // nothing else is put there

// Give returns a record that [Layout.Take] gave out.
func (l *Layout[T]) Give(r *T) {
	var nothing T
	*r = nothing
	l.spare.Put(r)
}

// Names are the names of all attributes.
func (l *Layout[T]) Names() []string {
	names := make([]string, len(l.all))
	for i, a := range l.all {
		names[i] = a.Name
	}
	return names
}

// Light are the names of what is read, without what may be large.
func (l *Layout[T]) Light() (names []string) {
	for _, a := range l.all {
		if a.Read != nil && !a.large {
			names = append(names, a.Name)
		}
	}
	return names
}

// Lightest is a projection of rows of several layouts, which are kept in one table.
func Lightest(layouts ...[]string) Projection {
	names := slices.Concat(layouts...)
	slices.Sort(names)
	return ProjectionOf(slices.Compact(names)...)
}

// OfText is an attribute that is a string.
func OfText[T any, S ~string](name string, of func(*T) *S) RowAttribute[T] {
	return RowAttribute[T]{
		Name:  name,
		Write: func(t *T) types.AttributeValue { return Str(string(*of(t))) },
		Read:  func(t *T, v Value) error { s, err := v.Str(); *of(t) = S(s); return err },
		empty: func(t *T) bool { return *of(t) == "" },
	}
}

// OfWhole is an attribute that is a whole number.
func OfWhole[T any, N ~int | ~int64](name string, of func(*T) *N) RowAttribute[T] {
	return RowAttribute[T]{
		Name:  name,
		Write: func(t *T) types.AttributeValue { return Number(int64(*of(t))) },
		Read:  func(t *T, v Value) error { n, err := v.Int(); *of(t) = N(n); return err },
		empty: func(t *T) bool { return *of(t) == 0 },
	}
}

// OfInstant is an attribute that is a time.
func OfInstant[T any](name string, of func(*T) *time.Time) RowAttribute[T] {
	return RowAttribute[T]{
		Name:  name,
		Write: func(t *T) types.AttributeValue { return Str(keys.Instant(*of(t))) },
		Read:  func(t *T, v Value) (err error) { *of(t), err = v.Instant(); return err },
		empty: func(t *T) bool { return of(t).IsZero() },
	}
}

// OfTexts is an attribute that is a list of strings.
func OfTexts[T any](name string, of func(*T) *[]string) RowAttribute[T] {
	return RowAttribute[T]{
		Name:  name,
		Write: func(t *T) types.AttributeValue { return Texts(*of(t)) },
		Read:  func(t *T, v Value) (err error) { *of(t), err = ReadTexts(v); return err },
		empty: func(t *T) bool { return len(*of(t)) == 0 },
	}
}

// OfID is an attribute that is an id in its short spelling.
func OfID[T any, ID ~string](name string, of func(*T) *ID) RowAttribute[T] {
	return RowAttribute[T]{
		Name:  name,
		Write: func(t *T) types.AttributeValue { return Str(keys.EncodeUUID(string(*of(t)))) },
		Read:  func(t *T, v Value) (err error) { *of(t), err = IDOf[ID](v); return err },
		empty: func(t *T) bool { return *of(t) == "" },
	}
}

// OfMap is an attribute that is a map, of declared attributes.
func OfMap[T, M any](name string, of func(*T) *M, rows *Layout[M]) RowAttribute[T] {
	return RowAttribute[T]{
		Name:  name,
		Write: func(t *T) types.AttributeValue { return &types.AttributeValueMemberM{Value: rows.Row(of(t))} },
		Read: func(t *T, v Value) error {
			m := of(t)
			return v.Object(func(name []byte, v Value) error { return rows.Read(m, name, v) })
		},
	}
}

// OfMaps is an attribute that is a list of such maps.
func OfMaps[T, M any](name string, of func(*T) *[]M, rows *Layout[M]) RowAttribute[T] {
	return RowAttribute[T]{
		Name: name,
		Write: func(t *T) types.AttributeValue {
			all := *of(t)
			list := make([]types.AttributeValue, len(all))
			for i := range all {
				list[i] = &types.AttributeValueMemberM{Value: rows.Row(&all[i])}
			}
			return &types.AttributeValueMemberL{Value: list}
		},
		Read: func(t *T, v Value) error {
			return v.Maps(func(v Value) error {
				var m M
				err := v.Object(func(name []byte, v Value) error { return rows.Read(&m, name, v) })
				*of(t) = append(*of(t), m)
				return err
			})
		},
		empty: func(t *T) bool { return len(*of(t)) == 0 },
	}
}

// OfFlag is an attribute that is true or false.
func OfFlag[T any](name string, of func(*T) *bool) RowAttribute[T] {
	return RowAttribute[T]{
		Name:  name,
		Write: func(t *T) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: *of(t)} },
		Read: func(t *T, v Value) error {
			some, err := v.Any()
			*of(t), _ = some.(bool)
			return err
		},
		empty: func(t *T) bool { return !*of(t) },
	}
}

// IndexKey is a part of a key that tells nothing else, so that nobody reads it.
func IndexKey[T any](name string, of func(*T) string) RowAttribute[T] {
	return RowAttribute[T]{Name: name, Write: func(t *T) types.AttributeValue {
		if key := of(t); key != "" {
			return Str(key)
		}
		return nil
	}}
}

// BigOnes are the attributes, of which those that are called so may be large.
func BigOnes[T any](all []RowAttribute[T], names ...string) []RowAttribute[T] {
	for i := range all {
		all[i].large = all[i].large || slices.Contains(names, all[i].Name)
	}
	return all
}

// Big is an attribute that may be large.
func Big[T any](a RowAttribute[T]) RowAttribute[T] {
	a.large = true
	return a
}

// Where is an attribute that a row lacks unless is.
func Where[T any](is func(*T) bool, a RowAttribute[T]) RowAttribute[T] {
	a.empty = func(t *T) bool { return !is(t) }
	return Optional(a)
}

// Optional is an attribute that a row lacks where its field is at its zero value.
func Optional[T any](a RowAttribute[T]) RowAttribute[T] {
	write := a.Write
	a.Write = func(t *T) types.AttributeValue {
		if a.empty(t) {
			return nil
		}
		return write(t)
	}
	return a
}
