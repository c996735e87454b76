package document

import (
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
)

// Extent is how large the document is, in the terms of its limits.
type Extent struct {
	Bytes      int `json:"bytes"`
	Tokens     int `json:"tokens"`
	Depth      int `json:"depth"`
	RootFields int `json:"rootFields"`
	Fields     int `json:"fields"`
	Aliases    int `json:"aliases"`
	Directives int `json:"directives"`
	Fragments  int `json:"fragments"`
}

// Largest is the extent that a document may have.
func Largest() Extent {
	return Extent{
		Bytes: MaxDocument, Tokens: MaxTokens, Depth: MaxDepth, RootFields: MaxRootFields, Fields: maxFields,
		Aliases: MaxAliases, Directives: MaxDirectives, Fragments: MaxFragments,
	}
}

// ExtentOf measures the document of an operation.
func ExtentOf(op *graphql.OperationContext) *Extent {
	s := newMeasure(op.Doc).document()
	d := &Extent{
		Bytes: len(op.RawQuery), Depth: s.depth, RootFields: s.roots, Fields: s.fields,
		Aliases: s.aliases, Directives: s.directives, Fragments: len(op.Doc.Fragments),
	}
	words := lexer.New(&ast.Source{Input: op.RawQuery})
	for {
		token, err := words.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return d
		}
		if token.Kind != lexer.Comment {
			d.Tokens++
		}
	}
}
