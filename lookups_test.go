package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/entity"
)

func TestLookupsUnderEveryCondition(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Films")
	for key, attributes := range map[string]vars{
		"alien": {"title": "Alien", "year": 1979, "cast": []vars{{"name": "Weaver"}, {"name": "Holm"}}}, "aliens": {"title": "Aliens", "year": 1986, "cast": []vars{{"name": "Weaver"}}},
		"big": {"title": "Big", "year": 1988.5}, "zero": {"title": "Ärger", "year": 0}, "minus": {"title": "#:%", "year": -12.5}, "tiny": {"title": "alien", "year": -1e-3},
		"none": {"title": 7, "year": "1979"}, "null": {"title": nil},
	} {
		r.set("Film", key, attributes)
	}
	r.set("Series", "alien", vars{"title": "Alien", "year": 1979})

	declared := r.mutate("declareEntityIndex", "scope { version indexes { name type path kind ready progress } }", vars{"scopeId": r.scope, "name": "title", "type": "Film", "path": []string{"title"}, "kind": "STRING"})
	assert.Equal(t, []any{map[string]any{"name": "title", "type": "Film", "path": []any{"title"}, "kind": "STRING", "ready": false, "progress": 0.0}}, declared.list("result.scope.indexes"))
	const titles = `query($s: ID!) { scope(id: $s) { indexes { ready progress } lookup(index: "title") { nodes { key } } } }`
	building := r.do(titles, vars{"s": r.scope})
	building.fails("UNAVAILABLE", "")
	s.passes(0) // the first pass, at once
	building = r.do(titles, vars{"s": r.scope})
	building.fails("UNAVAILABLE", "")
	assert.Equal(t, []any{map[string]any{"ready": false, "progress": 8.0}}, building.list("scope.indexes"), "all films were looked at, and operations may be under way that did not know of the index")
	r.set("Film", "late", vars{"title": "Late", "year": 2000})
	s.passes(entity.Settle)
	assert.Equal(t, []any{map[string]any{"ready": true, "progress": 8.0}}, r.must(titles, vars{"s": r.scope}).list("scope.indexes"))
	r.declare("year", "Film", "NUMBER", "year")
	r.declare("cast", "Film", "STRING", "cast", "name")
	r.mutate("declareEntityIndex", "__typename", vars{"scopeId": r.scope, "name": "title", "type": "Film", "path": []string{"x"}, "kind": "STRING"}).fails("CONFLICT", "input.name")

	lookup := func(index string, key any) string {
		found := r.paged(`query($s: ID!, $i: String!, $k: KeyCondition, $cursor: Cursor) { scope(id: $s) { lookup(index: $i, key: $k, SIZE: 2, TO: $cursor) {
			edges { cursor key node { key } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, "scope.lookup", vars{"s": r.scope, "i": index, "k": key},
			func(e *answer) string { return e.str("node.key") })
		return strings.Join(found, " ")
	}
	for _, test := range []struct {
		index string
		key   any
		want  string
	}{
		{"title", nil, "minus alien aliens big late tiny zero"},
		{"title", vars{}, "minus alien aliens big late tiny zero"},
		{"title", vars{"equals": "Alien"}, "alien"},
		{"title", vars{"equals": "#:%"}, "minus"},
		{"title", vars{"equals": "Alie"}, ""},
		{"title", vars{"beginsWith": "Alien"}, "alien aliens"},
		{"title", vars{"beginsWith": "Ä"}, "zero"},
		{"title", vars{"between": []any{"Alien", "Big"}}, "alien aliens big"},
		{"title", vars{"between": []any{"Alien", "Alien"}}, "alien"},
		{"title", vars{"after": "Alien"}, "aliens big late tiny zero"},
		{"title", vars{"before": "Aliens"}, "minus alien"},
		{"title", vars{"after": "Alien", "before": "Big"}, "aliens"},
		{"year", nil, "minus tiny zero alien aliens big late"},
		{"year", vars{"equals": 1979}, "alien"},
		{"year", vars{"equals": 1979.0}, "alien"},
		{"year", vars{"equals": -12.5}, "minus"},
		{"year", vars{"between": []any{-1, 1986}}, "tiny zero alien aliens"},
		{"year", vars{"after": 0}, "alien aliens big late"},
		{"year", vars{"before": 0}, "minus tiny"},
		{"year", vars{"after": 1986, "before": 1989}, "big"},
		{"cast", vars{"equals": "Weaver"}, "alien aliens"},
		{"cast", nil, "alien alien aliens"},
	} {
		assert.Equal(t, test.want, lookup(test.index, test.key), "%s %v", test.index, test.key)
	}
	for _, test := range []struct {
		index, field string
		key          vars
	}{
		{"nothing", "index", nil}, {"title", "key.equals", vars{"equals": 3}}, {"title", "key.equals", vars{"equals": ""}}, {"title", "key.beginsWith", vars{"beginsWith": ""}},
		{"title", "key.beginsWith", vars{"beginsWith": strings.Repeat("x", 513)}}, {"title", "key.between", vars{"between": []any{"b", "a"}}}, {"title", "key.between", vars{"between": []any{"a"}}},
		{"title", "key.between", vars{"between": []any{"a", "b", "c"}}}, {"title", "key.between.1", vars{"between": []any{"a", 3}}}, {"title", "key.before", vars{"after": "b", "before": "b"}},
		{"title", "key", vars{"equals": "a", "beginsWith": "a"}}, {"title", "key", vars{"between": []any{"a", "b"}, "after": "a"}},
		{"year", "key.beginsWith", vars{"beginsWith": "19"}}, {"year", "key.after", vars{"after": "1979"}},
	} {
		r.do(`query($s: ID!, $i: String!, $k: KeyCondition) { scope(id: $s) { lookup(index: $i, key: $k) { nodes { key } } } }`, vars{"s": r.scope, "i": test.index, "k": test.key}).fails("INVALID_INPUT", test.field)
	}

	// Entries follow their entities.
	big := r.set("Film", "big", vars{"title": "Bigger", "year": 1988})
	assert.Equal(t, "big", lookup("title", vars{"beginsWith": "Bi"}))
	assert.Equal(t, map[string]any{"index": "title", "key": "Bigger"}, r.anEntity(big, "Film", "big").list("indexEntries")[0])
	assert.Empty(t, lookup("title", vars{"equals": "Big"}))
	r.mutate("updateEntity", "entity { id }", vars{"entityId": big, "attributes": vars{"title": nil}})
	assert.Empty(t, lookup("title", vars{"beginsWith": "Bi"}))
	assert.Equal(t, "big", lookup("year", vars{"equals": 1988}))
	r.mutate("deleteEntity", "deletedEntityId", vars{"entityId": big})
	assert.Empty(t, lookup("year", vars{"equals": 1988}))
	r.mutate("setEntity", "__typename", vars{"scopeId": r.scope, "type": "Film", "key": "long", "attributes": vars{"title": strings.Repeat("x", 513)}})
	assert.Empty(t, lookup("title", vars{"beginsWith": "xxx"}), "what cannot be a key is left out")

	// An index that is removed.
	removed := r.mutate("removeEntityIndex", "scope { indexes { name } }", vars{"scopeId": r.scope, "name": "title"})
	assert.Equal(t, []any{map[string]any{"name": "cast"}, map[string]any{"name": "year"}}, removed.list("result.scope.indexes"))
	r.do(titles, vars{"s": r.scope}).fails("INVALID_INPUT", "index")
	r.mutate("removeEntityIndex", "__typename", vars{"scopeId": r.scope, "name": "title"}).fails("NOT_FOUND", "input.name")
	again := vars{"scopeId": r.scope, "name": "title", "type": "Series", "path": []string{"title"}, "kind": "STRING"}
	r.mutate("declareEntityIndex", "__typename", again).fails("UNAVAILABLE", "")
	s.passes(entity.Settle)
	for _, e := range r.must(`query($s: ID!) { scope(id: $s) { entities(type: "Film") { nodes { indexEntries { index } } } } }`, vars{"s": r.scope}).list("scope.entities.nodes") {
		assert.NotContains(t, fmt.Sprint(e), "title", "nothing is left of it")
	}
	r.declare("title", "Series", "STRING", "title")
	assert.Equal(t, "alien", lookup("title", nil), "the name is another index's now")
}
