package document

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/jsontext"
)

// What one request may ask for, besides the cost in cost.go. All of it is checked before the document is validated, which is the expensive part.
const (
	MaxDocument   = 360_000 // bytes; a content that stands in the document fits
	MaxTokens     = 1000    // a full introspection query has 184
	MaxName       = 128     // bytes
	MaxDepth      = 15      // nested fields; introspection is bounded by a validation rule of its own
	MaxValueDepth = 6       // nested lists and objects in a value
	MaxRootFields = 50
	maxFields     = 1000 // with every fragment counted where it is spread: what aliases and fragments can multiply to
	MaxAliases    = 200  // counted alike
	MaxDirectives = 100  // counted alike
	MaxFragments  = 50   // definitions

	// A document of 1,000 tokens takes up to about 300 KB of memory, so that the cache stays below 60 MB.
	maxCached        = 200
	MaxCachedDocSize = 8 << 10
)

// documents keeps validated documents, but none whose text is large.
type documents struct{ *lru.LRU[*ast.QueryDocument] }

// NewDocuments returns an empty cache.
func NewDocuments() documents { return documents{lru.New[*ast.QueryDocument](maxCached)} }

// Add keeps a document that passed all checks.
func (d documents) Add(ctx context.Context, text string, doc *ast.QueryDocument) {
	if len(text) <= MaxCachedDocSize {
		d.LRU.Add(ctx, text, doc)
	}
}

// Bounds refuses documents that ask for too much. It parses what gqlgen will parse again: a document is new only once, and
// the limit of tokens keeps that cheap.
type Bounds struct {
	Known  documents
	Hidden bool           // the schema is not told
	Told   map[string]int // how long the lists of introspection are
}

// ExtensionName names the extension to gqlgen.
func (Bounds) ExtensionName() string { return "Bounds" }

// Validate accepts every schema.
func (Bounds) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters refuses a document that exceeds a bound; it changes nothing.
func (b Bounds) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if _, ok := b.Known.Get(ctx, params.Query); ok {
		return nil
	}
	if len(params.Query) > MaxDocument {
		return refusal.Of(model.ErrorCodeBadRequest, "the document has more than %d bytes: send values in variables", MaxDocument)
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: params.Query}, MaxTokens)
	if err != nil {
		return unparsed(params.Query, err) // other errors gqlgen comes to, too, and reports
	}
	if hasNameAbove(MaxName, params.Query) {
		return refusal.Of(model.ErrorCodeBadRequest, "a name has more than %d bytes: use shorter names for aliases, variables and operations", MaxName)
	}
	if len(doc.Fragments) > MaxFragments {
		return refusal.Of(model.ErrorCodeBadRequest, "the document has more than %d fragments: send its operations in several requests", MaxFragments)
	}
	m := newMeasure(doc)
	s := m.document()
	switch {
	case m.refused != nil:
		return m.refused
	case m.introspects && b.Hidden:
		return refusal.Of(model.ErrorCodeForbidden, "this server does not tell its schema")
	case s.depth > MaxDepth:
		return refusal.Of(model.ErrorCodeBadRequest, "the operation nests fields deeper than %d levels: ask for what is further in by its id, in another request", MaxDepth)
	case s.roots > MaxRootFields:
		return refusal.Of(model.ErrorCodeBadRequest, "the operation has more than %d root fields: send several requests", MaxRootFields)
	case s.fields > maxFields:
		return refusal.Of(model.ErrorCodeBadRequest, "the document has more than %d fields, fragments counted where they are spread: ask for less in one request", maxFields)
	case s.aliases > MaxAliases:
		return refusal.Of(model.ErrorCodeBadRequest, "the document has more than %d aliases, fragments counted where they are spread: send several requests", MaxAliases)
	case s.directives > MaxDirectives:
		return refusal.Of(model.ErrorCodeBadRequest, "the document has more than %d directives, fragments counted where they are spread: leave out what is not asked for", MaxDirectives)
	case tooAlike(doc):
		return refusal.Of(model.ErrorCodeBadRequest, "the document selects fields of the same name too often in one place: select each once, or send several requests")
	}
	return nil
}

// size is how large a selection set is.
type size struct{ roots, fields, aliases, directives, depth int }

// add is the size of two sets side by side. Doubling at each level would overflow; twice the limit is as good as more.
func (s size) add(t size) size {
	return size{
		roots:      min(s.roots+t.roots, 2*MaxRootFields),
		fields:     min(s.fields+t.fields, 2*maxFields),
		aliases:    min(s.aliases+t.aliases, 2*MaxAliases),
		directives: min(s.directives+t.directives, 2*MaxDirectives),
		depth:      max(s.depth, t.depth),
	}
}

// measure finds sizes, and numbers that cannot be read. Each fragment is measured once, however often it is spread.
type measure struct {
	doc         *ast.QueryDocument
	fragments   map[string]*size
	introspects bool
	written     []rune          // the document's text, once a literal needs to be looked up in it
	refused     *gqlerror.Error // of the first value that cannot be read
}

