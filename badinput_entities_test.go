package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nested returns objects within one another, n of them.
func nested(n int) vars {
	object := vars{"end": true}
	for range n - 1 {
		object = vars{"a": object}
	}
	return object
}

// refuses sends what is wrong, and checks that it is refused and nothing has changed.
func (c *client) refuses(state func() string, cases []bad) {
	c.t.Helper()
	before := state()
	for _, b := range cases {
		assert.True(c.t, func() bool {
			a := c.mutate(b.mutation, "__typename", b.input)
			a.tellsNothingInner()
			return assert.Len(c.t, a.Errors, 1, "%s: %s", b.reason, a.body) &&
				assert.Equal(c.t, b.code+" "+b.field, a.Errors[0].Extensions.Code+" "+a.Errors[0].Extensions.Field, "%s: %.500s", b.reason, a.body) &&
				assert.False(c.t, a.Errors[0].Extensions.Retryable, b.reason) &&
				assert.True(c.t, before == state(), "nothing has changed") // the two would fill pages
		}(), "%s %s", b.mutation, b.reason)
	}
}

func TestBadInputChangesNoEntity(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := s.user("ada@example.com").space("Things")
	id := r.set("Thing", "one", vars{"n": 1})
	two := r.set("Thing", "two", vars{}, under("to", id))
	r.declare("n", "Thing", "NUMBER", "n")
	bob := s.user("bob@example.com").space("His")
	his := bob.set("Thing", "his", vars{})
	note := r.notes(1)[0]
	long := strings.Repeat("x", 65)

	var cases []bad
	set := func(reason string, change vars, code, field string) {
		input := vars{"scopeId": r.scope, "type": "Thing", "key": "new", "attributes": vars{}}
		for name, value := range change {
			input[name] = value
		}
		cases = append(cases, bad{reason, "setEntity", input, code, field})
	}
	attributes := func(reason string, value any, code, field string) {
		set(reason, vars{"attributes": value}, code, "input.attributes"+field)
		cases = append(cases, bad{reason, "updateEntity", vars{"entityId": id, "attributes": value}, code, "input.attributes" + field})
	}
	set("a scope that never was", vars{"scopeId": gidOf("Scope", "none")}, "NOT_FOUND", "")
	set("a scope of another", vars{"scopeId": bob.scope}, "NOT_FOUND", "")
	set("a scope of our own", vars{"scopeId": gidOf("Scope", "taggie")}, "NOT_FOUND", "")
	set("a note for a scope", vars{"scopeId": note}, invalid, "input.scopeId")
	set("no id for a scope", vars{"scopeId": "?"}, invalid, "input.scopeId")
	for _, name := range []string{"", " ", "9", "_a", "-a", "a b", "a:b", "a#b", "é", "a\x00", "Aé", long} {
		set(fmt.Sprintf("the type %q", name), vars{"type": name}, invalid, "input.type")
		cases = append(cases,
			bad{fmt.Sprintf("the predicate %q", name), "addEntityRelations", vars{"entityId": id, "predicate": name, "objects": objects(two)}, invalid, "input.predicate"},
			bad{fmt.Sprintf("the predicate %q", name), "replaceEntityRelations", vars{"entityId": id, "predicate": name, "objects": objects(two)}, invalid, "input.predicate"},
			bad{fmt.Sprintf("the predicate %q", name), "removeEntityRelations", vars{"entityId": id, "predicate": name, "objectIds": []string{two}}, invalid, "input.predicate"},
			bad{fmt.Sprintf("the name %q", name), "declareEntityIndex", vars{"scopeId": r.scope, "name": name, "type": "Thing", "path": []string{"x"}, "kind": "STRING"}, invalid, "input.name"},
			bad{fmt.Sprintf("the type %q", name), "declareEntityIndex", vars{"scopeId": r.scope, "name": "x", "type": name, "path": []string{"x"}, "kind": "STRING"}, invalid, "input.type"})
	}
	for _, key := range []string{"", strings.Repeat("x", 201), strings.Repeat("é", 101), "a\x00b", "a\nb", "\u0085", "\x7f"} {
		set(fmt.Sprintf("the key %.20q", key), vars{"key": key}, invalid, "input.key")
	}
	attributes("350,001 bytes", vars{"x": strings.Repeat("x", 349_993)}, invalid, "")
	attributes("400 KB of small values", vars{"x": make([]int, 190_000)}, invalid, "")
	attributes("few characters and many bytes", vars{"x": strings.Repeat("😀", 87_500)}, invalid, "")
	attributes("a reserved name", vars{"_x": 1}, invalid, "._x")
	attributes("a reserved name of ours", vars{"a": 1, "_meta": vars{}}, invalid, "._meta")
	attributes("an empty name", vars{"": 1}, invalid, "")
	attributes("an empty name further in", vars{"a": vars{"": 1}}, invalid, ".a")
	attributes("a name of 256 bytes", vars{strings.Repeat("x", 256): 1}, invalid, "")
	attributes("31 levels", nested(31), invalid, strings.Repeat(".a", 30))
	attributes("null", nil, unfit, "")
	attributes("a list", []any{}, unfit, "")
	attributes("a text", "{}", unfit, "")
	attributes("a number", 3, unfit, "")
	set("an expected version that is text", vars{"expectedVersion": "1"}, unfit, "input.expectedVersion")
	set("an empty idempotency key", vars{"idempotencyKey": ""}, invalid, "input.idempotencyKey")
	set("the same predicate twice", vars{"relations": []vars{under("p", id), under("p", two)}}, invalid, "input.relations.1.predicate")
	set("1,001 objects", vars{"relations": []vars{under("p", many(id, 1_001)...)}}, invalid, "input.relations.0.objects")
	set("1,001 objects under two", vars{"relations": []vars{under("p", many(id, 500)...), under("q", many(id, 501)...)}}, invalid, "input.relations.1.objects")
	set("another scope's object", vars{"relations": []vars{under("p", id, his)}}, invalid, "input.relations.0.objects.1.entityId")
	set("a note for an object", vars{"relations": []vars{under("p", id, note)}}, invalid, "input.relations.0.objects.1.entityId")
	set("a bad predicate", vars{"relations": []vars{under("a b", id)}}, invalid, "input.relations.0.predicate")
	set("attributes of a relation of 10,001 bytes", vars{"relations": []vars{{"predicate": "p", "objects": []vars{{"entityId": id, "attributes": vars{"x": strings.Repeat("x", 9_993)}}}}}}, invalid, "input.relations.0.objects.0.attributes")

	for _, mutation := range []string{"addEntityRelations", "replaceEntityRelations"} {
		with := func(reason string, objects any, code, field string) {
			cases = append(cases, bad{reason, mutation, vars{"entityId": id, "predicate": "p", "objects": objects}, code, field})
		}
		with("1,001 objects", objects(many(two, 1_001)...), invalid, "input.objects")
		with("another scope's object", objects(two, his), invalid, "input.objects.1.entityId")
		with("an object with a bad type", objects(gidOf("Entity", scopeKey(t, r.scope), "a b", "c")), invalid, "input.objects.0.entityId")
		with("an object with an empty key", objects(gidOf("Entity", scopeKey(t, r.scope), "Thing", "")), invalid, "input.objects.0.entityId")
		with("a scope for an object", objects(r.scope), invalid, "input.objects.0.entityId")
		with("a reserved name", []vars{{"entityId": two, "attributes": vars{"_x": 1}}}, invalid, "input.objects.0.attributes._x")
		with("10,001 bytes", []vars{{"entityId": two, "attributes": vars{"x": strings.Repeat("x", 9_993)}}}, invalid, "input.objects.0.attributes")
		with("null for objects", nil, unfit, "input.objects")
	}
	unknown := gidOf("Entity", scopeKey(t, r.scope), "Thing", "none")
	cases = append(cases, []bad{
		{"no objects", "addEntityRelations", vars{"entityId": id, "predicate": "p", "objects": []vars{}}, invalid, "input.objects"},
		{"no objects", "removeEntityRelations", vars{"entityId": id, "predicate": "p", "objectIds": []string{}}, invalid, "input.objectIds"},
		{"1,001 objects", "removeEntityRelations", vars{"entityId": id, "predicate": "p", "objectIds": many(two, 1_001)}, invalid, "input.objectIds"},
		{"a subject that is not there", "addEntityRelations", vars{"entityId": unknown, "predicate": "p", "objects": objects(id)}, "NOT_FOUND", ""},
		{"a subject of another scope", "replaceEntityRelations", vars{"entityId": his, "predicate": "p", "objects": []vars{}}, "NOT_FOUND", ""},
		{"a subject that is not there", "removeEntityRelations", vars{"entityId": unknown, "predicate": "p", "objectIds": []string{id}}, "NOT_FOUND", ""},
		{"an id of few parts", "updateEntity", vars{"entityId": gidOf("Entity", "a", "b"), "attributes": vars{}}, invalid, "input.entityId"},
		{"an entity that is not there", "updateEntity", vars{"entityId": unknown, "attributes": vars{}}, "NOT_FOUND", ""},
		{"an entity that is not there", "deleteEntity", vars{"entityId": unknown}, "NOT_FOUND", ""},
		{"a scope for an entity", "deleteEntity", vars{"entityId": r.scope}, invalid, "input.entityId"},
		{"an empty name", "createScope", vars{"name": ""}, invalid, "input.name"},
		{"a name of white space", "renameScope", vars{"scopeId": r.scope, "name": " \u00a0"}, invalid, "input.name"},
		{"a name of 101 characters", "createScope", vars{"name": strings.Repeat("é", 101)}, invalid, "input.name"},
		{"a name of two lines", "renameScope", vars{"scopeId": r.scope, "name": "a\nb"}, invalid, "input.name"},
		{"a name that is null", "renameScope", vars{"scopeId": r.scope, "name": nil}, unfit, "input.name"},
		{"an unknown role", "putScopeMember", vars{"scopeId": r.scope, "userId": bob.id, "role": "ADMIN"}, unfit, "input.role"},
		{"two users", "putScopeMember", vars{"scopeId": r.scope, "userId": bob.id, "email": "bob@example.com", "role": "READER"}, invalid, "input.userId"},
		{"no user", "putScopeMember", vars{"scopeId": r.scope, "role": "READER"}, invalid, "input.userId"},
		{"a note for a user", "removeScopeMember", vars{"scopeId": r.scope, "userId": note}, invalid, "input.userId"},
		{"no path", "declareEntityIndex", vars{"scopeId": r.scope, "name": "x", "type": "Thing", "path": []string{}, "kind": "STRING"}, invalid, "input.path"},
		{"a path of 11", "declareEntityIndex", vars{"scopeId": r.scope, "name": "x", "type": "Thing", "path": numbered("a", 11), "kind": "STRING"}, invalid, "input.path"},
		{"a reserved path", "declareEntityIndex", vars{"scopeId": r.scope, "name": "x", "type": "Thing", "path": []string{"_meta"}, "kind": "STRING"}, invalid, "input.path"},
		{"an empty name in a path", "declareEntityIndex", vars{"scopeId": r.scope, "name": "x", "type": "Thing", "path": []string{"a", ""}, "kind": "STRING"}, invalid, "input.path"},
		{"an unknown kind", "declareEntityIndex", vars{"scopeId": r.scope, "name": "x", "type": "Thing", "path": []string{"a"}, "kind": "DATE"}, unfit, "input.kind"},
		{"a name that is taken", "declareEntityIndex", vars{"scopeId": r.scope, "name": "n", "type": "Thing", "path": []string{"a"}, "kind": "STRING"}, "CONFLICT", "input.name"},
		{"an index that is not there", "removeEntityIndex", vars{"scopeId": r.scope, "name": "none"}, "NOT_FOUND", "input.name"},
	}...)
	r.refuses(func() string { return r.scopesState() + bob.scopesState() }, cases)

	t.Run("numbers", func(t *testing.T) { // as they are written: Go would round them
		before := r.scopesState()
		for _, number := range []string{strings.Repeat("9", 39), "1e126", "-1e999", "1e-126", "0." + strings.Repeat("3", 39), "1e99999999999999999999"} {
			a := r.send([]byte(`{"query": "mutation($a: JSON!) { updateEntity(input: {entityId: \"` + id + `\", attributes: $a}) { entity { version } } }", "variables": {"a": {"x": [` + number + `]}}}`))
			a.t = t
			a.fails(invalid, "input.attributes.x.0")
			a.tellsNothingInner()
		}
		assert.Equal(t, before, r.scopesState())
		for _, number := range []string{strings.Repeat("9", 38), "-1." + strings.Repeat("2", 37), "1e125", "1e-125", "-0.0", "0", "1.50"} {
			a := r.send([]byte(`{"query": "mutation($a: JSON!) { updateEntity(input: {entityId: \"` + id + `\", attributes: $a}) { entity { attributes } } }", "variables": {"a": {"x": [` + number + `]}}}`))
			require.Empty(t, a.Errors, "%s", a.body)
		}
	})
}

