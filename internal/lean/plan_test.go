package lean

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

var people = gqlparser.MustLoadSchema(&ast.Source{Input: `
	type Query { person: Person }
	scalar Cursor
	type Person { name: String! friend(first: Int, after: Cursor): Person slow: String mood: String }
	directive @defer(if: Boolean = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
`})

var plannedPeople = map[string]Type{"Person": {Implements: []string{"Person"}, Fields: map[string]TypeField{
	"name": {At: 1}, "friend": {At: 2, Of: "Person", Resolved: true},
}}}

type person struct {
	name   string
	friend *person
}

// selecting returns the context of an operation and what it selects of a person.
func selecting(t *testing.T, selection string, variables map[string]any) (context.Context, ast.SelectionSet) {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(people, `query($yes: Boolean = true, $n: Int, $c: Cursor) { person { `+selection+` } other: person @include(if: $yes) { ...named friend(first: $n, after: $c) { name } } } fragment named on Person { name }`, nil)
	require.Empty(t, errs)
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0], Variables: variables, RecoverFunc: graphql.DefaultRecover})
	ctx = graphql.WithResponseContext(ctx, graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	return ctx, doc.Operations[0].SelectionSet[0].(*ast.Field).SelectionSet
}

func appendPerson(w *Writer, p *Plan, of *person) bool {
	for i := range p.Fields {
		f := &p.Fields[i]
		w.B = append(w.B, f.Key...)
		switch f.At {
		case 0:
			w.B = append(w.B, `"Person"`...)
		case 1:
			if of.name == "" {
				panic(errors.New("nobody"))
			}
			w.B = append(append(append(w.B, '"'), of.name...), '"')
		case 2:
			if of.friend == nil {
				w.Null()
			} else if !appendPerson(w, f.Below, of.friend) {
				return false
			}
		}
	}
	return w.Close(p)
}

func writePeople(ctx context.Context, plans *Plans, sel ast.SelectionSet, all ...*person) graphql.Marshaler {
	return Write(ctx, plans, plannedPeople, "Person", sel, nil, func(w *Writer, p *Plan) bool {
		w.B = append(w.B, '[')
		for i, of := range all {
			if !w.Next(i) || !appendPerson(w, p, of) {
				return false
			}
		}
		w.B = append(w.B, ']')
		return true
	}, func(context.Context) graphql.Marshaler { return graphql.MarshalString("the executor") })
}

func TestPlans(t *testing.T) {
	for selection, want := range map[string]string{
		"name friend { name }":                     `[{"name":"Ada","friend":{"name":"Bo"}},{"name":"Bo","friend":null}]`,
		"n: name __typename ...named":              `[{"n":"Ada","__typename":"Person","name":"Ada"},{"n":"Bo","__typename":"Person","name":"Bo"}]`,
		"name @skip(if: $yes) t: __typename":       `[{"t":"Person"},{"t":"Person"}]`,
		"name @skip(if: $yes)":                     `[{},{}]`,
		"slow @skip(if: $yes) name":                `[{"name":"Ada"},{"name":"Bo"}]`,
		"friend { name } friend { t: __typename }": `[{"friend":{"name":"Bo","t":"Person"}},{"friend":null}]`,
		"slow":                                         "",
		"friend { friend { slow } }":                   "",
		"... @defer { friend { name } }":               "",
		"... @defer(if: false) { friend { name } }":    `[{"friend":{"name":"Bo"}},{"friend":null}]`,
		"... @defer { friend { name } } friend {name}": `[{"friend":{"name":"Bo"}},{"friend":null}]`,
	} {
		ctx, sel := selecting(t, selection, map[string]any{"yes": true})
		bo := &person{name: "Bo"}
		var plans Plans
		m := writePeople(ctx, &plans, sel, &person{"Ada", bo}, bo)
		if want == "" {
			assert.Nil(t, m, selection)
			continue
		}
		require.NotNil(t, m, selection)
		assert.EqualValues(t, len(want), plans.bytes.Load(), selection)
		var out bytes.Buffer
		m.MarshalGQL(&out)
		assert.Equal(t, want, out.String(), selection)
		assert.Zero(t, plans.bytes.Load(), "it is part of the answer now")
	}
}

func TestTheExecutorTellsWhatAPlanMeets(t *testing.T) {
	ctx, sel := selecting(t, "name", nil)
	var plans Plans
	assert.Nil(t, writePeople(ctx, &plans, sel, &person{name: "Ada"}, &person{}), "a panic")
	assert.Nil(t, Write(ctx, &plans, plannedPeople, "Person", sel, nil, func(w *Writer, _ *Plan) bool {
		graphql.AddErrorf(w.Context(), "one of many failed")
		return true
	}, nil), "an error beside a value")
	assert.Nil(t, Write(ctx, &plans, plannedPeople, "Person", sel, nil, func(w *Writer, _ *Plan) bool { return w.Value(graphql.Null, false) }, nil), "null where none may be")
	assert.Empty(t, graphql.GetErrors(ctx), "it is told once")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	assert.Nil(t, writePeople(ended, &plans, sel, &person{name: "Ada"}), "the end of the time")
	assert.Zero(t, plans.bytes.Load())
}

func TestPlansStopAtAnAnswerThatIsTooLarge(t *testing.T) {
	ctx, sel := selecting(t, "name", nil)
	var plans Plans
	ada := &person{name: string(bytes.Repeat([]byte("a"), MaxAnswer/4))}
	m := writePeople(ctx, &plans, sel, ada, ada, ada)
	require.NotNil(t, m)
	var out bytes.Buffer
	assert.PanicsWithValue(t, TooLarge{}, func() { writePeople(ctx, &plans, sel, ada, ada).MarshalGQL(&out) }, "together with what another list wrote")
	m.MarshalGQL(&out)
	assert.Zero(t, plans.bytes.Load())
	m = writePeople(ctx, &plans, sel, ada)
	assert.PanicsWithValue(t, TooLarge{}, func() { m.MarshalGQL(&out) }, "together with what is in the answer")
}

func TestComparingTellsBoth(t *testing.T) {
	ctx, sel := selecting(t, "name", nil)
	told := 0
	ctx = Comparing(ctx, func(plan, executor []byte) {
		told++
		assert.Equal(t, `[{"name":"Ada"}]`, string(plan))
		assert.Equal(t, `"the executor"`, string(executor))
	})
	require.NotNil(t, writePeople(ctx, new(Plans), sel, &person{name: "Ada"}))
	assert.Equal(t, 1, told)
}

func TestComparingTellsNothingOfARequestThatWasEnded(t *testing.T) {
	ctx, sel := selecting(t, `name`, nil)
	ctx, end := context.WithCancel(ctx)
	told := 0
	ctx = Comparing(ctx, func(_, _ []byte) { told++ })
	written := Write(ctx, &Plans{}, plannedPeople, "Person", sel, nil, func(w *Writer, p *Plan) bool {
		return appendPerson(w, p, &person{name: "Ada"})
	}, func(context.Context) graphql.Marshaler { end(); return graphql.Null })
	assert.NotNil(t, written)
	assert.Zero(t, told, "the executor met the end, and the plan did not")
}
