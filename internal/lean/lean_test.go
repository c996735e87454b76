package lean

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
)

// response is a context that collects errors, and its end.
func response(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{RecoverFunc: graphql.DefaultRecover})
	ctx = graphql.WithResponseContext(ctx, graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Field: graphql.CollectedField{Field: &ast.Field{Alias: "notes"}}})
	return context.WithCancel(ctx)
}

var (
	name  = ast.SelectionSet{&ast.Field{Name: "name", ObjectDefinition: &ast.Definition{Name: "User"}}}
	waits = map[Field]bool{{"User", "name"}: true}
)

func TestSlice(t *testing.T) {
	for how, waiting := range map[string]map[Field]bool{"in place": nil, "at once": waits} {
		ctx, cancel := response(t)
		defer cancel()
		all := Slice(ctx, 3, name, waiting, func(ctx context.Context, i int) graphql.Marshaler {
			assert.Equal(t, i, *graphql.GetFieldContext(ctx).Index, how)
			return graphql.MarshalInt(i)
		})
		var out bytes.Buffer
		all.MarshalGQL(&out)
		assert.Equal(t, "[0,1,2]", out.String(), how)
		assert.Empty(t, graphql.GetErrors(ctx), how)
	}
}

func TestSliceStopsWhenTheTimeIsUp(t *testing.T) {
	ctx, cancel := response(t)
	all := Slice(ctx, 5, name, nil, func(_ context.Context, i int) graphql.Marshaler {
		if i == 1 {
			cancel()
		}
		require.LessOrEqual(t, i, 1, "nothing is resolved that nobody waits for")
		return graphql.True
	})
	assert.Equal(t, graphql.Array{graphql.True, graphql.True, graphql.Null, graphql.Null, graphql.Null}, all)
	errs := graphql.GetErrors(ctx)
	require.Len(t, errs, 1, "one for the list, not one for each element")
	require.ErrorIs(t, errs[0], context.Canceled)
	assert.Equal(t, ast.Path{ast.PathName("notes")}, errs[0].Path)
}

func TestSliceStopsWhenTheTimeIsUpBeforeElementsThatWait(t *testing.T) {
	ctx, cancel := response(t)
	cancel()
	all := Slice(ctx, 3, name, waits, func(context.Context, int) graphql.Marshaler {
		t.Error("nothing is resolved that nobody waits for")
		return graphql.True
	})
	assert.Equal(t, graphql.Array{graphql.Null, graphql.Null, graphql.Null}, all)
	require.Len(t, graphql.GetErrors(ctx), 1)
	assert.Equal(t, ast.Path{ast.PathName("notes")}, graphql.GetErrors(ctx)[0].Path)
}

func TestSliceSurvivesAPanic(t *testing.T) {
	ctx, cancel := response(t)
	defer cancel()
	all := Slice(ctx, 2, name, nil, func(context.Context, int) graphql.Marshaler { panic(errors.New("oh")) })
	assert.Empty(t, all)
	assert.Len(t, graphql.GetErrors(ctx), 1)
}

func TestObjectStopsAnAnswerThatIsTooLarge(t *testing.T) {
	o := Object{Fields: []graphql.CollectedField{{Field: &ast.Field{Alias: "name"}}}, Values: []graphql.Marshaler{graphql.MarshalString("Ada")}}
	var out bytes.Buffer
	o.MarshalGQL(&out)
	assert.JSONEq(t, `{"name":"Ada"}`, out.String())

	out.Write(make([]byte, MaxAnswer))
	assert.PanicsWithValue(t, TooLarge{}, func() { o.MarshalGQL(&out) })
}

func TestObjectLeavesOutWhatComesLater(t *testing.T) {
	fields := make([]graphql.CollectedField, 3)
	for i, alias := range []string{"a", "b", "c"} {
		fields[i].Field = &ast.Field{Alias: alias}
	}
	for _, test := range []struct {
		values []graphql.Marshaler
		want   string
	}{
		{[]graphql.Marshaler{graphql.True, Deferred, graphql.Null}, `{"a":true,"c":null}`},
		{[]graphql.Marshaler{Deferred, graphql.True, Deferred}, `{"b":true}`},
		{[]graphql.Marshaler{Deferred, Deferred, Deferred}, `{}`},
	} {
		var out bytes.Buffer
		Object{Fields: fields, Values: test.values}.MarshalGQL(&out)
		assert.Equal(t, test.want, out.String())
	}
}

// A field that is deferred below a deferred field may be ready first; it comes after it all the same.
func TestDeferKeepsTheOrder(t *testing.T) {
	ctx, cancel := response(t)
	defer cancel()
	var pending int32
	results := make(chan graphql.DeferredResult)
	ready := make(chan struct{})
	one := func(then func(context.Context)) (*graphql.FieldSet, map[string]*graphql.FieldSetView) {
		fields := graphql.NewFieldSet(nil)
		fields.AddField(graphql.CollectedField{Field: &ast.Field{Alias: "x"}})
		fields.Concurrently(0, func(ctx context.Context) graphql.Marshaler {
			then(ctx)
			return graphql.True
		})
		view := fields.NewView()
		view.AddIndices(0)
		return fields, map[string]*graphql.FieldSetView{"": view}
	}
	fields, views := one(func(ctx context.Context) {
		inner, innerViews := one(func(ctx context.Context) {
			graphql.AddErrorf(ctx, "inner")
			close(ready)
		})
		Defer(ctx, &pending, results, inner, innerViews)
		<-ready
	})
	Defer(ctx, &pending, results, fields, views)
	first, ok := Next(ctx, results)
	require.True(t, ok)
	assert.Empty(t, first.Errors)
	second, ok := Next(ctx, results)
	require.True(t, ok)
	require.Len(t, second.Errors, 1)
	assert.Equal(t, "input: notes inner", second.Errors[0].Error())
	assert.EqualValues(t, 2, pending, "the executor counts down")

	cancel()
	_, ok = Next(ctx, results)
	assert.False(t, ok, "nobody waits when the time is up")
}

func TestALargeMessageTakesItsBufferAlong(t *testing.T) {
	var buf bytes.Buffer
	buf.WriteString("small")
	assert.Equal(t, "small", string(Message(&buf)))
	assert.Positive(t, buf.Cap(), "kept for the next one")
	buf.Reset()
	buf.Write(make([]byte, keptBuffer+1))
	assert.Len(t, Message(&buf), keptBuffer+1)
	assert.Zero(t, buf.Cap())
}
