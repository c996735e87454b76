package document

import (
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

const (
	// maxFound is how many errors are looked for in a document: more than are shown, so that a client learns how far off it is.
	maxFound = 100
	// What the client may have meant is looked for when it has made this many mistakes at most, in a document and in names of
	// this many bytes: each is compared, letter by letter, with hundreds of names of the schema.
	maxSuggested         = 3
	maxSuggestedDocument = 4 << 10
	maxSuggestedName     = 40
)

// quiet are the rules that tell no names of the schema, for those that do.
var quiet = map[string]core.Rule{
	rules.FieldsOnCorrectTypeRule.Name: rules.FieldsOnCorrectTypeRuleWithoutSuggestions,
	rules.KnownArgumentNamesRule.Name:  rules.KnownArgumentNamesRuleWithoutSuggestions,
	rules.KnownTypeNamesRule.Name:      rules.KnownTypeNamesRuleWithoutSuggestions,
	rules.ScalarLeafsRule.Name:         rules.ScalarLeafsRuleWithoutSuggestions,
	rules.ValuesOfCorrectTypeRule.Name: rules.ValuesOfCorrectTypeRuleWithoutSuggestions,
}

// QuietRules are the specification's rules of validation for one document. They suggest nothing, and stop at maxFound errors.
func QuietRules() *rules.Rules {
	var found gqlerror.List
	bounded := rules.NewRules()
	for name, rule := range rules.NewDefaultRules().GetInner() {
		if other, ok := quiet[name]; ok {
			rule = other.RuleFunc
		}
		bounded.AddRule(name, func(observers *core.Events, add core.AddErrFunc) {
			rule(observers, func(options ...core.ErrorOption) {
				err := &gqlerror.Error{Rule: name}
				for _, option := range options {
					option(err)
				}
				if found = append(found, err); len(found) == maxFound {
					panic(TooManyFound(found))
				}
				add(func(e *gqlerror.Error) { *e = *err })
			})
		})
	}
	return bounded
}

// TooManyFound ends validation early; create recovers it.
type TooManyFound gqlerror.List

// Failed is the operation of a document with too many errors.
func (found TooManyFound) Failed(params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	for _, err := range found {
		errcode.Set(err, errcode.ValidationFailed)
	}
	return Unread(params), gqlerror.List(found)
}

// Suggest has the few errors of a document say what the client may have meant.
func Suggest(schema *ast.Schema, text string, errs gqlerror.List) gqlerror.List {
	suggestible := func(err *gqlerror.Error) bool { _, is := quiet[err.Rule]; return is }
	if len(errs) > maxSuggested || len(text) > maxSuggestedDocument || !slices.ContainsFunc(errs, suggestible) || hasNameAbove(maxSuggestedName, text) {
		return errs
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, MaxTokens)
	if err != nil {
		return errs
	}
	said := validator.ValidateWithRules(schema, doc, nil)
	if len(said) == 0 { // it was not validation that failed
		return errs
	}
	for _, err := range said {
		errcode.Set(err, errcode.ValidationFailed)
	}
	return said
}