// many is one thing n times.
func many(id string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = id
	}
	return list
}

func TestTheLargestEntityCanBeKept(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Things")
	large := strings.Repeat("x", 349_992) // {"x":"…"} are 350,000 bytes
	id := r.set("Thing", strings.Repeat("k", 200), vars{"x": large})
	a := r.must(`query($e: ID!) { entity(id: $e) { attributes } }`, vars{"e": id})
	assert.True(t, a.str("entity.attributes.x") == large, "as it was sent")
	r.set("Thing", strings.Repeat("é", 100), vars{"x": strings.Repeat("\"", 174_996)})
	r.set("Thing", "deep", nested(30))
	r.mutate("updateEntity", "__typename", vars{"entityId": id, "attributes": vars{"y": 1}}).fails(invalid, "input.attributes")
	a = r.mutate("updateEntity", "entity { version }", vars{"entityId": id, "attributes": vars{"x": nil, "y": strings.Repeat("é", 174_990)}})
	assert.InDelta(t, 2, a.at("result.entity.version"), 0, "%.200s", a.body)
	ids := many(id, 1_000)
	r.mutate("replaceEntityRelations", "entity { id }", vars{"entityId": id, "predicate": "p", "objects": objects(ids...)})
	a = r.must(`query($e: ID!) { entity(id: $e) { relations(first: 500) { edges { index } pageInfo { hasNextPage } } } }`, vars{"e": id})
	assert.Len(t, a.list("entity.relations.edges"), 500)
	assert.Equal(t, true, a.at("entity.relations.pageInfo.hasNextPage"))
}

