package entity

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// Mapper returns the mapping function of a declared index. It emits one entry for each text (number) that the path leads to;
// lists at its end and on its way are walked through, and the same key is emitted once. Other values are left out: null, and what
// cannot be a key, which is counted; see [Scope.LeftOut].
func (x Index) Mapper() Mapper {
	return func(e Entity) []IndexEntry {
		entries, _ := x.entries(e)
		return entries
	}
}

// entries returns what can be indexed, and how many values at the path cannot be keys: texts above [MaxIndexKeyBytes] and empty ones,
// numbers out of range, objects, and values of another kind.
func (x Index) entries(e Entity) (entries []IndexEntry, unfit int) {
	if e.Type != x.Type || !x.RemovedAt.IsZero() {
		return nil, 0
	}
	seen := map[string]bool{}
	walk(e.Attributes, x.Path, func(of any) {
		key, ok := x.key(of)
		switch {
		case of == nil || ok && seen[key]:
		case !ok || len(key) > MaxIndexKeyBytes:
			unfit++
		default:
			seen[key] = true
			entries = append(entries, IndexEntry{Name: x.Name, Key: key})
		}
	})
	return entries, unfit
}

// walk calls found with each value at the path.
func walk(of any, path []string, found func(any)) {
	switch of := of.(type) {
	case []any:
		for _, element := range of {
			walk(element, path, found)
		}
	case map[string]any:
		if len(path) == 0 {
			found(of)
			return
		}
		walk(of[path[0]], path[1:], found)
	default:
		if len(path) == 0 {
			found(of)
		}
	}
}

// key returns the key of a value; false when it is not of the kind of the index.
func (x Index) key(of any) (string, bool) {
	switch of := of.(type) {
	case string:
		return of, x.Kind == StringKey && of != ""
	case json.Number:
		d, err := parseDecimal(string(of))
		return d.key(), x.Kind == NumberKey && err == nil
	}
	return "", false
}

// entries returns what an entity emits into the indexes of the scope, in their order, as far as an entity may have entries. With
// what cannot be indexed the entity is kept as well: it is counted.
func (s Scope) entries(e Entity) []IndexEntry {
	var all []IndexEntry
	for _, x := range s.Indexes {
		entries, _ := x.entries(e)
		all = append(all, entries[:min(len(entries), MaxIndexEntries-len(all))]...)
	}
	return s.counted(e, all)
}

// counted adds to the entries of an entity the one that says how many of its values they leave out, if there are any.
func (s Scope) counted(e Entity, entries []IndexEntry) []IndexEntry {
	left := map[string]any{}
	total := 0
	for _, x := range s.Indexes {
		could, unfit := x.entries(e)
		n := unfit + len(could)
		for _, entry := range entries {
			if entry.Name == x.Name {
				n--
			}
		}
		if n > 0 {
			left[x.Name], total = json.Number(strconv.Itoa(n)), total+n
		}
	}
	if total == 0 {
		return entries
	}
	return append(entries, IndexEntry{Name: LeftOutIndex, Key: strconv.Itoa(total), Attributes: left})
}

// show marks an entity of the scope as shown to the viewer, who may read the scope.
func (s Scope) show(e *Entity) {
	e.shown = true
	for i, entry := range e.Index {
		e.Index[i].Value = s.value(entry)
	}
}

// value returns what the key of an entry stands for. The scope may not have the index any more, or another program may have written the
// entry: then the value is the key itself.
func (s Scope) value(entry IndexEntry) any {
	if x, found := s.index(entry.Name); found && x.Kind == NumberKey {
		if d, ok := decimalOf(entry.Key); ok {
			return d.number()
		}
	}
	return entry.Key
}

// Condition chooses from an index by values of its kind: texts, or numbers as [json.Number] (or as a Go number). The zero
// Condition chooses all. Only one of Equals, BeginsWith, Between, and After or Before or both, is given.
type Condition struct {
	Equals     any
	BeginsWith *string // of texts only
	Between    *[2]any // both ends inclusive
	After      any     // exclusive
	Before     any     // exclusive
}

