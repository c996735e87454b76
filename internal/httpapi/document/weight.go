package document

import (
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// What a value takes up in an answer with its name, in bytes: that of a name, a title or an id.
const valueWeight = 216

const (
	// BytesPerUnit is how many bytes of a document and its variables cost one unit.
	BytesPerUnit = 100
	// TextPerUnit is how many bytes of texts of an answer cost one: they are as costly as those of large fields. Values count one each.
	TextPerUnit = 350_000 / ContentCost
)

// Weight is what an answer may hold at most: values, and bytes of texts that may be longer than most.
type Weight struct{ Values, Texts int }

// Bytes is how many the answer may have.
func (w Weight) Bytes() int { return min(w.Values*valueWeight+w.Texts, HugeCost) }

// cost is what such an answer costs.
func (w Weight) cost() int { return min(w.Values+w.Texts/BytesPerUnit, HugeCost) }

func (w Weight) add(other Weight, times int) Weight {
	return Weight{min(w.Values+times*other.Values, HugeCost), min(w.Texts+times*other.Texts, HugeCost)}
}

// weights adds up what an operation may show. What a fragment shows does not depend on where it is spread, so that each is looked at once.
type weights struct {
	costs     // tells lists how long they are
	fragments map[*ast.FragmentDefinition]Weight
}

// Weigh returns how much an operation may show; told is how long the lists of introspection are.
func Weigh(op *graphql.OperationContext, told map[string]int) Weight {
	w := weights{*NewCosts(op, told), make(map[*ast.FragmentDefinition]Weight, len(op.Doc.Fragments))}
	return w.set(op.Operation.SelectionSet)
}

func (w *weights) set(set ast.SelectionSet) (sum Weight) {
	for _, selection := range set {
		switch selection := selection.(type) {
		case *ast.Field:
			sum = sum.add(w.field(selection), 1)
		case *ast.InlineFragment:
			sum = sum.add(w.set(selection.SelectionSet), 1)
		case *ast.FragmentSpread:
			sum = sum.add(w.spread(selection.Definition), 1)
		}
	}
	return sum
}

func (w *weights) spread(fragment *ast.FragmentDefinition) Weight {
	if fragment == nil {
		return Weight{}
	}
	known, ok := w.fragments[fragment]
	if !ok {
		known = w.set(fragment.SelectionSet)
		w.fragments[fragment] = known
	}
	return known
}

func (w *weights) field(field *ast.Field) Weight {
	name := qualified(field)
	own := Weight{Values: 1}
	if bytes, is := Texts[name]; is {
		own.Texts = bytes
	} else if cost, is := Large[name]; is {
		own.Texts = TextPerUnit * cost
	}
	n, is := Longest[name]
	if !is {
		n = w.elements(field)
	}
	if len(field.SelectionSet) > 0 {
		return own.add(w.set(field.SelectionSet), n)
	}
	if field.Definition != nil && field.Definition.Arguments.ForName("first") != nil {
		n = w.page(field) // texts
	} else if !is {
		n = 1
	}
	return Weight{}.add(own, n)
}
