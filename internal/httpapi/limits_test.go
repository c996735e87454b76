package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/httpapi/document"
)

// nested returns a query with fields on this many levels.
func nested(levels int) string {
	query := "id"
	for i := range levels - 2 {
		if i%2 == 0 {
			query = "owner { " + query + " }"
		} else {
			query = "note { " + query + " }"
		}
	}
	return "{ viewer { " + query + " } }"
}

// multiplying returns a short query whose fields are many times more at each of four levels of fragments.
func multiplying(times int) string {
	var query strings.Builder
	query.WriteString("{ viewer { ...f0 } }")
	for i := range 4 {
		fmt.Fprintf(&query, " fragment f%d on User {", i)
		for alias := range times {
			fmt.Fprintf(&query, " a%d: notes(first: 1) { nodes { owner { ...f%d } } }", alias, i+1)
		}
		query.WriteString(" }")
	}
	return query.String() + " fragment f4 on User { id }"
}

func TestBounds(t *testing.T) {
	s := newServer(t)
	var fragments strings.Builder
	fragments.WriteString("{ viewer { ...f0 } }")
	for i := range 20 {
		fmt.Fprintf(&fragments, " fragment f%d on User { notes { ...f%d } }", i, i+1)
	}
	for _, test := range []struct{ reason, query, code, says string }{
		{"tokens", "{ viewer {" + strings.Repeat(" id", document.MaxTokens) + " } }", "GRAPHQL_PARSE_FAILED", "token limit of 1000"},
		{"depth", nested(document.MaxDepth + 1), "BAD_REQUEST", "deeper than 15"},
		{"depth through fragments", fragments.String(), "BAD_REQUEST", "deeper than 15"},
		{"depth through inline fragments", strings.Replace(nested(document.MaxDepth+1), "viewer { ", "viewer { ... { ... on Node { ", 1) + " } }", "BAD_REQUEST", "deeper than 15"},
		{"aliases of root fields", "{" + strings.Repeat(" a: __typename", document.MaxRootFields+1) + " }", "BAD_REQUEST", "50 root fields"},
		{"root fields through fragments", "{ ...f ...f ...f } fragment f on Query {" + strings.Repeat(" a: __typename", 20) + " }", "BAD_REQUEST", "50 root fields"},
		{"aliases that multiply", multiplying(4), "BAD_REQUEST", "1000 fields"},
		{"spreads that multiply", "{ viewer { ...a ...a ...a ...a ...a } } fragment a on User { ...b ...b ...b ...b ...b } fragment b on User { ...c ...c ...c ...c ...c }" +
			" fragment c on User {" + strings.Repeat(" id", 10) + " }", "BAD_REQUEST", "1000 fields"},
		{"bytes", "{ viewer { id } } #" + strings.Repeat("x", document.MaxDocument), "BAD_REQUEST", "360000 bytes"},
		{"a name", "{ viewer { " + strings.Repeat("a", document.MaxName+1) + " } }", "BAD_REQUEST", "128 bytes"},
		{"a name of a type", "{ ... on " + strings.Repeat("A", document.MaxName+1) + " { id } }", "BAD_REQUEST", "128 bytes"},
		{"aliases", "{ viewer {" + numbered(document.MaxAliases+1, " a%d: id") + " } }", "BAD_REQUEST", "200 aliases"},
		{"aliases through fragments", "{ a: viewer { ...f } b: viewer { ...f } } fragment f on User {" + numbered(document.MaxAliases/2, " a%d: id") + " }", "BAD_REQUEST", "200 aliases"},
		{"directives", "{ viewer { id" + strings.Repeat(" @skip(if: false)", document.MaxDirectives+1) + " } }", "BAD_REQUEST", "100 directives"},
		{"directives of variables", "query(" + numbered(document.MaxDirectives+1, " $v%d: Int @x") + ") { viewer { id } }", "BAD_REQUEST", "100 directives"},
		{"directives through fragments", "{ a: viewer { ...f } b: viewer { ...f } } fragment f on User { id" + strings.Repeat(" @skip(if: false)", document.MaxDirectives/2+1) + " }", "BAD_REQUEST", "100 directives"},
		{"fragments", "{ viewer {" + numbered(document.MaxFragments+1, " ...f%d") + " } }" + numbered(document.MaxFragments+1, " fragment f%d on User { id }"), "BAD_REQUEST", "50 fragments"},
		{"fields of one name", "{ viewer {" + strings.Repeat(" id", 64) + " } }", "BAD_REQUEST", "same name"},
		{"fields of one name in fragments", "{ viewer { ...a ...b } } fragment a on User {" + strings.Repeat(" id", 40) + " } fragment b on User { ... {" + strings.Repeat(" id", 40) + " } }", "BAD_REQUEST", "same name"},
		{"fields of one name below fields of one name", "{ viewer {" + strings.Repeat(" notes { nodes { id title } }", 35) + " } }", "BAD_REQUEST", "same name"},
		{"fields of one name in a fragment that is not used", "{ viewer { id } } fragment a on User {" + strings.Repeat(" id", 64) + " }", "BAD_REQUEST", "same name"},
		{"lists in a value", "{ nodes(ids: " + strings.Repeat("[", document.MaxValueDepth+1) + `"a"` + strings.Repeat("]", document.MaxValueDepth+1) + ") { id } }", "BAD_REQUEST", "deeper than 6"},
		{"fragments that spread themselves below fields", "{ viewer { ...a } } fragment a on User { notes { nodes { owner { ...a } } } }", "GRAPHQL_VALIDATION_FAILED", "itself"},
		{"fragments that spread themselves", "{ viewer { ...a } } fragment a on User { name ...b } fragment b on User { name ...a }", "GRAPHQL_VALIDATION_FAILED", "itself"},
		{"the operation that is not chosen counts, too: it is validated", "query A { __typename } query B " + nested(document.MaxDepth+1), "BAD_REQUEST", "deeper than 15"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			a := s.ask(test.query, nil, "Accept", mediaResponse)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, a.Code)
			require.NotEmpty(t, a.Errors)
			assert.Equal(t, test.code, a.Errors[0].Extensions["code"], a.Body.String())
			assert.Contains(t, a.Errors[0].Message, test.says)
		})
	}
}

