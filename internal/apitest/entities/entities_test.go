package entities

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/entity"
)

func TestAnEntitysLife(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Films")
	const digits = "12345678901234567890123456789012345678"
	created := r.Send([]byte(`{"query": "mutation($in: SetEntityInput!) { setEntity(input: $in) { entity { id key type version attributes } problem { __typename } } }",
		"variables": {"in": {"scopeId": "` + r.Scope + `", "type": "Film", "attributes": {"title": "Alien", "n": ` + digits + `, "list": [1, "a", null, {"b": false}], "empty": {}}}}}`))
	require.Empty(t, created.Errors, "%s", created.Body)
	id, key := created.Str("setEntity.entity.id"), created.Str("setEntity.entity.key")
	assert.NotEmpty(t, key, "it was made")
	e := r.AnEntity(id, "Film", key)
	assert.Equal(t, "Films", e.Str("scope.name"))
	assert.InDelta(t, 1, e.At("version"), 0)
	assert.Equal(t, e.Str("createdAt"), e.Str("updatedAt"))
	assert.Contains(t, e.Body, `"n":`+digits, "all digits")
	assert.Equal(t, []any{1.0, "a", nil, map[string]any{"b": false}}, e.List("attributes.list"))
	assert.Equal(t, map[string]any{}, e.At("attributes.empty"))
	assert.Empty(t, e.List("indexEntries"))

	updated := r.Mutate("updateEntity", "entity { "+apitest.EntityFields+" } problem { __typename }",
		apitest.Vars{"entityId": id, "attributes": apitest.Vars{"title": "Aliens", "n": nil, "list": nil, "gone": nil, "new": []int{}}, "expectedVersion": 1})
	assert.Equal(t, map[string]any{"title": "Aliens", "empty": map[string]any{}, "new": []any{}}, updated.At("result.entity.attributes"))
	assert.InDelta(t, 2, updated.At("result.entity.version"), 0)
	e = r.AnEntity(id, "Film", key)
	assert.Equal(t, updated.At("result.entity.attributes"), e.At("attributes"))
	assert.Equal(t, updated.At("result.entity.updatedAt"), e.At("updatedAt"))
	assert.Less(t, e.Str("createdAt"), e.Str("updatedAt"))

	assert.Equal(t, id, r.Set("Film", key, apitest.Vars{"title": "Alien 3"}), "its id stays")
	e = r.AnEntity(id, "Film", key)
	assert.Equal(t, map[string]any{"title": "Alien 3"}, e.At("attributes"), "what is not given is removed")
	assert.InDelta(t, 3, e.At("version"), 0)

	const list = `query($s: ID!) { scope(id: $s) { entities(type: "Film") { edges { cursor node { key } } nodes { key version } pageInfo { hasNextPage } } } }`
	assert.Len(t, r.Must(list, apitest.Vars{"s": r.Scope}).List("scope.entities.nodes"), 1)
	deleted := r.Mutate("deleteEntity", "deletedEntityId problem { __typename }", apitest.Vars{"entityId": id, "expectedVersion": 3})
	assert.Equal(t, id, deleted.Str("result.deletedEntityId"))
	assert.Nil(t, r.AnEntity(id, "Film", key))
	assert.Empty(t, r.Must(list, apitest.Vars{"s": r.Scope}).List("scope.entities.nodes"))
	for mutation, input := range map[string]apitest.Vars{
		"updateEntity": {"attributes": apitest.Vars{}}, "deleteEntity": {}, "addEntityRelations": {"predicate": "p", "objects": apitest.Objects(id)},
		"replaceEntityRelations": {"predicate": "p", "objects": []apitest.Vars{}}, "removeEntityRelations": {"predicate": "p", "objectIds": []string{id}},
	} {
		input["entityId"] = id
		r.Mutate(mutation, "__typename", input).Fails("NOT_FOUND", "")
	}
	again := apitest.Vars{"scopeId": r.Scope, "type": "Film", "key": key, "attributes": apitest.Vars{"title": "Prometheus"}}
	r.Mutate("setEntity", "entity { id }", again).Fails("UNAVAILABLE", "") // until indexes have surely shown what leads to the old one
	s.Passes(5 * time.Minute)
	assert.Equal(t, id, r.Mutate("setEntity", "entity { id }", again).Str("result.entity.id"))
	assert.InDelta(t, 1, r.AnEntity(id, "Film", key).At("version"), 0, "another one")
	s.Passes(5 * time.Minute)
	assert.Equal(t, "Prometheus", r.AnEntity(id, "Film", key).Str("attributes.title"), "nothing of the deletion touches it")
}

