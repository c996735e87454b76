// Package lean is the part of gqlgen's executor that lists of many objects spend their time in, without what they do not
// need.
//
// It knows gqlgen's runtime and selections. It must not know the contract: internal/generate tells it which fields wait.
// Generated code calls it (see internal/generate); start reading at [Write], then [Slice]. docs/performance.md has the figures.
package lean

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Object writes the fields of an object. gqlgen's own remembers each name in a map, in case a name comes twice, which
// merging selections has ruled out.
type Object struct {
	Fields []graphql.CollectedField
	Values []graphql.Marshaler
}

// MaxAnswer is how many bytes an answer may have.
const MaxAnswer = 64 << 20

// TooLarge is what [Object.MarshalGQL] panics with when the answer passes MaxAnswer: gqlgen's writers return no error.
type TooLarge struct{}

// AnswerLimit is how many bytes an answer may have; internal/httpapi/execution knows this panic by it.
func (TooLarge) AnswerLimit() int { return MaxAnswer }

// MarshalGQL writes the object. Names need no escaping: GraphQL has only letters, digits and underscores.
func (o Object) MarshalGQL(w io.Writer) {
	if b, ok := w.(interface{ Len() int }); ok && b.Len() > MaxAnswer {
		panic(TooLarge{})
	}
	_, _ = io.WriteString(w, "{")
	first := true
	for i := range o.Fields {
		if _, later := o.Values[i].(deferred); later {
			continue
		}
		if !first {
			_, _ = io.WriteString(w, ",")
		}
		first = false
		_, _ = io.WriteString(w, `"`)
		_, _ = io.WriteString(w, o.Fields[i].Alias)
		_, _ = io.WriteString(w, `":`)
		o.Values[i].MarshalGQL(w)
	}
	_, _ = io.WriteString(w, "}")
}

// keptBuffer is how large a buffer is that a subscription keeps for its next message.
const keptBuffer = 16 << 10

// Message is what was written into the buffer of a subscription. gqlgen keeps that for the next message, however large it is: thousands
// of subscriptions that were told of one large thing would take up as much for as long as they are open. A large one goes with its message.
func Message(buf *bytes.Buffer) []byte {
	data := buf.Bytes()
	if cap(data) > keptBuffer {
		*buf = bytes.Buffer{}
	}
	return data
}

// Field names a field of the contract.
type Field struct{ Type, Name string }

// Slice resolves the elements of a list. gqlgen starts a goroutine for each, which costs more than the element when nothing
// in it waits. Only a list below which a field is selected that waits is resolved that way. When the time is up, the
// elements that are left are null, and one error tells it.
func Slice(ctx context.Context, n int, sel ast.SelectionSet, waits map[Field]bool, element func(ctx context.Context, i int) graphql.Marshaler) (all graphql.Array) {
	if n > 1 && anyWaits(sel, waits) {
		var once sync.Once
		return graphql.MarshalSliceConcurrently(ctx, n, 0, false, func(below context.Context, i int) graphql.Marshaler {
			if err := ctx.Err(); err != nil {
				once.Do(func() { graphql.AddError(ctx, err) })
				return graphql.Null
			}
			return element(below, i)
		})
	}
	all = make(graphql.Array, n)
	below := ctx
	defer func() {
		if p := recover(); p != nil {
			graphql.AddError(below, graphql.Recover(below, p))
			all = nil
		}
	}()
	for i := range n {
		if err := ctx.Err(); err != nil {
			graphql.AddError(ctx, err)
			for ; i < n; i++ {
				all[i] = graphql.Null
			}
			return all
		}
		below = graphql.WithFieldContext(ctx, &graphql.FieldContext{Index: &i})
		all[i] = element(below, i)
	}
	return all
}

func anyWaits(sel ast.SelectionSet, waits map[Field]bool) bool {
	for _, s := range sel {
		switch s := s.(type) {
		case *ast.Field:
			if len(s.SelectionSet) == 0 && len(s.Arguments) == 0 && s.ObjectDefinition == nil {
				continue // __typename
			}
			if s.ObjectDefinition != nil && waits[Field{s.ObjectDefinition.Name, s.Name}] || anyWaits(s.SelectionSet, waits) {
				return true
			}
		case *ast.InlineFragment:
			if anyWaits(s.SelectionSet, waits) {
				return true
			}
		case *ast.FragmentSpread:
			if s.Definition != nil && anyWaits(s.Definition.SelectionSet, waits) {
				return true
			}
		}
	}
	return false
}
