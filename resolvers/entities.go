package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/loaders"
)

type entities struct{ *Resolver }

func (entities) Scope(ctx context.Context, e *entity.Entity) (*entity.Scope, error) {
	return found(loaders.From(ctx).Scopes.Load(ctx, e.ID.Scope))
}

func (r entities) Relations(ctx context.Context, e *entity.Entity, predicate *string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.EntityRelationConnection, error) {
	return r.related(ctx, directionOf(false), *e, predicate, page.Args{First: first, After: after, Last: last, Before: before})
}

func (r entities) ReverseRelations(ctx context.Context, e *entity.Entity, predicate *string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.EntityRelationConnection, error) {
	return r.related(ctx, directionOf(true), *e, predicate, page.Args{First: first, After: after, Last: last, Before: before})
}

func (r entities) related(ctx context.Context, d direction, e entity.Entity, predicate *string, paging page.Args) (*model.EntityRelationConnection, error) {
	var under string // all of them
	if predicate != nil {
		if under = *predicate; under == "" {
			return nil, fault.Invalidf("predicate", "a predicate is not empty; leave it out for the relations under all")
		}
	}
	sel := selected(ctx, "EntityRelationConnection")
	o, err := r.openRelations(ctx, sel, d, e, under, paging)
	if err != nil {
		return nil, err
	}
	slice, err := d.loader(ctx).Load(ctx, d.request(e, under, o.Window)) // there already below a list that has looked ahead
	if err == nil && len(sel.items("EntityRelationEdge", "Entity", "Node").fields) > 0 {
		slice, err = d.withEntities(ctx, slice, o.Window, func(w page.Window) entity.RelationsRequest { return d.request(e, under, w) })
	}
	if err != nil {
		return nil, err
	}
	return &model.EntityRelationConnection{Connection: page.Connect(o, slice, func(p page.Position, relation entity.Relation) model.EntityRelationEdge {
		return model.EntityRelationEdge{Position: p, Relation: relation, Other: d.other(relation)}
	})}, nil
}

func (r *Resolver) openRelations(ctx context.Context, sel selection, d direction, e entity.Entity, predicate string, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Entity."+d.field, e.ID.Scope, e.Type, e.Key(), predicate)
}

// direction is how relations are followed: from the subject to the objects, or back.
type direction struct {
	field   string
	loader  func(context.Context) *loaders.Loader[entity.RelationsRequest, page.Slice[entity.Relation]]
	request func(entity.Entity, string, page.Window) entity.RelationsRequest
	other   func(entity.Relation) entity.ID
}

func directionOf(reverse bool) direction {
	if reverse {
		return direction{
			field: "reverseRelations",
			loader: func(ctx context.Context) *loaders.Loader[entity.RelationsRequest, page.Slice[entity.Relation]] {
				return loaders.From(ctx).ReverseRelations
			},
			request: entity.Entity.ReverseRelations,
			other:   func(r entity.Relation) entity.ID { return r.Subject },
		}
	}
	return direction{
		field: "relations",
		loader: func(ctx context.Context) *loaders.Loader[entity.RelationsRequest, page.Slice[entity.Relation]] {
			return loaders.From(ctx).Relations
		},
		request: entity.Entity.Relations,
		other:   func(r entity.Relation) entity.ID { return r.Object },
	}
}

// withEntities leaves those relations out at whose other end there is no entity any more: one that is being deleted is gone at once,
// its relations a moment later, or a minute, when the server that deletes it is lost. The page stays full. The entities were read
// already where something is selected of them. A relation to a scope that the viewer may not read stays: nothing tells whether there is an entity.
func (d direction) withEntities(ctx context.Context, slice page.Slice[entity.Relation], w page.Window, at func(page.Window) entity.RelationsRequest) (page.Slice[entity.Relation], error) {
	all := page.Slice[entity.Relation]{Other: slice.Other}
	for {
		ids := make([]entity.ID, len(slice.Items))
		for i, relation := range slice.Items {
			ids[i] = d.other(relation)
		}
		_, errs := loaders.From(ctx).Entities.LoadAll(ctx, ids)
		var kept page.Slice[entity.Relation]
		for i, relation := range slice.Items {
			if errs == nil || !fault.Is(errs[i], fault.NotFound) || elsewhere(ctx, relation, ids[i].Scope) { // other errors are the node's own
				kept.Items, kept.Positions = append(kept.Items, relation), append(kept.Positions, slice.Positions[i])
			}
		}
		if w.Backward {
			all.Items, all.Positions = append(kept.Items, all.Items...), append(kept.Positions, all.Positions...)
		} else {
			all.Items, all.Positions = append(all.Items, kept.Items...), append(all.Positions, kept.Positions...)
		}
		all.More = slice.More
		missing := len(slice.Items) - len(kept.Items)
		if !slice.More || missing == 0 {
			return all, nil
		}
		next := page.Window{Limit: missing, Backward: w.Backward, From: slice.Positions[len(slice.Positions)-1]}
		if w.Backward {
			next.From = slice.Positions[0]
		}
		var err error
		if slice, err = d.loader(ctx).LoadNow(ctx, at(next)); err != nil {
			return all, err
		}
	}
}

// elsewhere reports whether a relation leads to another scope, and the viewer may not read that one. A row that another program put without a scope
// leads nowhere.
func elsewhere(ctx context.Context, r entity.Relation, scope string) bool {
	if r.Subject.Scope == r.Object.Scope || scope == "" {
		return false
	}
	_, err := loaders.From(ctx).Scopes.Load(ctx, scope) // there already: the entity could not be read without it
	return fault.Is(err, fault.NotFound)
}

type relationConnection struct{ *Resolver }

func (relationConnection) Nodes(ctx context.Context, c *model.EntityRelationConnection) ([]*entity.Entity, error) {
	return partial(ctx, c.Edges, func(e model.EntityRelationEdge) (*entity.Entity, error) {
		return other(ctx, e)
	}), nil
}

type relationEdge struct{ *Resolver }

func (relationEdge) Node(ctx context.Context, e *model.EntityRelationEdge) (*entity.Entity, error) {
	return other(ctx, *e)
}

// other returns the entity at the other end of a relation, nil when it is being deleted, or when the viewer may not read its scope.
func other(ctx context.Context, e model.EntityRelationEdge) (*entity.Entity, error) {
	return found(loaders.From(ctx).Entities.Load(ctx, e.Other))
}

func (q query) Entity(ctx context.Context, id gid.ID) (*entity.Entity, error) {
	key, err := entityID("id", id)
	if err != nil {
		return nil, err
	}
	return q.entity(ctx, key)
}

func entityID(field string, id gid.ID) (entity.ID, error) {
	key, err := parts(field, id, "Entity", 3)
	if err != nil {
		return entity.ID{}, err
	}
	return entity.ID{Scope: key[0], Type: key[1], ID: key[2]}, nil
}
