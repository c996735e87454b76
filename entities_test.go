package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// anEntity reads an entity in four ways, which must agree; nil when there is none.
func (r space) anEntity(id, typ, key string) *answer {
	r.t.Helper()
	a := r.must(`query($s: ID!, $e: ID!, $t: String!, $k: String!) { entity(id: $e) { ...all } node(id: $e) { ...all } nodes(ids: [$e]) { ...all }
		scope(id: $s) { entity(type: $t, key: $k) { ...all } } } fragment all on Entity { `+entityFields+` scope { id name } }`,
		vars{"s": r.scope, "e": id, "t": typ, "k": key})
	assert.Equal(r.t, a.at("entity"), a.at("node"))
	assert.Equal(r.t, a.at("entity"), a.list("nodes")[0])
	assert.Equal(r.t, a.at("entity"), a.at("scope.entity"))
	e, ok := a.at("entity").(map[string]any)
	if !ok {
		return nil
	}
	return &answer{t: r.t, body: a.body, Data: e}
}

func TestAnEntitysLife(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Films")
	const digits = "12345678901234567890123456789012345678"
	created := r.send([]byte(`{"query": "mutation($in: SetEntityInput!) { setEntity(input: $in) { entity { id key type version attributes } problem { __typename } } }",
		"variables": {"in": {"scopeId": "` + r.scope + `", "type": "Film", "attributes": {"title": "Alien", "n": ` + digits + `, "list": [1, "a", null, {"b": false}], "empty": {}}}}}`))
	require.Empty(t, created.Errors, "%s", created.body)
	id, key := created.str("setEntity.entity.id"), created.str("setEntity.entity.key")
	assert.NotEmpty(t, key, "it was made")
	e := r.anEntity(id, "Film", key)
	assert.Equal(t, "Films", e.str("scope.name"))
	assert.InDelta(t, 1, e.at("version"), 0)
	assert.Equal(t, e.str("createdAt"), e.str("updatedAt"))
	assert.Contains(t, e.body, `"n":`+digits, "all digits")
	assert.Equal(t, []any{1.0, "a", nil, map[string]any{"b": false}}, e.list("attributes.list"))
	assert.Equal(t, map[string]any{}, e.at("attributes.empty"))
	assert.Empty(t, e.list("indexEntries"))

	updated := r.mutate("updateEntity", "entity { "+entityFields+" } problem { __typename }",
		vars{"entityId": id, "attributes": vars{"title": "Aliens", "n": nil, "list": nil, "gone": nil, "new": []int{}}, "expectedVersion": 1})
	assert.Equal(t, map[string]any{"title": "Aliens", "empty": map[string]any{}, "new": []any{}}, updated.at("result.entity.attributes"))
	assert.InDelta(t, 2, updated.at("result.entity.version"), 0)
	e = r.anEntity(id, "Film", key)
	assert.Equal(t, updated.at("result.entity.attributes"), e.at("attributes"))
	assert.Equal(t, updated.at("result.entity.updatedAt"), e.at("updatedAt"))
	assert.Less(t, e.str("createdAt"), e.str("updatedAt"))

	assert.Equal(t, id, r.set("Film", key, vars{"title": "Alien 3"}), "its id stays")
	e = r.anEntity(id, "Film", key)
	assert.Equal(t, map[string]any{"title": "Alien 3"}, e.at("attributes"), "what is not given is removed")
	assert.InDelta(t, 3, e.at("version"), 0)

	const list = `query($s: ID!) { scope(id: $s) { entities(type: "Film") { edges { cursor node { key } } nodes { key version } pageInfo { hasNextPage } } } }`
	assert.Len(t, r.must(list, vars{"s": r.scope}).list("scope.entities.nodes"), 1)
	deleted := r.mutate("deleteEntity", "deletedEntityId problem { __typename }", vars{"entityId": id, "expectedVersion": 3})
	assert.Equal(t, id, deleted.str("result.deletedEntityId"))
	assert.Nil(t, r.anEntity(id, "Film", key))
	assert.Empty(t, r.must(list, vars{"s": r.scope}).list("scope.entities.nodes"))
	for mutation, input := range map[string]vars{
		"updateEntity": {"attributes": vars{}}, "deleteEntity": {}, "addEntityRelations": {"predicate": "p", "objects": objects(id)},
		"replaceEntityRelations": {"predicate": "p", "objects": []vars{}}, "removeEntityRelations": {"predicate": "p", "objectIds": []string{id}},
	} {
		input["entityId"] = id
		r.mutate(mutation, "__typename", input).fails("NOT_FOUND", "")
	}
	again := vars{"scopeId": r.scope, "type": "Film", "key": key, "attributes": vars{"title": "Prometheus"}}
	r.mutate("setEntity", "entity { id }", again).fails("UNAVAILABLE", "") // until indexes have surely shown what leads to the old one
	s.passes(5 * time.Minute)
	assert.Equal(t, id, r.mutate("setEntity", "entity { id }", again).str("result.entity.id"))
	assert.InDelta(t, 1, r.anEntity(id, "Film", key).at("version"), 0, "another one")
	s.passes(5 * time.Minute)
	assert.Equal(t, "Prometheus", r.anEntity(id, "Film", key).str("attributes.title"), "nothing of the deletion touches it")
}