func TestAWrongExpectedVersionIsAnOutcomeWithTheCurrentEntity(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Films")
	actor := r.Set("Actor", "a", apitest.Vars{})
	id := r.Set("Film", "f", apitest.Vars{"n": 1}, apitest.Under("cast", actor))
	r.Set("Film", "f", apitest.Vars{"n": 2})
	const problem = `problem { __typename ... on EntityConflict { message current { key version attributes relations { nodes { key } } } } }`
	for mutation, input := range map[string]apitest.Vars{
		"setEntity":    {"scopeId": r.Scope, "type": "Film", "key": "f", "attributes": apitest.Vars{"n": 3}, "relations": []apitest.Vars{apitest.Under("cast")}},
		"updateEntity": {"entityId": id, "attributes": apitest.Vars{"n": 3}}, "deleteEntity": {"entityId": id},
	} {
		for _, expected := range []int{0, 1, 3, -1} {
			input["expectedVersion"] = expected
			a := r.Mutate(mutation, problem, input)
			require.Empty(t, a.Errors, "%s", a.Body)
			assert.Equal(t, "EntityConflict", a.Str("result.problem.__typename"), "%s expecting %d", mutation, expected)
			assert.Equal(t, map[string]any{"key": "f", "version": 2.0, "attributes": map[string]any{"n": 2.0}, "relations": map[string]any{"nodes": []any{map[string]any{"key": "a"}}}}, a.At("result.problem.current"))
		}
	}
	a := r.Mutate("setEntity", "entity { id } "+problem, apitest.Vars{"scopeId": r.Scope, "type": "Film", "key": "none", "attributes": apitest.Vars{}, "expectedVersion": 2})
	assert.Equal(t, "EntityConflict", a.Str("result.problem.__typename"))
	assert.Nil(t, a.At("result.problem.current"), "there is none")
	a = r.Mutate("setEntity", "entity { version } "+problem, apitest.Vars{"scopeId": r.Scope, "type": "Film", "key": "none", "attributes": apitest.Vars{}, "expectedVersion": 0})
	assert.InDelta(t, 1, a.At("result.entity.version"), 0)

	a = r.Mutate("renameScope", "problem { __typename ... on ScopeConflict { message current { name version } } }", apitest.Vars{"scopeId": r.Scope, "name": "x", "expectedVersion": 7})
	assert.Equal(t, "ScopeConflict", a.Str("result.problem.__typename"))
	assert.Equal(t, map[string]any{"name": "Films", "version": 1.0}, a.At("result.problem.current"))
}

