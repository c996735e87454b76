package entity

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// shelf is an index of books by shelf, number and shelf again.
func shelf() Index {
	return Index{Name: "shelf", Type: "Book", Path: []string{"a"}, Kind: StringKey, Ready: true, ThenBy: []Part{{[]string{"n"}, NumberKey}, {[]string{"b"}, StringKey}}}
}

// inRange reports whether a key is in a range, all of which counts.
func inRange(r Range, key string) bool {
	return (r.Equals == nil || key == *r.Equals) && (r.BeginsWith == nil || strings.HasPrefix(key, *r.BeginsWith)) &&
		(r.Between == nil || r.Between[0] <= key && key <= r.Between[1]) && (r.Before == nil || key < *r.Before) && (r.After == nil || key > *r.After)
}

// compareParts compares the first parts of a key with these.
func compareParts(key, with []any) int {
	for i, of := range with {
		var c int
		switch of := of.(type) {
		case string:
			c = cmp.Compare(key[i].(string), of)
		case json.Number:
			a, _ := key[i].(json.Number).Float64()
			b, _ := of.Float64()
			c = cmp.Compare(a, b)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Keys of several parts are ordered as their parts are, tell these, and are chosen by any number of the first ones.
func TestKeysOfSeveralParts(t *testing.T) {
	x := shelf()
	scope := Scope{ID: "s", Indexes: []Index{x}}
	text := rapid.SampledFrom([]string{"a", "a\x00", "a\x01", "a\x01\x01", "a\x00b", "\x00", "\x01", "b", "aa", "\U0010FFFF", "ä"})
	number := rapid.Map(rapid.IntRange(-11, 11), func(n int) json.Number { return json.Number(strconv.Itoa(n)) })
	tuple := rapid.Custom(func(t *rapid.T) []any { return []any{text.Draw(t, "a"), number.Draw(t, "n"), text.Draw(t, "b")} })
	first := func(t *rapid.T, name string, least int) []any {
		return tuple.Draw(t, name)[:rapid.IntRange(least, 3).Draw(t, name+" parts")]
	}
	rapid.Check(t, func(t *rapid.T) {
		tuples := rapid.SliceOfN(tuple, 1, 20).Draw(t, "keys")
		keyOf := func(of []any) string {
			entries, unfit := x.entries(book(map[string]any{"a": of[0], "n": of[1], "b": of[2]}))
			require.Zero(t, unfit)
			require.Len(t, entries, 1)
			require.Equal(t, of, scope.value(entries[0]))
			return entries[0].Key
		}
		for _, one := range tuples {
			for _, other := range tuples {
				require.Equal(t, compareParts(one, other), cmp.Compare(keyOf(one), keyOf(other)), "%q %q", one, other)
			}
		}
		prefix := first(t, "prefix", 0)
		rest := func(name string) []any { return first(t, name, len(prefix)+1)[len(prefix):] }
		c, chosen := Condition{Prefix: prefix}, func([]any) bool { return true }
		if len(prefix) < 3 {
			switch rapid.IntRange(0, 5).Draw(t, "condition") {
			case 1:
				equals := rest("equals")
				c.Equals, chosen = any(equals), func(of []any) bool { return compareParts(of, equals) == 0 }
			case 2:
				low, high := rest("low"), rest("high")
				n := min(len(low), len(high))
				if compareParts(low[:n], high[:n]) > 0 {
					low, high = high, low
				}
				c.Between = &[2]any{any(low), any(high)}
				chosen = func(of []any) bool { return compareParts(of, low) >= 0 && compareParts(of, high) <= 0 }
			case 3:
				after := rest("after")
				c.After, chosen = any(after), func(of []any) bool { return compareParts(of, after) > 0 }
			case 4:
				before := rest("before")
				c.Before, chosen = any(before), func(of []any) bool { return compareParts(of, before) < 0 }
			case 5:
				if len(prefix) != 1 {
					begins := text.Draw(t, "begins")
					c.BeginsWith, chosen = &begins, func(of []any) bool { return strings.HasPrefix(of[0].(string), begins) }
				}
			}
		}
		r, err := x.keys("key", c)
		if err != nil {
			require.ErrorContains(t, err, "the lower end comes first") // the longer of two ends that begin alike is the higher one
			return
		}
		for _, of := range tuples {
			want := compareParts(of, prefix) == 0 && chosen(of[len(prefix):])
			require.Equal(t, want, inRange(r, keyOf(of)), "%q", of)
		}
	})
}

func TestWhatKeysOfSeveralPartsAreMadeOf(t *testing.T) {
	x := shelf()
	list := func(of ...any) []any { return of }
	entries, unfit := x.entries(book(map[string]any{"a": list("p", "q", "p"), "n": list(json.Number("1"), json.Number("1.0"), "no"), "b": list("x", "y")}))
	assert.Equal(t, 1, unfit)
	keys := keysOf(entries)
	assert.Equal(t, []string{"p\x0025011\x00x", "p\x0025011\x00y", "q\x0025011\x00x", "q\x0025011\x00y"}, keys)
	entries, unfit = x.entries(book(map[string]any{"a": "p", "n": nil, "b": "x"}))
	assert.Empty(t, entries, "without one of the parts there is no key")
	assert.Zero(t, unfit)
	long := strings.Repeat("x", 300)
	entries, unfit = x.entries(book(map[string]any{"a": long, "n": json.Number("1"), "b": long}))
	assert.Empty(t, entries)
	assert.Equal(t, 1, unfit, "together they are too long")
	var many []any
	for n := range 100 {
		many = append(many, strconv.Itoa(n))
	}
	entries, _ = x.entries(book(map[string]any{"a": many, "n": json.Number("1"), "b": many}))
	assert.Len(t, entries, combinations)
	assert.Equal(t, "key", Scope{Indexes: []Index{x}}.value(IndexEntry{Name: "shelf", Key: "key"}), "what another program wrote is told as it is")
}

func TestWhichEntitiesAnIndexWants(t *testing.T) {
	yes, no := true, false
	attributes := map[string]any{"s": "open", "n": json.Number("1.50"), "b": true, "l": []any{"x", map[string]any{"y": json.Number("2")}}, "null": nil, "o": map[string]any{}}
	for name, c := range map[string]struct {
		where Where
		want  bool
	}{
		"a text":              {Where{Path: []string{"s"}, Equals: "open"}, true},
		"another text":        {Where{Path: []string{"s"}, Equals: "closed"}, false},
		"a number":            {Where{Path: []string{"n"}, Equals: json.Number("15e-1")}, true},
		"no number":           {Where{Path: []string{"s"}, Equals: json.Number("1")}, false},
		"true":                {Where{Path: []string{"b"}, Is: &yes}, true},
		"false":               {Where{Path: []string{"b"}, Is: &no}, false},
		"in a list":           {Where{Path: []string{"l"}, Equals: "x"}, true},
		"below a list":        {Where{Path: []string{"l", "y"}, Equals: json.Number("2")}, true},
		"there":               {Where{Path: []string{"b"}, Exists: &yes}, true},
		"an object is there":  {Where{Path: []string{"o"}, Exists: &yes}, true},
		"null is not there":   {Where{Path: []string{"null"}, Exists: &yes}, false},
		"absent is not there": {Where{Path: []string{"absent"}, Exists: &no}, true},
		"null is absent":      {Where{Path: []string{"null"}, Exists: &no}, true},
	} {
		x := texts("s")
		x.Where = []Where{{Path: []string{"s"}, Exists: &yes}, c.where}
		assert.Equal(t, c.want, len(x.Mapper()(book(attributes))) == 1, name)
	}
}

func TestWhatAnIndexCarries(t *testing.T) {
	x := texts("at")
	x.Carries = []string{"large", "a", "absent", "larger", "b"}
	e := book(map[string]any{"at": []any{"k", "l"}, "a": "A", "b": []any{json.Number("1")}, "c": "C", "large": strings.Repeat("x", MaxCarriedBytes-30), "larger": strings.Repeat("x", 40)})
	scope := Scope{Indexes: []Index{x}}
	entries := scope.entries(e)
	require.Len(t, entries, 2)
	for _, entry := range entries {
		assert.Equal(t, []string{"a", "b", "large"}, slices.Sorted(func(yield func(string) bool) {
			for name := range entry.Attributes {
				yield(name)
			}
		}), "as far as there is room")
	}
	before := e
	before.Index = []IndexEntry{{Name: "words", Key: "k"}}
	scope.changed(&before, entries)
	assert.Nil(t, entries[0].Attributes, "it is in the index as it is")
	assert.NotNil(t, entries[1].Attributes)
	before.Attributes = map[string]any{"a": "other"}
	entries = scope.entries(e)
	scope.changed(&before, entries)
	assert.NotNil(t, entries[0].Attributes)
}

func TestWhatDeclarationsOfIndexesMayHave(t *testing.T) {
	yes := true
	valid := func() DeclareIndex {
		return DeclareIndex{Name: "n", Type: "Book", Path: []string{"a"}, Kind: StringKey, ThenBy: []Part{{[]string{"b"}, NumberKey}}, Where: []Where{{Path: []string{"c"}, Is: &yes}}, Carries: []string{"d"}}
	}
	require.NoError(t, checkIndex(valid()))
	for field, change := range map[string]func(*DeclareIndex){
		"input.thenBy":         func(in *DeclareIndex) { in.ThenBy = make([]Part, MaxThenBy+1) },
		"input.thenBy.0.path":  func(in *DeclareIndex) { in.ThenBy[0].Path = nil },
		"input.thenBy.0.kind":  func(in *DeclareIndex) { in.ThenBy[0].Kind = "DATE" },
		"input.where":          func(in *DeclareIndex) { in.Where = make([]Where, MaxWhere+1) },
		"input.where.0.path":   func(in *DeclareIndex) { in.Where[0].Path = []string{"_meta"} },
		"input.where.0":        func(in *DeclareIndex) { in.Where[0].Exists = &yes },
		"input.where.0.equals": func(in *DeclareIndex) { in.Where[0] = Where{Path: []string{"c"}, Equals: []any{"x"}} },
		"input.carries":        func(in *DeclareIndex) { in.Carries = make([]string, MaxCarries+1) },
		"input.carries.1":      func(in *DeclareIndex) { in.Carries = []string{"d", "d"} },
		"input.carries.0":      func(in *DeclareIndex) { in.Carries = []string{""} },
	} {
		in := valid()
		change(&in)
		Invalid(t, checkIndex(in), field, "")
	}
}
