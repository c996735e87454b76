package projects

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// Members of a project find its files by the tags of everybody, and put their own.
func TestFilesOfAProjectAreFoundByTheirTags(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	ada, bob, eve := s.User("ada@example.com"), s.User("bob@example.com"), s.User("eve@example.com")
	l := ada.Project("Scans")
	l.Server = s
	l.Puts(bob, "TAGGIE")
	file := ada.Uploads([]byte("music"), apitest.Vars{"name": "one.txt", "type": "text/plain"})
	ada.Tags(file, apitest.Vars{"value": "Prélude"}, apitest.Vars{"value": "private", "visibility": "PRIVATE"})
	require.InDelta(t, 1, l.Takes(apitest.Vars{"itemIds": []string{file}}).At("imported"), 0)
	const search = `query($p: ID!, $begin: String!, $after: Cursor) { node(id: $p) { ... on Project {
		itemTags(beginsWith: $begin, first: 1, after: $after) { nodes { value author { name } item { id name } } pageInfo { hasNextPage endCursor } }
	} } }`
	find := func(who *apitest.Client, after any) *apitest.Answer {
		return who.Must(search, apitest.Vars{"p": l.ID, "begin": "pr", "after": after})
	}
	values := func(a *apitest.Answer) (all []any) {
		for _, node := range a.List("node.itemTags.nodes") {
			all = append(all, node.(map[string]any)["value"])
		}
		return all
	}
	s.During(func() {
		require.Eventually(t, func() bool { return len(find(bob, nil).List("node.itemTags.nodes")) == 1 }, time.Minute, 10*time.Millisecond)
	})
	one := find(bob, nil).List("node.itemTags.nodes")[0].(map[string]any)
	assert.Equal(t, []any{"Prélude", "one.txt"}, []any{one["value"], one["item"].(map[string]any)["name"]})

	told := one["item"].(map[string]any)["id"].(string)
	bob.Tags(told, apitest.Vars{"value": "pretty"})
	a := find(bob, nil)
	assert.Equal(t, []any{"pretty"}, values(a), "at once")
	assert.Equal(t, []any{"Prélude"}, values(find(bob, a.Str("node.itemTags.pageInfo.endCursor"))))
	assert.Nil(t, find(eve, nil).At("node"))
	eve.Mutate("setItemTags", "item { id }", apitest.Vars{"itemId": told, "tags": []apitest.Vars{{"value": "prying"}}}).Fails("NOT_FOUND", "")
	assert.Empty(t, bob.Must(`{ itemTags(beginsWith: "pr") { nodes { value } } }`, nil).List("itemTags.nodes"), "elsewhere nothing is found")
}
