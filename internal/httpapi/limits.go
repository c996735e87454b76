package httpapi

import (
	"context"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
)

// What one request may ask for, besides the cost in cost.go. All of it is checked before the document is validated, which is the expensive part.
const (
	// A content of 350,000 bytes grows sixfold when every character is written as \u00XX.
	maxBody       = 3 << 20
	maxTokens     = 1000 // a full introspection query has 184
	maxDepth      = 15   // nested fields; introspection is bounded by a validation rule of its own
	maxRootFields = 50
	maxFields     = 1000 // with every fragment counted where it is spread: what aliases and fragments can multiply to
	maxErrors     = 20   // in one answer

	// A document of 1,000 tokens takes up to about 300 KB of memory, so that the cache stays below 60 MB.
	maxCached        = 200
	maxCachedDocSize = 8 << 10
)

// documents keeps validated documents, but none whose text is large.
type documents struct{ *lru.LRU[*ast.QueryDocument] }

func newDocuments() documents { return documents{lru.New[*ast.QueryDocument](maxCached)} }

// Add keeps a document that passed all checks.
func (d documents) Add(ctx context.Context, text string, doc *ast.QueryDocument) {
	if len(text) <= maxCachedDocSize {
		d.LRU.Add(ctx, text, doc)
	}
}

// bounds refuses documents that ask for too much. It parses what gqlgen will parse again: a document is new only once, and
// the limit of tokens keeps that cheap.
type bounds struct{ known documents }

// ExtensionName names the extension to gqlgen.
func (bounds) ExtensionName() string { return "Bounds" }

// Validate accepts every schema.
func (bounds) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters refuses a document that exceeds a bound; it changes nothing.
func (b bounds) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if _, ok := b.known.Get(ctx, params.Query); ok {
		return nil
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: params.Query}, maxTokens)
	if err != nil {
		return nil //nolint:nilerr // gqlgen comes to the same end and reports it
	}
	m := measure{doc: doc, fragments: make(map[string]*size, len(doc.Fragments))}
	for _, fragment := range doc.Fragments {
		m.directives(fragment.Directives)
		m.spread(fragment.Name)
	}
	for _, op := range doc.Operations {
		m.operation(op)
		s := m.set(op.SelectionSet)
		switch {
		case m.refused != nil:
			return m.refused
		case s.depth > maxDepth:
			return refuse(model.ErrorCodeBadRequest, "the operation nests fields deeper than %d levels", maxDepth)
		case s.roots > maxRootFields:
			return refuse(model.ErrorCodeBadRequest, "the operation has more than %d root fields", maxRootFields)
		case s.fields > maxFields:
			return refuse(model.ErrorCodeBadRequest, "the operation has more than %d fields, fragments counted where they are spread", maxFields)
		}
	}
	return nil
}

// size is how large a selection set is.
type size struct{ roots, fields, depth int }

// measure finds sizes, and numbers that cannot be read. Each fragment is measured once, however often it is spread.
type measure struct {
	doc       *ast.QueryDocument
	fragments map[string]*size
	refused   *gqlerror.Error // of the first number that cannot be read
}

func (m *measure) set(set ast.SelectionSet) size {
	var sum size
	for _, selection := range set {
		var s size
		switch selection := selection.(type) {
		case *ast.Field:
			m.arguments(selection.Arguments)
			m.directives(selection.Directives)
			below := m.set(selection.SelectionSet)
			s = size{roots: 1, fields: 1 + below.fields, depth: 1 + below.depth}
			if selection.Name == "__schema" || selection.Name == "__type" {
				s.depth = 1
			}
		case *ast.InlineFragment:
			m.directives(selection.Directives)
			s = m.set(selection.SelectionSet)
		case *ast.FragmentSpread:
			m.directives(selection.Directives)
			s = m.spread(selection.Name)
		}
		// Doubling at each level would overflow; twice the limit is as good as more.
		sum.roots = min(sum.roots+s.roots, 2*maxRootFields)
		sum.fields = min(sum.fields+s.fields, 2*maxFields)
		sum.depth = max(sum.depth, s.depth)
	}
	return sum
}

func (m *measure) spread(name string) size {
	if known, ok := m.fragments[name]; ok {
		return *known
	}
	found := &size{} // what a fragment that spreads itself sees; validation refuses it
	m.fragments[name] = found
	if fragment := m.doc.Fragments.ForName(name); fragment != nil {
		*found = m.set(fragment.SelectionSet)
	}
	return *found
}

func (m *measure) directives(list ast.DirectiveList) {
	for _, directive := range list {
		m.arguments(directive.Arguments)
	}
}

func (m *measure) operation(op *ast.OperationDefinition) {
	m.directives(op.Directives)
	for _, variable := range op.VariableDefinitions {
		m.directives(variable.Directives)
		m.value(variable.Variable, variable.DefaultValue)
	}
}

func (m *measure) arguments(list ast.ArgumentList) {
	for _, argument := range list {
		m.value(argument.Name, argument.Value)
	}
}

// value looks for numbers that no Go number can hold: validation lets them pass as a scalar of ours, and gqlparser panics
// when it reads them.
func (m *measure) value(path string, value *ast.Value) {
	if value == nil || m.refused != nil {
		return
	}
	var err error
	switch value.Kind {
	case ast.IntValue:
		_, err = strconv.ParseInt(value.Raw, 10, 64)
	case ast.FloatValue:
		_, err = strconv.ParseFloat(value.Raw, 64)
	case ast.ListValue, ast.ObjectValue:
		for i, child := range value.Children {
			name := child.Name
			if value.Kind == ast.ListValue {
				name = strconv.Itoa(i)
			}
			m.value(path+"."+name, child.Value)
		}
	}
	if err != nil {
		m.refused = gqlerror.Wrap(fault.Invalidf(path, "%s: the number is too large", path))
		if at := value.Position; at != nil {
			m.refused.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
		}
	}
}
