package entity

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// Mapper returns the mapping function of a declared index. It emits one entry for each text (number) that the path leads to;
// lists at its end and on its way are walked through, and the same key is emitted once. Where keys have several parts, each value of a part
// is combined with each of the others. Other values are left out: null, and what cannot be a key, which is counted; see [Scope.LeftOut].
func (x Index) Mapper() Mapper {
	return func(e Entity) []IndexEntry {
		entries, _ := x.entries(e)
		return entries
	}
}

// entries returns what can be indexed, and how many values at the paths cannot be keys: texts above [MaxIndexKeyBytes] and empty ones,
// numbers out of range, objects, values of another kind, and keys of several parts that are too long together.
func (x Index) entries(e Entity) (entries []IndexEntry, unfit int) {
	if e.Type != x.Type || !x.RemovedAt.IsZero() || !x.wants(e) {
		return nil, 0
	}
	var keys []string
	parts := x.parts()
	for i, part := range parts {
		of, no := part.keys(e)
		unfit += no
		if i == 0 && len(parts) == 1 {
			keys = of
			break
		}
		keys = combined(keys, of, i == 0, i == len(parts)-1)
	}
	own := x.carried(e)
	for _, key := range keys {
		if len(key) > MaxIndexKeyBytes {
			unfit++
			continue
		}
		entries = append(entries, IndexEntry{Name: x.Name, Key: key, Attributes: own})
	}
	return entries, unfit
}

// combined returns each of the keys with each of the values of the next part behind it, as far as an entity has so many that it matters.
func combined(keys, values []string, first, last bool) []string {
	if first {
		keys = []string{""}
	}
	var all []string
	for _, key := range keys {
		for _, value := range values {
			if len(all) == combinations {
				return all
			}
			all = append(all, appendPart(key, value, last))
		}
	}
	return all
}

// combinations is how many keys of several parts an entity has at most in an index: more than there can be entries, so that the others
// are counted as left out.
const combinations = 1_000

// keys returns the values at the path that can be keys, each once, and how many cannot.
func (p Part) keys(e Entity) (keys []string, unfit int) {
	seen := map[string]bool{}
	walk(e.Attributes, p.Path, func(of any) {
		key, ok := p.key(of)
		switch {
		case of == nil || ok && seen[key]:
		case !ok || len(key) > MaxIndexKeyBytes:
			unfit++
		default:
			seen[key] = true
			keys = append(keys, key)
		}
	})
	return keys, unfit
}

// wants reports whether the entity meets the conditions of the index.
func (x Index) wants(e Entity) bool {
	return !slices.ContainsFunc(x.Where, func(w Where) bool { return !w.met(e) })
}

// met reports whether one of the values at the path is the one that is asked for.
func (w Where) met(e Entity) bool {
	met, exists := false, false
	walk(e.Attributes, w.Path, func(of any) {
		exists = exists || of != nil
		switch of := of.(type) {
		case bool:
			met = met || w.Is != nil && *w.Is == of
		case string:
			met = met || w.Equals == of
		case json.Number:
			if n, ok := w.Equals.(json.Number); ok {
				met = met || sameNumber(n, of)
			}
		case map[string]any:
			exists = true
		}
	})
	if w.Exists != nil {
		return exists == *w.Exists
	}
	return met
}

// sameNumber reports whether two numbers are equal, however they are spelled.
func sameNumber(a, b json.Number) bool {
	x, err := parseDecimal(string(a))
	y, other := parseDecimal(string(b))
	return err == nil && other == nil && x == y
}