func TestAWrongExpectedVersionIsAnOutcomeWithTheCurrentEntity(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Films")
	actor := r.set("Actor", "a", vars{})
	id := r.set("Film", "f", vars{"n": 1}, under("cast", actor))
	r.set("Film", "f", vars{"n": 2})
	const problem = `problem { __typename ... on EntityConflict { message current { key version attributes relations { nodes { key } } } } }`
	for mutation, input := range map[string]vars{
		"setEntity":    {"scopeId": r.scope, "type": "Film", "key": "f", "attributes": vars{"n": 3}, "relations": []vars{under("cast")}},
		"updateEntity": {"entityId": id, "attributes": vars{"n": 3}}, "deleteEntity": {"entityId": id},
	} {
		for _, expected := range []int{0, 1, 3, -1} {
			input["expectedVersion"] = expected
			a := r.mutate(mutation, problem, input)
			require.Empty(t, a.Errors, "%s", a.body)
			assert.Equal(t, "EntityConflict", a.str("result.problem.__typename"), "%s expecting %d", mutation, expected)
			assert.Equal(t, map[string]any{"key": "f", "version": 2.0, "attributes": map[string]any{"n": 2.0}, "relations": map[string]any{"nodes": []any{map[string]any{"key": "a"}}}}, a.at("result.problem.current"))
		}
	}
	a := r.mutate("setEntity", "entity { id } "+problem, vars{"scopeId": r.scope, "type": "Film", "key": "none", "attributes": vars{}, "expectedVersion": 2})
	assert.Equal(t, "EntityConflict", a.str("result.problem.__typename"))
	assert.Nil(t, a.at("result.problem.current"), "there is none")
	a = r.mutate("setEntity", "entity { version } "+problem, vars{"scopeId": r.scope, "type": "Film", "key": "none", "attributes": vars{}, "expectedVersion": 0})
	assert.InDelta(t, 1, a.at("result.entity.version"), 0)

	a = r.mutate("renameScope", "problem { __typename ... on ScopeConflict { message current { name version } } }", vars{"scopeId": r.scope, "name": "x", "expectedVersion": 7})
	assert.Equal(t, "ScopeConflict", a.str("result.problem.__typename"))
	assert.Equal(t, map[string]any{"name": "Films", "version": 1.0}, a.at("result.problem.current"))
}