func TestRelationsInBothDirections(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com").Space("People")
	ids := map[string]string{}
	for _, name := range []string{"ann", "bob", "cid", "dan", "eve"} {
		ids[name] = ada.Set("Person", name, apitest.Vars{"name": name})
	}
	of := func(names ...string) (list []string) {
		for _, name := range names {
			list = append(list, ids[name])
		}
		return list
	}
	add := func(predicate string, names ...string) *apitest.Answer {
		return ada.Mutate("addEntityRelations", "entity { key relations { edges { predicate node { key } } } } problem { __typename }",
			apitest.Vars{"entityId": ids["ann"], "predicate": predicate, "objects": apitest.Objects(of(names...)...)})
	}
	assert.Equal(t, "likes:eve likes:bob", add("likes", "eve", "bob", "eve").Edges("result.entity.relations.edges"), "in the order given, each once")
	assert.Equal(t, "likes:eve likes:bob likes:cid", add("likes", "bob", "cid").Edges("result.entity.relations.edges"), "behind those that are there")
	add("likes_not", "dan", "bob")
	add("like", "dan")
	all := "like:dan likes:eve likes:bob likes:cid likes_not:dan likes_not:bob"
	assert.Equal(t, all, ada.Related(ids["ann"], "relations", ""))
	for predicate, want := range map[string]string{"like": "like:dan", "likes": "likes:eve likes:bob likes:cid", "likes_not": "likes_not:dan likes_not:bob", "lik": "", "likes_no": ""} {
		assert.Equal(t, want, ada.Related(ids["ann"], "relations", fmt.Sprintf("(predicate: %q)", predicate)), "a predicate is not those that begin with it")
	}
	assert.ElementsMatch(t, []string{"likes:ann", "likes_not:ann"}, strings.Fields(ada.Related(ids["bob"], "reverseRelations", "")))
	assert.Equal(t, "likes_not:ann", ada.Related(ids["bob"], "reverseRelations", `(predicate: "likes_not")`))
	assert.Equal(t, "likes:ann", ada.Related(ids["bob"], "reverseRelations", `(predicate: "likes")`))

	// Circles, and oneself.
	ada.Set("Person", "bob", apitest.Vars{}, apitest.Under("likes", of("ann", "bob", "ann")...))
	assert.Equal(t, "likes:ann likes:bob likes:ann", ada.Related(ids["bob"], "relations", ""), "the same one more than once")
	a := ada.Must(`query($e: ID!) { entity(id: $e) { relations(predicate: "likes") { nodes { key relations(predicate: "likes") { nodes { key relations(predicate: "likes") { nodes { key } } } } } } } }`, apitest.Vars{"e": ids["bob"]})
	assert.Contains(t, a.Body, `{"key":"bob","relations":{"nodes":[{"key":"ann"`)

	replace := func(names ...string) string {
		return ada.Mutate("replaceEntityRelations", "entity { relations { edges { predicate node { key } } } } problem { __typename }",
			apitest.Vars{"entityId": ids["ann"], "predicate": "likes", "objects": apitest.Objects(of(names...)...)}).Edges("result.entity.relations.edges")
	}
	assert.Equal(t, "like:dan likes:dan likes:ann likes:dan likes_not:dan likes_not:bob", replace("dan", "ann", "dan"), "others stay")
	assert.Equal(t, "like:dan likes_not:dan likes_not:bob", replace())
	assert.Equal(t, all, strings.Replace(replace("eve", "bob", "cid"), "  ", " ", 1))
	removed := ada.Mutate("removeEntityRelations", "entity { relations { edges { predicate node { key } } } }",
		apitest.Vars{"entityId": ids["ann"], "predicate": "likes", "objectIds": of("bob", "dan", "bob")})
	assert.Equal(t, "like:dan likes:eve likes:cid likes_not:dan likes_not:bob", removed.Edges("result.entity.relations.edges"))

	// What a relation carries.
	a = ada.Mutate("setEntity", "entity { relations { edges { attributes index } } }", apitest.Vars{"scopeId": ada.Scope, "type": "Person", "key": "cid", "attributes": apitest.Vars{},
		"relations": []apitest.Vars{{"predicate": "knows", "objects": []apitest.Vars{{"entityId": ids["eve"], "attributes": apitest.Vars{"since": 1999}}, {"entityId": ids["dan"]}}}}})
	edges := a.List("result.entity.relations.edges")
	assert.Equal(t, map[string]any{"since": 1999.0}, edges[0].(map[string]any)["attributes"])
	assert.Nil(t, edges[1].(map[string]any)["attributes"])
	assert.Less(t, edges[0].(map[string]any)["index"], edges[1].(map[string]any)["index"])

	// An object that does not exist is an outcome, and nothing is changed.
	unknown := apitest.GIDOf("Entity", apitest.ScopeKey(t, ada.Scope), "Person", "zoe")
	for mutation, input := range map[string]apitest.Vars{
		"setEntity":              {"scopeId": ada.Scope, "type": "Person", "key": "ann", "attributes": apitest.Vars{"x": 1}, "relations": []apitest.Vars{apitest.Under("likes", ids["bob"], unknown)}},
		"addEntityRelations":     {"entityId": ids["ann"], "predicate": "likes", "objects": apitest.Objects(ids["bob"], unknown)},
		"replaceEntityRelations": {"entityId": ids["ann"], "predicate": "likes", "objects": apitest.Objects(ids["bob"], unknown)},
	} {
		a := ada.Mutate(mutation, "entity { id } problem { __typename ... on UnknownObject { message type key } }", input)
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, "UnknownObject", a.Str("result.problem.__typename"), mutation)
		assert.Equal(t, "Person zoe", a.Str("result.problem.type")+" "+a.Str("result.problem.key"))
		assert.Nil(t, a.At("result.entity"))
		assert.Equal(t, "like:dan likes:eve likes:cid likes_not:dan likes_not:bob", ada.Related(ids["ann"], "relations", ""), mutation)
		assert.Equal(t, "ann", ada.AnEntity(ids["ann"], "Person", "ann").Str("attributes.name"))
	}

	// The end of an entity ends its relations.
	ada.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": ids["dan"]})
	assert.Equal(t, "likes:eve likes:cid likes_not:bob", ada.Related(ids["ann"], "relations", ""))
	ada.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": ids["ann"]})
	assert.Equal(t, "likes:bob", ada.Related(ids["bob"], "relations", ""))
	assert.Equal(t, "likes:bob", ada.Related(ids["bob"], "reverseRelations", ""))
	assert.Empty(t, ada.Related(ids["eve"], "reverseRelations", `(predicate: "likes")`))
}

