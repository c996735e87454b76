package scores

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const typeahead = `query($begin: String!, $author: ID) {
	itemTags(beginsWith: $begin, authorId: $author, first: 10) { nodes { value visibility setName author { name } item { id name } tag { id value items { nodes { item { id } } } } } pageInfo { hasNextPage } }
	taggedItems(beginsWith: $begin, authorId: $author, first: 10) { edges { tag { value } node { id } } nodes { name } }
	itemTagValues(beginsWith: $begin, authorId: $author) { value count }
}`

// Tags of a page are found by everybody while the score is public, and by their owner always.
func TestTagsOfAPublicScoreAreFound(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	item := ada.Uploads([]byte("music"), apitest.Vars{"type": "text/plain", "name": "page", "setName": "Suite"})
	a := ada.Tags(item, apitest.Vars{"value": "Prélude"}, apitest.Vars{"value": "🎼"}, apitest.Vars{"value": "private", "visibility": "PRIVATE"})
	assert.Equal(t, item, a.Str("setItemTags.item.id"))
	assert.Len(t, a.List("setItemTags.tags"), 3)
	score := ada.Score("Hers", nil, item)

	nothing := bob.Must(typeahead, apitest.Vars{"begin": "pr"})
	assert.Empty(t, nothing.List("itemTags.nodes"))
	assert.Empty(t, nothing.List("taggedItems.nodes"))
	assert.Empty(t, nothing.List("itemTagValues"))
	access := func(to string) {
		ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": score, "access": to}})
	}
	access("PUBLIC")
	found := bob.Must(typeahead, apitest.Vars{"begin": "ＰＲ"})
	require.Len(t, found.List("itemTags.nodes"), 1)
	one := found.List("itemTags.nodes")[0].(map[string]any)
	assert.Equal(t, "Prélude", one["value"])
	assert.Equal(t, "PUBLIC", one["visibility"])
	assert.Equal(t, "Suite", one["setName"])
	assert.Equal(t, map[string]any{"id": item, "name": "page"}, one["item"])
	assert.Equal(t, []any{map[string]any{"value": "Prélude", "count": 1.}}, found.At("itemTagValues"))
	assert.Equal(t, []any{map[string]any{"name": "page"}}, found.At("taggedItems.nodes"))
	word := one["tag"].(map[string]any)
	assert.Equal(t, "Prélude", bob.Must(`query($id: ID!) { node(id: $id) { ... on Tag { value items { nodes { value } } } } }`, apitest.Vars{"id": word["id"]}).Str("node.value"))

	bob.Tags(item, apitest.Vars{"value": "pretty"})
	sets := apitest.Vars{"sets": []apitest.Vars{{"ownerId": ada.ID, "name": "Suite"}, {"ownerId": bob.ID, "name": "Suite"}}, "bob": bob.ID, "ada": ada.ID}
	const tagged = `query($sets: [ItemSetInput!]!, $bob: ID!, $ada: ID!) { itemSets(sets: $sets) { name taggedByAnyone bob: taggedBy(userId: $bob) ada: taggedBy(userId: $ada) } }`
	assert.Equal(t, []any{
		map[string]any{"name": "Suite", "taggedByAnyone": true, "bob": true, "ada": true}, map[string]any{"name": "Suite", "taggedByAnyone": false, "bob": false, "ada": false},
	}, bob.Must(tagged, sets).At("itemSets"))
	all := bob.Must(`query($id: ID!) { score(id: $id) { pages { item { tags { nodes { value } } set { taggedByAnyone } } } } }`, apitest.Vars{"id": score}).List("score.pages")
	assert.Len(t, all[0].(map[string]any)["item"].(map[string]any)["tags"].(map[string]any)["nodes"], 3, "two of hers and his own")

	access("LIMITED")
	nothing = bob.Must(typeahead, apitest.Vars{"begin": "pr"})
	assert.Empty(t, nothing.List("itemTags.nodes"))
	assert.Empty(t, nothing.List("itemTagValues"))
	assert.Empty(t, bob.Must(typeahead, apitest.Vars{"begin": "pr", "author": bob.ID}).List("itemTags.nodes"))
	hers := ada.Must(typeahead, apitest.Vars{"begin": "pr", "author": ada.ID})
	assert.Len(t, hers.List("itemTags.nodes"), 2)
	assert.Len(t, hers.List("taggedItems.edges"), 1)
	left := ada.Must(`mutation($i: ID!) { removeItemTags(input: {itemId: $i, tags: ["PRÉLUDE", "none"]}) { item { id } tags { value } } }`, apitest.Vars{"i": item})
	assert.Equal(t, []any{map[string]any{"value": "private"}, map[string]any{"value": "🎼"}}, left.At("removeItemTags.tags"))
}

