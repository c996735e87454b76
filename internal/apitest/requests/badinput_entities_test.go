package requests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// together is how many refused requests are looked at together: to look at the whole state takes longer than to ask.
const together = 20

// looks reports whether the state is looked at after the nth answer of all: each that counts a call that writes, every 20th and the last.
func looks(a *apitest.Answer, n, all int) bool {
	return a.Wrote() || (n+1)%together == 0 || n == all-1
}

// refuses sends what is wrong, and checks that it is refused and nothing has changed.
func refuses(c *apitest.Client, state func() string, cases []bad) {
	c.T.Helper()
	before := state()
	for n, b := range cases {
		assert.True(c.T, func() bool {
			a := c.Mutate(b.mutation, "__typename", b.input)
			a.TellsNothingInner()
			return assert.Len(c.T, a.Errors, 1, "%s: %s", b.reason, a.Body) &&
				assert.Equal(c.T, b.code+" "+b.field, a.Errors[0].Extensions.Code+" "+a.Errors[0].Extensions.Field, "%s: %.500s", b.reason, a.Body) &&
				assert.False(c.T, a.Errors[0].Extensions.Retryable, b.reason) &&
				(!looks(a, n, len(cases)) || assert.True(c.T, before == state(), "this or one of the %d before changed something", together-1)) // the two would fill pages
		}(), "%s %s", b.mutation, b.reason)
	}
}