func TestListsOfEntitiesArePaged(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Numbers")
	var ids, newest []string
	for i := range 7 {
		key := fmt.Sprint("n", i)
		ids = append(ids, r.Set("Number", key, apitest.Vars{"n": i, "even": i%2 == 0}))
		newest = append([]string{key}, newest...)
	}
	hub := r.Set("Hub", "hub", apitest.Vars{}, apitest.Under("a", ids...), apitest.Under("b", ids[:3]...))
	for _, id := range ids {
		r.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": id, "predicate": "in", "objects": apitest.Objects(hub)})
	}
	const info = ` edges { cursor predicate node { key } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } `
	spell := func(e *apitest.Answer) string { return e.Str("predicate") + ":" + e.Str("node.key") }
	relations := func(field string) []string {
		return r.Paged(`query($e: ID!, $cursor: Cursor) { entity(id: $e) { list: `+field+` {`+info+`} } }`, "entity.list", apitest.Vars{"e": hub}, spell)
	}
	assert.Equal(t, "a:n0 a:n1 a:n2 a:n3 a:n4 a:n5 a:n6 b:n0 b:n1 b:n2", strings.Join(relations(`relations(SIZE: 2, TO: $cursor)`), " "))
	assert.Equal(t, "b:n0 b:n1 b:n2", strings.Join(relations(`relations(predicate: "b", SIZE: 2, TO: $cursor)`), " "))
	assert.ElementsMatch(t, []string{"in:n0", "in:n1", "in:n2", "in:n3", "in:n4", "in:n5", "in:n6"}, relations(`reverseRelations(SIZE: 2, TO: $cursor)`))
	assert.Len(t, relations(`reverseRelations(predicate: "in", SIZE: 2, TO: $cursor)`), 7)
	assert.Empty(t, relations(`reverseRelations(predicate: "a", SIZE: 2, TO: $cursor)`))

	const page = ` edges { cursor node { key } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } `
	keys := r.Paged(`query($s: ID!, $cursor: Cursor) { scope(id: $s) { entities(type: "Number", SIZE: 2, TO: $cursor) {`+page+`} } }`, "scope.entities", apitest.Vars{"s": r.Scope},
		func(e *apitest.Answer) string { return e.Str("node.key") })
	assert.Equal(t, newest, keys, "the newest first")
	assert.Empty(t, r.Must(`query($s: ID!) { scope(id: $s) { entities(type: "Nothing") { nodes { key } } } }`, apitest.Vars{"s": r.Scope}).List("scope.entities.nodes"))

	var rooms []string
	for i := range 4 {
		rooms = append(rooms, r.Space(fmt.Sprint("room ", i)).Scope)
	}
	mine := r.Paged(`query($cursor: Cursor) { viewer { scopes(SIZE: 2, TO: $cursor) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, "viewer.scopes", nil,
		func(e *apitest.Answer) string { return e.Str("node.id") })
	assert.ElementsMatch(t, append(rooms, r.Scope), mine)
	for i := range 4 {
		r.Member(s.User(fmt.Sprintf("m%d@example.com", i)), "READER")
	}
	members := r.Paged(`query($s: ID!, $cursor: Cursor) { scope(id: $s) { members(SIZE: 2, TO: $cursor) { edges { cursor role addedAt node { id name } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`, "scope.members", apitest.Vars{"s": r.Scope},
		func(e *apitest.Answer) string { return e.Str("role") })
	assert.ElementsMatch(t, []string{"OWNER", "READER", "READER", "READER", "READER"}, members)
}

func TestWhatIsInAScopeIsInvisibleToOthers(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Secrets")
	one, two := r.Set("Thing", "one", apitest.Vars{"title": "a"}), r.Set("Thing", "two", apitest.Vars{})
	r.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": one, "predicate": "p", "objects": apitest.Objects(two)})
	r.Declare("by-title", "Thing", "STRING", "title")
	owner := r.ID
	before := r.ScopesState()
	bob := s.User("bob@example.com")
	other := bob.Space("Others")
	his := other.Set("Thing", "one", apitest.Vars{"title": "his"})

	for _, stranger := range []*apitest.Client{bob, s.As("nobody@example.com"), {Server: s}} {
		a := stranger.Must(`query($s: ID!, $e: ID!) { scope(id: $s) { name indexes { name } members { nodes { id } } } entity(id: $e) { key relations { nodes { key } } }
			a: node(id: $s) { id } b: node(id: $e) { id } nodes(ids: [$s, $e]) { id } }`, apitest.Vars{"s": r.Scope, "e": one})
		assert.Equal(t, `{"scope":null,"entity":null,"a":null,"b":null,"nodes":[null,null]}`, a.Raw())
	}
	for mutation, input := range map[string]apitest.Vars{
		"renameScope": {"scopeId": r.Scope, "name": "x"}, "putScopeMember": {"scopeId": r.Scope, "userId": bob.ID, "role": "OWNER"},
		"removeScopeMember":  {"scopeId": r.Scope, "userId": owner},
		"declareEntityIndex": {"scopeId": r.Scope, "name": "x", "type": "Thing", "path": []string{"x"}, "kind": "STRING"},
		"removeEntityIndex":  {"scopeId": r.Scope, "name": "by-title"}, "setEntity": {"scopeId": r.Scope, "type": "Thing", "key": "one", "attributes": apitest.Vars{}},
		"updateEntity": {"entityId": one, "attributes": apitest.Vars{}}, "deleteEntity": {"entityId": one},
		"addEntityRelations":     {"entityId": one, "predicate": "p", "objects": apitest.Objects(one)},
		"replaceEntityRelations": {"entityId": one, "predicate": "p", "objects": []apitest.Vars{}},
		"removeEntityRelations":  {"entityId": one, "predicate": "p", "objectIds": []string{two}},
	} {
		bob.Mutate(mutation, "__typename", input).Fails("NOT_FOUND", "")
		s.As("nobody@example.com").Mutate(mutation, "__typename", input).Fails("UNAUTHENTICATED", "")
	}
	// An object in another scope is refused in the same way whether it exists or not.
	for _, foreign := range []string{one, apitest.GIDOf("Entity", apitest.ScopeKey(t, r.Scope), "Thing", "none")} {
		bob.Mutate("addEntityRelations", "__typename", apitest.Vars{"entityId": his, "predicate": "p", "objects": apitest.Objects(foreign)}).Fails("NOT_FOUND", "input.objects.0.entityId")
		removed := bob.Mutate("removeEntityRelations", "entity { relations { nodes { key } } }", apitest.Vars{"entityId": his, "predicate": "p", "objectIds": []string{foreign}})
		assert.Empty(t, removed.List("result.entity.relations.nodes"), "%s", removed.Body)
	}
	assert.Equal(t, before, r.ScopesState())
	assert.Equal(t, "his", other.AnEntity(his, "Thing", "one").Str("attributes.title"), "the same type and key are another entity in another scope")
}

func TestRolesInAScope(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Shared")
	id := r.Set("Thing", "one", apitest.Vars{})
	bob, cid := s.User("bob@example.com"), s.User("cid@example.com")
	reader, writer := r.Member(bob, "READER"), r.Member(cid, "WRITER")
	for _, m := range []apitest.Space{reader, writer} {
		assert.NotNil(t, m.AnEntity(id, "Thing", "one"))
		assert.Len(t, m.Must(`query($s: ID!) { scope(id: $s) { members { nodes { name } } } }`, apitest.Vars{"s": r.Scope}).List("scope.members.nodes"), 3)
	}
	writes := map[string]apitest.Vars{
		"setEntity": {"scopeId": r.Scope, "type": "Thing", "key": "two", "attributes": apitest.Vars{}}, "updateEntity": {"entityId": id, "attributes": apitest.Vars{}},
		"addEntityRelations":     {"entityId": id, "predicate": "p", "objects": apitest.Objects(id)},
		"replaceEntityRelations": {"entityId": id, "predicate": "p", "objects": []apitest.Vars{}},
		"removeEntityRelations":  {"entityId": id, "predicate": "p", "objectIds": []string{id}},
	}
	for mutation, input := range writes {
		reader.Mutate(mutation, "__typename", input).Fails("FORBIDDEN", "")
		a := writer.Mutate(mutation, "__typename", input)
		assert.Empty(t, a.Errors, "%s", a.Body)
	}
	reader.Mutate("deleteEntity", "__typename", apitest.Vars{"entityId": id}).Fails("FORBIDDEN", "")
	for mutation, input := range map[string]apitest.Vars{
		"renameScope": {"scopeId": r.Scope, "name": "x"}, "putScopeMember": {"scopeId": r.Scope, "userId": bob.ID, "role": "OWNER"},
		"removeScopeMember":  {"scopeId": r.Scope, "userId": r.ID},
		"declareEntityIndex": {"scopeId": r.Scope, "name": "x", "type": "Thing", "path": []string{"x"}, "kind": "STRING"}, "removeEntityIndex": {"scopeId": r.Scope, "name": "x"},
	} {
		reader.Mutate(mutation, "__typename", input).Fails("FORBIDDEN", "")
		writer.Mutate(mutation, "__typename", input).Fails("FORBIDDEN", "")
	}

	const outcome = "memberEdge { role node { name } } problem { __typename ... on UnknownUser { field } ... on LastOwner { message } }"
	last := r.Mutate("putScopeMember", outcome, apitest.Vars{"scopeId": r.Scope, "userId": r.ID, "role": "WRITER"})
	assert.Equal(t, "LastOwner", last.Str("result.problem.__typename"))
	last = r.Mutate("removeScopeMember", "user { id } problem { __typename }", apitest.Vars{"scopeId": r.Scope, "userId": r.ID})
	assert.Equal(t, "LastOwner", last.Str("result.problem.__typename"))
	for field, who := range map[string]string{"userId": apitest.GIDOf("User", "nobody"), "email": "none@example.com"} {
		unknown := r.Mutate("putScopeMember", outcome, apitest.Vars{"scopeId": r.Scope, field: who, "role": "READER"})
		assert.Equal(t, "UnknownUser", unknown.Str("result.problem.__typename"))
		assert.Equal(t, "input."+field, unknown.Str("result.problem.field"))
	}
	byAddress := r.Mutate("putScopeMember", outcome, apitest.Vars{"scopeId": r.Scope, "email": "BOB@example.com", "role": "OWNER"})
	assert.Equal(t, "OWNER", byAddress.Str("result.memberEdge.role"))
	left := r.Mutate("removeScopeMember", "scope { id } user { id } problem { __typename }", apitest.Vars{"scopeId": r.Scope, "userId": r.ID})
	assert.Equal(t, r.ID, left.Str("result.user.id"), "there is another owner now")
	assert.Nil(t, left.At("result.scope"))
	assert.Nil(t, r.Must(`query($s: ID!) { scope(id: $s) { id } }`, apitest.Vars{"s": r.Scope}).At("scope"))
	assert.Equal(t, "renamed", reader.Mutate("renameScope", "scope { name }", apitest.Vars{"scopeId": r.Scope, "name": " renamed "}).Str("result.scope.name"))
}

func TestAScopeIsDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Films")
	film := r.Set("Film", "alien", apitest.Vars{"title": "Alien"})
	r.Set("Film", "aliens", apitest.Vars{"title": "Aliens"}, apitest.Under("follows", film))
	bob := r.Member(s.User("bob@example.com"), "WRITER")
	before := r.ScopesState()
	const shown = "deleted { scopeId name state deletedAt undoUntil deletedBy { id } } problem { ... on ScopeConflict { current { name version } } }"
	in := apitest.Vars{"scopeId": r.Scope}
	bob.Mutate("deleteScope", shown, in).Fails("FORBIDDEN", "")
	a := r.Mutate("deleteScope", shown, apitest.Vars{"scopeId": r.Scope, "expectedVersion": 7})
	assert.Equal(t, []any{nil, "Films", 1.0}, []any{a.At("result.deleted"), a.At("result.problem.current.name"), a.At("result.problem.current.version")}, "%s", a.Body)

	a = r.Mutate("deleteScope", shown, apitest.Vars{"scopeId": r.Scope, "expectedVersion": 1})
	assert.Equal(t, []any{r.Scope, "Films", "DELETED", r.ID}, []any{a.At("result.deleted.scopeId"), a.At("result.deleted.name"), a.At("result.deleted.state"), a.At("result.deleted.deletedBy.id")}, "%s", a.Body)
	assert.Equal(t, domain.UndoDeletion, a.Time("result.deleted.undoUntil").Sub(a.Time("result.deleted.deletedAt")))
	for _, who := range []apitest.Space{r, bob} {
		assert.Nil(t, who.Do(`query($s: ID!) { scope(id: $s) { id } }`, apitest.Vars{"s": r.Scope}).At("scope"))
		assert.Nil(t, who.Do(`query($e: ID!) { node(id: $e) { id } }`, apitest.Vars{"e": film}).At("node"))
		who.Mutate("updateEntity", "__typename", apitest.Vars{"entityId": film, "attributes": apitest.Vars{}}).Fails("NOT_FOUND", "")
	}
	const list = `{ viewer { scopes { nodes { id } } deletedScopes(first: 10) { nodes { scopeId } edges { node { deletedBy { id } } } pageInfo { hasNextPage } } } }`
	a = r.Must(list, nil)
	assert.Empty(t, a.List("viewer.scopes.nodes"))
	assert.Equal(t, []any{map[string]any{"scopeId": r.Scope}}, a.List("viewer.deletedScopes.nodes"))
	assert.Equal(t, []any{map[string]any{"node": map[string]any{"deletedBy": map[string]any{"id": r.ID}}}}, a.List("viewer.deletedScopes.edges"))
	assert.Empty(t, bob.Must(list, nil).List("viewer.deletedScopes.nodes"))

	a = r.Mutate("undoDeleteScope", "scope { id viewerRole version }", in)
	assert.Equal(t, []any{r.Scope, "OWNER", 3.0}, []any{a.At("result.scope.id"), a.At("result.scope.viewerRole"), a.At("result.scope.version")}, "%s", a.Body)
	state := strings.NewReplacer(`"version":1,`, ``, `"version":3,`, ``)
	without := func(s string) string {
		return regexp.MustCompile(`"updatedAt":"[^"]*"`).ReplaceAllString(state.Replace(s), "")
	}
	assert.Equal(t, without(before), without(r.ScopesState()), "as it was")

	a = r.Mutate("deleteScope", shown, apitest.Vars{"scopeId": r.Scope, "purge": true})
	assert.Equal(t, "PURGING", a.At("result.deleted.state"), "%s", a.Body)
	r.Mutate("undoDeleteScope", "scope { id }", in).Fails("CONFLICT", "")
	s.Passes(2 * entity.Settle)
	assert.Empty(t, r.Must(list, nil).List("viewer.deletedScopes.nodes"))
	for _, table := range []dynamo.Table{dynamo.NotesTable, dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries} {
		for key, row := range dynamotest.RowsOf(t, s.DB, table) {
			if !strings.HasPrefix(key.PK, "IDEM#") {
				assert.NotContains(t, string(dynamo.RowJSON(row)), apitest.ScopeKey(t, r.Scope))
			}
		}
	}
	r.Mutate("undoDeleteScope", "scope { id }", in).Fails("NOT_FOUND", "")
}
