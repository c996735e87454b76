package lean

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
)

// told is a person of whom many are told.
type told struct {
	person
	kept    *sync.Map
	written int
}

func (o *told) Shared() *sync.Map { return o.kept }

// sharedPeople are people whose names are the same for everybody.
var sharedPeople = map[string]Type{"Person": {Implements: []string{"Person"}, Fields: map[string]TypeField{
	"name": {At: 1, Shared: true}, "friend": {At: 2, Of: "Person", Shared: true}, "mood": {At: 3},
}}}

// tell writes somebody for one of those who are told.
func tell(t *testing.T, of *told, selection string) string {
	t.Helper()
	return tellWith(t, of, selection, nil)
}

func tellWith(t *testing.T, of *told, selection string, variables map[string]any) string {
	t.Helper()
	ctx, sel := selecting(t, selection, variables)
	m := Write(ctx, new(Plans), sharedPeople, "Person", sel, of, func(w *Writer, p *Plan) bool {
		of.written++
		return appendPerson(w, p, &of.person)
	}, func(context.Context) graphql.Marshaler { return graphql.MarshalString("the executor") })
	if m == nil {
		return "no plan"
	}
	var b bytes.Buffer
	m.MarshalGQL(&b)
	return b.String()
}

func TestSharedObjectsAreWrittenOnceForEachShape(t *testing.T) {
	of := &told{person: person{name: "Ada", friend: &person{name: "Bo"}}, kept: new(sync.Map)}
	for range 3 {
		assert.JSONEq(t, `{"name":"Ada","friend":{"name":"Bo"}}`, tell(t, of, "name friend { name }"))
	}
	assert.JSONEq(t, `{"name":"Ada","friend":{"name":"Bo"}}`, tell(t, of, "...named friend { ...named }"), "another document of the same shape")
	assert.Equal(t, 1, of.written)
	assert.JSONEq(t, `{"n":"Ada","friend":{"name":"Bo"}}`, tell(t, of, "n: name friend { name }"))
	assert.JSONEq(t, `{"name":"Ada","friend":{"m":"Bo"}}`, tell(t, of, "name friend { m: name }"))
	assert.JSONEq(t, `{"friend":{"name":"Bo"},"name":"Ada"}`, tell(t, of, "friend { name } name"))
	assert.Equal(t, 4, of.written)
}

func TestWhatIsNotSharedIsWrittenForEach(t *testing.T) {
	of := &told{person: person{name: "Ada"}, kept: new(sync.Map)}
	for _, selection := range []string{"mood", "friend { name }", "friend { mood name }"} { // the last two have no friend to show
		before := of.written
		tell(t, of, selection)
		tell(t, of, selection)
		once := !strings.Contains(selection, "mood")
		assert.Equal(t, map[bool]int{true: 1, false: 2}[once], of.written-before, selection)
	}
	private := &told{person: person{name: "Ada"}}
	tell(t, private, "name")
	tell(t, private, "name")
	assert.Equal(t, 2, private.written)
}

// Arguments are part of the shape, whether they are variables or not.
func TestSharedObjectsAreWrittenOnceForTheSameArguments(t *testing.T) {
	of := &told{person: person{name: "Ada", friend: &person{name: "Bo"}}, kept: new(sync.Map)}
	asks := func(written int, selection string, variables map[string]any) {
		t.Helper()
		assert.JSONEq(t, `{"friend":{"name":"Bo"}}`, tellWith(t, of, selection, variables))
		assert.Equal(t, written, of.written)
	}
	asks(1, "friend(first: 1) { name }", nil)
	asks(1, "friend(first: $n) { name }", map[string]any{"n": int64(1)})
	asks(1, "friend(after: $c, first: 1) { name }", nil)
	asks(2, "friend(first: 2) { name }", nil)
	asks(3, "friend { name }", nil)
	asks(4, "friend(first: $n) { name }", map[string]any{"n": nil})
	asks(5, "friend(first: 1, after: $c) { name }", map[string]any{"c": "of one viewer"})
	asks(6, "friend(first: 1, after: $c) { name }", map[string]any{"c": "of one viewer"})
}

// Whoever waits for what fails writes their own.
func TestASharedObjectThatCannotBeWritten(t *testing.T) {
	of := &told{kept: new(sync.Map)} // whose name panics
	assert.Equal(t, "no plan", tell(t, of, "name"))
	assert.Equal(t, "no plan", tell(t, of, "name"))
	assert.Equal(t, 2, of.written)
}

// What is kept of an object is bounded, and the rest is written for each.
func TestTheFormsOfASharedObjectAreBounded(t *testing.T) {
	of := &told{person: person{name: strings.Repeat("x", maxShared/2)}, kept: new(sync.Map)}
	for _, alias := range []string{"a", "b", "c", "a", "b", "c"} {
		assert.Contains(t, tell(t, of, alias+": name"), of.name)
	}
	assert.Equal(t, 5, of.written, "only the first is kept")
	assert.Contains(t, tell(t, of, "d: friend { name }"), "null")
	assert.Contains(t, tell(t, of, "d: friend { name }"), "null")
	assert.Equal(t, 6, of.written, "and what there is still a place for")
}

// However many forms are asked for, and however long their aliases are, few are known; also of those that cannot be written.
func TestFewFormsOfASharedObjectAreKnown(t *testing.T) {
	for name, of := range map[string]*told{"written": {person: person{name: "Ada"}, kept: new(sync.Map)}, "failing": {kept: new(sync.Map)}} {
		for n := range 2 * maxForms {
			tell(t, of, strings.Repeat("a", 1000+n)+": name")
		}
		assert.Equal(t, 2*maxForms, of.written, name)
		all := renderingsOf(of)
		assert.Len(t, all.all, maxForms, name)
		assert.LessOrEqual(t, all.bytes, maxShared, name)
	}
}
