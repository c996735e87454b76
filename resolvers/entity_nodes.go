package resolvers

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/loaders"
)

// entityNodesAhead begins to read those of the ids that are of scopes and entities, each type in one batch.
func (q query) entityNodesAhead(ctx context.Context, ids []gid.ID, group *errgroup.Group) {
	load := loaders.From(ctx)
	var rooms []string
	var records []entity.ID
	for _, id := range ids {
		if key, err := scopeID("", id); err == nil {
			rooms = append(rooms, key)
		}
		if key, err := entityID("", id); err == nil {
			records = append(records, key)
		}
	}
	group.Go(func() error { load.Scopes.Prefetch(rooms); return nil })
	group.Go(func() error { load.Entities.Prefetch(records); return nil })
}

// belowEntities reads what is selected below scopes and entities.
func (q query) belowEntities(ctx context.Context, nodes []model.Node) {
	var rooms []entity.Scope
	var records []entity.Entity
	for _, value := range nodes {
		switch value := value.(type) {
		case entity.Scope:
			rooms = append(rooms, value)
		case entity.Entity:
			records = append(records, value)
		}
	}
	if len(rooms) > 0 {
		q.scopesAhead(ctx, rooms, selected(ctx, "Scope", "Node"))
	}
	if len(records) > 0 {
		q.entitiesAhead(ctx, records, selected(ctx, "Entity", "Node"))
	}
}
