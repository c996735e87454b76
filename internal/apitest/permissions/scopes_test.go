package permissions

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/idempotency"
)

// renewScope makes a scope of which edit is a WRITER, view a READER, and revoked was a WRITER, with indexes and two entities
// that are related to one another.
func (w *world) renewScope() {
	w.T.Helper()
	if w.ids["scope"] != "" { // all leave what was made before: lists of scopes stay short
		w.owner.Do(fill(`mutation {
			putScopeMember(input: {scopeId: $scope, userId: $heir, role: OWNER}) { scope { id } }
			a: removeScopeMember(input: {scopeId: $scope, userId: $edit}) { user { id } } b: removeScopeMember(input: {scopeId: $scope, userId: $view}) { user { id } }
			c: removeScopeMember(input: {scopeId: $scope, userId: $owner}) { user { id } }
		}`, w.ids), nil) // some may have left already
	}
	w.ids["scope"] = w.owner.Must(`mutation { createScope(input: {name: "Secret scope"}) { scope { id } } }`, nil).Str("createScope.scope.id")
	id, err := gid.Parse(w.ids["scope"])
	require.NoError(w.T, err)
	key := id.Key[0]
	for name, of := range map[string]string{"entity": "walk", "other": "other", "ghost": "ghost"} {
		w.ids[name] = gid.Of("Entity", key, "thing", of).String()
	}
	w.owner.Must(fill(`mutation {
		declareEntityIndex(input: {scopeId: $scope, name: "bySecret", type: "thing", path: ["name"], kind: STRING, carries: ["name"]}) { scope { id } }
		spare: declareEntityIndex(input: {scopeId: $scope, name: "spare", type: "nothing", path: ["name"], kind: STRING, thenBy: [{path: ["at"], kind: NUMBER}],
			where: [{path: ["state"], equals: "open"}, {path: ["mine"], is: true}, {path: ["at"], exists: true}]}) { scope { id } }
		edit: putScopeMember(input: {scopeId: $scope, userId: $edit, role: WRITER}) { scope { id } }
		view: putScopeMember(input: {scopeId: $scope, userId: $view, role: READER}) { scope { id } }
		put: putScopeMember(input: {scopeId: $scope, userId: $revoked, role: WRITER}) { scope { id } }
		end: removeScopeMember(input: {scopeId: $scope, userId: $revoked}) { scope { id } }
	}`, w.ids), nil)
	w.indexesAreReady(key)
	w.owner.Must(fill(`mutation {
		other: setEntity(input: {scopeId: $scope, type: "thing", key: "other", attributes: {name: "secret other"}, meta: {source: "secret meta"}}) { entity { id } }
		entity: setEntity(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {name: "secret entity"}, meta: {source: "secret meta"},
			relations: [{predicate: "likes", objects: [{entityId: $other, attributes: {why: "secret reason"}}]}]}) { entity { id } }
		addEntityRelations(input: {entityId: $other, predicate: "likes", objects: [{entityId: $entity, attributes: {why: "secret reason"}}]}) { entity { id } }
	}`, w.ids), nil)
}

// renewDeletedScopes makes two scopes with edit and view, of which one is deleted.
func (w *world) renewDeletedScopes() {
	w.T.Helper()
	for _, name := range []string{"doomedScope", "deletedScope"} {
		w.ids[name] = w.owner.Must(`mutation { createScope(input: {name: "Secret `+name+`"}) { scope { id } } }`, nil).Str("createScope.scope.id")
		w.owner.Must(fill(`mutation { edit: putScopeMember(input: {scopeId: $`+name+`, userId: $edit, role: WRITER}) { scope { id } }
			view: putScopeMember(input: {scopeId: $`+name+`, userId: $view, role: READER}) { scope { id } } }`, w.ids), nil)
	}
	w.owner.Must(fill(`mutation { deleteScope(input: {scopeId: $deletedScope}) { deleted { state } } }`, w.ids), nil)
}

// indexesAreReady makes what was declared in an empty scope ready at once: what runs in the background takes a minute.
func (w *world) indexesAreReady(scope string) {
	w.T.Helper()
	store := entities.Store{DB: w.DB}
	scopes, errs := store.ScopesByID(w.T.Context(), "", []string{scope})
	require.Empty(w.T, slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
	after := scopes[0]
	after.Version++
	after.Indexes = slices.Clone(after.Indexes)
	for i := range after.Indexes {
		after.Indexes[i].Ready = true
	}
	require.NoError(w.T, store.PutScope(w.T.Context(), &scopes[0], after, nil, nil, idempotency.Key{}))
}

// What the owner is shown of the scope for a snapshot.
const (
	scopeShown = `
		scope(id: $scope) {
			name createdAt updatedAt version members { edges { role addedAt node { id } } }
			indexes { name type path kind ready progress declaredAt }
			entities(type: "thing") { nodes { key } } walk: entity(type: "thing", key: "walk") { ...entity } other: entity(type: "thing", key: "other") { ...entity }
		}
		scopes: viewer { scopes(first: 500) { nodes { id } } deletedScopes(first: 500) { nodes { scopeId state } } }`
	scopeFragments = `
		fragment entity on Entity {
			attributes meta createdAt updatedAt version indexEntries { index key }
			relations { edges { predicate index attributes node { key } } } reverseRelations { edges { predicate node { key } } }
		}`
)
