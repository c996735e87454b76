package requests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/entity"
)

func TestLookupsUnderEveryCondition(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Films")
	for key, attributes := range map[string]apitest.Vars{
		"alien": {"title": "Alien", "year": 1979, "cast": []apitest.Vars{{"name": "Weaver"}, {"name": "Holm"}}}, "aliens": {"title": "Aliens", "year": 1986, "cast": []apitest.Vars{{"name": "Weaver"}}},
		"big": {"title": "Big", "year": 1988.5}, "zero": {"title": "Ärger", "year": 0}, "minus": {"title": "#:%", "year": -12.5}, "tiny": {"title": "alien", "year": -1e-3},
		"none": {"title": 7, "year": "1979"}, "null": {"title": nil},
	} {
		r.Set("Film", key, attributes)
	}
	r.Set("Series", "alien", apitest.Vars{"title": "Alien", "year": 1979})

	declared := r.Mutate("declareEntityIndex", "scope { version indexes { name type path kind ready progress } }", apitest.Vars{"scopeId": r.Scope, "name": "title", "type": "Film", "path": []string{"title"}, "kind": "STRING"})
	assert.Equal(t, []any{map[string]any{"name": "title", "type": "Film", "path": []any{"title"}, "kind": "STRING", "ready": false, "progress": 0.0}}, declared.List("result.scope.indexes"))
	const titles = `query($s: ID!) { scope(id: $s) { indexes { ready progress } lookup(index: "title") { nodes { key } } } }`
	building := r.Do(titles, apitest.Vars{"s": r.Scope})
	building.Fails("UNAVAILABLE", "")
	s.Passes(0) // the first pass, at once
	building = r.Do(titles, apitest.Vars{"s": r.Scope})
	building.Fails("UNAVAILABLE", "")
	assert.Equal(t, []any{map[string]any{"ready": false, "progress": 8.0}}, building.List("scope.indexes"), "all films were looked at, and operations may be under way that did not know of the index")
	r.Set("Film", "late", apitest.Vars{"title": "Late", "year": 2000})
	s.Passes(entity.Settle)
	assert.Equal(t, []any{map[string]any{"ready": true, "progress": 8.0}}, r.Must(titles, apitest.Vars{"s": r.Scope}).List("scope.indexes"))
	r.Declare("year", "Film", "NUMBER", "year")
	r.Declare("cast", "Film", "STRING", "cast", "name")
	r.Mutate("declareEntityIndex", "__typename", apitest.Vars{"scopeId": r.Scope, "name": "title", "type": "Film", "path": []string{"x"}, "kind": "STRING"}).Fails("CONFLICT", "input.name")

	lookup := func(index string, key any) string {
		found := r.Paged(`query($s: ID!, $i: String!, $k: KeyCondition, $cursor: Cursor) { scope(id: $s) { lookup(index: $i, key: $k, SIZE: 2, TO: $cursor) {
			edges { cursor key node { key } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, "scope.lookup", apitest.Vars{"s": r.Scope, "i": index, "k": key},
			func(e *apitest.Answer) string { return e.Str("node.key") })
		return strings.Join(found, " ")
	}
	for _, test := range []struct {
		index string
		key   any
		want  string
	}{
		{"title", nil, "minus alien aliens big late tiny zero"},
		{"title", apitest.Vars{}, "minus alien aliens big late tiny zero"},
		{"title", apitest.Vars{"equals": "Alien"}, "alien"},
		{"title", apitest.Vars{"equals": "#:%"}, "minus"},
		{"title", apitest.Vars{"equals": "Alie"}, ""},
		{"title", apitest.Vars{"beginsWith": "Alien"}, "alien aliens"},
		{"title", apitest.Vars{"beginsWith": "Ä"}, "zero"},
		{"title", apitest.Vars{"between": []any{"Alien", "Big"}}, "alien aliens big"},
		{"title", apitest.Vars{"between": []any{"Alien", "Alien"}}, "alien"},
		{"title", apitest.Vars{"after": "Alien"}, "aliens big late tiny zero"},
		{"title", apitest.Vars{"before": "Aliens"}, "minus alien"},
		{"title", apitest.Vars{"after": "Alien", "before": "Big"}, "aliens"},
		{"year", nil, "minus tiny zero alien aliens big late"},
		{"year", apitest.Vars{"equals": 1979}, "alien"},
		{"year", apitest.Vars{"equals": 1979.0}, "alien"},
		{"year", apitest.Vars{"equals": -12.5}, "minus"},
		{"year", apitest.Vars{"between": []any{-1, 1986}}, "tiny zero alien aliens"},
		{"year", apitest.Vars{"after": 0}, "alien aliens big late"},
		{"year", apitest.Vars{"before": 0}, "minus tiny"},
		{"year", apitest.Vars{"after": 1986, "before": 1989}, "big"},
		{"cast", apitest.Vars{"equals": "Weaver"}, "alien aliens"},
		{"cast", nil, "alien alien aliens"},
	} {
		assert.Equal(t, test.want, lookup(test.index, test.key), "%s %v", test.index, test.key)
	}
	// A key is given as it is asked for, wherever it is shown.
	const keys = `query($s: ID!, $k: IndexKey!) { scope(id: $s) {
		lookup(index: "year", key: {equals: $k}) { edges { key node { key indexEntries { index key } } } }
		entities(type: "Film") { nodes { indexEntries { key } } } entity(type: "Film", key: "minus") { indexEntries { key } } } }`
	found := r.Must(keys, apitest.Vars{"s": r.Scope, "k": -12.5})
	entries := []any{map[string]any{"index": "title", "key": "#:%"}, map[string]any{"index": "year", "key": -12.5}}
	assert.Equal(t, []any{map[string]any{"key": -12.5, "node": map[string]any{"key": "minus", "indexEntries": entries}}}, found.List("scope.lookup.edges"))
	assert.Contains(t, found.Body, `{"indexEntries":[{"key":"#:%"},{"key":-12.5}]}`)
	assert.Equal(t, -12.5, found.List("scope.entity.indexEntries")[1].(map[string]any)["key"])
	set := r.Mutate("setEntity", "entity { indexEntries { key } }", apitest.Vars{"scopeId": r.Scope, "type": "Film", "key": "minus", "attributes": apitest.Vars{"title": "#:%", "year": -12.5}})
	assert.Equal(t, []any{map[string]any{"key": "#:%"}, map[string]any{"key": -12.5}}, set.List("result.entity.indexEntries"))

	for _, test := range []struct {
		index, field string
		key          apitest.Vars
	}{
		{"nothing", "index", nil}, {"title", "key.equals", apitest.Vars{"equals": 3}}, {"title", "key.equals", apitest.Vars{"equals": ""}}, {"title", "key.beginsWith", apitest.Vars{"beginsWith": ""}},
		{"title", "key.beginsWith", apitest.Vars{"beginsWith": strings.Repeat("x", 513)}}, {"title", "key.between", apitest.Vars{"between": []any{"b", "a"}}}, {"title", "key.between", apitest.Vars{"between": []any{"a"}}},
		{"title", "key.between", apitest.Vars{"between": []any{"a", "b", "c"}}}, {"title", "key.between.1", apitest.Vars{"between": []any{"a", 3}}}, {"title", "key.before", apitest.Vars{"after": "b", "before": "b"}},
		{"title", "key", apitest.Vars{"equals": "a", "beginsWith": "a"}}, {"title", "key", apitest.Vars{"between": []any{"a", "b"}, "after": "a"}},
		{"year", "key.beginsWith", apitest.Vars{"beginsWith": "19"}}, {"year", "key.after", apitest.Vars{"after": "1979"}},
	} {
		r.Do(`query($s: ID!, $i: String!, $k: KeyCondition) { scope(id: $s) { lookup(index: $i, key: $k) { nodes { key } } } }`, apitest.Vars{"s": r.Scope, "i": test.index, "k": test.key}).Fails("INVALID_INPUT", test.field)
	}

	// Entries follow their entities.
	big := r.Set("Film", "big", apitest.Vars{"title": "Bigger", "year": 1988})
	assert.Equal(t, "big", lookup("title", apitest.Vars{"beginsWith": "Bi"}))
	assert.Equal(t, map[string]any{"index": "title", "key": "Bigger"}, r.AnEntity(big, "Film", "big").List("indexEntries")[0])
	assert.Empty(t, lookup("title", apitest.Vars{"equals": "Big"}))
	r.Mutate("updateEntity", "entity { id }", apitest.Vars{"entityId": big, "attributes": apitest.Vars{"title": nil}})
	assert.Empty(t, lookup("title", apitest.Vars{"beginsWith": "Bi"}))
	assert.Equal(t, "big", lookup("year", apitest.Vars{"equals": 1988}))
	r.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": big})
	assert.Empty(t, lookup("year", apitest.Vars{"equals": 1988}))
	r.Mutate("setEntity", "__typename", apitest.Vars{"scopeId": r.Scope, "type": "Film", "key": "long", "attributes": apitest.Vars{"title": strings.Repeat("x", 513)}})
	assert.Empty(t, lookup("title", apitest.Vars{"beginsWith": "xxx"}), "what cannot be a key is left out")

	// An index that is removed.
	removed := r.Mutate("removeEntityIndex", "scope { indexes { name } }", apitest.Vars{"scopeId": r.Scope, "name": "title"})
	assert.Equal(t, []any{map[string]any{"name": "cast"}, map[string]any{"name": "year"}}, removed.List("result.scope.indexes"))
	r.Do(titles, apitest.Vars{"s": r.Scope}).Fails("INVALID_INPUT", "index")
	r.Mutate("removeEntityIndex", "__typename", apitest.Vars{"scopeId": r.Scope, "name": "title"}).Fails("NOT_FOUND", "input.name")
	again := apitest.Vars{"scopeId": r.Scope, "name": "title", "type": "Series", "path": []string{"title"}, "kind": "STRING"}
	r.Mutate("declareEntityIndex", "__typename", again).Fails("UNAVAILABLE", "")
	s.Passes(entity.Settle)
	for _, e := range r.Must(`query($s: ID!) { scope(id: $s) { entities(type: "Film") { nodes { indexEntries { index } } } } }`, apitest.Vars{"s": r.Scope}).List("scope.entities.nodes") {
		assert.NotContains(t, fmt.Sprint(e), "title", "nothing is left of it")
	}
	r.Declare("title", "Series", "STRING", "title")
	assert.Equal(t, "alien", lookup("title", nil), "the name is another index's now")
}
