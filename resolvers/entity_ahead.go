package resolvers

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/loaders"
)

// placed are the entities at one place of the answer, with what is selected of them there.
type placed struct {
	ids []entity.ID // by which the loader knows them already
	all []entity.Entity
	sel selection
}

// related is a list of relations that is selected of the entities at one place.
type related struct {
	loader   *loaders.Loader[entity.RelationsRequest, page.Slice[entity.Relation]]
	requests []entity.RelationsRequest
	other    func(entity.Relation) entity.ID
	sel      selection // of the entities at the other end
}

// entitiesAhead reads what is selected below a list of entities, before its elements are resolved.
func (r *Resolver) entitiesAhead(ctx context.Context, all []entity.Entity, sel selection) {
	r.placedAhead(ctx, []placed{{all: all, sel: sel}})
}

// placedAhead reads what is selected below entities, level by level: the relations of all entities of a level in both
// directions side by side, then the entities at their other ends in one batch, which are the next level. What it cannot read,
// the resolvers of the fields report.
func (r *Resolver) placedAhead(ctx context.Context, level []placed) {
	for len(level) > 0 {
		level = r.levelAhead(ctx, level)
	}
}

func (r *Resolver) levelAhead(ctx context.Context, level []placed) (next []placed) {
	load := loaders.From(ctx)
	var rooms []string
	var lists []related
	for _, at := range level {
		if len(at.sel.fields) == 0 {
			continue
		}
		all := slices.Concat(at.all, entitiesKnown(ctx, at.ids))
		if at.sel.has("scope") {
			for _, e := range all {
				rooms = append(rooms, e.Scope)
			}
		}
		lists = append(lists, r.relatedTo(ctx, all, at.sel, false)...)
		lists = append(lists, r.relatedTo(ctx, all, at.sel, true)...)
	}
	var there, back []entity.RelationsRequest
	for _, list := range lists {
		if list.loader == load.Relations {
			there = append(there, list.requests...)
		} else {
			back = append(back, list.requests...)
		}
	}
	// Everything that a client can influence was made above, where a panic is the field's own; the loaders recover by themselves.
	var group errgroup.Group
	group.Go(func() error { load.Scopes.Prefetch(rooms); return nil })
	group.Go(func() error { load.Relations.Prefetch(there); return nil })
	group.Go(func() error { load.ReverseRelations.Prefetch(back); return nil })
	_ = group.Wait() // errors are for those who load

	var ids []entity.ID
	for _, list := range lists {
		if at := (placed{ids: list.others(ctx), sel: list.sel}); len(at.ids) > 0 {
			next, ids = append(next, at), append(ids, at.ids...)
		}
	}
	load.Entities.Prefetch(ids)
	return next
}

// relatedTo returns the lists of relations that are selected of the entities in one direction. A field with arguments that do
// not fit is left out: its resolver says what is wrong.
func (r *Resolver) relatedTo(ctx context.Context, all []entity.Entity, sel selection, reverse bool) (lists []related) {
	d := directionOf(reverse)
	for _, field := range sel.fields {
		if field.Name != d.field {
			continue
		}
		args := field.ArgumentMap(sel.operation.Variables)
		paging, fits := pagingOf(args)
		predicate, isText := args["predicate"].(string)
		if !fits || !isText && args["predicate"] != nil {
			continue
		}
		below := selection{sel.operation, graphql.CollectFields(sel.operation, field.Selections, []string{"EntityRelationConnection"})}
		list := related{loader: d.loader(ctx), other: d.other, sel: below.items("EntityRelationEdge", "Entity", "Node")}
		for _, e := range all {
			if o, err := r.openRelations(ctx, below, d, e, predicate, paging); err == nil {
				list.requests = append(list.requests, d.request(e, predicate, o.Window))
			}
		}
		lists = append(lists, list)
	}
	return lists
}

// others returns the ids of the entities at the other ends, each once, as far as anything is selected of them.
func (l related) others(ctx context.Context) (ids []entity.ID) {
	if len(l.sel.fields) == 0 {
		return nil
	}
	seen := map[entity.ID]bool{}
	for _, request := range l.requests {
		slice, err := l.loader.Load(ctx, request)
		if err != nil {
			continue
		}
		for _, relation := range slice.Items {
			if id := l.other(relation); !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// entitiesKnown returns those of the entities that could be read.
func entitiesKnown(ctx context.Context, ids []entity.ID) (all []entity.Entity) {
	for _, id := range ids {
		if e, err := loaders.From(ctx).Entities.Load(ctx, id); err == nil {
			all = append(all, e)
		}
	}
	return all
}