func TestIdsOfAnyCharacters(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Odd: #1")
	keys := []string{":", "#", "a", "a:b", "a#b", "a%b", "a%3Ab", "a~b", "a!b", "a/b", "a b", " a", "日本", "😀", "Thing", "a:b:c", `"`, "\u00a0", "\ufffd", "é", "e\u0301"}
	ids := map[string]string{}
	for _, key := range keys {
		ids[key] = r.set("Thing", key, vars{"title": key})
	}
	r.declare("title", "Thing", "STRING", "title")
	for i, key := range keys {
		next := keys[(i+1)%len(keys)]
		r.mutate("addEntityRelations", "entity { id }", vars{"entityId": ids[key], "predicate": "next", "objects": objects(ids[next], ids[key])})
	}
	for i, key := range keys {
		next, before := keys[(i+1)%len(keys)], keys[(i+len(keys)-1)%len(keys)]
		assert.Equal(t, key, r.anEntity(ids[key], "Thing", key).str("attributes.title"))
		assert.Equal(t, "next:"+next+" next:"+key, r.related(ids[key], "relations", `(predicate: "next")`))
		back := r.related(ids[key], "reverseRelations", "")
		assert.Contains(t, []string{"next:" + before + " next:" + key, "next:" + key + " next:" + before}, back)
		found := r.must(`query($s: ID!, $k: IndexKey!) { scope(id: $s) { lookup(index: "title", key: {equals: $k}) { nodes { key } } } }`, vars{"s": r.scope, "k": key})
		assert.Equal(t, []any{map[string]any{"key": key}}, found.list("scope.lookup.nodes"))
	}
	r.mutate("deleteEntity", "deletedEntityId", vars{"entityId": ids["a"]})
	for _, key := range keys {
		assert.Equal(t, key != "a", r.anEntity(ids[key], "Thing", key) != nil, "%q", key)
	}
}

