package demo

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
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

// document returns the text of a document of the repository.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
	return string(text)
}

var (
	graphqlBlocks = regexp.MustCompile("(?s)```graphql\n(.*?)```")
	curlBodies    = regexp.MustCompile(`(?m)-d '(.*)'$`)
	askQueries    = regexp.MustCompile(`(?s)\bask '(.*?)'`)
)

// documents returns the names of all documents of the repository, but for what npm fetched.
func documents(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/tour/*.md", "docs/decisions/*.md", "*/README.md", "*/*/README.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		require.NoError(t, err)
		for _, path := range found {
			if !strings.Contains(path, "node_modules") {
				names = append(names, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
			}
		}
	}
	return names
}

var (
	links    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	headings = regexp.MustCompile("(?m)^#+ (.*)$")
	unlinked = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fences   = regexp.MustCompile("(?s)```.*?```")
)

func TestLinksOfTheDocsLeadSomewhere(t *testing.T) {
	prose := func(name string) string { return fences.ReplaceAllString(document(t, name), "") }
	for _, name := range documents(t) {
		for _, link := range links.FindAllStringSubmatch(prose(name), -1) {
			to, heading, _ := strings.Cut(link[1], "#")
			if strings.Contains(to, ":") || strings.HasPrefix(to, "/") {
				continue // elsewhere, or a page of the server
			}
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
				_, err := os.Stat(filepath.Join("../..", target))
				require.NoError(t, err, "%s links to %s", name, link[1])
			}
			var anchors []string
			if heading != "" {
				for _, h := range headings.FindAllStringSubmatch(prose(target), -1) {
					anchors = append(anchors, strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
				}
				assert.Contains(t, anchors, heading, "%s links to %s", name, link[1])
			}
		}
	}
}

// queries returns every operation that a document shows.
func queries(t *testing.T, name string) []string {
	t.Helper()
	text := document(t, name)
	var all []string
	for _, block := range graphqlBlocks.FindAllStringSubmatch(text, -1) {
		all = append(all, block[1])
	}
	for _, body := range curlBodies.FindAllStringSubmatch(text, -1) {
		var request struct{ Query string }
		require.NoError(t, json.Unmarshal([]byte(body[1]), &request))
		all = append(all, request.Query)
	}
	for _, query := range askQueries.FindAllStringSubmatch(text, -1) {
		all = append(all, query[1])
	}
	return all
}

func TestQueriesOfTheDocsFitTheSchema(t *testing.T) {
	schema := schema(t)
	seen := 0
	for _, name := range documents(t) {
		for _, query := range queries(t, name) {
			_, errs := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules())
			assert.Empty(t, errs, "%s: %s", name, query)
			seen++
		}
	}
	require.GreaterOrEqual(t, seen, 20)
}

// Whoever pastes the first query must see something at once.
func TestReadmeFirstQuery(t *testing.T) {
	doc, errs := gqlparser.LoadQueryWithRules(schema(t), queries(t, "README.md")[0], rules.NewDefaultRules())
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

// What docs/tour says about the small demo set holds: its tag is there, its range is not empty, one note was deleted.
func TestDocsFitTheSmallSet(t *testing.T) {
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

func TestDocsHaveTheConfigurationTable(t *testing.T) {
	const name = "docs/configuration.md"
	const begin, end = "<!-- config -->\n", "<!-- /config -->"
	_, rest, found := strings.Cut(document(t, name), begin)
	require.True(t, found, "%s has no line %s", name, begin)
	table, _, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no line %s", name, end)
	assert.Equal(t, config.Markdown(), table, "put this between the markers:\n%s", config.Markdown())
}
