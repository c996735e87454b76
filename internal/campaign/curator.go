package campaign

import (
	"context"
	"errors"
)

// Curator makes entities, relates them to a hub in both directions, and takes some of the relations away.
type Curator struct {
	Maker
	scope string
	hubs  []string
}

const (
	scopeMutation    = `mutation($in: CreateScopeInput!) { result: createScope(input: $in) { scope { id } } }`
	entityMutation   = `mutation($in: SetEntityInput!) { result: setEntity(input: $in) { entity { id } problem { __typename } } }`
	relateMutation   = `mutation($in: AddEntityRelationsInput!) { result: addEntityRelations(input: $in) { entity { id } problem { __typename } } }`
	unrelateMutation = `mutation($in: RemoveEntityRelationsInput!) { result: removeEntityRelations(input: $in) { entity { id } } }`
	entitiesQuery    = `query($id: ID!, $after: Cursor) { scope(id: $id) { entities(type: "Thing", first: 200, after: $after) {
		pageInfo { hasNextPage endCursor } nodes { key } } } }`
	relationsQuery = `query($id: ID!, $after: Cursor) { entity(id: $id) { list: relations(predicate: "has", first: 200, after: $after) {
		pageInfo { hasNextPage endCursor } nodes { key } } } }`
	reverseQuery = `query($id: ID!, $after: Cursor) { entity(id: $id) { list: reverseRelations(predicate: "of", first: 200, after: $after) {
		pageInfo { hasNextPage endCursor } nodes { key } } } }`
)

func entitiesOf(scope string) string { return "entities of " + scope }
func relationsOf(hub string) string  { return "relations of " + hub }
func relatedTo(hub string) string    { return "related to " + hub }

// Run curates until the context ends.
func (c *Curator) Run(ctx context.Context) {
	hub := ""
	for n := 0; c.rest(ctx, c.Rand); n++ {
		if hub == "" || n%each == each-1 {
			if hub = c.begins(ctx); hub == "" {
				continue
			}
		}
		c.relates(ctx, hub)
	}
}

// begins makes an entity that others are related to, in a scope, and returns its id; "" when nobody knows whether there is one.
func (c *Curator) begins(ctx context.Context) string {
	if c.scope == "" {
		var r struct{ Scope *struct{ ID string } }
		if a := c.asks(ctx, scopeMutation, map[string]any{"name": c.name("scope")}, &r); a.outcome != Acknowledged || r.Scope == nil {
			return ""
		}
		c.scope = r.Scope.ID
	}
	id := c.sets(ctx, c.name("hub"), []any{}, entitiesOf(c.scope))
	if id != "" {
		c.hubs = append(c.hubs, id)
	}
	return id
}

// sets makes an entity and returns its id; "" when nobody knows whether there is one.
func (c *Curator) sets(ctx context.Context, key string, relations []any, collections ...string) string {
	var r struct{ Entity *struct{ ID string } }
	in := map[string]any{
		"scopeId": c.scope, "type": "Thing", "key": key, "attributes": map[string]any{"name": key}, "relations": relations, "expectedVersion": 0,
	}
	if !c.makes(ctx, key, entityMutation, in, &r, collections...) || r.Entity == nil {
		return ""
	}
	return r.Entity.ID
}

// relates makes an entity that is of the hub, and that the hub has, perhaps only for a while.
func (c *Curator) relates(ctx context.Context, hub string) {
	key := c.name("entity")
	of := map[string]any{"predicate": "of", "objects": []any{map[string]any{"entityId": hub}}}
	id := c.sets(ctx, key, []any{of}, entitiesOf(c.scope), relatedTo(hub))
	if id == "" || !c.rest(ctx, c.Rand) {
		return
	}
	in := map[string]any{"entityId": hub, "predicate": "has", "objects": []any{map[string]any{"entityId": id}}}
	if c.makes(ctx, key, relateMutation, in, &struct{}{}, relationsOf(hub)) && c.Rand.IntN(4) == 0 && c.rest(ctx, c.Rand) {
		c.takes(ctx, relationsOf(hub), key, unrelateMutation, map[string]any{"entityId": hub, "predicate": "has", "objectIds": []string{id}})
	}
}

// Stored reads what is stored of what the curator made. An entity is related to the hub that it was made with.
func (c *Curator) Stored(ctx context.Context, s *Stored) error {
	type keyed struct{ Key string }
	keys := func(all []keyed) (keys []string) {
		for _, one := range all {
			keys = append(keys, one.Key)
		}
		return keys
	}
	type scope struct {
		Scope *struct{ Entities listed[keyed] }
	}
	if c.scope == "" {
		return nil
	}
	entities, err := list(ctx, &c.Maker, entitiesQuery, c.scope, func(d *scope) *listed[keyed] {
		if d.Scope == nil {
			return nil
		}
		return &d.Scope.Entities
	})
	s.Collections = append(s.Collections, Collection{ID: entitiesOf(c.scope), Members: keys(entities)})
	type entity struct{ Entity *struct{ List listed[keyed] } }
	for _, hub := range c.hubs {
		for _, direction := range []struct{ id, query string }{{relationsOf(hub), relationsQuery}, {relatedTo(hub), reverseQuery}} {
			related, failed := list(ctx, &c.Maker, direction.query, hub, func(d *entity) *listed[keyed] {
				if d.Entity == nil {
					return nil
				}
				return &d.Entity.List
			})
			s.Collections = append(s.Collections, Collection{ID: direction.id, Members: keys(related)})
			err = errors.Join(err, failed)
		}
	}
	return err
}
