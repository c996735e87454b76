package resolvers

import (
	"context"
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

type scopes struct{ *Resolver }

func (r scopes) Members(ctx context.Context, s *entity.Scope, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.ScopeMemberConnection, error) {
	sel := selected(ctx, "ScopeMemberConnection")
	o, err := r.openMembers(ctx, sel, s.ID, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ScopeMembers.LoadNow(ctx, s.Members(o.Window))
	if err != nil {
		return nil, err
	}
	if sel.in("edges", "ScopeMemberEdge").showsProfiles("node") || sel.showsProfiles("nodes") {
		people := make([]user.ID, len(slice.Items))
		for i, m := range slice.Items {
			people[i] = m.User
		}
		loaders.From(ctx).Users.Prefetch(people)
	}
	return &model.ScopeMemberConnection{Connection: page.Connect(o, slice, scopeMemberEdgeOf)}, nil
}

func (r *Resolver) openMembers(ctx context.Context, sel selection, scope string, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Scope.members", scope)
}

func scopeMemberEdgeOf(p page.Position, m entity.Member) model.ScopeMemberEdge {
	return model.ScopeMemberEdge{Position: p, Member: m}
}

type scopeMemberConnection struct{ *Resolver }

func (scopeMemberConnection) Nodes(ctx context.Context, c *model.ScopeMemberConnection) ([]*user.User, error) {
	return partial(ctx, c.Edges, func(e model.ScopeMemberEdge) (*user.User, error) { // Members has prefetched them
		return person(ctx, e.User)
	}), nil
}

type scopeMemberEdge struct{ *Resolver }

func (scopeMemberEdge) Node(ctx context.Context, e *model.ScopeMemberEdge) (*user.User, error) {
	return person(ctx, e.User)
}

func (r scopes) Entities(ctx context.Context, s *entity.Scope, typ string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[entity.Entity], error) {
	sel := selected(ctx, "EntityConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Scope.entities", s.ID, typ)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).EntitiesOf.LoadNow(ctx, s.Entities(typ, o.Window))
	if err != nil {
		return nil, err
	}
	r.entitiesAhead(ctx, slice.Items, sel.items("EntityEdge", "Entity", "Node"))
	return page.Plain(o, slice), nil
}

func (r scopes) Entity(ctx context.Context, s *entity.Scope, typ, key string) (*entity.Entity, error) {
	return r.entity(ctx, entity.ID{Scope: s.ID, Type: typ, ID: key})
}

// entity returns the entity for the field that is being resolved, nil when there is none, with what is selected below it.
func (r *Resolver) entity(ctx context.Context, id entity.ID) (*entity.Entity, error) {
	e, err := found(loaders.From(ctx).Entities.Load(ctx, id))
	if e != nil {
		r.entitiesAhead(ctx, []entity.Entity{*e}, selected(ctx, "Entity", "Node"))
	}
	return e, err
}

func (r scopes) Lookup(ctx context.Context, s *entity.Scope, index string, key *model.KeyCondition, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.IndexedEntityConnection, error) {
	sel := selected(ctx, "IndexedEntityConnection")
	condition, err := conditionOf(key)
	if err != nil {
		return nil, err
	}
	spelled, err := json.Marshal(condition)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "this is no condition")
	}
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Scope.lookup", s.ID, index, string(spelled))
	if err != nil {
		return nil, err
	}
	request, nodes := s.Query(index, condition, o.Window), sel.items("IndexedEntityEdge", "Entity", "Node")
	request.Entries = len(nodes.fields) == 0
	slice, err := loaders.From(ctx).Lookup(ctx, request)
	if err != nil {
		return nil, err
	}
	if !request.Entries {
		all := make([]entity.Entity, len(slice.Items))
		for i, indexed := range slice.Items {
			all[i] = indexed.Entity
			loaders.From(ctx).Entities.Prime(indexed.Entity.ID, indexed.Entity) // it is shown as it is now
		}
		r.entitiesAhead(ctx, all, nodes)
	}
	return &model.IndexedEntityConnection{Connection: page.Connect(o, slice, func(p page.Position, i entity.Indexed) model.IndexedEntityEdge {
		return model.IndexedEntityEdge{Position: p, Node: i.Entity, Key: i.Value, Attributes: i.Attributes}
	})}, nil
}