// What a typeahead and a list of tagged items cost, with what is below them.
func TestSearchesOfTagsCostTheLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	items := make([]string, 15)
	for i := range items {
		items[i] = ada.Uploads([]byte("music"), apitest.Vars{"type": "text/plain", "setName": fmt.Sprint("set ", i%3)})
		ada.Tags(items[i], apitest.Vars{"value": "common"}, apitest.Vars{"value": fmt.Sprint("c", i)})
	}
	score := ada.Score("Hers", nil, items...)
	ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": score, "access": "PUBLIC"}})
	for _, test := range []struct {
		reason, query string
		calls         map[string]int
	}{
		{"values", `{ itemTagValues(beginsWith: "c") { value count } }`, map[string]int{"Query": 1}},
		{"tags: sets and scores", `{ itemTags(beginsWith: "c", first: 10) { nodes { value } } }`, map[string]int{"Query": 1, "BatchGetItem": 2}},
		{"their items and authors: all in one batch each", `{ itemTags(beginsWith: "c", first: 10) { nodes { value item { name } author { name } } } }`, map[string]int{"Query": 1, "BatchGetItem": 2 + 2}},
		{"all tags of the items, the caller's own, and whether their sets are tagged", `{ itemTags(beginsWith: "comm", first: 10) { nodes { item { tags { nodes { value } } set { taggedByAnyone } } } } }`,
			map[string]int{"Query": 1 + 10, "BatchGetItem": 2 + 1 + 1 + 1}},
		{"the items of the words: one list for each word", `{ itemTags(beginsWith: "c1", first: 10) { nodes { tag { items(first: 3) { nodes { item { name } } } } } } }`, map[string]int{"Query": 1 + 6, "BatchGetItem": 2 + 6*2 + 1}},
		{"items in order", `{ taggedItems(beginsWith: "c", first: 10) { nodes { name } } }`, map[string]int{"Query": 1, "BatchGetItem": 2 + 1}},
		{"hers on the items", `{ itemTags(beginsWith: "comm", first: 10) { nodes { item { tags(authorId: "` + ada.ID + `") { nodes { value } } } } } }`, map[string]int{"Query": 1, "BatchGetItem": 2 + 1 + 1}},
	} {
		bob.Must(test.query, nil) // the layout of shards is read once in a while
		a := bob.Must(test.query, nil)
		assert.Equal(t, test.calls, a.Extensions.Dynamo.Operations, test.reason)
	}
}

func TestBadArgumentsOfTagSearches(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	note := ada.Notes(1)[0]
	for query, field := range map[string]string{
		`{ itemTags(beginsWith: " ") { nodes { value } } }`:                                                 "beginsWith",
		`{ itemTags(beginsWith: "x", first: 501) { nodes { value } } }`:                                     "first",
		`{ itemTags(beginsWith: "x", authorId: "` + note + `") { nodes { value } } }`:                       "authorId",
		`{ itemTagValues(beginsWith: "x", first: 101) { value } }`:                                          "first",
		`{ taggedItems(beginsWith: "x", after: "x") { nodes { id } } }`:                                     "after",
		`{ itemSets(sets: []) { name } }`:                                                                   "sets",
		`{ itemSets(sets: [{ownerId: "` + note + `", name: "x"}]) { name } }`:                               "sets.0.ownerId",
		`{ itemSets(sets: [{ownerId: "` + ada.ID + `", name: ""}]) { name } }`:                              "sets.0.name",
		`{ itemSets(sets: [{ownerId: "` + ada.ID + `", name: "x"}]) { taggedBy(userId: "` + note + `") } }`: "userId",
	} {
		ada.Do(query, nil).Fails(apitest.Invalid, field)
	}
}
