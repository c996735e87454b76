package entity

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

func texts(path ...string) Index {
	return Index{Name: "words", Type: "Book", Path: path, Kind: StringKey, Ready: true}
}

func book(attributes map[string]any) Entity {
	return Entity{ID: ID{Scope: "s", Type: "Book", ID: "1"}, Attributes: attributes}
}

func keysOf(entries []IndexEntry) []string {
	keys := []string{}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func TestMappersEmitWhatThePathLeadsTo(t *testing.T) {
	for _, c := range []struct {
		reason string
		at     any
		want   []string
	}{
		{"a text", "a", []string{"a"}},
		{"each element once", []any{"b", "a", "b"}, []string{"b", "a"}},
		{"lists in lists", []any{[]any{"a"}, "b"}, []string{"a", "b"}},
		{"other kinds are not indexed", []any{json.Number("1"), true, nil, map[string]any{"x": "y"}, "a"}, []string{"a"}},
		{"null", nil, []string{}},
		{"empty texts are no keys", []any{"", "a"}, []string{"a"}},
		{"as long as a key may be", strings.Repeat("x", MaxIndexKeyBytes), []string{strings.Repeat("x", MaxIndexKeyBytes)}},
	} {
		assert.Equal(t, c.want, keysOf(texts("at").Mapper()(book(map[string]any{"at": c.at}))), c.reason)
		assert.Equal(t, c.want, keysOf(texts("x", "at").Mapper()(book(map[string]any{"x": []any{map[string]any{"at": c.at}}}))), c.reason)
	}
	assert.Empty(t, texts("at", "further").Mapper()(book(map[string]any{"at": "a"})), "the path leads on, the value does not")
	assert.Empty(t, texts("absent").Mapper()(book(map[string]any{"at": "a"})))
	other := book(map[string]any{"at": "a"})
	other.Type = "Author"
	assert.Empty(t, texts("at").Mapper()(other))
	removed := texts("at")
	removed.RemovedAt = time.Unix(1, 0)
	assert.Empty(t, removed.Mapper()(book(map[string]any{"at": "a"})))
}

func TestWhatAnIndexCannotHold(t *testing.T) {
	long := strings.Repeat("x", MaxIndexKeyBytes+1)
	scope := Scope{Indexes: []Index{texts("a", "b"), {Name: "numbers", Type: "Book", Path: []string{"n"}, Kind: NumberKey}}}
	left := func(e Entity) map[string]any {
		for _, entry := range scope.entries(e) {
			if entry.Name == LeftOutIndex {
				return entry.Attributes
			}
		}
		return nil
	}
	e := book(map[string]any{"a": map[string]any{"b": []any{"fine", long, nil, "", true, "fine", json.Number("1"), map[string]any{}}}})
	e.Index = scope.entries(e)
	assert.Equal(t, []string{"fine"}, keysOf(e.Entries()))
	assert.Equal(t, map[string]any{e.Index[0].Name: json.Number("5")}, left(e), "null does not count, nor does what is there twice")
	assert.Nil(t, left(book(map[string]any{"a": map[string]any{"b": []any{"fine", nil}}})))
	assert.Equal(t, map[string]any{"numbers": json.Number("1")}, left(book(map[string]any{"n": json.Number("1e999")})), "out of range")

	many := []any{}
	for i := range MaxIndexEntries {
		many = append(many, json.Number(strconv.Itoa(i)))
	}
	assert.Len(t, scope.entries(book(map[string]any{"n": many})), MaxIndexEntries)
	e = book(map[string]any{"n": many, "a": map[string]any{"b": "one more"}})
	e.Index = scope.entries(e)
	assert.Len(t, e.Entries(), MaxIndexEntries)
	assert.Equal(t, "one more", e.Index[0].Key, "what was declared first comes first")
	assert.Equal(t, map[string]any{"numbers": json.Number("1")}, left(e))
}

func TestConditionsBecomeKeys(t *testing.T) {
	p := func(s string) *string { return &s }
	numbers := Index{Name: "numbers", Type: "Book", Path: []string{"n"}, Kind: NumberKey}
	for _, c := range []struct {
		of   Index
		in   Condition
		want Range
	}{
		{texts("a"), Condition{}, Range{}},
		{texts("a"), Condition{Equals: "x"}, Range{Equals: p("x")}},
		{texts("a"), Condition{BeginsWith: p("x")}, Range{BeginsWith: p("x")}},
		{texts("a"), Condition{Between: &[2]any{"a", "a"}}, Range{Between: &[2]string{"a", "a"}}},
		{texts("a"), Condition{After: "a", Before: "b"}, Range{After: p("a"), Before: p("b")}},
		{texts("a"), Condition{Before: "b"}, Range{Before: p("b")}},
		{numbers, Condition{Equals: json.Number("5.0")}, Range{Equals: p("25015")}},
		{numbers, Condition{Between: &[2]any{int64(-5), 0.5}}, Range{Between: &[2]string{"04984A", "25005"}}},
		{numbers, Condition{After: 0}, Range{After: p("1")}},
	} {
		got, err := c.of.keys("key", c.in)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	for _, c := range []struct {
		of             Index
		in             Condition
		field, message string
	}{
		{texts("a"), Condition{Equals: "x", BeginsWith: p("x")}, "key", "give one of"},
		{texts("a"), Condition{Equals: "x", After: "x"}, "key", "give one of"},
		{texts("a"), Condition{Between: &[2]any{"a", "b"}, Before: "x"}, "key", "give one of"},
		{texts("a"), Condition{Equals: json.Number("1")}, "key.equals", "holds texts"},
		{texts("a"), Condition{Equals: ""}, "key.equals", "1 to 512 bytes"},
		{texts("a"), Condition{BeginsWith: p("")}, "key.beginsWith", "1 to 512 bytes"},
		{texts("a"), Condition{After: strings.Repeat("x", 513)}, "key.after", "1 to 512 bytes"},
		{texts("a"), Condition{Before: "\xff"}, "key.before", "UTF-8"},
		{texts("a"), Condition{Equals: true}, "key.equals", "a text or a number"},
		{texts("a"), Condition{Between: &[2]any{"b", "a"}}, "key.between", "lower end"},
		{texts("a"), Condition{Between: &[2]any{"b", nil}}, "key.between", "both ends"},
		{texts("a"), Condition{After: "a", Before: "a"}, "key.before", "greater than after"},
		{numbers, Condition{BeginsWith: p("1")}, "key.beginsWith", "begin with nothing"},
		{numbers, Condition{Equals: "1"}, "key.equals", "give a number"},
		{numbers, Condition{Between: &[2]any{1, json.Number("1e999")}}, "key.between.1", "between 1e-125"},
		{numbers, Condition{Between: &[2]any{10, 9}}, "key.between", "lower end"},
	} {
		_, err := c.of.keys("key", c.in)
		invalid(t, err, c.field, c.message)
	}
}

func TestDeclarationsThatAreNone(t *testing.T) {
	fine := DeclareIndex{Name: "by-title", Type: "Book", Path: []string{"title", "_in", "en"}, Kind: StringKey}
	require.NoError(t, checkIndex(fine))
	for field, spoil := range map[string]func(*DeclareIndex){
		"input.name": func(in *DeclareIndex) { in.Name = "by~01" },
		"input.type": func(in *DeclareIndex) { in.Type = "" },
		"input.kind": func(in *DeclareIndex) { in.Kind = "BOOL" },
		"input.path": func(in *DeclareIndex) { in.Path = nil },
	} {
		in := fine
		spoil(&in)
		assert.True(t, fault.Is(checkIndex(in), fault.Invalid), field)
		invalid(t, checkIndex(in), field, "")
	}
	for _, path := range [][]string{{"_meta"}, {""}, {"a", ""}, {"\xff"}, {strings.Repeat("n", 256)}, strings.Split(strings.Repeat("a", MaxPath+1), "")} {
		in := fine
		in.Path = path
		invalid(t, checkIndex(in), "input.path", "")
	}
}
