package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// DeletedScope returns the resolvers of DeletedScope.
func (r *Resolver) DeletedScope() graph.DeletedScopeResolver { return deletedScopes{r} }

type deletedScopes struct{ *Resolver }

func (deletedScopes) DeletedBy(ctx context.Context, s *entity.DeletedScope) (*user.User, error) {
	return person(ctx, s.Deletion.By)
}

func (r users) DeletedScopes(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[entity.DeletedScope], error) {
	sel := selected(ctx, "DeletedScopeConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.deletedScopes", string(u.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).DeletedScopesOf.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	r.deletedScopesAhead(ctx, slice.Items, sel.items("DeletedScopeEdge", "DeletedScope"))
	return page.Plain(o, slice), nil
}

// deletedScopesAhead reads what is selected below deleted scopes.
func (r *Resolver) deletedScopesAhead(ctx context.Context, deleted []entity.DeletedScope, sel selection) {
	var first wave
	if sel.showsProfiles("deletedBy") {
		for _, s := range deleted {
			first.people = append(first.people, s.Deletion.By)
		}
	}
	first.read(loaders.From(ctx))
}

// doneDeletedScope is done for deleted scopes; see doneScope.
func (m mutation) doneDeletedScope(ctx context.Context, s entity.DeletedScope, err error) (*entity.DeletedScope, any, error) {
	after, problem, err := done(ctx, m, s, err)
	if after == nil || after.ID == "" {
		return nil, problem, err
	}
	m.deletedScopesAhead(ctx, []entity.DeletedScope{*after}, payload(ctx).in("deleted", "DeletedScope"))
	return after, nil, nil
}

func (m mutation) DeleteScope(ctx context.Context, in model.DeleteScopeInput) (*model.DeleteScopePayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	deleted, err := m.Entities.DeleteScope(ctx, entity.DeleteScope{Scope: id, Purge: in.Purge, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneDeletedScope(ctx, deleted, err)
	return &model.DeleteScopePayload{Deleted: after, Problem: problem}, err
}

func (m mutation) UndoDeleteScope(ctx context.Context, in model.UndoDeleteScopeInput) (*model.UndoDeleteScopePayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	s, err := m.Entities.UndoDeleteScope(ctx, entity.ChangeDeletion{Scope: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneScope(ctx, s, err)
	return &model.UndoDeleteScopePayload{Scope: after}, err
}

func (m mutation) PurgeDeletedScope(ctx context.Context, in model.PurgeDeletedScopeInput) (*model.PurgeDeletedScopePayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	deleted, err := m.Entities.PurgeDeletedScope(ctx, entity.ChangeDeletion{Scope: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneDeletedScope(ctx, deleted, err)
	return &model.PurgeDeletedScopePayload{Deleted: after}, err
}