// carried returns the attributes that the index carries, as far as there is room for them; nil when it carries none.
func (x Index) carried(e Entity) map[string]any {
	if len(x.Carries) == 0 {
		return nil
	}
	own, left := map[string]any{}, MaxCarriedBytes
	for _, name := range x.Carries {
		of, there := e.Attributes[name]
		if !there {
			continue
		}
		if text, err := json.Marshal(of); err == nil && len(name)+len(text) <= left {
			own[name] = of
			left -= len(name) + len(text)
		}
	}
	return own
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

// key returns the key of a value; false when it is not of the kind of the part.
func (p Part) key(of any) (string, bool) {
	switch of := of.(type) {
	case string:
		return of, p.Kind == StringKey && of != ""
	case json.Number:
		d, err := parseDecimal(string(of))
		return d.key(), p.Kind == NumberKey && err == nil
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

// changed leaves out of the entries of an entity what they carry where that is in the index already: what stays as it is, is not written
// again.
func (s Scope) changed(before *Entity, entries []IndexEntry) {
	if before == nil {
		return
	}
	for i, entry := range entries {
		x, found := s.index(entry.Name)
		if found && len(x.Carries) > 0 && reflect.DeepEqual(x.carried(*before), entry.Attributes) &&
			slices.ContainsFunc(before.Index, func(was IndexEntry) bool { return was.Name == entry.Name && was.Key == entry.Key }) {
			entries[i].Attributes = nil
		}
	}
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
	x, found := s.index(entry.Name)
	if !found {
		return entry.Key
	}
	parts := x.parts()
	if len(parts) == 1 {
		return parts[0].value(entry.Key)
	}
	keys := splitParts(entry.Key, len(parts))
	if len(keys) != len(parts) {
		return entry.Key
	}
	values := make([]any, len(parts))
	for i, key := range keys {
		values[i] = parts[i].value(key)
	}
	return values
}

// value returns what a key of the part stands for.
func (p Part) value(key string) any {
	if p.Kind == NumberKey {
		if d, ok := decimalOf(key); ok {
			return d.number()
		}
	}
	return key
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
	if err := checkPath("input.path", in.Path); err != nil {
		return err
	}
	switch {
	case len(in.ThenBy) > MaxThenBy:
		return fault.Invalidf("input.thenBy", "a key has up to %d parts", 1+MaxThenBy)
	case len(in.Where) > MaxWhere:
		return fault.Invalidf("input.where", "an index has up to %d conditions", MaxWhere)
	case len(in.Carries) > MaxCarries:
		return fault.Invalidf("input.carries", "an index carries up to %d attributes", MaxCarries)
	}
	for i, part := range in.ThenBy {
		at := "input.thenBy." + strconv.Itoa(i)
		if err := checkPath(at+".path", part.Path); err != nil {
			return err
		}
		if part.Kind != StringKey && part.Kind != NumberKey {
			return fault.Invalidf(at+".kind", "a part of a key is a STRING or a NUMBER")
		}
	}
	for i, w := range in.Where {
		if err := w.check("input.where." + strconv.Itoa(i)); err != nil {
			return err
		}
	}
	for i, name := range in.Carries {
		at := "input.carries." + strconv.Itoa(i)
		if err := checkPath(at, []string{name}); err != nil {
			return err
		}
		if slices.Contains(in.Carries[:i], name) {
			return fault.Invalidf(at, "give each attribute once")
		}
	}
	return nil
}

// check says what is wrong with a condition.
func (w Where) check(field string) error {
	if err := checkPath(field+".path", w.Path); err != nil {
		return err
	}
	given := 0
	for _, is := range []bool{w.Equals != nil, w.Is != nil, w.Exists != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return fault.Invalidf(field, "give one of equals, is and exists")
	}
	switch of := w.Equals.(type) {
	case nil:
	case string:
		if len(of) > MaxIndexKeyBytes || !utf8.ValidString(of) {
			return fault.Invalidf(field+".equals", "a text has up to %d bytes of UTF-8", MaxIndexKeyBytes)
		}
	case json.Number:
		if _, _, err := parseNumber(field+".equals", of); err != nil {
			return err
		}
	default:
		return fault.Invalidf(field+".equals", "give a text or a number")
	}
	return nil
}

func checkPath(field string, path []string) error {
	switch {
	case len(path) == 0 || len(path) > MaxPath:
		return fault.Invalidf(field, "a path has 1 to %d names of attributes", MaxPath)
	case strings.HasPrefix(path[0], "_"):
		return fault.Invalidf(field, "names of attributes that begin with an underscore are reserved")
	case slices.ContainsFunc(path, func(name string) bool {
		return name == "" || len(name) > MaxAttributeNameBytes || !utf8.ValidString(name)
	}):
		return fault.Invalidf(field, "each name of an attribute has 1 to %d bytes of UTF-8", MaxAttributeNameBytes)
	}
	return nil
}