func TestMeasuringIsCheapWhateverFragmentsMultiplyTo(t *testing.T) {
	s := newServer(t)
	var query strings.Builder
	query.WriteString("{ viewer { ...f0 } }")
	for i := range 49 { // 2^49 spreads
		fmt.Fprintf(&query, " fragment f%d on User { ...f%d ...f%d }", i, i+1, i+1)
	}
	query.WriteString(" fragment f49 on User { id }")
	a := s.ask(query.String(), nil, "Accept", mediaResponse)
	assert.Contains(t, a.only(t, http.StatusUnprocessableEntity, "BAD_REQUEST").Message, "1000 fields")
}

func TestWhatIsJustWithinTheBoundsPasses(t *testing.T) {
	s := newServer(t)
	for reason, query := range map[string]string{
		"depth":       strings.Replace(nested(document.MaxDepth), "viewer {", "viewer @skip(if: true) {", 1),
		"root fields": "{" + strings.Repeat(" a: __typename", document.MaxRootFields) + " }",
		"fields":      multiplying(3),
		"aliases":     "{ viewer {" + numbered(document.MaxAliases, " a%d: id") + " } }",
		"directives":  "{ viewer { id" + strings.Repeat(" @skip(if: false)", document.MaxDirectives) + " } }",
		"fragments":   "{ viewer {" + numbered(document.MaxFragments, " ...f%d") + " } }" + numbered(document.MaxFragments, " fragment f%d on User { id }"),
		"one name":    "{ viewer {" + strings.Repeat(" id", 63) + " } }",
		"a long text": `{ node(id: "` + strings.Repeat("x", 350_000) + `") { id } }`,
	} {
		a := s.ask(query, nil, "Accept", mediaResponse)
		assert.NotContains(t, a.Body.String(), "BAD_REQUEST", reason)
	}
}

func TestIntrospection(t *testing.T) {
	s := newServer(t)
	ofType := "name"
	for range 12 { // deeper than other fields may nest
		ofType = "kind name ofType { " + ofType + " }"
	}
	a := s.post(`{"query":"{ __schema { types { fields { args { type { `+ofType+` } } } } } }"}`, "Accept", mediaResponse)
	assert.Equal(t, http.StatusOK, a.Code, "tools ask this without a token")
	assert.Empty(t, a.Errors)
}

func TestCacheTakesNoLargeDocuments(t *testing.T) {
	cache, ctx := document.NewDocuments(), context.Background()
	small, large := "{ a }", "{ a }"+strings.Repeat(" ", document.MaxCachedDocSize)
	cache.Add(ctx, small, &ast.QueryDocument{})
	cache.Add(ctx, large, &ast.QueryDocument{})
	_, ok := cache.Get(ctx, small)
	assert.True(t, ok)
	_, ok = cache.Get(ctx, large)
	assert.False(t, ok)
}

