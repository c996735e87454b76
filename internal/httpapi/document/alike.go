package document

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
)

const (
	// maxPairs bounds what makes one rule of validation quadratic: fields of the same response name in the same place are
	// compared each with each (OverlappingFieldsCanBeMerged). 2,000 are those of 63 fields of one name.
	maxPairs = 2_000
	// maxVisits bounds the search for such pairs.
	maxVisits = 20_000
)

// tooAlike reports whether validation would have too much to compare.
func tooAlike(doc *ast.QueryDocument) bool {
	a := alike{fragments: doc.Fragments}
	for _, op := range doc.Operations {
		a.within(0, op.SelectionSet)
	}
	// Each is compared by itself too, whether it is spread or not, and whatever other has the same name.
	for _, fragment := range doc.Fragments {
		a.within(0, fragment.SelectionSet)
	}
	return a.tooMany()
}

// alike counts pairs of fields whose values go to the same place of the answer.
type alike struct {
	fragments     ast.FragmentDefinitionList
	pairs, visits int
}

func (a *alike) tooMany() bool { return a.pairs > maxPairs || a.visits > maxVisits }

// within counts the pairs in sets that are merged, and in what is below them. It need not follow fragments that contain
// themselves, which validation refuses without comparing anything twice.
func (a *alike) within(depth int, sets ...ast.SelectionSet) {
	if depth > 4*MaxDepth { // introspection may be deeper than maxDepth
		return
	}
	found := collected{of: a, fields: make(map[string][]ast.SelectionSet), spread: make(map[string]bool)}
	for _, set := range sets {
		found.add(set)
	}
	for _, name := range found.names {
		below := found.fields[name]
		n := len(below)
		a.pairs += n * (n - 1) / 2
		if a.tooMany() {
			return
		}
		if n > 1 || len(below[0]) > 0 {
			a.within(depth+1, below...)
		}
	}
}

// collected are the fields of sets that are merged, by response name: for each field, what is selected below it.
type collected struct {
	of     *alike
	names  []string
	fields map[string][]ast.SelectionSet
	spread map[string]bool
}

func (c *collected) add(set ast.SelectionSet) {
	for _, selection := range set {
		if c.of.visits++; c.of.tooMany() {
			return
		}
		switch selection := selection.(type) {
		case *ast.Field:
			if _, known := c.fields[selection.Alias]; !known {
				c.names = append(c.names, selection.Alias)
			}
			c.fields[selection.Alias] = append(c.fields[selection.Alias], selection.SelectionSet)
		case *ast.InlineFragment:
			c.add(selection.SelectionSet)
		case *ast.FragmentSpread:
			if fragment := c.of.fragments.ForName(selection.Name); fragment != nil && !c.spread[selection.Name] {
				c.spread[selection.Name] = true
				c.add(fragment.SelectionSet)
			}
		}
	}
}

// hasNameAbove reports whether a document has a name of more bytes. Most have nothing that could be one.
func hasNameAbove(most int, text string) bool {
	run := 0
	for i := range len(text) {
		c := text[i]
		if c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			run++
		} else {
			run = 0
		}
		if run > most {
			return lexedNameAbove(most, text)
		}
	}
	return false
}

// lexedNameAbove tells names from strings and comments.
func lexedNameAbove(most int, text string) bool {
	words := lexer.New(&ast.Source{Input: text})
	for {
		token, err := words.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return false
		}
		if token.Kind == lexer.Name && len(token.Value) > most {
			return true
		}
	}
}