func TestRelationsInBothDirections(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com").space("People")
	ids := map[string]string{}
	for _, name := range []string{"ann", "bob", "cid", "dan", "eve"} {
		ids[name] = ada.set("Person", name, vars{"name": name})
	}
	of := func(names ...string) (list []string) {
		for _, name := range names {
			list = append(list, ids[name])
		}
		return list
	}
	add := func(predicate string, names ...string) *answer {
		return ada.mutate("addEntityRelations", "entity { key relations { edges { predicate node { key } } } } problem { __typename }",
			vars{"entityId": ids["ann"], "predicate": predicate, "objects": objects(of(names...)...)})
	}
	assert.Equal(t, "likes:eve likes:bob", add("likes", "eve", "bob", "eve").edges("result.entity.relations.edges"), "in the order given, each once")
	assert.Equal(t, "likes:eve likes:bob likes:cid", add("likes", "bob", "cid").edges("result.entity.relations.edges"), "behind those that are there")
	add("likes_not", "dan", "bob")
	add("like", "dan")
	all := "like:dan likes:eve likes:bob likes:cid likes_not:dan likes_not:bob"
	assert.Equal(t, all, ada.related(ids["ann"], "relations", ""))
	for predicate, want := range map[string]string{"like": "like:dan", "likes": "likes:eve likes:bob likes:cid", "likes_not": "likes_not:dan likes_not:bob", "lik": "", "likes_no": ""} {
		assert.Equal(t, want, ada.related(ids["ann"], "relations", fmt.Sprintf("(predicate: %q)", predicate)), "a predicate is not those that begin with it")
	}
	assert.ElementsMatch(t, []string{"likes:ann", "likes_not:ann"}, strings.Fields(ada.related(ids["bob"], "reverseRelations", "")))
	assert.Equal(t, "likes_not:ann", ada.related(ids["bob"], "reverseRelations", `(predicate: "likes_not")`))
	assert.Equal(t, "likes:ann", ada.related(ids["bob"], "reverseRelations", `(predicate: "likes")`))

	// Circles, and oneself.
	ada.set("Person", "bob", vars{}, under("likes", of("ann", "bob", "ann")...))
	assert.Equal(t, "likes:ann likes:bob likes:ann", ada.related(ids["bob"], "relations", ""), "the same one more than once")
	a := ada.must(`query($e: ID!) { entity(id: $e) { relations(predicate: "likes") { nodes { key relations(predicate: "likes") { nodes { key relations(predicate: "likes") { nodes { key } } } } } } } }`, vars{"e": ids["bob"]})
	assert.Contains(t, a.body, `{"key":"bob","relations":{"nodes":[{"key":"ann"`)

	replace := func(names ...string) string {
		return ada.mutate("replaceEntityRelations", "entity { relations { edges { predicate node { key } } } } problem { __typename }",
			vars{"entityId": ids["ann"], "predicate": "likes", "objects": objects(of(names...)...)}).edges("result.entity.relations.edges")
	}
	assert.Equal(t, "like:dan likes:dan likes:ann likes:dan likes_not:dan likes_not:bob", replace("dan", "ann", "dan"), "others stay")
	assert.Equal(t, "like:dan likes_not:dan likes_not:bob", replace())
	assert.Equal(t, all, strings.Replace(replace("eve", "bob", "cid"), "  ", " ", 1))
	removed := ada.mutate("removeEntityRelations", "entity { relations { edges { predicate node { key } } } }",
		vars{"entityId": ids["ann"], "predicate": "likes", "objectIds": of("bob", "dan", "bob")})
	assert.Equal(t, "like:dan likes:eve likes:cid likes_not:dan likes_not:bob", removed.edges("result.entity.relations.edges"))

	// What a relation carries.
	a = ada.mutate("setEntity", "entity { relations { edges { attributes index } } }", vars{"scopeId": ada.scope, "type": "Person", "key": "cid", "attributes": vars{},
		"relations": []vars{{"predicate": "knows", "objects": []vars{{"entityId": ids["eve"], "attributes": vars{"since": 1999}}, {"entityId": ids["dan"]}}}}})
	edges := a.list("result.entity.relations.edges")
	assert.Equal(t, map[string]any{"since": 1999.0}, edges[0].(map[string]any)["attributes"])
	assert.Nil(t, edges[1].(map[string]any)["attributes"])
	assert.Less(t, edges[0].(map[string]any)["index"], edges[1].(map[string]any)["index"])

	// An object that does not exist is an outcome, and nothing is changed.
	unknown := gidOf("Entity", scopeKey(t, ada.scope), "Person", "zoe")
	for mutation, input := range map[string]vars{
		"setEntity":              {"scopeId": ada.scope, "type": "Person", "key": "ann", "attributes": vars{"x": 1}, "relations": []vars{under("likes", ids["bob"], unknown)}},
		"addEntityRelations":     {"entityId": ids["ann"], "predicate": "likes", "objects": objects(ids["bob"], unknown)},
		"replaceEntityRelations": {"entityId": ids["ann"], "predicate": "likes", "objects": objects(ids["bob"], unknown)},
	} {
		a := ada.mutate(mutation, "entity { id } problem { __typename ... on UnknownObject { message type key } }", input)
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Equal(t, "UnknownObject", a.str("result.problem.__typename"), mutation)
		assert.Equal(t, "Person zoe", a.str("result.problem.type")+" "+a.str("result.problem.key"))
		assert.Nil(t, a.at("result.entity"))
		assert.Equal(t, "like:dan likes:eve likes:cid likes_not:dan likes_not:bob", ada.related(ids["ann"], "relations", ""), mutation)
		assert.Equal(t, "ann", ada.anEntity(ids["ann"], "Person", "ann").str("attributes.name"))
	}

	// The end of an entity ends its relations.
	ada.mutate("deleteEntity", "deletedEntityId", vars{"entityId": ids["dan"]})
	assert.Equal(t, "likes:eve likes:cid likes_not:bob", ada.related(ids["ann"], "relations", ""))
	ada.mutate("deleteEntity", "deletedEntityId", vars{"entityId": ids["ann"]})
	assert.Equal(t, "likes:bob", ada.related(ids["bob"], "relations", ""))
	assert.Equal(t, "likes:bob", ada.related(ids["bob"], "reverseRelations", ""))
	assert.Empty(t, ada.related(ids["eve"], "reverseRelations", `(predicate: "likes")`))
}

