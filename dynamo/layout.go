package dynamo

import (
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
)

// rowAttribute is one attribute of a kind of row that is kept in a T: its name on the wire, and how it is written and read.
type rowAttribute[T any] struct {
	name  string
	large bool                          // light reads leave it out
	write func(*T) types.AttributeValue // nil for a row that lacks it; none when only updates write the attribute
	read  func(*T, value) error         // none when only an index needs the attribute
	empty func(*T) bool                 // whether the field is at its zero value; see optional
}

// layout is how a kind of row is kept: each attribute is declared once, and written, read and projected by that.
type layout[T any] struct {
	all      []rowAttribute[T]
	byLength [][]reader[T] // those that are read, by the length of their name
	spare    sync.Pool     // of T, since what functions are called with is allocated
}

// reader is how an attribute of a name is read.
type reader[T any] struct {
	name string
	last byte // of the name
	read func(*T, value) error
}

func layoutOf[T any](all ...rowAttribute[T]) *layout[T] {
	l := &layout[T]{all: all, spare: sync.Pool{New: func() any { return new(T) }}}
	for _, a := range all {
		if a.read == nil {
			continue
		}
		for len(l.byLength) <= len(a.name) {
			l.byLength = append(l.byLength, nil)
		}
		l.byLength[len(a.name)] = append(l.byLength[len(a.name)], reader[T]{a.name, a.name[len(a.name)-1], a.read})
	}
	return l
}

// row returns what keeps a T.
func (l *layout[T]) row(of *T) attrs {
	row := make(attrs, len(l.all))
	l.write(of, row)
	return row
}

// write adds to a row what keeps a T.
func (l *layout[T]) write(of *T, row attrs) {
	for _, a := range l.all {
		if a.write == nil {
			continue
		}
		if v := a.write(of); v != nil {
			row[a.name] = v
		}
	}
}

// read reads an attribute, and skips what is not declared.
func (l *layout[T]) read(into *T, name []byte, v value) error {
	if n := len(name); 0 < n && n < len(l.byLength) {
		last := name[n-1] // names of one length differ there, most of them
		for i := range l.byLength[n] {
			if of := &l.byLength[n][i]; of.last == last && of.name == string(name) {
				return of.read(into, v)
			}
		}
	}
	return v.skip()
}

// decode reads a row, and skips what is not declared.
func (l *layout[T]) decode(item []byte, into *T) error {
	return attributes(item, func(name []byte, v value) error { return l.read(into, name, v) })
}

// take returns a T to decode one row into, which is given back with give. It is the zero value.
func (l *layout[T]) take() *T { return l.spare.Get().(*T) } //nolint:errcheck,forcetypeassert // nothing else is put there

func (l *layout[T]) give(r *T) {
	var nothing T
	*r = nothing
	l.spare.Put(r)
}

// names are the names of all attributes.
func (l *layout[T]) names() []string {
	names := make([]string, len(l.all))
	for i, a := range l.all {
		names[i] = a.name
	}
	return names
}

// light are the names of what is read, without what may be large.
func (l *layout[T]) light() (names []string) {
	for _, a := range l.all {
		if a.read != nil && !a.large {
			names = append(names, a.name)
		}
	}
	return names
}

// lightest is a projection of rows of several layouts, which are kept in one table.
func lightest(layouts ...[]string) projection {
	names := slices.Concat(layouts...)
	slices.Sort(names)
	return projectionOf(slices.Compact(names)...)
}

// ofText is an attribute that is a string.
func ofText[T any, S ~string](name string, of func(*T) *S) rowAttribute[T] {
	return rowAttribute[T]{
		name:  name,
		write: func(t *T) types.AttributeValue { return str(string(*of(t))) },
		read:  func(t *T, v value) error { s, err := v.str(); *of(t) = S(s); return err },
		empty: func(t *T) bool { return *of(t) == "" },
	}
}

// ofWhole is an attribute that is a whole number.
func ofWhole[T any, N ~int | ~int64](name string, of func(*T) *N) rowAttribute[T] {
	return rowAttribute[T]{
		name:  name,
		write: func(t *T) types.AttributeValue { return number(int64(*of(t))) },
		read:  func(t *T, v value) error { n, err := v.int(); *of(t) = N(n); return err },
		empty: func(t *T) bool { return *of(t) == 0 },
	}
}

// ofInstant is an attribute that is a time.
func ofInstant[T any](name string, of func(*T) *time.Time) rowAttribute[T] {
	return rowAttribute[T]{
		name:  name,
		write: func(t *T) types.AttributeValue { return str(keys.Instant(*of(t))) },
		read:  func(t *T, v value) (err error) { *of(t), err = v.instant(); return err },
		empty: func(t *T) bool { return of(t).IsZero() },
	}
}

// ofTexts is an attribute that is a list of strings.
func ofTexts[T any](name string, of func(*T) *[]string) rowAttribute[T] {
	return rowAttribute[T]{
		name:  name,
		write: func(t *T) types.AttributeValue { return texts(*of(t)) },
		read:  func(t *T, v value) (err error) { *of(t), err = readTexts(v); return err },
		empty: func(t *T) bool { return len(*of(t)) == 0 },
	}
}

// ofFlag is an attribute that is true or false.
func ofFlag[T any](name string, of func(*T) *bool) rowAttribute[T] {
	return rowAttribute[T]{
		name:  name,
		write: func(t *T) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: *of(t)} },
		read: func(t *T, v value) error {
			some, err := v.any()
			*of(t), _ = some.(bool)
			return err
		},
		empty: func(t *T) bool { return !*of(t) },
	}
}

// indexKey is a part of a key that tells nothing else, so that nobody reads it.
func indexKey[T any](name string, of func(*T) string) rowAttribute[T] {
	return rowAttribute[T]{name: name, write: func(t *T) types.AttributeValue {
		if key := of(t); key != "" {
			return str(key)
		}
		return nil
	}}
}

// bigOnes are the attributes, of which those that are called so may be large.
func bigOnes[T any](all []rowAttribute[T], names ...string) []rowAttribute[T] {
	for i := range all {
		all[i].large = all[i].large || slices.Contains(names, all[i].name)
	}
	return all
}

// big is an attribute that may be large.
func big[T any](a rowAttribute[T]) rowAttribute[T] {
	a.large = true
	return a
}

// optional is an attribute that a row lacks where its field is at its zero value.
func optional[T any](a rowAttribute[T]) rowAttribute[T] {
	write := a.write
	a.write = func(t *T) types.AttributeValue {
		if a.empty(t) {
			return nil
		}
		return write(t)
	}
	return a
}
