package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

const findScope = `query FindScope {
  viewer { scopes(first: 500) { nodes { id name } } }
}`

const createScope = `mutation CreateScope($input: CreateScopeInput!) {
  createScope(input: $input) { scope { id name } }
}`

const putScopeMember = `mutation PutScopeMember($input: PutScopeMemberInput!) {
  putScopeMember(input: $input) { problem { __typename ... on Problem { message } } }
}`

const listIndexes = `query ListIndexes($id: ID!) {
  scope(id: $id) { indexes { name } }
}`

const declareEntityIndex = `mutation DeclareEntityIndex($input: DeclareEntityIndexInput!) {
  declareEntityIndex(input: $input) { scope { id } }
}`

const setEntity = `mutation SetEntity($input: SetEntityInput!) {
  setEntity(input: $input) { entity { id } problem { __typename ... on EntityConflict { current { id } } } }
}`

const addEntityRelations = `mutation AddEntityRelations($input: AddEntityRelationsInput!) {
  addEntityRelations(input: $input) { problem { __typename } }
}`

// named is an object that is found by its name.
type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// loadScope makes what is missing of the scope, its indexes, its entities, and then the relations between them.
func (l *loader) loadScope(ctx context.Context, members []member, _ time.Time) error {
	entities, relations := planScope(l.size.scope)
	shown := newProgress(l.options.Progress, "entities", len(entities)+len(relations))
	defer shown.finish()
	ada := members[0]
	scope, err := l.scope(ctx, ada)
	if err != nil {
		return err
	}
	if err := l.prepareScope(ctx, members, scope); err != nil {
		return err
	}
	ids := make([]string, len(entities))
	err = l.each(ctx, len(entities), func(ctx context.Context, i int) (err error) {
		ids[i], err = l.setEntity(ctx, ada, scope, entities[i])
		shown.add(1)
		return err
	})
	if err != nil {
		return err
	}
	byKey := map[string]string{}
	for i, e := range entities {
		byKey[e.key] = ids[i]
	}
	return l.each(ctx, len(relations), func(ctx context.Context, i int) error {
		defer shown.add(1)
		return l.relate(ctx, ada, relations[i], byKey)
	})
}

// scope finds the scope by its name, or creates it.
func (l *loader) scope(ctx context.Context, ada member) (string, error) {
	var found struct {
		Viewer struct {
			Scopes struct {
				Nodes []named `json:"nodes"`
			} `json:"scopes"`
		} `json:"viewer"`
	}
	if err := l.ask(ctx, ada, findScope, nil, &found); err != nil {
		return "", err
	}
	for _, s := range found.Viewer.Scopes.Nodes {
		if s.Name == scopeName {
			return s.ID, nil
		}
	}
	var created struct {
		CreateScope struct {
			Scope named `json:"scope"`
		} `json:"createScope"`
	}
	err := l.change(ctx, ada, createScope, map[string]any{"name": scopeName}, &created)
	return created.CreateScope.Scope.ID, err
}

// prepareScope adds the members of the set and declares the indexes. These are not waited for: it takes a minute until
// one is ready.
func (l *loader) prepareScope(ctx context.Context, members []member, scope string) error {
	for _, i := range slices.Sorted(maps.Keys(scopeRoles)) {
		if i >= len(members) {
			continue
		}
		input := map[string]any{"scopeId": scope, "userId": members[i].id, "role": scopeRoles[i]}
		if err := l.change(ctx, members[0], putScopeMember, input, &struct{}{}); err != nil {
			return err
		}
	}
	var found struct {
		Scope struct {
			Indexes []named `json:"indexes"`
		} `json:"scope"`
	}
	if err := l.ask(ctx, members[0], listIndexes, map[string]any{"id": scope}, &found); err != nil {
		return err
	}
	for _, index := range indexes {
		if slices.ContainsFunc(found.Scope.Indexes, func(n named) bool { return n.Name == index.name }) {
			continue
		}
		input := map[string]any{"scopeId": scope, "name": index.name, "type": index.kind, "path": index.path, "kind": index.key}
		if err := l.change(ctx, members[0], declareEntityIndex, input, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// setEntity creates an entity that does not exist and returns its id. One that exists stays as somebody may have changed
// it. The id is empty when an earlier run created the entity and somebody deleted it since.
func (l *loader) setEntity(ctx context.Context, ada member, scope string, e plannedEntity) (string, error) {
	var data struct {
		SetEntity struct {
			Entity  *named `json:"entity"`
			Problem *struct {
				Current *named `json:"current"`
			} `json:"problem"`
		} `json:"setEntity"`
	}
	input := map[string]any{"scopeId": scope, "type": e.kind, "key": e.key, "attributes": e.attributes, "expectedVersion": 0}
	if err := l.change(ctx, ada, setEntity, input, &data); err != nil {
		return "", err
	}
	switch set := data.SetEntity; {
	case set.Entity != nil:
		return set.Entity.ID, nil
	case set.Problem == nil:
		return "", nil
	case set.Problem.Current == nil:
		return "", fmt.Errorf("set the entity %s: it is being changed by somebody else; run it again", e.key)
	default:
		return set.Problem.Current.ID, nil
	}
}

// relate adds relations; the server adds none that is there already.
func (l *loader) relate(ctx context.Context, ada member, r plannedRelations, ids map[string]string) error {
	var objects []any
	for _, o := range r.objects {
		if ids[o.key] == "" { // somebody deleted it: so be it
			continue
		}
		object := map[string]any{"entityId": ids[o.key]}
		if o.attributes != nil {
			object["attributes"] = o.attributes
		}
		objects = append(objects, object)
	}
	if ids[r.subject] == "" || len(objects) == 0 {
		return nil
	}
	input := map[string]any{"entityId": ids[r.subject], "predicate": r.predicate, "objects": objects}
	return l.change(ctx, ada, addEntityRelations, input, &struct{}{})
}
