package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// takes imports items of the manager, and waits for them.
func (l crew) takes(input vars) *answer {
	l.t.Helper()
	a := l.mutate("importItems", "import { id state source bytes } problem { __typename }", changed(vars{"projectId": l.id}, input))
	require.Nil(l.t, a.at("result.problem"), "%s", a.body)
	id := a.str("result.import.id")
	l.during(func() { l.becomes("DONE", id) })
	return l.anImport(id)
}

// itemsOf returns the items of the project.
func (l crew) itemsOf(who *client, selection string) []any {
	l.t.Helper()
	return who.must(`query($p: ID!) { project(id: $p) { items(first: 100) { nodes { `+selection+` } } } }`, vars{"p": l.id}).list("project.items.nodes")
}

// From a library and a score into a project, whose members see files that are not theirs.
func TestItemsMeetProjects(t *testing.T) {
	s := newServer(t)
	ada, bob, eve := s.user("ada@example.com"), s.user("bob@example.com"), s.user("eve@example.com")
	l := ada.project("Scans")
	l.testServer = s
	other := ada.project("Other")
	other.testServer = s
	image, text := staves(t, 1), []byte("music")
	one := ada.uploads(image, vars{"name": "one.png", "setName": "drafts"})
	two := ada.uploads(text, vars{"name": "two.txt", "type": "text/plain"})
	suite := ada.score("Suite", nil, one)
	page := ada.uploads(text, vars{"name": "page.txt", "type": "text/plain", "scoreId": suite})

	a := l.takes(vars{"itemIds": []string{one}})
	assert.Equal(t, []any{1., 0., 0., 1.}, []any{a.at("imported"), a.at("duplicates"), a.at("mistakes"), a.at("lines")})
	assert.Equal(t, a.at("bytes"), a.at("bytesRead"))
	a = l.takes(vars{"library": true})
	assert.Equal(t, []any{1., 1.}, []any{a.at("imported"), a.at("duplicates")}, "one was there")
	a = l.takes(vars{"scoreId": suite})
	assert.Equal(t, 1., a.at("imported"))
	other.takes(vars{"itemIds": []string{one}})

	l.puts(bob, "TAGGIE")
	const shown = `name type externalId url item { id name type size url thumbnailUrl owner { id } score { title } useCount projects { nodes { id name } edges { node { id } } pageInfo { hasNextPage } } }`
	found := map[string]map[string]any{}
	for _, node := range l.itemsOf(bob, shown) {
		node := node.(map[string]any)
		found[node["name"].(string)] = node
	}
	require.Len(t, found, 3)
	item := found["one.png"]["item"].(map[string]any)
	assert.Equal(t, "item:"+globalKey(t, one)[3], found["one.png"]["externalId"])
	assert.Equal(t, []any{one, "image/png", "image/png", float64(len(image)), nil}, []any{item["id"], item["type"], found["one.png"]["type"], item["size"], item["useCount"]})
	_, file := fetch(t, item["url"].(string))
	assert.Equal(t, image, file)
	resp, _ := fetch(t, item["thumbnailUrl"].(string))
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, []any{map[string]any{"id": l.id, "name": "Scans"}}, item["projects"].(map[string]any)["nodes"], "not the one of which he is no member")
	ofScore := found["page.txt"]["item"].(map[string]any)
	assert.Equal(t, globalKey(t, page)[3], globalKey(t, ofScore["id"].(string))[3])
	assert.NotEqual(t, page, ofScore["id"], "it does not tell the score")
	assert.Nil(t, ofScore["score"])

	assert.Nil(t, bob.must(`query($i: ID!) { node(id: $i) { id } }`, vars{"i": one}).at("node"), "only through the project")
	a = bob.do(`query($p: ID!, $e: String!) { project(id: $p) { itemByExternalId(externalId: $e) { item { usedBy { edges { kind } } } } } }`, vars{"p": l.id, "e": "item:" + globalKey(t, one)[3]})
	a.fails("FORBIDDEN", "")
	assert.Nil(t, eve.must(`query($p: ID!) { project(id: $p) { items { nodes { item { id } } } } }`, vars{"p": l.id}).at("project"))

	const uses = `query($i: ID!) { node(id: $i) { ... on Item { useCount projects(first: 1) { nodes { name } pageInfo { hasNextPage } } usedBy { edges { kind node { __typename ... on Project { name viewerMember { team { name } } } ... on Score { title } } } } } } }`
	a = ada.must(uses, vars{"i": one})
	assert.Equal(t, 3., a.at("node.useCount"))
	assert.Equal(t, true, a.at("node.projects.pageInfo.hasNextPage"))
	kinds := map[string]int{}
	for _, e := range a.list("node.usedBy.edges") {
		kinds[fmt.Sprint(e.(map[string]any)["kind"], e.(map[string]any)["node"].(map[string]any)["__typename"])]++
	}
	assert.Equal(t, map[string]int{"SCOREScore": 1, "PROJECTProject": 2}, kinds)
	a = ada.must(`mutation($i: ID!) { deleteItem(input: {itemId: $i}) { problem { __typename ... on ItemInUse { current { useCount } } } } }`, vars{"i": two})
	assert.Equal(t, 1., a.at("deleteItem.problem.current.useCount"))

	// Who leaves a project goes on owning the item, and is not told what the project is.
	other.puts(bob, "MANAGER")
	ada.must(`mutation($p: ID!, $u: ID!) { removeProjectMember(input: {projectId: $p, userId: $u}) { problem { __typename } } }`, vars{"p": other.id, "u": ada.id})
	a = ada.must(uses, vars{"i": one})
	assert.Equal(t, []any{map[string]any{"name": "Scans"}}, a.at("node.projects.nodes"))
	assert.Equal(t, false, a.at("node.projects.pageInfo.hasNextPage"))
	assert.Contains(t, a.body, `{"kind":"PROJECT","node":null}`)
}

// The files of all items of a list are one batch, and their URLs cost nothing; the projects of all items are one more.
func TestItemsOfProjectsCostOneBatch(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	l := ada.project("Scans")
	l.testServer = s
	var ids []string
	for n := range 30 {
		ids = append(ids, ada.uploads([]byte("music"), vars{"name": fmt.Sprint(n), "type": "text/plain"}))
	}
	l.takes(vars{"itemIds": ids})
	q := `query($p: ID!) { project(id: $p) { items(first: 100) { nodes { name %s } } } }`
	bare := l.measure(fmt.Sprintf(q, ""), vars{"p": l.id}).Operations()
	c := l.measure(fmt.Sprintf(q, "item { name type size url thumbnailUrl }"), vars{"p": l.id})
	assert.Len(t, c.list("project.items.nodes"), 30)
	bare["BatchGetItem"]++
	assert.Equal(t, bare, c.Operations())
	c = l.measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Item { name projects { nodes { name viewerMember { addedAt } } } } } }`, vars{"ids": ids})
	assert.Equal(t, map[string]int{"BatchGetItem": 2, "Query": 30}, c.Operations())
	assert.Contains(t, c.body, "Scans")
}
