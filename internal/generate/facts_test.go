package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

const definitions = `
	directive @cost(weight: String!) on FIELD_DEFINITION
	directive @listSize(assumedSize: Int, slicingArguments: [String!]) on FIELD_DEFINITION
	directive @atMost(elements: Int, bytes: Int) on FIELD_DEFINITION
	directive @large on FIELD_DEFINITION
	directive @byId on FIELD_DEFINITION
	directive @ready on FIELD_DEFINITION
`

func factsIn(t *testing.T, fields string) (facts, error) {
	t.Helper()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: definitions + "type Query { " + fields + " }"})
	require.NoError(t, err)
	return factsOf(schema)
}

func TestFactsAreReadFromDirectives(t *testing.T) {
	f, err := factsIn(t, `
		plain: String
		text: String @cost(weight: "200") @atMost(bytes: 5) @large
		me: Query @cost(weight: "2001") @ready
		all: [Query!] @listSize(assumedSize: 50) @atMost(elements: 100) @byId`)
	require.NoError(t, err)
	assert.Equal(t, facts{
		values: map[string]int{"Query.text": 200}, reads: map[string]int{"Query.me": 2000}, assumed: map[string]int{"Query.all": 50},
		elements: map[string]int{"Query.all": 100}, bytes: map[string]int{"Query.text": 5},
		large: map[string][]string{"text": {"Query"}}, byID: map[string]bool{"Query.all": true}, ready: []string{"Query.me"},
	}, f)
}

func TestDirectivesThatSayNothingAreRefused(t *testing.T) {
	for field, want := range map[string]string{
		`a: String @cost(weight: "1.5")`:                            `@cost of Query.a: weight is no whole number from 1 on: "1.5"`,
		`a: Query @cost(weight: "0")`:                               `@cost of Query.a: weight is no whole number from 1 on: "0"`,
		`a: [Query] @listSize`:                                      "@listSize of Query.a: give it assumedSize, and nothing else",
		`a: [Query] @listSize(assumedSize: 1 slicingArguments: [])`: "@listSize of Query.a: give it assumedSize, and nothing else",
		`a: [Query] @atMost(bytes: 5)`:                              "@atMost of Query.a: give it elements, and nothing else",
		`a: String @atMost(elements: 5)`:                            "@atMost of Query.a: give it bytes, and nothing else",
	} {
		_, err := factsIn(t, field)
		assert.EqualError(t, err, want)
	}
}
