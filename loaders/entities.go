package loaders

import (
	"context"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
)

// entityLoaders read scopes, entities and relations.
type entityLoaders struct {
	Scopes           *Loader[string, entity.Scope]
	Entities         *Loader[entity.ID, entity.Entity]
	Relations        *Loader[entity.RelationsRequest, page.Slice[entity.Relation]]
	ReverseRelations *Loader[entity.RelationsRequest, page.Slice[entity.Relation]]
	LeftOut          *Loader[entity.LeftOutRequest, map[string]entity.LeftOut]
	// Lists, each read once however often it is met in the response.
	ScopesOf        *Loader[ListOf, page.Slice[entity.Scope]]
	DeletedScopesOf *Loader[ListOf, page.Slice[entity.DeletedScope]]
	ScopeMembers    *Loader[entity.MembersRequest, page.Slice[entity.Member]]
	EntitiesOf      *Loader[entity.ListRequest, page.Slice[entity.Entity]]
	// Lookup lists what an index has. It remembers nothing: a request is no key.
	Lookup func(context.Context, entity.QueryRequest) (page.Slice[entity.Indexed], error)
}

func newEntityLoaders(r *response, entities *entity.Service) entityLoaders {
	scopes := register(r, "scopes", entities.ScopesByID)
	return entityLoaders{
		Scopes: scopes,
		// Whether the viewer may read a scope is asked once, not at each level of relations.
		Entities: register(r, "entities", func(ctx context.Context, ids []entity.ID) ([]entity.Entity, []error) {
			return entities.ListIn(ctx, scopes.LoadAll, ids)
		}),
		Relations:        register(r, "relations", entities.ListRelations),
		ReverseRelations: register(r, "reverseRelations", entities.ListReverseRelations),
		LeftOut:          register(r, "leftOut", entities.LeftOut),
		ScopesOf: registerList(r, "scopesOf", func(ctx context.Context, k ListOf) (page.Slice[entity.Scope], error) {
			return entities.ListScopes(ctx, k.User, k.Window)
		}),
		DeletedScopesOf: registerList(r, "deletedScopesOf", func(ctx context.Context, k ListOf) (page.Slice[entity.DeletedScope], error) {
			return entities.ListDeletedScopes(ctx, k.User, k.Window)
		}),
		ScopeMembers: registerList(r, "scopeMembers", entities.ListMembers),
		EntitiesOf:   registerList(r, "entitiesOf", entities.List),
		Lookup:       entities.Query,
	}
}
