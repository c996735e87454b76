package projects

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// From a library and a score into a project, whose members see files that are not theirs.
func TestItemsMeetProjects(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob, eve := s.User("ada@example.com"), s.User("bob@example.com"), s.User("eve@example.com")
	l := ada.Project("Scans")
	l.Server = s
	other := ada.Project("Other")
	other.Server = s
	image, text := apitest.Staves(t, 1), []byte("music")
	one := ada.Uploads(image, apitest.Vars{"name": "one.png", "setName": "drafts"})
	two := ada.Uploads(text, apitest.Vars{"name": "two.txt", "type": "text/plain"})
	suite := ada.Score("Suite", nil, one)
	page := ada.Uploads(text, apitest.Vars{"name": "page.txt", "type": "text/plain", "scoreId": suite})

	a := l.Takes(apitest.Vars{"itemIds": []string{one}})
	assert.Equal(t, []any{1., 0., 0., 1.}, []any{a.At("imported"), a.At("duplicates"), a.At("mistakes"), a.At("lines")})
	assert.Equal(t, a.At("bytes"), a.At("bytesRead"))
	a = l.Takes(apitest.Vars{"library": true})
	assert.Equal(t, []any{1., 1.}, []any{a.At("imported"), a.At("duplicates")}, "one was there")
	a = l.Takes(apitest.Vars{"scoreId": suite})
	assert.Equal(t, 1., a.At("imported"))
	other.Takes(apitest.Vars{"itemIds": []string{one}})

	l.Puts(bob, "TAGGIE")
	const shown = `name type externalId url item { id name type size url thumbnailUrl owner { id } score { title } useCount projects { nodes { id name } edges { node { id } } pageInfo { hasNextPage } } }`
	found := map[string]map[string]any{}
	for _, node := range l.ItemsOf(bob, shown) {
		node := node.(map[string]any)
		found[node["name"].(string)] = node
	}
	require.Len(t, found, 3)
	item := found["one.png"]["item"].(map[string]any)
	assert.Equal(t, "item:"+apitest.GlobalKey(t, one)[3], found["one.png"]["externalId"])
	assert.Equal(t, []any{one, "image/png", "image/png", float64(len(image)), nil}, []any{item["id"], item["type"], found["one.png"]["type"], item["size"], item["useCount"]})
	_, file := apitest.Fetch(t, item["url"].(string))
	assert.Equal(t, image, file)
	resp, _ := apitest.Fetch(t, item["thumbnailUrl"].(string))
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, []any{map[string]any{"id": l.ID, "name": "Scans"}}, item["projects"].(map[string]any)["nodes"], "not the one of which he is no member")
	ofScore := found["page.txt"]["item"].(map[string]any)
	assert.Equal(t, apitest.GlobalKey(t, page)[3], apitest.GlobalKey(t, ofScore["id"].(string))[3])
	assert.NotEqual(t, page, ofScore["id"], "it does not tell the score")
	assert.Nil(t, ofScore["score"])

	assert.Nil(t, bob.Must(`query($i: ID!) { node(id: $i) { id } }`, apitest.Vars{"i": one}).At("node"), "only through the project")
	a = bob.Do(`query($p: ID!, $e: String!) { project(id: $p) { itemByExternalId(externalId: $e) { item { usedBy { edges { kind } } } } } }`, apitest.Vars{"p": l.ID, "e": "item:" + apitest.GlobalKey(t, one)[3]})
	a.Fails("FORBIDDEN", "")
	assert.Nil(t, eve.Must(`query($p: ID!) { project(id: $p) { items { nodes { item { id } } } } }`, apitest.Vars{"p": l.ID}).At("project"))

	const uses = `query($i: ID!) { node(id: $i) { ... on Item { useCount projects(first: 1) { nodes { name } pageInfo { hasNextPage } } usedBy { edges { kind node { __typename ... on Project { name viewerMember { team { name } } } ... on Score { title } } } } } } }`
	a = ada.Must(uses, apitest.Vars{"i": one})
	assert.Equal(t, 3., a.At("node.useCount"))
	assert.Equal(t, true, a.At("node.projects.pageInfo.hasNextPage"))
	kinds := map[string]int{}
	for _, e := range a.List("node.usedBy.edges") {
		kinds[fmt.Sprint(e.(map[string]any)["kind"], e.(map[string]any)["node"].(map[string]any)["__typename"])]++
	}
	assert.Equal(t, map[string]int{"SCOREScore": 1, "PROJECTProject": 2}, kinds)
	a = ada.Must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { problem { __typename ... on ItemInUse { current { useCount } } } } }`, apitest.Vars{"i": two})
	assert.Equal(t, 1., a.At("deleteItem.problem.current.useCount"))

	const made = `query($i: ID!, $n: Int, $c: Cursor) { node(id: $i) { ... on Item { projectItems(first: $n, after: $c) { nodes { id status project { name } item { name } } pageInfo { hasNextPage endCursor } } } } }`
	inProjects := func(who *apitest.Client, item string) []string {
		var all []string
		for in := (apitest.Vars{"i": item, "n": 1}); ; {
			p := who.Must(made, in)
			for _, n := range p.List("node.projectItems.nodes") {
				n := n.(map[string]any)
				all = append(all, fmt.Sprint(n["project"].(map[string]any)["name"], " ", n["item"].(map[string]any)["name"]))
			}
			if in["c"] = p.At("node.projectItems.pageInfo.endCursor"); p.At("node.projectItems.pageInfo.hasNextPage") != true {
				return all
			}
		}
	}
	assert.ElementsMatch(t, []string{"Scans one.png", "Other one.png"}, inProjects(ada, one))
	assert.Equal(t, []string{"Scans two.txt"}, inProjects(ada, two))
	assert.Equal(t, []any{map[string]any{"project": map[string]any{"name": "Scans"}}}, bob.Must(`query($p: ID!, $e: String!) { project(id: $p) { itemByExternalId(externalId: $e) { item { projectItems { nodes { project { name } } } } } } }`,
		apitest.Vars{"p": l.ID, "e": "item:" + apitest.GlobalKey(t, one)[3]}).At("project.itemByExternalId.item.projectItems.nodes"), "not the one of which he is no member")

	// Who leaves a project goes on owning the item, and is not told what the project is.
	other.Puts(bob, "MANAGER")
	ada.Must(`mutation($p: ID!, $u: ID!) { removeProjectMember(input: {projectId: $p, userId: $u}) { problem { __typename } } }`, apitest.Vars{"p": other.ID, "u": ada.ID})
	a = ada.Must(uses, apitest.Vars{"i": one})
	assert.Equal(t, []any{map[string]any{"name": "Scans"}}, a.At("node.projects.nodes"))
	assert.Equal(t, false, a.At("node.projects.pageInfo.hasNextPage"))
	assert.Contains(t, a.Body, `{"kind":"PROJECT","node":null}`)
}

// The files of all items of a list are one batch, and their URLs cost nothing; the projects of all items are one more.
func TestItemsOfProjectsCostOneBatch(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	l := ada.Project("Scans")
	l.Server = s
	var ids []string
	for n := range 30 {
		ids = append(ids, ada.Uploads([]byte("music"), apitest.Vars{"name": fmt.Sprint(n), "type": "text/plain"}))
	}
	l.Takes(apitest.Vars{"itemIds": ids})
	q := `query($p: ID!) { project(id: $p) { items(first: 100) { nodes { name %s } } } }`
	bare := l.Measure(fmt.Sprintf(q, ""), apitest.Vars{"p": l.ID}).Operations()
	c := l.Measure(fmt.Sprintf(q, "item { name type size url thumbnailUrl }"), apitest.Vars{"p": l.ID})
	assert.Len(t, c.List("project.items.nodes"), 30)
	bare["BatchGetItem"]++
	assert.Equal(t, bare, c.Operations())
	c = l.Measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Item { name projects { nodes { name viewerMember { addedAt } } } } } }`, apitest.Vars{"ids": ids})
	assert.Equal(t, map[string]int{"BatchGetItem": 2, "Query": 30}, c.Operations())
	assert.Contains(t, c.Body, "Scans")
	c = l.Measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Item { name projectItems { nodes { status project { name } } } } } }`, apitest.Vars{"ids": ids})
	assert.Equal(t, map[string]int{"BatchGetItem": 3, "Query": 30}, c.Operations(), "the projects, and their items, are a batch each")
	assert.Contains(t, c.Body, `"status":"NEW","project":{"name":"Scans"}`)
}