func conditionOf(in *model.KeyCondition) (entity.Condition, error) {
	if in == nil {
		return entity.Condition{}, nil
	}
	condition := entity.Condition{
		Prefix: in.Prefix.Value(), Equals: in.Equals.Value(), BeginsWith: in.BeginsWith.Value(), After: in.After.Value(), Before: in.Before.Value(),
	}
	if between := in.Between.Value(); between != nil {
		if len(between) != 2 {
			return condition, fault.Invalidf("key.between", "give two keys, the smaller one first")
		}
		condition.Between = &[2]any{between[0], between[1]}
	}
	return condition, nil
}

func (r users) Scopes(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[entity.Scope], error) {
	sel := selected(ctx, "ScopeConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.scopes", string(u.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ScopesOf.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	for _, s := range slice.Items {
		loaders.From(ctx).Scopes.Prime(s.ID, s) // for what is in them
	}
	r.scopesAhead(ctx, slice.Items, sel.items("ScopeEdge", "Scope", "Node"))
	return page.Plain(o, slice), nil
}

// scopesAhead reads the single entities that are selected below scopes, and what is selected below them. The lists of a scope
// cannot be batched; they begin by themselves.
func (r *Resolver) scopesAhead(ctx context.Context, all []entity.Scope, sel selection) {
	var level []placed
	var ids []entity.ID
	for _, field := range sel.fields {
		args := field.ArgumentMap(sel.operation.Variables)
		typ, hasType := args["type"].(string)
		key, hasKey := args["key"].(string)
		if field.Name != "entity" || !hasType || !hasKey {
			continue
		}
		at := placed{sel: selection{sel.operation, graphql.CollectFields(sel.operation, field.Selections, []string{"Entity", "Node"})}}
		for _, s := range all {
			at.ids = append(at.ids, entity.ID{Scope: s.ID, Type: typ, ID: key})
		}
		level, ids = append(level, at), append(ids, at.ids...)
	}
	loaders.From(ctx).Entities.Prefetch(ids)
	r.placedAhead(ctx, level)
}

func (q query) Scope(ctx context.Context, id gid.ID) (*entity.Scope, error) {
	key, err := scopeID("id", id)
	if err != nil {
		return nil, err
	}
	s, err := found(loaders.From(ctx).Scopes.Load(ctx, key))
	if s != nil {
		q.scopesAhead(ctx, []entity.Scope{*s}, selected(ctx, "Scope", "Node"))
	}
	return s, err
}

func scopeID(field string, id gid.ID) (string, error) {
	key, err := parts(field, id, "Scope", 1)
	if err != nil {
		return "", err
	}
	return key[0], nil
}

type entityIndex struct{ *Resolver }

func (entityIndex) LeftOut(ctx context.Context, x *entity.Index) (*entity.LeftOut, error) {
	left, err := loaders.From(ctx).LeftOut.Load(ctx, x.LeftOut())
	return found(left[x.Name], err)
}

type entityIndexLeftOut struct{ *Resolver }

func (r entityIndexLeftOut) Examples(ctx context.Context, left *entity.LeftOut) ([]entity.Entity, error) {
	entities, errs := loaders.From(ctx).Entities.LoadAll(ctx, left.Examples)
	there := []entity.Entity{} // an index of the store still shows one that is gone
	for i, e := range entities {
		switch {
		case errs == nil || errs[i] == nil:
			there = append(there, e)
		case !fault.Is(errs[i], fault.NotFound):
			return nil, errs[i]
		}
	}
	r.entitiesAhead(ctx, there, selected(ctx, "Entity", "Node"))
	return there, nil
}