func TestBadInputChangesNoEntity(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Things")
	id := r.Set("Thing", "one", apitest.Vars{"n": 1})
	two := r.Set("Thing", "two", apitest.Vars{}, apitest.Under("to", id))
	r.Declare("n", "Thing", "NUMBER", "n")
	bob := s.User("bob@example.com").Space("His")
	his := bob.Set("Thing", "his", apitest.Vars{})
	note := r.Notes(1)[0]
	long := strings.Repeat("x", 65)

	var cases []bad
	set := func(reason string, change apitest.Vars, code, field string) {
		input := apitest.Vars{"scopeId": r.Scope, "type": "Thing", "key": "new", "attributes": apitest.Vars{}}
		for name, value := range change {
			input[name] = value
		}
		cases = append(cases, bad{reason, "setEntity", input, code, field})
	}
	attributes := func(reason string, value any, code, field string) {
		set(reason, apitest.Vars{"attributes": value}, code, "input.attributes"+field)
		cases = append(cases, bad{reason, "updateEntity", apitest.Vars{"entityId": id, "attributes": value}, code, "input.attributes" + field})
	}
	set("a scope that never was", apitest.Vars{"scopeId": apitest.GIDOf("Scope", "none")}, "NOT_FOUND", "")
	set("a scope of another", apitest.Vars{"scopeId": bob.Scope}, "NOT_FOUND", "")
	set("a scope of our own", apitest.Vars{"scopeId": apitest.GIDOf("Scope", "taggie")}, "NOT_FOUND", "")
	set("a note for a scope", apitest.Vars{"scopeId": note}, apitest.Invalid, "input.scopeId")
	set("no id for a scope", apitest.Vars{"scopeId": "?"}, apitest.Invalid, "input.scopeId")
	for _, name := range []string{"", " ", "9", "_a", "-a", "a b", "a:b", "a#b", "é", "a\x00", "Aé", long} {
		set(fmt.Sprintf("the type %q", name), apitest.Vars{"type": name}, apitest.Invalid, "input.type")
		cases = append(cases,
			bad{fmt.Sprintf("the predicate %q", name), "addEntityRelations", apitest.Vars{"entityId": id, "predicate": name, "objects": apitest.Objects(two)}, apitest.Invalid, "input.predicate"},
			bad{fmt.Sprintf("the predicate %q", name), "replaceEntityRelations", apitest.Vars{"entityId": id, "predicate": name, "objects": apitest.Objects(two)}, apitest.Invalid, "input.predicate"},
			bad{fmt.Sprintf("the predicate %q", name), "removeEntityRelations", apitest.Vars{"entityId": id, "predicate": name, "objectIds": []string{two}}, apitest.Invalid, "input.predicate"},
			bad{fmt.Sprintf("the name %q", name), "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": name, "type": "Thing", "path": []string{"x"}, "kind": "STRING"}, apitest.Invalid, "input.name"},
			bad{fmt.Sprintf("the type %q", name), "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "x", "type": name, "path": []string{"x"}, "kind": "STRING"}, apitest.Invalid, "input.type"})
	}
	for _, key := range []string{"", strings.Repeat("x", 201), strings.Repeat("é", 101), "a\x00b", "a\nb", "\u0085", "\x7f"} {
		set(fmt.Sprintf("the key %.20q", key), apitest.Vars{"key": key}, apitest.Invalid, "input.key")
	}
	attributes("350,001 bytes", apitest.Vars{"x": strings.Repeat("x", 349_993)}, apitest.Invalid, "")
	attributes("400 KB of small values", apitest.Vars{"x": make([]int, 190_000)}, apitest.Invalid, "")
	attributes("few characters and many bytes", apitest.Vars{"x": strings.Repeat("😀", 87_500)}, apitest.Invalid, "")
	attributes("a reserved name", apitest.Vars{"_x": 1}, apitest.Invalid, "._x")
	attributes("a reserved name of ours", apitest.Vars{"a": 1, "_meta": apitest.Vars{}}, apitest.Invalid, "._meta")
	attributes("an empty name", apitest.Vars{"": 1}, apitest.Invalid, "")
	attributes("an empty name further in", apitest.Vars{"a": apitest.Vars{"": 1}}, apitest.Invalid, ".a")
	attributes("a name of 256 bytes", apitest.Vars{strings.Repeat("x", 256): 1}, apitest.Invalid, "")
	attributes("31 levels", apitest.Nested(31), apitest.Invalid, strings.Repeat(".a", 30))
	attributes("null", nil, apitest.Unfit, "")
	attributes("a list", []any{}, apitest.Unfit, "")
	attributes("a text", "{}", apitest.Unfit, "")
	attributes("a number", 3, apitest.Unfit, "")
	meta := func(reason string, value any, code, field string) {
		set(reason, apitest.Vars{"meta": value}, code, "input.meta"+field)
		cases = append(cases, bad{reason, "updateEntity", apitest.Vars{"entityId": id, "attributes": apitest.Vars{}, "meta": value}, code, "input.meta" + field})
	}
	for _, name := range []string{"version", "deleting", "deletion"} {
		meta("the reserved name "+name, apitest.Vars{name: 1}, apitest.Invalid, "."+name)
	}
	meta("meta of 350,001 bytes", apitest.Vars{"x": strings.Repeat("x", 349_993)}, apitest.Invalid, "")
	meta("meta with an empty name", apitest.Vars{"": 1}, apitest.Invalid, "")
	meta("meta of 31 levels", apitest.Nested(31), apitest.Invalid, strings.Repeat(".a", 30))
	meta("a list as meta", []any{}, apitest.Unfit, "")
	meta("a text as meta", "{}", apitest.Unfit, "")
	set("attributes and meta that are too large together", apitest.Vars{"attributes": apitest.Vars{"x": strings.Repeat("x", 175_000)}, "meta": apitest.Vars{"x": strings.Repeat("x", 175_000)}}, apitest.Invalid, "input.meta")
	set("an expected version that is text", apitest.Vars{"expectedVersion": "1"}, apitest.Unfit, "input.expectedVersion")
	set("an empty idempotency key", apitest.Vars{"idempotencyKey": ""}, apitest.Invalid, "input.idempotencyKey")
	set("the same predicate twice", apitest.Vars{"relations": []apitest.Vars{apitest.Under("p", id), apitest.Under("p", two)}}, apitest.Invalid, "input.relations.1.predicate")
	set("1,001 objects", apitest.Vars{"relations": []apitest.Vars{apitest.Under("p", apitest.Many(id, 1_001)...)}}, apitest.Invalid, "input.relations.0.objects")
	set("1,001 objects under two", apitest.Vars{"relations": []apitest.Vars{apitest.Under("p", apitest.Many(id, 500)...), apitest.Under("q", apitest.Many(id, 501)...)}}, apitest.Invalid, "input.relations.1.objects")
	set("another scope's object", apitest.Vars{"relations": []apitest.Vars{apitest.Under("p", id, his)}}, "NOT_FOUND", "input.relations.0.objects.1.entityId")
	set("objects in 11 other scopes", apitest.Vars{"relations": []apitest.Vars{apitest.Under("p", inScopes(11)...)}}, apitest.Invalid, "input.relations.0.objects.10.entityId")
	set("a note for an object", apitest.Vars{"relations": []apitest.Vars{apitest.Under("p", id, note)}}, apitest.Invalid, "input.relations.0.objects.1.entityId")
	set("a bad predicate", apitest.Vars{"relations": []apitest.Vars{apitest.Under("a b", id)}}, apitest.Invalid, "input.relations.0.predicate")
	set("attributes of a relation of 10,001 bytes", apitest.Vars{"relations": []apitest.Vars{{"predicate": "p", "objects": []apitest.Vars{{"entityId": id, "attributes": apitest.Vars{"x": strings.Repeat("x", 9_993)}}}}}}, apitest.Invalid, "input.relations.0.objects.0.attributes")

	for _, mutation := range []string{"addEntityRelations", "replaceEntityRelations"} {
		with := func(reason string, objects any, code, field string) {
			cases = append(cases, bad{reason, mutation, apitest.Vars{"entityId": id, "predicate": "p", "objects": objects}, code, field})
		}
		with("1,001 objects", apitest.Objects(apitest.Many(two, 1_001)...), apitest.Invalid, "input.objects")
		with("another scope's object", apitest.Objects(two, his), "NOT_FOUND", "input.objects.1.entityId")
		with("objects in 11 other scopes", apitest.Objects(inScopes(11)...), apitest.Invalid, "input.objects.10.entityId")
		with("an object in a scope without a name", apitest.Objects(apitest.GIDOf("Entity", "", "Thing", "one")), apitest.Invalid, "input.objects.0.entityId")
		with("an object with a bad type", apitest.Objects(apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "a b", "c")), apitest.Invalid, "input.objects.0.entityId")
		with("an object with an empty key", apitest.Objects(apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "Thing", "")), apitest.Invalid, "input.objects.0.entityId")
		with("a scope for an object", apitest.Objects(r.Scope), apitest.Invalid, "input.objects.0.entityId")
		with("a reserved name", []apitest.Vars{{"entityId": two, "attributes": apitest.Vars{"_x": 1}}}, apitest.Invalid, "input.objects.0.attributes._x")
		with("10,001 bytes", []apitest.Vars{{"entityId": two, "attributes": apitest.Vars{"x": strings.Repeat("x", 9_993)}}}, apitest.Invalid, "input.objects.0.attributes")
		with("null for objects", nil, apitest.Unfit, "input.objects")
	}
	unknown := apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "Thing", "none")
	cases = append(cases, []bad{
		{"no objects", "addEntityRelations", apitest.Vars{"entityId": id, "predicate": "p", "objects": []apitest.Vars{}}, apitest.Invalid, "input.objects"},
		{"no objects", "removeEntityRelations", apitest.Vars{"entityId": id, "predicate": "p", "objectIds": []string{}}, apitest.Invalid, "input.objectIds"},
		{"1,001 objects", "removeEntityRelations", apitest.Vars{"entityId": id, "predicate": "p", "objectIds": apitest.Many(two, 1_001)}, apitest.Invalid, "input.objectIds"},
		{"a subject that is not there", "addEntityRelations", apitest.Vars{"entityId": unknown, "predicate": "p", "objects": apitest.Objects(id)}, "NOT_FOUND", ""},
		{"a subject of another scope", "replaceEntityRelations", apitest.Vars{"entityId": his, "predicate": "p", "objects": []apitest.Vars{}}, "NOT_FOUND", ""},
		{"a subject that is not there", "removeEntityRelations", apitest.Vars{"entityId": unknown, "predicate": "p", "objectIds": []string{id}}, "NOT_FOUND", ""},
		{"an id of few parts", "updateEntity", apitest.Vars{"entityId": apitest.GIDOf("Entity", "a", "b"), "attributes": apitest.Vars{}}, apitest.Invalid, "input.entityId"},
		{"an entity that is not there", "updateEntity", apitest.Vars{"entityId": unknown, "attributes": apitest.Vars{}}, "NOT_FOUND", ""},
		{"an entity that is not there", "deleteEntity", apitest.Vars{"entityId": unknown}, "NOT_FOUND", ""},
		{"a scope for an entity", "deleteEntity", apitest.Vars{"entityId": r.Scope}, apitest.Invalid, "input.entityId"},
		{"an empty name", "createScope", apitest.Vars{"name": ""}, apitest.Invalid, "input.name"},
		{"a name of white space", "renameScope", apitest.Vars{"scopeId": r.Scope, "name": " \u00a0"}, apitest.Invalid, "input.name"},
		{"a name of 101 characters", "createScope", apitest.Vars{"name": strings.Repeat("é", 101)}, apitest.Invalid, "input.name"},
		{"a name of two lines", "renameScope", apitest.Vars{"scopeId": r.Scope, "name": "a\nb"}, apitest.Invalid, "input.name"},
		{"a name that is null", "renameScope", apitest.Vars{"scopeId": r.Scope, "name": nil}, apitest.Unfit, "input.name"},
		{"another's scope", "deleteScope", apitest.Vars{"scopeId": bob.Scope}, "NOT_FOUND", ""},
		{"a note for a scope", "deleteScope", apitest.Vars{"scopeId": note}, apitest.Invalid, "input.scopeId"},
		{"null for a flag", "deleteScope", apitest.Vars{"scopeId": r.Scope, "purge": nil}, apitest.Unfit, "input.purge"},
		{"a word for a version", "deleteScope", apitest.Vars{"scopeId": r.Scope, "expectedVersion": "two"}, apitest.Unfit, "input.expectedVersion"},
		{"another's scope", "undoDeleteScope", apitest.Vars{"scopeId": bob.Scope}, "NOT_FOUND", ""},
		{"a scope of our own", "undoDeleteScope", apitest.Vars{"scopeId": apitest.GIDOf("Scope", "taggie")}, "NOT_FOUND", ""},
		{"a long id", "undoDeleteScope", apitest.Vars{"scopeId": apitest.GIDOf("Scope", strings.Repeat("x", 201))}, "NOT_FOUND", ""},
		{"no scope", "undoDeleteScope", apitest.Vars{"scopeId": ""}, apitest.Invalid, "input.scopeId"},
		{"a scope that is not deleted", "purgeDeletedScope", apitest.Vars{"scopeId": r.Scope}, "NOT_FOUND", ""},
		{"a note for a scope", "purgeDeletedScope", apitest.Vars{"scopeId": note}, apitest.Invalid, "input.scopeId"},
		{"an unknown role", "putScopeMember", apitest.Vars{"scopeId": r.Scope, "userId": bob.ID, "role": "ADMIN"}, apitest.Unfit, "input.role"},
		{"two users", "putScopeMember", apitest.Vars{"scopeId": r.Scope, "userId": bob.ID, "email": "bob@example.com", "role": "READER"}, apitest.Invalid, "input.userId"},
		{"no user", "putScopeMember", apitest.Vars{"scopeId": r.Scope, "role": "READER"}, apitest.Invalid, "input.userId"},
		{"a note for a user", "removeScopeMember", apitest.Vars{"scopeId": r.Scope, "userId": note}, apitest.Invalid, "input.userId"},
		{"no path", "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "x", "type": "Thing", "path": []string{}, "kind": "STRING"}, apitest.Invalid, "input.path"},
		{"a path of 11", "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "x", "type": "Thing", "path": apitest.Numbered("a", 11), "kind": "STRING"}, apitest.Invalid, "input.path"},
		{"a reserved path", "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "x", "type": "Thing", "path": []string{"_meta"}, "kind": "STRING"}, apitest.Invalid, "input.path"},
		{"an empty name in a path", "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "x", "type": "Thing", "path": []string{"a", ""}, "kind": "STRING"}, apitest.Invalid, "input.path"},
		{"an unknown kind", "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "x", "type": "Thing", "path": []string{"a"}, "kind": "DATE"}, apitest.Unfit, "input.kind"},
		{"a name that is taken", "declareEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "n", "type": "Thing", "path": []string{"a"}, "kind": "STRING"}, "CONFLICT", "input.name"},
		{"an index that is not there", "removeEntityIndex", apitest.Vars{"scopeId": r.Scope, "name": "none"}, "NOT_FOUND", "input.name"},
	}...)
	refuses(r.Client, func() string { return r.ScopesState() + bob.ScopesState() }, cases)

	t.Run("numbers", func(t *testing.T) { // as they are written: Go would round them
		before := r.ScopesState()
		for _, number := range []string{strings.Repeat("9", 39), "1e126", "-1e999", "1e-126", "0." + strings.Repeat("3", 39), "1e99999999999999999999"} {
			a := r.Send([]byte(`{"query": "mutation($a: JSON!) { updateEntity(input: {entityId: \"` + id + `\", attributes: $a}) { entity { version } } }", "variables": {"a": {"x": [` + number + `]}}}`))
			a.T = t
			a.Fails(apitest.Invalid, "input.attributes.x.0")
			a.TellsNothingInner()
		}
		assert.Equal(t, before, r.ScopesState())
		for _, number := range []string{strings.Repeat("9", 38), "-1." + strings.Repeat("2", 37), "1e125", "1e-125", "-0.0", "0", "1.50"} {
			a := r.Send([]byte(`{"query": "mutation($a: JSON!) { updateEntity(input: {entityId: \"` + id + `\", attributes: $a}) { entity { attributes } } }", "variables": {"a": {"x": [` + number + `]}}}`))
			require.Empty(t, a.Errors, "%s", a.Body)
		}
	})
}

func TestTheLargestEntityCanBeKept(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Things")
	large := strings.Repeat("x", 349_992) // {"x":"…"} are 350,000 bytes
	id := r.Set("Thing", strings.Repeat("k", 200), apitest.Vars{"x": large})
	a := r.Must(`query($e: ID!) { entity(id: $e) { attributes } }`, apitest.Vars{"e": id})
	assert.True(t, a.Str("entity.attributes.x") == large, "as it was sent")
	r.Set("Thing", strings.Repeat("é", 100), apitest.Vars{"x": strings.Repeat("\"", 174_996)})
	r.Set("Thing", "deep", apitest.Nested(30))
	r.Mutate("updateEntity", "__typename", apitest.Vars{"entityId": id, "attributes": apitest.Vars{"y": 1}}).Fails(apitest.Invalid, "input.attributes")
	a = r.Mutate("updateEntity", "entity { version }", apitest.Vars{"entityId": id, "attributes": apitest.Vars{"x": nil, "y": strings.Repeat("é", 174_990)}})
	assert.InDelta(t, 2, a.At("result.entity.version"), 0, "%.200s", a.Body)
	ids := apitest.Many(id, 1_000)
	r.Mutate("replaceEntityRelations", "entity { id }", apitest.Vars{"entityId": id, "predicate": "p", "objects": apitest.Objects(ids...)})
	a = r.Must(`query($e: ID!) { entity(id: $e) { relations(first: 500) { edges { index } pageInfo { hasNextPage } } } }`, apitest.Vars{"e": id})
	assert.Len(t, a.List("entity.relations.edges"), 500)
	assert.Equal(t, true, a.At("entity.relations.pageInfo.hasNextPage"))
}

func TestIdsOfAnyCharacters(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Odd: #1")
	keys := []string{":", "#", "a", "a:b", "a#b", "a%b", "a%3Ab", "a~b", "a!b", "a/b", "a b", " a", "日本", "😀", "Thing", "a:b:c", `"`, "\u00a0", "\ufffd", "é", "e\u0301"}
	ids := map[string]string{}
	for _, key := range keys {
		ids[key] = r.Set("Thing", key, apitest.Vars{"title": key})
	}
	r.Declare("title", "Thing", "STRING", "title")
	for i, key := range keys {
		next := keys[(i+1)%len(keys)]
		r.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": ids[key], "predicate": "next", "objects": apitest.Objects(ids[next], ids[key])})
	}
	for i, key := range keys {
		next, before := keys[(i+1)%len(keys)], keys[(i+len(keys)-1)%len(keys)]
		assert.Equal(t, key, r.AnEntity(ids[key], "Thing", key).Str("attributes.title"))
		assert.Equal(t, "next:"+next+" next:"+key, r.Related(ids[key], "relations", `(predicate: "next")`))
		back := r.Related(ids[key], "reverseRelations", "")
		assert.Contains(t, []string{"next:" + before + " next:" + key, "next:" + key + " next:" + before}, back)
		found := r.Must(`query($s: ID!, $k: IndexKey!) { scope(id: $s) { lookup(index: "title", key: {equals: $k}) { nodes { key } } } }`, apitest.Vars{"s": r.Scope, "k": key})
		assert.Equal(t, []any{map[string]any{"key": key}}, found.List("scope.lookup.nodes"))
	}
	r.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": ids["a"]})
	for _, key := range keys {
		assert.Equal(t, key != "a", r.AnEntity(ids[key], "Thing", key) != nil, "%q", key)
	}
}

func TestBadArgumentsOfEntities(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Things")
	one := r.Set("Thing", "one", apitest.Vars{"n": 1})
	two := r.Set("Thing", "two", apitest.Vars{"n": 2}, apitest.Under("p", one, one), apitest.Under("q", one))
	r.Declare("n", "Thing", "NUMBER", "n")
	r.Declare("m", "Thing", "NUMBER", "n")
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
	ask := func(list, arguments string) *apitest.Answer {
		used, parameters := apitest.Vars{}, ""
		for name, id := range map[string]string{"s": r.Scope, "e": two, "o": one} {
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
		return r.Do(query, used)
	}
	cursors := map[string]string{}
	for name := range lists {
		a := ask(name, "")
		require.Empty(t, a.Errors, "%s: %s", name, a.Body)
		if cursor, ok := a.At("scope.list.pageInfo.endCursor").(string); ok {
			cursors[name] = cursor
		}
	}
	require.Len(t, cursors, 11, "the others are empty")
	for name := range lists {
		for from, cursor := range cursors {
			a := ask(name, `, after: "`+cursor+`"`)
			if from == name {
				assert.Empty(t, a.Errors, "%s: %s", name, a.Body)
				continue
			}
			a.Fails(apitest.Invalid, "after")
		}
		if !strings.Contains(lists[name], "first: 1") {
			for arguments, field := range map[string]string{", first: 0": "first", ", first: 501": "first", ", last: 0": "last", ", last: 501": "last", ", first: 1, last: 1": "last", `, after: "x"`: "after", `, after: ""`: "after"} {
				ask(name, arguments).Fails(apitest.Invalid, field)
			}
		}
	}
	for query, field := range map[string]string{
		`scope(id: "` + one + `") { id }`: "id", `entity(id: "` + r.Scope + `") { id }`: "id", `entity(id: "x") { id }`: "id",
		`scope(id: "` + r.Scope + `") { entities(type: "a b") { nodes { id } } }`:                 "type",
		`entity(id: "` + one + `") { relations(predicate: "a b") { nodes { key } } }`:             "predicate",
		`entity(id: "` + one + `") { relations(predicate: "") { nodes { key } } }`:                "predicate",
		`entity(id: "` + one + `") { reverseRelations(predicate: "a:b") { nodes { key } } }`:      "predicate",
		`entity(id: "` + apitest.GIDOf("Entity", "", "", "") + `") { id }`:                        "id",
		`scope(id: "` + r.Scope + `") { lookup(index: "") { nodes { id } } }`:                     "index",
		`scope(id: "` + r.Scope + `") { lookup(index: "n", key: {after: "x"}) { nodes { id } } }`: "key.after",
	} {
		a := r.Do("{ "+query+" }", nil)
		a.Fails(apitest.Invalid, field)
		a.TellsNothingInner()
	}
	for _, nothing := range []string{
		`scope(id: "` + r.Scope + `") { entity(type: "a b", key: "x") { id } }`, `scope(id: "` + r.Scope + `") { entity(type: "Thing", key: "") { id } }`,
		`scope(id: "` + r.Scope + `") { entity(type: "Thing", key: "` + strings.Repeat("x", 3_000) + `") { id } }`,
		`scope(id: "` + apitest.GIDOf("Scope", strings.Repeat("x", 201)) + `") { id }`,
	} {
		assert.Contains(t, r.Must("{ "+nothing+" }", nil).Raw(), `:null`)
	}
}

// inScopes are ids of entities in so many scopes.
func inScopes(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = apitest.GIDOf("Entity", fmt.Sprint("scope", i), "Thing", "one")
	}
	return ids
}
