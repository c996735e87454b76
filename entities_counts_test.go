package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reads returns how many keys each BatchGetItem asked for, and how many Query calls there were, by what they read.
func (c cost) reads() (batches map[string][]int, queries map[string]int) {
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
func (c *client) atlas() space {
	c.t.Helper()
	r := c.space("Atlas")
	country := r.set("Country", "c", vars{"name": "Country"})
	var places []string
	for i := range 4 {
		places = append(places, r.set("Place", fmt.Sprintf("p%d", i), vars{"name": fmt.Sprint("place ", i)}, under("in", country)))
	}
	for i := range 20 {
		var cast []string
		for j := range 3 {
			cast = append(cast, r.set("Person", fmt.Sprintf("a%02d", 3*i+j), vars{"name": fmt.Sprint("person ", 3*i+j)}, under("born", places[(3*i+j)%4])))
		}
		r.set("Film", fmt.Sprintf("f%02d", i), vars{"title": fmt.Sprintf("film %02d", i)}, under("cast", cast...))
	}
	return r
}

func TestEntitiesCostTheLowerBound(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	r := ada.atlas()
	r.declare("by-title", "Film", "STRING", "title")
	other := ada.space("Other")
	thing := other.set("Thing", "t", vars{})
	in := vars{"s": r.scope}

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
			c := r.measure(test.query, in)
			list := c.list(test.list)
			require.Len(t, list, 20)
			assert.Contains(t, fmt.Sprint(list[0]), "map[key:c]", "the country is at the end")
			batches, queries := c.reads()
			assert.Equal(t, test.batches, batches)
			assert.Equal(t, test.queries, queries)
		})
	}
	t.Run("back", func(t *testing.T) {
		c := r.measure(`query($s: ID!) { scope(id: $s) { entity(type: "Country", key: "c") { reverseRelations(first: 5) { nodes { key reverseRelations(predicate: "born", first: 20) { nodes { key } } } } } } }`, in)
		require.Len(t, c.list("scope.entity.reverseRelations.nodes"), 4)
		assert.Equal(t, 60, strings.Count(c.body, `{"key":"a`))
		batches, queries := c.reads()
		assert.Equal(t, map[string]int{"reverse_relationships": 1 + 4}, queries)
		assert.Equal(t, []int{4, 60}, batches["heads"], "with each level, whether the relations in it still hold")
		delete(batches, "heads")
		assert.Equal(t, map[string][]int{"scopes and memberships": {2}, "entities": {1, 4, 60}}, batches)
	})
	t.Run("both directions, and the same ones again", func(t *testing.T) {
		c := r.measure(`query($s: ID!) { scope(id: $s) { a: entity(type: "Place", key: "p0") { key relations { nodes { key } } reverseRelations(first: 20) { nodes { key relations(first: 2) { nodes { key } } } } }
			b: entity(type: "Place", key: "p1") { key relations { nodes { key } } } again: entity(type: "Place", key: "p0") { relations { edges { node { key } } } } } }`, in)
		batches, queries := c.reads()
		assert.Equal(t, map[string][]int{"scopes and memberships": {2}, "entities": {2, 16}, "heads": {15}}, batches, "the next level is the country and 15 people")
		assert.Equal(t, map[string]int{"relationship_entries": 2 + 15, "reverse_relationships": 1}, queries)
	})
	t.Run("nodes", func(t *testing.T) {
		ids := []string{r.scope, other.scope, thing, gidOf("Entity", scopeKey(t, r.scope), "Film", "f00"), gidOf("Entity", scopeKey(t, r.scope), "Film", "f01"), gidOf("Entity", scopeKey(t, r.scope), "Film", "none")}
		c := r.measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Entity { key scope { name } relations { nodes { key } } } ... on Scope { name } } }`, vars{"ids": ids})
		assert.Nil(t, c.list("nodes")[5])
		batches, queries := c.reads()
		assert.Equal(t, map[string]int{"relationship_entries": 3}, queries)
		assert.Equal(t, map[string][]int{"scopes and memberships": {4}, "entities": {4, 6}}, batches)
	})
	t.Run("members and scopes", func(t *testing.T) {
		for i := range 5 {
			r.member(s.user(fmt.Sprintf("member%d@example.com", i)), "READER")
		}
		c := r.measure(`{ viewer { scopes { nodes { name viewerRole members { edges { role node { name } } } entity(type: "Film", key: "f07") { key } } } } }`, nil)
		require.Len(t, c.list("viewer.scopes.nodes"), 2)
		batches, _ := c.reads()
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
			ids = append(ids, r.set("Leaf", fmt.Sprintf("l%03d", i), vars{}))
		}
		r.set("Tree", "t", vars{}, under("leaf", ids...))
		c := r.measure(`query($s: ID!) { scope(id: $s) { entity(type: "Tree", key: "t") { relations(first: 200) { nodes { key } } } } }`, in)
		assert.Len(t, c.list("scope.entity.relations.nodes"), 150)
		batches, _ := c.reads()
		assert.ElementsMatch(t, []int{1, 100, 50}, batches["entities"])
	})
	t.Run("writes", func(t *testing.T) {
		a := r.mutate("updateEntity", "entity { version }", vars{"entityId": thing, "attributes": vars{"n": 1}})
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, a.Extensions.Dynamo.Operations)
	})
}
