package entities

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/apitest"
)

// What is related in two scopes is seen in both; who may read one of them only sees which entity is at the other end, and nothing of it.
func TestRelationsBetweenScopes(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	films := s.User("ada@example.com").Space("Films")
	people := films.Client.Space("People")
	bob := s.User("bob@example.com")
	film, other := films.Set("Film", "alien", apitest.Vars{"title": "Alien"}), films.Set("Film", "other", apitest.Vars{})
	weaver := people.Set("Person", "weaver", apitest.Vars{"name": "Weaver"}, apitest.Under("knows", other))
	a := films.Mutate("addEntityRelations", "entity { relations { nodes { attributes } } } problem { __typename }", apitest.Vars{"entityId": film, "predicate": "stars", "objects": apitest.Objects(other, weaver)})
	assert.Equal(t, "Weaver", a.List("result.entity.relations.nodes")[1].(map[string]any)["attributes"].(map[string]any)["name"], "%s", a.Body)

	const edges = `edges { entityScopeId entityType entityKey node { attributes } } nodes { key }`
	const query = `query($e: ID!) { entity(id: $e) { there: relations(first: 5) { ` + edges + ` } back: reverseRelations(first: 5) { ` + edges + ` } } }`
	end := func(scope, typ, key string, attributes any) map[string]any {
		var node any
		if attributes != nil {
			node = map[string]any{"attributes": attributes}
		}
		return map[string]any{"entityScopeId": scope, "entityType": typ, "entityKey": key, "node": node}
	}
	sees := func(who *apitest.Client, of, list string, want ...any) {
		t.Helper()
		a := who.Must(query, apitest.Vars{"e": of})
		edges := a.List("entity." + list + ".edges")
		assert.ElementsMatch(t, want, edges, "%s", a.Body) // two with the same place come in any order
		for i, node := range a.List("entity." + list + ".nodes") {
			assert.Equal(t, edges[i].(map[string]any)["node"] == nil, node == nil)
		}
	}
	nothing := map[string]any{}
	sees(films.Client, film, "there", end(films.Scope, "Film", "other", nothing), end(people.Scope, "Person", "weaver", map[string]any{"name": "Weaver"}))
	sees(people.Client, weaver, "back", end(films.Scope, "Film", "alien", map[string]any{"title": "Alien"}))

	// A relation that another program put without the scope of its object leads nowhere.
	subject := apitest.ScopeKey(t, films.Scope) + ":Film:alien"
	dynamotest.PutByHand(t, s.DB, dynamo.RelationshipEntries, fmt.Sprintf(`[{"_subject_scope": %q, "_subject_type": "Film", "_subject_id": "alien", "_predicate": "z", "_index": 0,
		"_object_type": "Film", "_object_id": "other", "_subject_key": %q, "_predicate_key": "z:0000000000000000:Film:other"}]`, apitest.ScopeKey(t, films.Scope), subject))
	sees(films.Client, film, "there", end(films.Scope, "Film", "other", nothing), end(people.Scope, "Person", "weaver", map[string]any{"name": "Weaver"}))

	// A member of one scope sees that they are related.
	films.Member(bob, "WRITER")
	sees(bob, film, "there", end(films.Scope, "Film", "other", nothing), end(people.Scope, "Person", "weaver", nil))
	sees(bob, other, "back", end(films.Scope, "Film", "alien", map[string]any{"title": "Alien"}), end(people.Scope, "Person", "weaver", nil))
	bob.Mutate("addEntityRelations", "__typename", apitest.Vars{"entityId": other, "predicate": "stars", "objects": apitest.Objects(weaver)}).Fails("NOT_FOUND", "input.objects.0.entityId")
	people.Member(bob, "READER")
	bob.Mutate("replaceEntityRelations", "__typename", apitest.Vars{"entityId": other, "predicate": "stars", "objects": apitest.Objects(weaver)}).Fails("FORBIDDEN", "input.objects.0.entityId")
	bob.Mutate("setEntity", "__typename", apitest.Vars{"scopeId": films.Scope, "type": "Film", "attributes": apitest.Vars{}, "relations": []apitest.Vars{apitest.Under("stars", weaver)}}).
		Fails("FORBIDDEN", "input.relations.0.objects.0.entityId")
	people.Member(bob, "WRITER")
	none := apitest.GIDOf("Entity", apitest.ScopeKey(t, people.Scope), "Person", "none")
	a = bob.Mutate("addEntityRelations", "problem { ... on UnknownObject { scopeId type key } }", apitest.Vars{"entityId": other, "predicate": "stars", "objects": apitest.Objects(none)})
	assert.Equal(t, map[string]any{"scopeId": people.Scope, "type": "Person", "key": "none"}, a.At("result.problem"), "%s", a.Body)
	bob.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": other, "predicate": "stars", "objects": apitest.Objects(weaver)})
	sees(bob, other, "there", end(people.Scope, "Person", "weaver", map[string]any{"name": "Weaver"}))

	// Who has left the other scope sees the relation still, without the entity, can keep it, and can end it.
	people.Mutate("removeScopeMember", "scope { id }", apitest.Vars{"scopeId": people.Scope, "userId": bob.ID})
	sees(bob, other, "there", end(people.Scope, "Person", "weaver", nil))
	bob.Mutate("replaceEntityRelations", "entity { id } problem { __typename }", apitest.Vars{"entityId": other, "predicate": "stars", "objects": apitest.Objects(film, weaver)})
	sees(bob, other, "there", end(films.Scope, "Film", "alien", map[string]any{"title": "Alien"}), end(people.Scope, "Person", "weaver", nil))
	bob.Mutate("replaceEntityRelations", "entity { id } problem { __typename }", apitest.Vars{"entityId": other, "predicate": "stars", "objects": apitest.Objects(weaver)})
	bob.Mutate("removeEntityRelations", "entity { id }", apitest.Vars{"entityId": other, "predicate": "stars", "objectIds": []string{weaver}})
	assert.Empty(t, bob.Must(query, apitest.Vars{"e": other}).List("entity.there.edges"))

	// A scope that is deleted is one that nobody may read; one that is brought back is as it was.
	people.Mutate("deleteScope", "deleted { state }", apitest.Vars{"scopeId": people.Scope})
	sees(films.Client, film, "there", end(films.Scope, "Film", "other", nothing), end(people.Scope, "Person", "weaver", nil))
	people.Mutate("undoDeleteScope", "scope { id }", apitest.Vars{"scopeId": people.Scope})
	sees(films.Client, film, "there", end(films.Scope, "Film", "other", nothing), end(people.Scope, "Person", "weaver", map[string]any{"name": "Weaver"}))
	people.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": weaver})
	sees(films.Client, film, "there", end(films.Scope, "Film", "other", nothing))
	assert.Empty(t, films.Must(query, apitest.Vars{"e": other}).List("entity.there.edges"))
}