func TestBadArgumentsOfEntities(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Things")
	one := r.set("Thing", "one", vars{"n": 1})
	two := r.set("Thing", "two", vars{"n": 2}, under("p", one, one), under("q", one))
	r.declare("n", "Thing", "NUMBER", "n")
	r.declare("m", "Thing", "NUMBER", "n")
	lists := map[string]string{
		"entities": `scope(id: $s) { list: entities(type: "Thing"ARGS) { PAGE } }`, "of another type": `scope(id: $s) { list: entities(type: "Other"ARGS) { PAGE } }`,
		"lookup": `scope(id: $s) { list: lookup(index: "n"ARGS) { PAGE } }`, "of another index": `scope(id: $s) { list: lookup(index: "m"ARGS) { PAGE } }`,
		"under a condition": `scope(id: $s) { list: lookup(index: "n", key: {after: 0}ARGS) { PAGE } }`, "under another": `scope(id: $s) { list: lookup(index: "n", key: {after: -1}ARGS) { PAGE } }`,
		"members":   `scope(id: $s) { list: members(first: 1ARGS) { PAGE } }`,
		"relations": `scope: entity(id: $e) { list: relations(first: 1ARGS) { PAGE } }`, "of one": `scope: entity(id: $o) { list: relations(first: 1ARGS) { PAGE } }`,
		"under p": `scope: entity(id: $e) { list: relations(predicate: "p"ARGS) { PAGE } }`, "under q": `scope: entity(id: $e) { list: relations(predicate: "q"ARGS) { PAGE } }`,
		"back": `scope: entity(id: $e) { list: reverseRelations(first: 1ARGS) { PAGE } }`, "back to one": `scope: entity(id: $o) { list: reverseRelations(first: 1ARGS) { PAGE } }`,
		"scopes": `scope: viewer { list: scopes(first: 1ARGS) { PAGE } }`, "projects": `scope: viewer { list: projects(first: 1ARGS) { PAGE } }`,
	}
	ask := func(list, arguments string) *answer {
		used, parameters := vars{}, ""
		for name, id := range map[string]string{"s": r.scope, "e": two, "o": one} {
			if strings.Contains(lists[list], "$"+name) {
				used[name], parameters = id, parameters+"$"+name+": ID! "
			}
		}
		query := strings.ReplaceAll(strings.ReplaceAll(lists[list], "ARGS", arguments), "PAGE", "edges { cursor } pageInfo { endCursor }")
		if parameters != "" {
			query = "query(" + parameters + ") { " + query + " }"
		} else {
			query = "{ " + query + " }"
		}
		return r.do(query, used)
	}
	cursors := map[string]string{}
	for name := range lists {
		a := ask(name, "")
		require.Empty(t, a.Errors, "%s: %s", name, a.body)
		if cursor, ok := a.at("scope.list.pageInfo.endCursor").(string); ok {
			cursors[name] = cursor
		}
	}
	require.Len(t, cursors, 11, "the others are empty")
	for name := range lists {
		for from, cursor := range cursors {
			a := ask(name, `, after: "`+cursor+`"`)
			if from == name {
				assert.Empty(t, a.Errors, "%s: %s", name, a.body)
				continue
			}
			a.fails(invalid, "after")
		}
		if !strings.Contains(lists[name], "first: 1") {
			for arguments, field := range map[string]string{", first: 0": "first", ", first: 501": "first", ", last: 0": "last", ", last: 501": "last", ", first: 1, last: 1": "last", `, after: "x"`: "after", `, after: ""`: "after"} {
				ask(name, arguments).fails(invalid, field)
			}
		}
	}
	for query, field := range map[string]string{
		`scope(id: "` + one + `") { id }`: "id", `entity(id: "` + r.scope + `") { id }`: "id", `entity(id: "x") { id }`: "id",
		`scope(id: "` + r.scope + `") { entities(type: "a b") { nodes { id } } }`:                 "type",
		`entity(id: "` + one + `") { relations(predicate: "a b") { nodes { key } } }`:             "predicate",
		`entity(id: "` + one + `") { relations(predicate: "") { nodes { key } } }`:                "predicate",
		`entity(id: "` + one + `") { reverseRelations(predicate: "a:b") { nodes { key } } }`:      "predicate",
		`entity(id: "` + gidOf("Entity", "", "", "") + `") { id }`:                                "id",
		`scope(id: "` + r.scope + `") { lookup(index: "") { nodes { id } } }`:                     "index",
		`scope(id: "` + r.scope + `") { lookup(index: "n", key: {after: "x"}) { nodes { id } } }`: "key.after",
	} {
		a := r.do("{ "+query+" }", nil)
		a.fails(invalid, field)
		a.tellsNothingInner()
	}
	for _, nothing := range []string{
		`scope(id: "` + r.scope + `") { entity(type: "a b", key: "x") { id } }`, `scope(id: "` + r.scope + `") { entity(type: "Thing", key: "") { id } }`,
		`scope(id: "` + r.scope + `") { entity(type: "Thing", key: "` + strings.Repeat("x", 3_000) + `") { id } }`,
		`scope(id: "` + gidOf("Scope", strings.Repeat("x", 201)) + `") { id }`,
	} {
		assert.Contains(t, r.must("{ "+nothing+" }", nil).data(), `:null`)
	}
}
