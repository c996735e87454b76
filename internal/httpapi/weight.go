package httpapi

import (
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// What a value takes up in an answer with its name, in bytes: that of a name, a title or an id.
const valueWeight = 216

// weight is what an answer may hold at most: values, and bytes of texts that may be longer than most.
type weight struct{ values, texts int }

// bytes is how many the answer may have.
func (w weight) bytes() int { return min(w.values*valueWeight+w.texts, hugeCost) }

// cost is what such an answer costs.
func (w weight) cost() int { return min(w.values+w.texts/bytesPerUnit, hugeCost) }

func (w weight) add(other weight, times int) weight {
	return weight{min(w.values+times*other.values, hugeCost), min(w.texts+times*other.texts, hugeCost)}
}

// weights adds up what an operation may show. What a fragment shows does not depend on where it is spread, so that each is looked at once.
type weights struct {
	costs     // tells lists how long they are
	fragments map[*ast.FragmentDefinition]weight
}

func weigh(op *graphql.OperationContext, told map[string]int) weight {
	w := weights{*newCosts(op, told), make(map[*ast.FragmentDefinition]weight, len(op.Doc.Fragments))}
	return w.set(op.Operation.SelectionSet)
}

func (w *weights) set(set ast.SelectionSet) (sum weight) {
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

func (w *weights) spread(fragment *ast.FragmentDefinition) weight {
	if fragment == nil {
		return weight{}
	}
	known, ok := w.fragments[fragment]
	if !ok {
		known = w.set(fragment.SelectionSet)
		w.fragments[fragment] = known
	}
	return known
}

func (w *weights) field(field *ast.Field) weight {
	name := qualified(field)
	own := weight{values: 1}
	if bytes, is := texts[name]; is {
		own.texts = bytes
	} else if cost, is := large[name]; is {
		own.texts = textPerUnit * cost
	}
	n, is := longest[name]
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
	return weight{}.add(own, n)
}