func TestNumbersThatCannotBeRead(t *testing.T) {
	s := newServer(t)
	for query, field := range map[string]string{
		`{ viewer { notes(after: 1e999) { nodes { id } } } }`:                                                        "after",
		`{ viewer { notes(after: 99999999999999999999) { nodes { id } } } }`:                                         "after",
		`{ viewer { notes(first: -99999999999999999999) { nodes { id } } } }`:                                        "first",
		`{ viewer { notes(due: {after: 1e999}) { nodes { id } } } }`:                                                 "due.after",
		`{ nodes(ids: ["a", 99999999999999999999]) { id } }`:                                                         "ids.1",
		`{ viewer @skip(if: 1e999) { name } }`:                                                                       "if",
		`{ ... @include(if: 1e999) { viewer { name } } }`:                                                            "if",
		`query @a(b: 1e999) { viewer { name } }`:                                                                     "b",
		`query($c: Cursor = 1e999) { viewer { notes(after: $c) { nodes { id } } } }`:                                 "c",
		`query($c: DueRange = {after: 99999999999999999999}) { viewer { notes(due: $c) { nodes { id } } } }`:         "c.after",
		`{ viewer { ...f } } fragment f on User { notes(after: 99999999999999999999) { nodes { id } } }`:             "after",
		`{ viewer { id } } fragment f on User { notes(after: 1e999) { nodes { id } } }`:                              "after",
		`{ viewer { id } } fragment f on User @a(b: 1e999) { id }`:                                                   "b",
		`mutation { createNote(input: {title: "a", content: "b", deadline: 99999999999999999999}) { note { id } } }`: "input.deadline",
	} {
		a := s.ask(query, nil, "Accept", mediaResponse)
		found := a.only(t, http.StatusUnprocessableEntity, "INVALID_INPUT")
		assert.Equal(t, field, found.Extensions["field"], query)
		assert.NotEmpty(t, found.Locations, query)
	}
	assert.Empty(t, s.logged("panic"))
	a := s.ask(`{ viewer @skip(if: true) { notes(after: 9223372036854775807) { nodes { id } } } }`, nil)
	assert.Empty(t, a.Errors, "what can be read is for the scalar to judge")
}

func TestSuggestions(t *testing.T) {
	few := map[string]string{
		"a field":     `{ viewer { nam } }`,
		"an argument": `{ viewer { notes(frist: 1) { nodes { id } } } }`,
		"a type":      `{ node(id: "a") { ...f } } fragment f on Nte { id }`,
		"an enum":     `{ project(id: "a") { items(status: NEWW) { nodes { id } } } }`,
		"fields":      `{ viewer { notes } }`,
	}
	open, hidden := newServer(t), newServer(t, func(o *Options) { o.HideSuggestions = true })
	for reason, query := range few {
		assert.Contains(t, open.ask(query, nil, "Accept", mediaResponse).only(t, http.StatusUnprocessableEntity, "GRAPHQL_VALIDATION_FAILED").Message, "Did you mean", reason)
		assert.NotContains(t, hidden.ask(query, nil, "Accept", mediaResponse).only(t, http.StatusUnprocessableEntity, "GRAPHQL_VALIDATION_FAILED").Message, "mean", reason)
	}
	for reason, query := range map[string]string{
		"many mistakes": `{ viewer { nam nme ame naem } }`,
		"a long name":   `{ viewer { ` + strings.Repeat("name", 11) + ` } }`,
		"a long text":   `{ project(id: "a") { items(status: "` + strings.Repeat("NEW", 2000) + `") { nodes { id } } } }`,
	} {
		a := open.ask(query, nil, "Accept", mediaResponse)
		require.Equal(t, http.StatusUnprocessableEntity, a.Code, reason)
		assert.NotContains(t, a.Body.String(), "mean", reason)
	}
}

func TestValidationStopsAtManyErrors(t *testing.T) {
	s := newServer(t)
	a := s.ask("{ viewer {"+numbered(900, " x%d")+" } }", nil, "Accept", mediaResponse)
	require.Equal(t, http.StatusUnprocessableEntity, a.Code)
	require.Len(t, a.Errors, maxErrors)
	assert.Equal(t, "GRAPHQL_VALIDATION_FAILED", a.Errors[0].Extensions["code"])
	assert.Equal(t, "80", string(a.Extensions["omittedErrors"]), "that many were looked for")
	assert.Empty(t, s.logged("panic"))
}

func TestTheSchemaCanBeHidden(t *testing.T) {
	s := newServer(t, func(o *Options) { o.HideSchema = true })
	for _, query := range []string{
		`{ __schema { types { name } } }`, `{ __type(name: "User") { name } }`, `{ ...f } fragment f on Query { a: __schema { types { name } } }`,
		`query A { viewer { name } } query B { __schema { types { name } } }`,
	} {
		assert.Contains(t, s.ask(query, nil, "Accept", mediaResponse).only(t, http.StatusForbidden, "FORBIDDEN").Message, "schema")
	}
	a := s.ask(`{ __typename viewer { __typename name } }`, nil)
	assert.Empty(t, a.Errors, "types of what is shown are no secret")
}
