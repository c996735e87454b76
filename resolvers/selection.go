package resolvers

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/scalar"
)

// selection is what a request selects at one place: fields, with fragments resolved.
type selection struct {
	operation *graphql.OperationContext
	fields    []graphql.CollectedField
}

// selected returns what is selected below the field that is being resolved, which returns the given types.
func selected(ctx context.Context, types ...string) selection {
	return selection{graphql.GetOperationContext(ctx), graphql.CollectFieldsCtx(ctx, types)}
}

// has reports whether the field is selected.
func (s selection) has(name string) bool {
	for _, f := range s.fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// hasObjects reports whether any of the selected fields returns objects.
func (s selection) hasObjects() bool {
	return slices.ContainsFunc(s.fields, func(f graphql.CollectedField) bool { return len(f.Selections) > 0 })
}

// showsProfile reports whether anything is selected of a user that is not found by the id alone. It does not look at @skip and
// @include: who looks ahead and who resolves must come to the same end, cheaply.
func showsProfile(selections ast.SelectionSet) bool {
	for _, s := range selections {
		switch s := s.(type) {
		case *ast.Field:
			if s.Name != "__typename" && !graph.ByID["User."+s.Name] {
				return true
			}
		case *ast.InlineFragment:
			if showsProfile(s.SelectionSet) {
				return true
			}
		case *ast.FragmentSpread:
			if s.Definition != nil && showsProfile(s.Definition.SelectionSet) {
				return true
			}
		}
	}
	return false
}

// showsProfiles reports whether more than the id may be shown of the users that a field of this name returns.
func (s selection) showsProfiles(name string) bool {
	for _, f := range s.fields {
		if f.Name == name && showsProfile(f.Selections) {
			return true
		}
	}
	return false
}

// in returns what is selected below all fields of the given name, which return the given types.
func (s selection) in(name string, types ...string) selection {
	below := selection{operation: s.operation}
	for _, f := range s.fields {
		if f.Name == name {
			below.fields = append(below.fields, graphql.CollectFields(s.operation, f.Selections, types)...)
		}
	}
	return below
}

// and returns both selections together.
func (s selection) and(other selection) selection {
	return selection{s.operation, append(s.fields[:len(s.fields):len(s.fields)], other.fields...)}
}

// items returns what is selected of the items of a connection, whether through edges or through nodes.
func (s selection) items(edge string, types ...string) selection {
	return s.in("edges", edge).in("node", types...).and(s.in("nodes", types...))
}

// each calls f for every field of the given name, with its paging arguments and what is selected below it. A field with
// arguments that do not fit is left out: its resolver says what is wrong.
func (s selection) each(name, returns string, f func(paging page.Args, below selection)) {
	for _, field := range s.fields {
		if field.Name != name {
			continue
		}
		paging, ok := pagingOf(field.ArgumentMap(s.operation.Variables))
		if ok {
			f(paging, selection{s.operation, graphql.CollectFields(s.operation, field.Selections, []string{returns})})
		}
	}
}

func pagingOf(args map[string]any) (paging page.Args, ok bool) {
	number := func(name string) *int {
		if args[name] == nil {
			return nil
		}
		n, err := scalar.UnmarshalInt(args[name])
		if err != nil {
			ok = false
		}
		return &n
	}
	cursor := func(name string) *page.Cursor {
		s, isString := args[name].(string)
		if !isString {
			return nil
		}
		c := page.Cursor(s)
		return &c
	}
	ok = true
	paging = page.Args{First: number("first"), Last: number("last"), After: cursor("after"), Before: cursor("before")}
	return paging, ok
}
