package projects

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const named = `query($p: ID!, $name: String, $status: ProjectItemStatus, $first: Int, $after: Cursor) { project(id: $p) {
	items(namePrefix: $name, status: $status, first: $first, after: $after) { nodes { name status } pageInfo { hasNextPage endCursor } } } }`

func TestItemsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	l := s.Labelled(2, 0)
	var lines strings.Builder
	for i, name := range []string{"Owl", "owlet", "Étude", "OWL 3"} {
		_, _ = fmt.Fprintf(&lines, "{\"externalId\":\"named %d\",\"name\":%q}\n", i, name)
	}
	s.During(func() { l.Imports(lines.String()) })
	stranger := s.User("stranger@example.com")
	names := func(c *apitest.Client, v apitest.Vars) (all []any) {
		t.Helper()
		for _, n := range c.Must(named, apitest.Changed(apitest.Vars{"p": l.ID}, v)).List("project.items.nodes") {
			all = append(all, n.(map[string]any)["name"])
		}
		return all
	}
	require.Eventually(t, func() bool { return len(names(l.Client, apitest.Vars{"name": "ow"})) == 3 }, 10*time.Second, 20*time.Millisecond) // the list lags behind by moments
	for _, c := range []*apitest.Client{l.Client, l.Labellers[0]} {
		assert.Equal(t, []any{"Owl", "OWL 3", "owlet"}, names(c, apitest.Vars{"name": " OW"}))
		assert.Equal(t, []any{"Étude"}, names(c, apitest.Vars{"name": "e\u0301"}))
		assert.Empty(t, names(c, apitest.Vars{"name": "e"}))
		assert.Empty(t, names(c, apitest.Vars{"name": "owl", "status": "FINISHED"}))
		assert.Len(t, names(c, apitest.Vars{"name": "owl", "status": "NEW"}), 3)
		assert.Len(t, names(c, apitest.Vars{"name": nil}), 6, "none is given")
	}
	assert.Nil(t, stranger.Must(named, apitest.Vars{"p": l.ID, "name": "o"}).At("project"))
	first := l.Must(named, apitest.Vars{"p": l.ID, "name": "o", "first": 1})
	assert.Equal(t, true, first.At("project.items.pageInfo.hasNextPage"))
	next := apitest.Vars{"p": l.ID, "name": "o", "first": 2, "after": first.Str("project.items.pageInfo.endCursor")}
	assert.Equal(t, []any{"OWL 3", "owlet"}, names(l.Client, next))
	for _, other := range []any{"ow", nil} {
		next["name"] = other
		l.Do(named, next).Fails("INVALID_INPUT", "after")
	}
	for _, bad := range []string{"", "  ", "owl\n", "\x00", strings.Repeat("a", 201)} {
		l.Do(named, apitest.Vars{"p": l.ID, "name": bad}).Fails("INVALID_INPUT", "namePrefix")
	}
	half := l.Send([]byte(`{"query": "query($p: ID!, $n: String) { project(id: $p) { items(namePrefix: $n) { nodes { name } } } }", "variables": {"p": "` + l.ID + `", "n": "\ud800"}}`))
	half.Fails("INVALID_INPUT", "n")
	calls := l.Measure(`query($p: ID!) { project(id: $p) { items(namePrefix: "o", first: 50) { nodes { name } } } }`, apitest.Vars{"p": l.ID}).Operations()
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 2}, calls, "the project with its member, and the items")
}
