package entities

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/entity"
)

// An index of open tasks by team, priority and title is asked for those of a team, of a team from a priority on, and so on, each in order and
// page by page. It shows what it carries without reading a task.
func TestLookupsByKeysOfSeveralParts(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Tasks")
	set := func(key string, attributes apitest.Vars) string { return r.Set("Task", key, attributes) }
	set("old", apitest.Vars{"team": "a", "priority": 3, "title": "Old", "open": true, "note": "n"})
	declared := r.Mutate("declareEntityIndex", "scope { indexes { path kind thenBy { path kind } where { path equals is exists } carries } }", apitest.Vars{
		"scopeId": r.Scope, "name": "open", "type": "Task", "path": []string{"team"}, "kind": "STRING",
		"thenBy":  []any{apitest.Vars{"path": []string{"priority"}, "kind": "NUMBER"}, apitest.Vars{"path": []string{"title"}, "kind": "STRING"}},
		"where":   []any{apitest.Vars{"path": []string{"open"}, "is": true}, apitest.Vars{"path": []string{"state"}, "exists": false}},
		"carries": []string{"title", "due"},
	})
	assert.Equal(t, []any{map[string]any{
		"path": []any{"team"}, "kind": "STRING", "carries": []any{"title", "due"},
		"thenBy": []any{map[string]any{"path": []any{"priority"}, "kind": "NUMBER"}, map[string]any{"path": []any{"title"}, "kind": "STRING"}},
		"where": []any{
			map[string]any{"path": []any{"open"}, "equals": nil, "is": true, "exists": nil},
			map[string]any{"path": []any{"state"}, "equals": nil, "is": nil, "exists": false},
		},
	}}, declared.List("result.scope.indexes"))
	r.Passes(entity.Settle)
	set("low", apitest.Vars{"team": "a", "priority": -1.5, "title": "Low", "open": true, "due": "2026-12-24"})
	set("high", apitest.Vars{"team": "a", "priority": 20, "title": "High", "open": true})
	set("closed", apitest.Vars{"team": "a", "priority": 20, "title": "Closed", "open": false})
	set("gone", apitest.Vars{"team": "a", "priority": 20, "title": "Gone", "open": true, "state": "gone"})
	set("without", apitest.Vars{"team": "a", "title": "Without", "open": true})
	set("other", apitest.Vars{"team": []any{"ab", "b"}, "priority": 3, "title": "Other", "open": true})

	lookup := func(key any, selection, spell string) string {
		return strings.Join(r.Paged(`query($s: ID!, $k: KeyCondition, $cursor: Cursor) { scope(id: $s) { lookup(index: "open", key: $k, SIZE: 2, TO: $cursor) {
			edges { cursor `+selection+` } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, "scope.lookup", apitest.Vars{"s": r.Scope, "k": key},
			func(e *apitest.Answer) string { return e.Str(spell) }), " ")
	}
	list := func(of ...any) []any { return of }
	for _, test := range []struct {
		key  any
		want string
	}{
		{nil, "low old high other other"},
		{apitest.Vars{"equals": "a"}, "low old high"},
		{apitest.Vars{"prefix": list("a")}, "low old high"},
		{apitest.Vars{"equals": list("a", 3)}, "old"},
		{apitest.Vars{"prefix": list("a"), "equals": 3.0}, "old"},
		{apitest.Vars{"prefix": list("a", 3), "equals": "Old"}, "old"},
		{apitest.Vars{"prefix": list("a", 3, "Old")}, "old"},
		{apitest.Vars{"prefix": list("a"), "after": -1.5}, "old high"},
		{apitest.Vars{"prefix": list("a"), "before": 20}, "low old"},
		{apitest.Vars{"prefix": list("a"), "between": list(-2, 3)}, "low old"},
		{apitest.Vars{"between": list(list("a", 3), list("ab", 3))}, "old high other"},
		{apitest.Vars{"after": "a"}, "other other"},
		{apitest.Vars{"beginsWith": "a"}, "low old high other"},
		{apitest.Vars{"prefix": list("a", 20), "beginsWith": "Hi"}, "high"},
		{apitest.Vars{"prefix": list("c")}, ""},
	} {
		assert.Equal(t, test.want, lookup(test.key, "node { key }", "node.key"), "%v", test.key)
		assert.Equal(t, test.want, lookup(test.key, "entityKey", "entityKey"), "%v, without reading entities", test.key)
	}
	for field, key := range map[string]apitest.Vars{
		"key.prefix":     {"prefix": list("a", 3, "x", "y")},
		"key.equals":     {"equals": 3},
		"key.after":      {"prefix": list("a"), "after": "b"},
		"key.beginsWith": {"prefix": list("a"), "beginsWith": "x"},
		"key.before":     {"after": "a", "before": "a"},
		"key.between.1":  {"between": list("a", list(1))},
	} {
		r.Do(`query($s: ID!, $k: KeyCondition) { scope(id: $s) { lookup(index: "open", key: $k) { nodes { key } } } }`, apitest.Vars{"s": r.Scope, "k": key}).Fails("INVALID_INPUT", field)
	}
	r.Do(`query($s: ID!, $k: KeyCondition) { scope(id: $s) { lookup(index: "open", key: $k) { nodes { key } } } }`, apitest.Vars{"s": r.Scope, "k": apitest.Vars{"prefix": list("a", 3, "x"), "equals": "y"}}).Fails("INVALID_INPUT", "key.prefix")

	const carried = `query($s: ID!) { scope(id: $s) { lookup(index: "open", key: {prefix: ["a"]}) { edges { key entityKey attributes } } } }`
	c := r.Measure(carried, apitest.Vars{"s": r.Scope})
	assert.Equal(t, map[string]any{"key": list("a", -1.5, "Low"), "entityKey": "low", "attributes": map[string]any{"title": "Low", "due": "2026-12-24"}}, c.List("scope.lookup.edges")[0])
	assert.Equal(t, map[string]any{"title": "Old"}, c.List("scope.lookup.edges")[1].(map[string]any)["attributes"], "what was there before the index, too")
	batches, queries := reads(c)
	assert.Equal(t, map[string][]int{"scopes and memberships": {2}}, batches, "no entity is read")
	assert.Equal(t, map[string]int{"index_lookup": 1}, queries)

	// What is carried follows the entity; what does not change is not written again.
	update := func(attributes apitest.Vars) int {
		recorder := s.Faults.Recorder()
		recorder.Reset()
		r.Mutate("updateEntity", "entity { version }", apitest.Vars{"entityId": apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "Task", "low"), "attributes": attributes})
		entries := 0
		for _, call := range recorder.Calls() {
			entries += strings.Count(string(call.Body), `"_unique_key"`)
		}
		return entries
	}
	assert.Zero(t, update(apitest.Vars{"note": "other"}))
	assert.Equal(t, 1, update(apitest.Vars{"due": "2026-12-25"}))
	first := func() map[string]any {
		edges := r.Must(carried, apitest.Vars{"s": r.Scope}).List("scope.lookup.edges")
		require.NotEmpty(t, edges)
		return edges[0].(map[string]any)
	}
	assert.Equal(t, map[string]any{"title": "Low", "due": "2026-12-25"}, first()["attributes"])
	assert.Equal(t, 1, update(apitest.Vars{"due": nil}))
	assert.Equal(t, map[string]any{"title": "Low"}, first()["attributes"])
	assert.Equal(t, 1, update(apitest.Vars{"open": false}))
	assert.Equal(t, "old", fmt.Sprint(first()["entityKey"]), "it does not meet the conditions any more")
	assert.Equal(t, 1, update(apitest.Vars{"open": true}))
	assert.Equal(t, "low", fmt.Sprint(first()["entityKey"]))
}