// keys returns the condition as keys of the index.
func (x Index) keys(field string, c Condition) (Range, error) {
	given := 0
	for _, is := range []bool{c.Equals != nil, c.BeginsWith != nil, c.Between != nil, c.After != nil || c.Before != nil} {
		if is {
			given++
		}
	}
	if given > 1 {
		return Range{}, fault.Invalidf(field, "give one of equals, beginsWith, between, and after or before")
	}
	if c.BeginsWith != nil && x.Kind != StringKey {
		return Range{}, fault.Invalidf(field+".beginsWith", "the index %s holds numbers, which begin with nothing", x.Name)
	}
	var r Range
	var err error
	operand := func(name string, of any) *string {
		if of == nil || err != nil {
			return nil
		}
		var key string
		key, err = x.operand(field+"."+name, of)
		return &key
	}
	r.Equals, r.After, r.Before = operand("equals", c.Equals), operand("after", c.After), operand("before", c.Before)
	if c.BeginsWith != nil {
		r.BeginsWith = operand("beginsWith", *c.BeginsWith)
	}
	if c.Between != nil {
		if c.Between[0] == nil || c.Between[1] == nil {
			return Range{}, fault.Invalidf(field+".between", "give both ends")
		}
		low, high := operand("between.0", c.Between[0]), operand("between.1", c.Between[1])
		if err == nil {
			r.Between = &[2]string{*low, *high}
		}
	}
	switch {
	case err != nil:
		return Range{}, err
	case r.Between != nil && r.Between[0] > r.Between[1]:
		return Range{}, fault.Invalidf(field+".between", "the lower end comes first")
	case r.After != nil && r.Before != nil && *r.After >= *r.Before:
		return Range{}, fault.Invalidf(field+".before", "before must be greater than after")
	}
	return r, nil
}

// operand returns the key of an operand.
func (x Index) operand(field string, of any) (string, error) {
	switch of := of.(type) {
	case string:
		switch {
		case x.Kind != StringKey:
			return "", fault.Invalidf(field, "the index %s holds numbers: give a number", x.Name)
		case of == "" || len(of) > MaxIndexKeyBytes:
			return "", fault.Invalidf(field, "the texts of an index have 1 to %d bytes", MaxIndexKeyBytes)
		case !utf8.ValidString(of):
			return "", fault.Invalidf(field, "text must be valid UTF-8")
		}
		return of, nil
	case json.Number, int, int64, float64:
		if x.Kind != NumberKey {
			return "", fault.Invalidf(field, "the index %s holds texts: give a text", x.Name)
		}
		number, _, err := parseNumber(field, of)
		if err != nil {
			return "", err
		}
		key, _ := x.key(number)
		return key, nil
	}
	return "", fault.Invalidf(field, "give a text or a number")
}

// checkIndex says what is wrong with a declaration.
func checkIndex(in DeclareIndex) error {
	if err := checkName("input.name", "the name of an index", in.Name); err != nil {
		return err
	}
	if err := checkName("input.type", "a type", in.Type); err != nil {
		return err
	}
	if in.Kind != StringKey && in.Kind != NumberKey {
		return fault.Invalidf("input.kind", "an index holds STRING or NUMBER")
	}
	switch {
	case len(in.Path) == 0 || len(in.Path) > MaxPath:
		return fault.Invalidf("input.path", "a path has 1 to %d names of attributes", MaxPath)
	case strings.HasPrefix(in.Path[0], "_"):
		return fault.Invalidf("input.path", "names of attributes that begin with an underscore are reserved")
	case slices.ContainsFunc(in.Path, func(name string) bool {
		return name == "" || len(name) > MaxAttributeNameBytes || !utf8.ValidString(name)
	}):
		return fault.Invalidf("input.path", "each name of an attribute has 1 to %d bytes of UTF-8", MaxAttributeNameBytes)
	}
	return nil
}
