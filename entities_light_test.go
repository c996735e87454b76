package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
)

// What an answer does not show is not read from the engine: 300 records of 300 KB are a page like any other, as long as nobody
// wants to see what is in them.
func TestAPageOfLargeEntities(t *testing.T) {
	const entities = 300
	s := newServer(t)
	r := s.user("ada@example.com").space("Large")
	r.declare("by-name", "Large", "STRING", "name")
	store := dynamo.Entities{DB: s.db}
	var group errgroup.Group
	group.SetLimit(4)
	for i := range entities {
		key := fmt.Sprintf("e%03d", i)
		at := time.Date(2026, 11, 20, 8, 0, 0, i*1_000_000, time.UTC)
		group.Go(func() error {
			return store.PutEntity(t.Context(), nil, entity.Entity{
				ID: entity.ID{Scope: scopeKey(t, r.scope), Type: "Large", ID: key}, Version: 1, CreatedAt: at, UpdatedAt: at,
				Attributes: map[string]any{"name": key, "text": strings.Repeat("x", 300_000)},
				Index:      []entity.IndexEntry{{Name: "by-name", Key: key}},
			}, nil, idempotency.Key{})
		})
	}
	require.NoError(t, group.Wait())
	for name, test := range map[string]struct{ query, list string }{
		"listed":    {`entities(type: "Large", first: 300) { nodes { key version relations(first: 1) { edges { attributes } } } }`, "scope.entities.nodes"},
		"looked up": {`lookup(index: "by-name", first: 300) { nodes { key version indexEntries { key } } }`, "scope.lookup.nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			a := r.do(`query($s: ID!) { scope(id: $s) { `+test.query+` } }`, vars{"s": r.scope})
			t.Logf("%d entities took %v", entities, time.Since(began))
			require.Empty(t, a.Errors, "%s", a.body)
			list := a.list(test.list)
			require.Len(t, list, entities)
			assert.Contains(t, list[0], "key")
			assert.InDelta(t, 1, list[0].(map[string]any)["version"], 0)
		})
	}
	full := r.must(`query($s: ID!) { scope(id: $s) { entities(type: "Large", first: 2) { nodes { key ...own } } } } fragment own on Entity { attributes }`, vars{"s": r.scope})
	assert.Equal(t, 2, strings.Count(full.body, strings.Repeat("x", 300_000)), "who wants to see it does")
}

// What is read of an item without its metadata is all else, in every list and by id.
func TestItemsWithoutTheirMetadata(t *testing.T) {
	s := newServer(t)
	l := s.user("ada@example.com").project("Birds")
	var file strings.Builder
	for i := range 3 {
		_, _ = fmt.Fprintf(&file, `{"externalId":"e%d","name":"n%d","type":"image/png","url":"https://example.com/%d","metadata":{"text":"%s"}}`+"\n", i, i, i, strings.Repeat("x", 50_000))
	}
	s.during(func() { l.imports(file.String()) })
	const fields = `id externalId name type url status version createdAt updatedAt keywords category { name } efforts(first: 1) { nodes { category { name } } }`
	const query = `query($p: ID!) { project(id: $p) { items(first: 5) { nodes { %[1]s } } itemByExternalId(externalId: "e1") { %[1]s } categories { items(first: 5) { nodes { %[1]s } } } } }`
	a := l.mutate("finishProjectItem", `item { externalId metadata }`, l.finishing(l.claimedAs("e0"), vars{"keywords": []string{"k"}}))
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Contains(t, a.body, strings.Repeat("x", 50_000))
	require.Eventually(t, func() bool { // the lists lag behind by moments
		whole := l.must(fmt.Sprintf(query, fields+" metadata"), vars{"p": l.id})
		light := l.must(fmt.Sprintf(query, fields), vars{"p": l.id})
		if len(whole.list("project.items.nodes")) != 3 || strings.Count(whole.body, `"metadata":{"text":"xxx`) != 5 {
			return false
		}
		assert.Equal(t, light.object(), without("metadata", whole.object()))
		assert.Less(t, len(light.body), 10_000)
		return true
	}, 10*time.Second, 20*time.Millisecond)
}

// without removes what is called so, wherever it is.
func without(name string, from any) any {
	switch from := from.(type) {
	case map[string]any:
		delete(from, name)
		for _, value := range from {
			without(name, value)
		}
	case []any:
		for _, value := range from {
			without(name, value)
		}
	}
	return from
}

func TestIDsWithEmptyPartsAreRefused(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Things")
	thing := r.set("Thing", "t", vars{})
	scope := scopeKey(t, r.scope)
	for _, id := range []string{gidOf("Entity", scope, "Thing", ""), gidOf("Entity", scope, "", "t"), gidOf("Entity", "", "Thing", "t"), gidOf("Entity", "", "", ""), gidOf("Scope", "")} {
		a := r.do(`query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, vars{"ids": []string{thing, id}})
		require.Len(t, a.Errors, 1, "%s", a.body)
		assert.Equal(t, "INVALID_INPUT", a.Errors[0].Extensions.Code)
		assert.Equal(t, []any{map[string]any{"id": thing}, nil}, a.list("nodes"), "the others of the batch stand")
	}
	for _, of := range []string{`type: "", key: "t"`, `type: "Thing", key: ""`, `type: "", key: ""`} {
		a := r.must(`query($s: ID!) { scope(id: $s) { entity(`+of+`) { key } there: entity(type: "Thing", key: "t") { key } } }`, vars{"s": r.scope})
		assert.Nil(t, a.at("scope.entity"))
		assert.Equal(t, "t", a.str("scope.there.key"))
	}
	r.mutate("deleteEntity", "deletedEntityId", vars{"entityId": gidOf("Entity", scope, "Thing", "")}).fails("INVALID_INPUT", "input.entityId")
	r.mutate("renameScope", "scope { id }", vars{"scopeId": gidOf("Scope", ""), "name": "x"}).fails("INVALID_INPUT", "input.scopeId")
}
