package demo

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/taggie/taggie/internal/config"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	return string(text)
}

var (
	graphqlBlocks = regexp.MustCompile("(?s)```graphql\n(.*?)```")
	curlBodies    = regexp.MustCompile(`(?m)-d '(.*)'$`)
	askQueries    = regexp.MustCompile(`(?s)\bask '(.*?)'`)
)

// queries returns every operation that the README shows.
func queries(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, block := range graphqlBlocks.FindAllStringSubmatch(readme(t), -1) {
		all = append(all, block[1])
	}
	for _, body := range curlBodies.FindAllStringSubmatch(readme(t), -1) {
		var request struct{ Query string }
		require.NoError(t, json.Unmarshal([]byte(body[1]), &request))
		all = append(all, request.Query)
	}
	for _, query := range askQueries.FindAllStringSubmatch(readme(t), -1) {
		all = append(all, query[1])
	}
	require.GreaterOrEqual(t, len(all), 20)
	return all
}

func TestReadmeQueriesFitTheSchema(t *testing.T) {
	schema := schema(t)
	for _, query := range queries(t) {
		_, errs := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules())
		assert.Empty(t, errs, query)
	}
}

// Whoever pastes the first query must see something at once.
func TestReadmeFirstQuery(t *testing.T) {
	doc, errs := gqlparser.LoadQueryWithRules(schema(t), queries(t)[0], rules.NewDefaultRules())
	require.Empty(t, errs)
	viewer := field(t, doc.Operations[0].SelectionSet, "viewer")
	field(t, viewer.SelectionSet, "name")
	notes := field(t, viewer.SelectionSet, "notes")
	assert.Equal(t, "5", notes.Arguments.ForName("first").Value.Raw)
	nodes := field(t, notes.SelectionSet, "nodes")
	field(t, nodes.SelectionSet, "title")
	field(t, nodes.SelectionSet, "deadline")
}

func field(t *testing.T, set ast.SelectionSet, name string) *ast.Field {
	t.Helper()
	for _, selection := range set {
		if f, ok := selection.(*ast.Field); ok && f.Name == name {
			return f
		}
	}
	require.Fail(t, "not selected", name)
	return nil
}

// The README's words about the small demo set hold: its tag is there, its range is not empty, one note was deleted.
func TestReadmeFitsTheSmallSet(t *testing.T) {
	after, before := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	urgent, due, deleted := 0, 0, 0
	for _, n := range plan(noon.Truncate(24*time.Hour), small) {
		if n.owner == 0 && slices.Contains(n.tags, "#urgent") {
			urgent++
		}
		if n.owner == 0 && n.deadline.After(after) && n.deadline.Before(before) {
			due++
		}
		if n.deleted {
			deleted++
		}
	}
	assert.Positive(t, urgent)
	assert.Positive(t, due)
	assert.Equal(t, 1, deleted)
}

func TestReadmeHasTheConfigurationTable(t *testing.T) {
	const begin, end = "<!-- config -->\n", "<!-- /config -->"
	_, rest, found := strings.Cut(readme(t), begin)
	require.True(t, found, "README.md has no line %s", begin)
	table, _, found := strings.Cut(rest, end)
	require.True(t, found, "README.md has no line %s", end)
	assert.Equal(t, config.Markdown(), table, "put this between the markers:\n%s", config.Markdown())
}
