package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/taggie/taggie/internal/httpapi/document"
)

func TestCosts(t *testing.T) {
	schema := newServer(t).options.Schema.Schema()
	told := document.Introspected(schema)
	for _, test := range []struct {
		reason, query string
		variables     map[string]any
		want          int
	}{
		{"fields", `{ viewer { id name } }`, nil, 3},
		{"a page of the usual length", `{ viewer { notes { nodes { id } } } }`, nil, 1 + 1 + 20*2},
		{"first", `{ viewer { notes(first: 7) { nodes { id } pageInfo { endCursor } } } }`, nil, 1 + 1 + 7*4},
		{"last", `{ viewer { notes(last: 7) { nodes { id } } } }`, nil, 1 + 1 + 7*2},
		{"a list without arguments called last, and with a cost of its own", `{ viewer { noteChanges(first: 7) { nodes { ... on Note { id } } } } }`, nil, 1 + 501 + 7*2},
		{"first in a variable", `query($n: Int) { viewer { notes(first: $n) { nodes { id } } } }`, map[string]any{"n": 7}, 1 + 1 + 7*2},
		{"first in a variable's default", `query($n: Int = 7) { viewer { notes(first: $n) { nodes { id } } } }`, nil, 1 + 1 + 7*2},
		{"first: null", `{ viewer { notes(first: null) { nodes { id } } } }`, nil, 1 + 1 + 20*2},
		{"more than a page may have", `{ viewer { notes(first: 2147483647) { nodes { id } } } }`, nil, 1 + 1 + 500*2},
		{"less than nothing does not count as income", `{ viewer { name notes(first: -9) { nodes { id } } } }`, nil, 1 + 1 + 1 + 2},
		{"tags", `{ viewer { notes(first: 7) { nodes { tags { value } } } } }`, nil, 1 + 1 + 7*(1+1+5)},
		{"ids", `{ nodes(ids: ["a", "b", "c"]) { id __typename } }`, nil, 1 + 3*2},
		{"ids in a variable", `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, map[string]any{"ids": []any{"a", "b", "c"}}, 1 + 3},
		{"content", `{ viewer { notes(first: 7) { nodes { content } } } }`, nil, 1 + 1 + 7*(1+document.ContentCost)},
		{"attributes", `{ entity(id: "a") { attributes } }`, nil, 1 + document.ContentCost},
		{"attributes of relations", `{ entity(id: "a") { relations(first: 7) { edges { attributes node { attributes } } } } }`, nil, 1 + 1 + 7*(1+10+1+document.ContentCost)},
		{"metadata", `{ project(id: "a") { items(first: 7) { nodes { metadata } } } }`, nil, 1 + 1 + 7*(1+document.ContentCost)},
		{"lists without pages", `{ project(id: "a") { categories { name } subcategories { name } teams { name } } scope(id: "a") { indexes { name } } }`, nil, 1 + (1 + 50) + (1 + 50) + (1 + 20) + 1 + (1 + 10)},
		{"items of categories", `{ project(id: "a") { categories { items(first: 7) { nodes { id } } } } }`, nil, 1 + 1 + 50*(1+7*2)},
		{"queues", `{ project(id: "a") { topKeywords { value } viewerClaims { id } online { seenAt } teams { statistics { users { finished } } } } }`, nil, 1 + (1 + 5) + (1 + 50) + (1 + 50) + (1 + 20*(1+1+50))},
		{"keywords", `{ project(id: "a") { keywordCompletions(prefix: "a") more: keywordCompletions(prefix: "a", first: 100) } }`, nil, 1 + (1 + 10) + (1 + 100)},
		{"dead letters", `{ deadLetters { id } some: deadLetters(first: 7) { id } }`, nil, (1 + 50) + (1 + 7)},
		{"claims", `mutation { claimProjectItems(input: {projectId: "a"}) { items { id metadata } } finishProjectItems(input: {finishes: []}) { outcomes { item { id } } } }`, nil, 1 + (1 + 50*(1+document.ContentCost)) + 1 + (1 + 50*(1+1))},
		{"subscriptions", `subscription { projectEvents(projectId: "a") { ... on ProjectSnapshot { claims { id } statistics { statistics { users { finished } } } } ... on ProjectEvent { item { id } } } }`, nil, 1 + (1 + 50) + (1 + 20*(1+1+50)) + 2},
		{"lists in lists", `{ viewer { notes(first: 7) { nodes { versions(first: 3) { nodes { id } } } } } }`, nil, 1 + 1 + 7*(1+1+3*2)},
		{"fragments", `{ viewer { ...f ...f } } fragment f on User { notes(first: 7) { ...g } } fragment g on NoteConnection { nodes { id } }`, nil, 1 + 2*(1+7*2)},
		{"introspection", `{ __schema { types { name fields { name } } } }`, nil, 1 + 1 + len(schema.Types)*(1+1+told["__Type.fields"])},
	} {
		t.Run(test.reason, func(t *testing.T) {
			doc, errs := gqlparser.LoadQueryWithRules(schema, test.query, rules.NewDefaultRules())
			require.Empty(t, errs)
			variables, err := validator.VariableValues(schema, doc.Operations[0], test.variables)
			require.NoError(t, err)
			op := &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0], Variables: variables}
			c := document.NewCosts(op, document.Introspected(schema))
			assert.Equal(t, test.want, c.Set(op.Operation.SelectionSet))
		})
	}
}

// A field that was renamed in the schema would count like any other.
func TestCostsAreOfFieldsThatExist(t *testing.T) {
	schema := newServer(t).options.Schema.Schema()
	for _, costs := range []map[string]int{document.Large, document.Expected, document.Longest, document.Texts} {
		for name := range costs {
			typ, field, _ := strings.Cut(name, ".")
			require.NotNil(t, schema.Types[typ], name)
			assert.NotNil(t, schema.Types[typ].Fields.ForName(field), name)
		}
	}
}

// A list of which nobody said how long it may be would be taken for a short one.
func TestWeightsKnowAllListsWithoutPages(t *testing.T) {
	schema := newServer(t).options.Schema.Schema()
	for name, typ := range schema.Types {
		if typ.Kind != ast.Object || strings.HasPrefix(name, "__") || typ.Fields.ForName("pageInfo") != nil {
			continue
		}
		for _, field := range typ.Fields {
			args := field.Arguments
			if field.Type.Elem != nil && args.ForName("first") == nil && args.ForName("ids") == nil {
				assert.Contains(t, document.Longest, name+"."+field.Name)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	schema := newServer(t).options.Schema.Schema()
	for _, test := range []struct {
		query string
		want  document.Weight
	}{
		{`{ viewer { id name } }`, document.Weight{Values: 3, Texts: 0}},
		{`{ viewer { notes(first: 180) { nodes { content } } } }`, document.Weight{Values: 1 + 1 + 180*2, Texts: 180 * 350_000}},
		{`{ project(id: "a") { categories { name } description } }`, document.Weight{Values: 1 + 1 + 200 + 1, Texts: 10_000}},
		{`{ project(id: "a") { suggestedKeywords keywordCompletions(prefix: "a", first: 70) } }`, document.Weight{Values: 1 + 200 + 70, Texts: 0}},
		{`{ project(id: "a") { items(first: 7) { nodes { metadata } } } }`, document.Weight{Values: 1 + 1 + 7*2, Texts: 700_000}},
		{`{ viewer { ...f ...f } } fragment f on User { notes(first: 7) { nodes { content } } }`, document.Weight{Values: 1 + 2*(1+7*2), Texts: 2 * 7 * 350_000}},
		{`{ viewer { a: notes(first: 500) { nodes { versions(first: 500) { nodes { content } } } } } }`, document.Weight{Values: 1 + 1 + 500*(1+1+500*2), Texts: document.HugeCost}},
	} {
		doc, errs := gqlparser.LoadQueryWithRules(schema, test.query, rules.NewDefaultRules())
		require.Empty(t, errs)
		got := document.Weigh(&graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}, document.Introspected(schema))
		assert.Equal(t, test.want, got, test.query)
	}
}

// The content of notes is charged by its bytes, as far as any operation may cost as much.
func TestChargesKnowTheWeightOfTexts(t *testing.T) {
	p := newPurse()
	s := newServer(t, withBudget(p))
	for _, test := range []struct{ first, charged int }{{1, 101 + 4 + 3_500}, {20, 101 + 23 + 20*3_500}, {180, 101 + document.MaxCost}} {
		a := s.ask(fmt.Sprintf(`{ viewer { notes(first: %d) { nodes { content } } } }`, test.first), nil, "Taggie-Extensions", "cost")
		var shown costShown
		require.NoError(t, json.Unmarshal(a.Extensions["cost"], &shown))
		assert.InDelta(t, test.charged, shown.Budget.Charged, 20)
		assert.LessOrEqual(t, shown.Requested, 101+4+test.first*(document.ContentCost+1), "the limit of an operation is the same as ever")
	}
}

func TestCostIsLimited(t *testing.T) {
	s := newServer(t)
	for reason, query := range map[string]string{
		"notes of tags of notes of tags":       `{ viewer { notes(first: 40) { nodes { tags { notes { nodes { tags { notes { nodes { title } } } } } } } } } }`,
		"contents by aliases":                  `{ viewer { a: notes(first: 500) { nodes { content } } b: notes(first: 500) { nodes { content } } c: notes(first: 500) { nodes { content } } } }`,
		"attributes of relations of relations": `{ scope(id: "a") { entities(type: "A") { nodes { relations { nodes { relations { nodes { attributes } } } } } } } }`,
		"what would overflow":                  `{ viewer {` + strings.Repeat(` notes(first: 500) { nodes { owner {`, 4) + ` id` + strings.Repeat(` } } }`, 4) + ` } }`,
	} {
		t.Run(reason, func(t *testing.T) {
			message := s.ask(query, nil, "Accept", mediaResponse).only(t, http.StatusUnprocessableEntity, "BAD_REQUEST").Message
			assert.Contains(t, message, "250000 is the limit")
		})
	}
	var shown int
	message := s.ask(`query($n: Int) { viewer { notes(first: $n) { nodes { versions(first: $n) { nodes { id } } } } } }`, map[string]any{"n": 500}, "Accept", mediaResponse).
		only(t, http.StatusUnprocessableEntity, "BAD_REQUEST").Message
	_, err := fmt.Sscanf(message, "the operation may cost %d,", &shown)
	require.NoError(t, err, message)
	assert.Equal(t, 1+1+500*(1+1+500*2), shown)
}

func TestCostingIsCheapWhateverFragmentsMultiplyTo(t *testing.T) {
	schema := newServer(t).options.Schema.Schema()
	var query strings.Builder
	query.WriteString("{ viewer { ...f0 } }")
	for i := range 49 { // 2^49 spreads
		fmt.Fprintf(&query, " fragment f%d on User { ...f%d ...f%d }", i, i+1, i+1)
	}
	query.WriteString(" fragment f49 on User { id }")
	doc, errs := gqlparser.LoadQueryWithRules(schema, query.String(), rules.NewDefaultRules())
	require.Empty(t, errs)
	op := &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}
	assert.Equal(t, document.HugeCost, document.NewCosts(op, nil).Set(op.Operation.SelectionSet))
}

// introspectionQuery is what GraphiQL and code generators ask.
const introspectionQuery = `query IntrospectionQuery { __schema { description
	queryType { name kind } mutationType { name kind } subscriptionType { name kind }
	types { ...FullType } directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
fragment FullType on __Type { kind name description specifiedByURL isOneOf
	fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
	inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
	ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`

func TestIntrospectionHasACost(t *testing.T) {
	s := newServer(t)
	a := s.ask(introspectionQuery, nil)
	require.Empty(t, a.Errors, "that of tools is within the limit")
	assert.NotEmpty(t, a.Data)
	var bomb strings.Builder
	for i := range 90 {
		fmt.Fprintf(&bomb, " a%d: fields { name type { name } }", i)
	}
	var whole strings.Builder
	for i := range 40 {
		fmt.Fprintf(&whole, " a%d: __schema { types { fields { name type { name fields { name type { name } } } } } }", i)
	}
	for reason, query := range map[string]string{
		"lists by aliases":     "{ __schema { types {" + bomb.String() + " } } }",
		"the whole many times": "{" + whole.String() + " }",
	} {
		assert.Contains(t, s.ask(query, nil, "Accept", mediaResponse).only(t, http.StatusUnprocessableEntity, "BAD_REQUEST").Message, "250000 is the limit", reason)
	}
}

// What the directives of the schema's file say is for the server: introspection tells only those that a document can use.
func TestIntrospectionTellsNoDirectiveOfTheServer(t *testing.T) {
	a := newServer(t).ask(`{ __schema { directives { name } } }`, nil)
	assert.Equal(t, map[string]any{"__schema": map[string]any{"directives": []any{
		map[string]any{"name": "defer"}, map[string]any{"name": "deprecated"}, map[string]any{"name": "include"}, map[string]any{"name": "oneOf"},
		map[string]any{"name": "skip"}, map[string]any{"name": "specifiedBy"},
	}}}, a.Data)
	assert.Contains(t, newServer(t).ask(`{ viewer { id @ready } }`, nil).Errors[0].Message, "Unknown directive")
}