// paged reads a list forward and backward, two at a time, and returns its edges, spelled by the given function, in order.
func (c *client) paged(query, path string, v vars, spell func(*answer) string) []string {
	c.t.Helper()
	read := func(size, to, info string) (all []string) {
		cursor := any(nil)
		for range 50 {
			merged := vars{"cursor": cursor}
			for name, value := range v {
				merged[name] = value
			}
			a := c.must(strings.ReplaceAll(strings.ReplaceAll(query, "SIZE", size), "TO", to), merged)
			var one []string
			for _, edge := range a.list(path + ".edges") {
				one = append(one, spell(&answer{t: c.t, body: a.body, Data: edge.(map[string]any)}))
			}
			assert.LessOrEqual(c.t, len(one), 2)
			if size == "first" {
				all, cursor = append(all, one...), a.at(path+".pageInfo.endCursor")
			} else {
				all, cursor = append(one, all...), a.at(path+".pageInfo.startCursor")
			}
			if a.at(path+".pageInfo."+info) == false {
				return all
			}
		}
		require.Fail(c.t, "the list has no end")
		return nil
	}
	there := read("first", "after", "hasNextPage")
	assert.Equal(c.t, there, read("last", "before", "hasPreviousPage"), "backward as forward")
	return there
}

func TestListsOfEntitiesArePaged(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Numbers")
	var ids, newest []string
	for i := range 7 {
		key := fmt.Sprint("n", i)
		ids = append(ids, r.set("Number", key, vars{"n": i, "even": i%2 == 0}))
		newest = append([]string{key}, newest...)
	}
	hub := r.set("Hub", "hub", vars{}, under("a", ids...), under("b", ids[:3]...))
	for _, id := range ids {
		r.mutate("addEntityRelations", "entity { id }", vars{"entityId": id, "predicate": "in", "objects": objects(hub)})
	}
	const info = ` edges { cursor predicate node { key } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } `
	spell := func(e *answer) string { return e.str("predicate") + ":" + e.str("node.key") }
	relations := func(field string) []string {
		return r.paged(`query($e: ID!, $cursor: Cursor) { entity(id: $e) { list: `+field+` {`+info+`} } }`, "entity.list", vars{"e": hub}, spell)
	}
	assert.Equal(t, "a:n0 a:n1 a:n2 a:n3 a:n4 a:n5 a:n6 b:n0 b:n1 b:n2", strings.Join(relations(`relations(SIZE: 2, TO: $cursor)`), " "))
	assert.Equal(t, "b:n0 b:n1 b:n2", strings.Join(relations(`relations(predicate: "b", SIZE: 2, TO: $cursor)`), " "))
	assert.ElementsMatch(t, []string{"in:n0", "in:n1", "in:n2", "in:n3", "in:n4", "in:n5", "in:n6"}, relations(`reverseRelations(SIZE: 2, TO: $cursor)`))
	assert.Len(t, relations(`reverseRelations(predicate: "in", SIZE: 2, TO: $cursor)`), 7)
	assert.Empty(t, relations(`reverseRelations(predicate: "a", SIZE: 2, TO: $cursor)`))

	const page = ` edges { cursor node { key } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } `
	keys := r.paged(`query($s: ID!, $cursor: Cursor) { scope(id: $s) { entities(type: "Number", SIZE: 2, TO: $cursor) {`+page+`} } }`, "scope.entities", vars{"s": r.scope},
		func(e *answer) string { return e.str("node.key") })
	assert.Equal(t, newest, keys, "the newest first")
	assert.Empty(t, r.must(`query($s: ID!) { scope(id: $s) { entities(type: "Nothing") { nodes { key } } } }`, vars{"s": r.scope}).list("scope.entities.nodes"))

	var rooms []string
	for i := range 4 {
		rooms = append(rooms, r.space(fmt.Sprint("room ", i)).scope)
	}
	mine := r.paged(`query($cursor: Cursor) { viewer { scopes(SIZE: 2, TO: $cursor) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, "viewer.scopes", nil,
		func(e *answer) string { return e.str("node.id") })
	assert.ElementsMatch(t, append(rooms, r.scope), mine)
	for i := range 4 {
		r.member(s.user(fmt.Sprintf("m%d@example.com", i)), "READER")
	}
	members := r.paged(`query($s: ID!, $cursor: Cursor) { scope(id: $s) { members(SIZE: 2, TO: $cursor) { edges { cursor role addedAt node { id name } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, "scope.members", vars{"s": r.scope},
		func(e *answer) string { return e.str("role") })
	assert.ElementsMatch(t, []string{"OWNER", "READER", "READER", "READER", "READER"}, members)
}

func TestWhatIsInAScopeIsInvisibleToOthers(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Secrets")
	one, two := r.set("Thing", "one", vars{"title": "a"}), r.set("Thing", "two", vars{})
	r.mutate("addEntityRelations", "entity { id }", vars{"entityId": one, "predicate": "p", "objects": objects(two)})
	r.declare("by-title", "Thing", "STRING", "title")
	owner := r.id
	before := r.scopesState()
	bob := s.user("bob@example.com")
	other := bob.space("Others")
	his := other.set("Thing", "one", vars{"title": "his"})

	for _, stranger := range []*client{bob, s.as("nobody@example.com"), {testServer: s}} {
		a := stranger.must(`query($s: ID!, $e: ID!) { scope(id: $s) { name indexes { name } members { nodes { id } } } entity(id: $e) { key relations { nodes { key } } }
			a: node(id: $s) { id } b: node(id: $e) { id } nodes(ids: [$s, $e]) { id } }`, vars{"s": r.scope, "e": one})
		assert.Equal(t, `{"scope":null,"entity":null,"a":null,"b":null,"nodes":[null,null]}`, a.data())
	}
	for mutation, input := range map[string]vars{
		"renameScope": {"scopeId": r.scope, "name": "x"}, "putScopeMember": {"scopeId": r.scope, "userId": bob.id, "role": "OWNER"},
		"removeScopeMember":  {"scopeId": r.scope, "userId": owner},
		"declareEntityIndex": {"scopeId": r.scope, "name": "x", "type": "Thing", "path": []string{"x"}, "kind": "STRING"},
		"removeEntityIndex":  {"scopeId": r.scope, "name": "by-title"}, "setEntity": {"scopeId": r.scope, "type": "Thing", "key": "one", "attributes": vars{}},
		"updateEntity": {"entityId": one, "attributes": vars{}}, "deleteEntity": {"entityId": one},
		"addEntityRelations":     {"entityId": one, "predicate": "p", "objects": objects(one)},
		"replaceEntityRelations": {"entityId": one, "predicate": "p", "objects": []vars{}},
		"removeEntityRelations":  {"entityId": one, "predicate": "p", "objectIds": []string{two}},
	} {
		bob.mutate(mutation, "__typename", input).fails("NOT_FOUND", "")
		s.as("nobody@example.com").mutate(mutation, "__typename", input).fails("UNAUTHENTICATED", "")
	}
	// An object in another scope is refused in the same way whether it exists or not.
	for _, foreign := range []string{one, gidOf("Entity", scopeKey(t, r.scope), "Thing", "none")} {
		bob.mutate("addEntityRelations", "__typename", vars{"entityId": his, "predicate": "p", "objects": objects(foreign)}).fails("INVALID_INPUT", "input.objects.0.entityId")
		bob.mutate("removeEntityRelations", "__typename", vars{"entityId": his, "predicate": "p", "objectIds": []string{foreign}}).fails("INVALID_INPUT", "input.objectIds.0")
	}
	assert.Equal(t, before, r.scopesState())
	assert.Equal(t, "his", other.anEntity(his, "Thing", "one").str("attributes.title"), "the same type and key are another entity in another scope")
}

// scopesState is everything that the user can see in the scopes of which he or she is a member.
func (c *client) scopesState() string {
	c.t.Helper()
	return c.must(`{ viewer { scopes { nodes { ...scope } } } }`+scopeFields, nil).data()
}

const scopeFields = ` fragment scope on Scope { id name version updatedAt viewerRole indexes { name type path kind ready progress declaredAt }
	members { edges { role addedAt node { id } } } things: entities(type: "Thing", first: 10) { nodes { ` + entityFields + `
	relations(first: 10) { edges { predicate index attributes node { key } } } reverseRelations(first: 10) { edges { predicate index attributes node { key } } } } } }`

func TestRolesInAScope(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Shared")
	id := r.set("Thing", "one", vars{})
	bob, cid := s.user("bob@example.com"), s.user("cid@example.com")
	reader, writer := r.member(bob, "READER"), r.member(cid, "WRITER")
	for _, m := range []space{reader, writer} {
		assert.NotNil(t, m.anEntity(id, "Thing", "one"))
		assert.Len(t, m.must(`query($s: ID!) { scope(id: $s) { members { nodes { name } } } }`, vars{"s": r.scope}).list("scope.members.nodes"), 3)
	}
	writes := map[string]vars{
		"setEntity": {"scopeId": r.scope, "type": "Thing", "key": "two", "attributes": vars{}}, "updateEntity": {"entityId": id, "attributes": vars{}},
		"addEntityRelations":     {"entityId": id, "predicate": "p", "objects": objects(id)},
		"replaceEntityRelations": {"entityId": id, "predicate": "p", "objects": []vars{}},
		"removeEntityRelations":  {"entityId": id, "predicate": "p", "objectIds": []string{id}},
	}
	for mutation, input := range writes {
		reader.mutate(mutation, "__typename", input).fails("FORBIDDEN", "")
		a := writer.mutate(mutation, "__typename", input)
		assert.Empty(t, a.Errors, "%s", a.body)
	}
	reader.mutate("deleteEntity", "__typename", vars{"entityId": id}).fails("FORBIDDEN", "")
	for mutation, input := range map[string]vars{
		"renameScope": {"scopeId": r.scope, "name": "x"}, "putScopeMember": {"scopeId": r.scope, "userId": bob.id, "role": "OWNER"},
		"removeScopeMember":  {"scopeId": r.scope, "userId": r.id},
		"declareEntityIndex": {"scopeId": r.scope, "name": "x", "type": "Thing", "path": []string{"x"}, "kind": "STRING"}, "removeEntityIndex": {"scopeId": r.scope, "name": "x"},
	} {
		reader.mutate(mutation, "__typename", input).fails("FORBIDDEN", "")
		writer.mutate(mutation, "__typename", input).fails("FORBIDDEN", "")
	}

	const outcome = "memberEdge { role node { name } } problem { __typename ... on UnknownUser { field } ... on LastOwner { message } }"
	last := r.mutate("putScopeMember", outcome, vars{"scopeId": r.scope, "userId": r.id, "role": "WRITER"})
	assert.Equal(t, "LastOwner", last.str("result.problem.__typename"))
	last = r.mutate("removeScopeMember", "user { id } problem { __typename }", vars{"scopeId": r.scope, "userId": r.id})
	assert.Equal(t, "LastOwner", last.str("result.problem.__typename"))
	for field, who := range map[string]string{"userId": gidOf("User", "nobody"), "email": "none@example.com"} {
		unknown := r.mutate("putScopeMember", outcome, vars{"scopeId": r.scope, field: who, "role": "READER"})
		assert.Equal(t, "UnknownUser", unknown.str("result.problem.__typename"))
		assert.Equal(t, "input."+field, unknown.str("result.problem.field"))
	}
	byAddress := r.mutate("putScopeMember", outcome, vars{"scopeId": r.scope, "email": "BOB@example.com", "role": "OWNER"})
	assert.Equal(t, "OWNER", byAddress.str("result.memberEdge.role"))
	left := r.mutate("removeScopeMember", "scope { id } user { id } problem { __typename }", vars{"scopeId": r.scope, "userId": r.id})
	assert.Equal(t, r.id, left.str("result.user.id"), "there is another owner now")
	assert.Nil(t, left.at("result.scope"))
	assert.Nil(t, r.must(`query($s: ID!) { scope(id: $s) { id } }`, vars{"s": r.scope}).at("scope"))
	assert.Equal(t, "renamed", reader.mutate("renameScope", "scope { name }", vars{"scopeId": r.scope, "name": " renamed "}).str("result.scope.name"))
}
