package execution

import (
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/loaders"
)

func TestShown(t *testing.T) {
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	for _, test := range []struct {
		reason, query string
		shown         loaders.Shows
	}{
		{"nothing large", `{ viewer { name notes { nodes { title } } } }`, loaders.Shows{}},
		{"a note", `{ viewer { notes { nodes { content } } } }`, loaders.Shows{Content: true}},
		{"attributes of relations", `{ entity(id: "x") { relations { edges { attributes } } } }`, loaders.Shows{}},
		{"attributes of entities", `{ entity(id: "x") { relations { nodes { attributes } } } }`, loaders.Shows{Attributes: true}},
		{"under another name", `{ entity(id: "x") { a: attributes } }`, loaders.Shows{Attributes: true}},
		{"perhaps", `query($b: Boolean!) { entity(id: "x") { attributes @include(if: $b) } }`, loaders.Shows{Attributes: true}},
		{"in a fragment", `{ node(id: "x") { ...a } } fragment a on Node { ... on Entity { attributes } ... on ProjectItem { metadata } }`, loaders.Shows{Attributes: true, Metadata: true}},
		{"a mutation", `mutation($i: FinishProjectItemInput!) { finishProjectItem(input: $i) { problem { ... on LeaseLost { current { metadata } } } } }`, loaders.Shows{Metadata: true}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			doc, errs := gqlparser.LoadQueryWithRules(schema, test.query, rules.NewDefaultRules())
			require.Empty(t, errs)
			assert.Equal(t, test.shown, shown(&graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]}))
		})
	}
	assert.Equal(t, loaders.Shows{}, shown(&graphql.OperationContext{}), "refused before there was an operation")
}
