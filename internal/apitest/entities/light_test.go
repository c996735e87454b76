package entities

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
)

// What an answer does not show is not read from the engine: 300 records of 300 KB are a page like any other, as long as nobody
// wants to see what is in them.
func TestAPageOfLargeEntities(t *testing.T) {
	const many = 300
	s := apitest.NewServer(t, apitest.Within(time.Minute)) // which is not about how fast the engine is
	r := s.User("ada@example.com").Space("Large")
	r.Declare("by-name", "Large", "STRING", "name")
	store := entities.Store{DB: s.DB}
	var group errgroup.Group
	group.SetLimit(4)
	for i := range many {
		key := fmt.Sprintf("e%03d", i)
		at := time.Date(2026, 11, 20, 8, 0, 0, i*1_000_000, time.UTC)
		group.Go(func() error {
			return store.PutEntity(t.Context(), nil, entity.Entity{
				ID: entity.ID{Scope: apitest.ScopeKey(t, r.Scope), Type: "Large", ID: key}, Version: 1, CreatedAt: at, UpdatedAt: at,
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
			calls := s.Faults.Recorder()
			calls.Reset()
			a := r.Do(`query($s: ID!) { scope(id: $s) { `+test.query+` } }`, apitest.Vars{"s": r.Scope})
			require.Empty(t, a.Errors, "%s", a.Body)
			read := calls.Calls(func(c *faultinject.Call) bool {
				return slices.ContainsFunc(c.Tables, func(name string) bool { return strings.HasSuffix(name, "entities_master") }) && bytes.Contains(c.Body, []byte("Large"))
			})
			require.NotEmpty(t, read)
			for _, c := range read {
				assert.Contains(t, string(c.Body), "ProjectionExpression", "%s reads what nobody wants to see", c.Operation)
			}
			list := a.List(test.list)
			require.Len(t, list, many)
			assert.Contains(t, list[0], "key")
			assert.InDelta(t, 1, list[0].(map[string]any)["version"], 0)
		})
	}
	full := r.Must(`query($s: ID!) { scope(id: $s) { entities(type: "Large", first: 2) { nodes { key ...own } } } } fragment own on Entity { attributes }`, apitest.Vars{"s": r.Scope})
	assert.Equal(t, 2, strings.Count(full.Body, strings.Repeat("x", 300_000)), "who wants to see it does")
}

// What is read of an item without its metadata is all else, in every list and by id.
func TestItemsWithoutTheirMetadata(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.User("ada@example.com").Project("Birds")
	var file strings.Builder
	for i := range 3 {
		_, _ = fmt.Fprintf(&file, `{"externalId":"e%d","name":"n%d","type":"image/png","url":"https://example.com/%d","metadata":{"text":"%s"}}`+"\n", i, i, i, strings.Repeat("x", 50_000))
	}
	s.During(func() { l.Imports(file.String()) })
	const fields = `id externalId name type url status version createdAt updatedAt keywords category { name } efforts(first: 1) { nodes { category { name } } }`
	const query = `query($p: ID!) { project(id: $p) { items(first: 5) { nodes { %[1]s } } itemByExternalId(externalId: "e1") { %[1]s } categories { items(first: 5) { nodes { %[1]s } } } } }`
	a := l.Mutate("finishProjectItem", `item { externalId metadata }`, l.Finishing(l.ClaimedAs("e0"), apitest.Vars{"keywords": []string{"k"}}))
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Contains(t, a.Body, strings.Repeat("x", 50_000))
	require.Eventually(t, func() bool { // the lists lag behind by moments
		whole := l.Must(fmt.Sprintf(query, fields+" metadata"), apitest.Vars{"p": l.ID})
		light := l.Must(fmt.Sprintf(query, fields), apitest.Vars{"p": l.ID})
		if len(whole.List("project.items.nodes")) != 3 || strings.Count(whole.Body, `"metadata":{"text":"xxx`) != 5 {
			return false
		}
		assert.Equal(t, light.Object(), without("metadata", whole.Object()))
		assert.Less(t, len(light.Body), 10_000)
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
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Things")
	thing := r.Set("Thing", "t", apitest.Vars{})
	scope := apitest.ScopeKey(t, r.Scope)
	for _, id := range []string{apitest.GIDOf("Entity", scope, "Thing", ""), apitest.GIDOf("Entity", scope, "", "t"), apitest.GIDOf("Entity", "", "Thing", "t"), apitest.GIDOf("Entity", "", "", ""), apitest.GIDOf("Scope", "")} {
		a := r.Do(`query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, apitest.Vars{"ids": []string{thing, id}})
		require.Len(t, a.Errors, 1, "%s", a.Body)
		assert.Equal(t, "INVALID_INPUT", a.Errors[0].Extensions.Code)
		assert.Equal(t, []any{map[string]any{"id": thing}, nil}, a.List("nodes"), "the others of the batch stand")
	}
	for _, of := range []string{`type: "", key: "t"`, `type: "Thing", key: ""`, `type: "", key: ""`} {
		a := r.Must(`query($s: ID!) { scope(id: $s) { entity(`+of+`) { key } there: entity(type: "Thing", key: "t") { key } } }`, apitest.Vars{"s": r.Scope})
		assert.Nil(t, a.At("scope.entity"))
		assert.Equal(t, "t", a.Str("scope.there.key"))
	}
	r.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": apitest.GIDOf("Entity", scope, "Thing", "")}).Fails("INVALID_INPUT", "input.entityId")
	r.Mutate("renameScope", "scope { id }", apitest.Vars{"scopeId": apitest.GIDOf("Scope", ""), "name": "x"}).Fails("INVALID_INPUT", "input.scopeId")
}