func newMeasure(doc *ast.QueryDocument) *measure {
	return &measure{doc: doc, fragments: make(map[string]*size, len(doc.Fragments))}
}

// document measures all operations together, because all of them are validated; only root fields are those of the one that
// has the most.
func (m *measure) document() (sum size) {
	for _, fragment := range m.doc.Fragments {
		m.directives(fragment.Directives)
		m.spread(fragment.Name)
	}
	roots := 0
	for _, op := range m.doc.Operations {
		s := m.operation(op).add(m.set(op.SelectionSet))
		roots = max(roots, s.roots)
		sum = sum.add(s)
	}
	sum.roots = roots
	return sum
}

func (m *measure) set(set ast.SelectionSet) size {
	var sum size
	for _, selection := range set {
		var s size
		switch selection := selection.(type) {
		case *ast.Field:
			m.arguments(selection.Arguments)
			s = m.set(selection.SelectionSet)
			s = size{roots: 1, fields: 1 + s.fields, aliases: s.aliases, directives: s.directives, depth: 1 + s.depth}
			s.directives += m.directives(selection.Directives)
			if selection.Alias != selection.Name {
				s.aliases++
			}
			if selection.Name == "__schema" || selection.Name == "__type" {
				s.depth, m.introspects = 1, true
			}
		case *ast.InlineFragment:
			s = m.set(selection.SelectionSet)
			s.directives += m.directives(selection.Directives)
		case *ast.FragmentSpread:
			s = m.spread(selection.Name)
			s.directives += m.directives(selection.Directives)
		}
		sum = sum.add(s)
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
		found.directives += len(fragment.Directives)
	}
	return *found
}

// directives looks at directives and counts them.
func (m *measure) directives(list ast.DirectiveList) int {
	for _, directive := range list {
		m.arguments(directive.Arguments)
	}
	return len(list)
}

// operation measures what an operation has besides its selection set.
func (m *measure) operation(op *ast.OperationDefinition) size {
	s := size{directives: m.directives(op.Directives)}
	for _, variable := range op.VariableDefinitions {
		s.directives += m.directives(variable.Directives)
		m.value(variable.Variable, variable.DefaultValue, 0)
	}
	return s
}

func (m *measure) arguments(list ast.ArgumentList) {
	for _, argument := range list {
		m.value(argument.Name, argument.Value, 0)
	}
}

// value looks for texts with half a character, and for numbers that no Go number can hold: validation lets them pass as a scalar of ours, and gqlparser panics
// when it reads them. What nests too deep would be quoted once for each level.
func (m *measure) value(path string, value *ast.Value, depth int) {
	if value == nil || m.refused != nil {
		return
	}
	if depth > MaxValueDepth {
		m.refused = refusal.Of(model.ErrorCodeBadRequest, "a value nests lists and objects deeper than %d levels: send it in variables, or make it flatter", MaxValueDepth)
		return
	}
	wrong := ""
	switch value.Kind {
	case ast.IntValue:
		if _, err := strconv.ParseInt(value.Raw, 10, 64); err != nil {
			wrong = "the number is too large"
		}
	case ast.FloatValue:
		if _, err := strconv.ParseFloat(value.Raw, 64); err != nil {
			wrong = "the number is too large"
		}
	case ast.StringValue:
		if n := m.halfIn(value); n > 0 {
			wrong = fmt.Sprintf("character %d begins "+refusal.HalfCharacter, n)
		}
	case ast.ListValue, ast.ObjectValue:
		for i, child := range value.Children {
			name := child.Name
			if value.Kind == ast.ListValue {
				name = strconv.Itoa(i)
			}
			m.value(path+"."+name, child.Value, depth+1)
		}
	}
	if wrong != "" {
		m.refused = gqlerror.Wrap(fault.Invalidf(path, "%s: %s", path, wrong))
		if at := value.Position; at != nil {
			m.refused.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
		}
	}
}

// halfIn returns which character of a literal, from 1, escapes half of a surrogate pair, and 0 when none does. The lexer put
// U+FFFD in its place; its positions count characters.
func (m *measure) halfIn(literal *ast.Value) int {
	at := literal.Position
	if at == nil || at.Src == nil || !strings.ContainsRune(literal.Raw, utf8.RuneError) {
		return 0
	}
	if m.written == nil {
		m.written = []rune(at.Src.Input)
	}
	text := string(m.written[at.Start+1 : at.End-1]) // between the quotation marks
	half := jsontext.LoneSurrogate(text)
	if half < 0 {
		return 0
	}
	return utf8.RuneCountInString(text[:half]) + 1
}

// Unread is the operation of a request whose document was not looked at.
func Unread(params *graphql.RawParams) *graphql.OperationContext {
	return &graphql.OperationContext{
		RawQuery: params.Query, OperationName: params.OperationName, Extensions: params.Extensions, Headers: params.Headers,
	}
}
