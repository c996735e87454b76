package entities

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// reads returns how many keys each BatchGetItem asked for, and how many Query calls there were, by what they read.
func reads(c apitest.Cost) (batches map[string][]int, queries map[string]int) {
	batches, queries = map[string][]int{}, map[string]int{}
	for _, call := range c.Calls() {
		switch {
		case call.Operation == "Query" && call.Index != "":
			queries[call.Index[strings.Index(call.Index, "_")+1:]]++
		case call.Operation == "Query":
			queries[call.Tables[0][strings.Index(call.Tables[0], "_")+1:]]++
		default:
			name := "scopes and memberships"
			for _, key := range call.Keys {
				switch {
				case strings.Contains(key.Attributes, `:!"`):
					name = "heads"
				case strings.Contains(key.Attributes, "PROFILE"):
					name = "users"
				case strings.Contains(key.Attributes, `"_scope_type_key"`) && !strings.Contains(key.Attributes, "taggie:"):
					name = "entities"
				}
			}
			batches[name] = append(batches[name], len(call.Keys))
		}
	}
	return batches, queries
}

// atlas makes a scope with a country, its 4 places, the 60 people who were born there, and the 20 films in which they act.
func atlas(c *apitest.Client) apitest.Space {
	c.T.Helper()
	r := c.Space("Atlas")
	country := r.Set("Country", "c", apitest.Vars{"name": "Country"})
	var places []string
	for i := range 4 {
		places = append(places, r.Set("Place", fmt.Sprintf("p%d", i), apitest.Vars{"name": fmt.Sprint("place ", i)}, apitest.Under("in", country)))
	}
	for i := range 20 {
		var cast []string
		for j := range 3 {
			cast = append(cast, r.Set("Person", fmt.Sprintf("a%02d", 3*i+j), apitest.Vars{"name": fmt.Sprint("person ", 3*i+j)}, apitest.Under("born", places[(3*i+j)%4])))
		}
		r.Set("Film", fmt.Sprintf("f%02d", i), apitest.Vars{"title": fmt.Sprintf("film %02d", i)}, apitest.Under("cast", cast...))
	}
	return r
}

func TestEntitiesCostTheLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	r := atlas(ada)
	r.Declare("by-title", "Film", "STRING", "title")
	other := ada.Space("Other")
	thing := other.Set("Thing", "t", apitest.Vars{})
	in := apitest.Vars{"s": r.Scope}

	const below = `key scope { name } relations(predicate: "cast", first: 3) { edges { node { key relations(first: 2) { nodes { key relations(predicate: "in", first: 2) { nodes { key } } } } } } }`
	for name, test := range map[string]struct {
		query   string
		list    string
		batches map[string][]int
		queries map[string]int
	}{
		"a list and three levels below it": {
			`query($s: ID!) { scope(id: $s) { list: entities(type: "Film", first: 20) { nodes { ` + below + ` } } } }`, "scope.list.nodes",
			map[string][]int{"scopes and memberships": {2}, "entities": {60, 4, 1}},
			map[string]int{"entities_by_type": 1, "relationship_entries": 20 + 60 + 4},
		},
		"a lookup and three levels below it": {
			`query($s: ID!) { scope(id: $s) { list: lookup(index: "by-title", first: 20, key: {beginsWith: "film"}) { nodes { ` + below + ` } } } }`, "scope.list.nodes",
			map[string][]int{"scopes and memberships": {2}, "entities": {20, 60, 4, 1}},
			map[string]int{"index_lookup": 1, "relationship_entries": 20 + 60 + 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.Measure(test.query, in)
			list := c.List(test.list)
			require.Len(t, list, 20)
			assert.Contains(t, fmt.Sprint(list[0]), "map[key:c]", "the country is at the end")
			batches, queries := reads(c)
			assert.Equal(t, test.batches, batches)
			assert.Equal(t, test.queries, queries)
		})
	}
	t.Run("which entities are related, without reading them", func(t *testing.T) {
		c := r.Measure(`query($s: ID!) { scope(id: $s) { entity(type: "Film", key: "f00") { relations { edges { predicate entityType entityKey } } reverseRelations { edges { entityKey } } } } }`, in)
		assert.Equal(t, map[string]any{"predicate": "cast", "entityType": "Person", "entityKey": "a00"}, c.List("scope.entity.relations.edges")[0])
		batches, queries := reads(c)
		assert.Equal(t, map[string][]int{"scopes and memberships": {2}, "entities": {1}}, batches)
		assert.Equal(t, map[string]int{"relationship_entries": 1, "reverse_relationships": 1}, queries)
	})
	t.Run("back", func(t *testing.T) {
		c := r.Measure(`query($s: ID!) { scope(id: $s) { entity(type: "Country", key: "c") { reverseRelations(first: 5) { nodes { key reverseRelations(predicate: "born", first: 20) { nodes { key } } } } } } }`, in)
		require.Len(t, c.List("scope.entity.reverseRelations.nodes"), 4)
		assert.Equal(t, 60, strings.Count(c.Body, `{"key":"a`))
		batches, queries := reads(c)
		assert.Equal(t, map[string]int{"reverse_relationships": 1 + 4}, queries)
		assert.Equal(t, []int{4, 60}, batches["heads"], "with each level, whether the relations in it still hold")
		delete(batches, "heads")
		assert.Equal(t, map[string][]int{"scopes and memberships": {2}, "entities": {1, 4, 60}}, batches)
	})
	t.Run("both directions, and the same ones again", func(t *testing.T) {
		c := r.Measure(`query($s: ID!) { scope(id: $s) { a: entity(type: "Place", key: "p0") { key relations { nodes { key } } reverseRelations(first: 20) { nodes { key relations(first: 2) { nodes { key } } } } }
			b: entity(type: "Place", key: "p1") { key relations { nodes { key } } } again: entity(type: "Place", key: "p0") { relations { edges { node { key } } } } } }`, in)
		batches, queries := reads(c)
		assert.Equal(t, map[string][]int{"scopes and memberships": {2}, "entities": {2, 16}, "heads": {15}}, batches, "the next level is the country and 15 people")
		assert.Equal(t, map[string]int{"relationship_entries": 2 + 15, "reverse_relationships": 1}, queries)
	})
	t.Run("nodes", func(t *testing.T) {
		ids := []string{r.Scope, other.Scope, thing, apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "Film", "f00"), apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "Film", "f01"), apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "Film", "none")}
		c := r.Measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Entity { key scope { name } relations { nodes { key } } } ... on Scope { name } } }`, apitest.Vars{"ids": ids})
		assert.Nil(t, c.List("nodes")[5])
		batches, queries := reads(c)
		assert.Equal(t, map[string]int{"relationship_entries": 3}, queries)
		assert.Equal(t, map[string][]int{"scopes and memberships": {4}, "entities": {4, 6}}, batches)
	})
	t.Run("members and scopes", func(t *testing.T) {
		for i := range 5 {
			r.Member(s.User(fmt.Sprintf("member%d@example.com", i)), "READER")
		}
		c := r.Measure(`{ viewer { scopes { nodes { name viewerRole members { edges { role node { name } } } entity(type: "Film", key: "f07") { key } } } } }`, nil)
		require.Len(t, c.List("viewer.scopes.nodes"), 2)
		batches, _ := reads(c)
		people := 0
		for _, keys := range batches["users"] {
			people += keys
		}
		assert.Equal(t, 6, people, "each is read once")
		assert.LessOrEqual(t, len(batches["users"]), 2, "one batch for each list of members, or one for both")
		assert.Equal(t, []int{2}, batches["entities"])
		assert.Equal(t, []int{4}, batches["scopes and memberships"], "not again for the entities in them")
		assert.Equal(t, 1+2, c.Operations()["Query"], "the scopes, and the members of each")
	})
	t.Run("a level of more than 100", func(t *testing.T) {
		var ids []string
		for i := range 150 {
			ids = append(ids, r.Set("Leaf", fmt.Sprintf("l%03d", i), apitest.Vars{}))
		}
		r.Set("Tree", "t", apitest.Vars{}, apitest.Under("leaf", ids...))
		c := r.Measure(`query($s: ID!) { scope(id: $s) { entity(type: "Tree", key: "t") { relations(first: 200) { nodes { key } } } } }`, in)
		assert.Len(t, c.List("scope.entity.relations.nodes"), 150)
		batches, _ := reads(c)
		assert.ElementsMatch(t, []int{1, 100, 50}, batches["entities"])
	})
	t.Run("writes", func(t *testing.T) {
		a := r.Mutate("updateEntity", "entity { version }", apitest.Vars{"entityId": thing, "attributes": apitest.Vars{"n": 1}})
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, a.Extensions.Dynamo.Operations)
	})
}
