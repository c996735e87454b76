package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/loaders"
)

// doneScope is done for scopes, of which there is none when a repeated request finds that the viewer is no member any more.
func (m mutation) doneScope(ctx context.Context, s entity.Scope, err error) (*entity.Scope, any, error) {
	after, problem, err := done(ctx, m, s, err)
	if after != nil && after.ID == "" {
		after = nil
	}
	if after != nil {
		loaders.From(ctx).Scopes.Prime(after.ID, *after)
		m.scopesAhead(ctx, []entity.Scope{*after}, selected(ctx).in("scope", "Scope", "Node"))
	}
	return after, problem, err
}

func (m mutation) CreateScope(ctx context.Context, in model.CreateScopeInput) (*model.CreateScopePayload, error) {
	s, err := m.Entities.CreateScope(ctx, entity.CreateScope{Name: in.Name, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneScope(ctx, s, err)
	return &model.CreateScopePayload{Scope: after}, err
}

func (m mutation) RenameScope(ctx context.Context, in model.RenameScopeInput) (*model.RenameScopePayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	s, err := m.Entities.RenameScope(ctx, entity.RenameScope{
		Scope: id, Name: in.Name, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	})
	after, problem, err := m.doneScope(ctx, s, err)
	return &model.RenameScopePayload{Scope: after, Problem: problem}, err
}

func (m mutation) PutScopeMember(ctx context.Context, in model.PutScopeMemberInput) (*model.PutScopeMemberPayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	put := entity.PutMember{Scope: id, Email: in.Email.Value(), Role: in.Role, IdempotencyKey: in.IdempotencyKey.Value()}
	if who := in.UserID.Value(); who != nil {
		if put.User, err = userID("input.userId", *who); err != nil {
			return nil, err
		}
	}
	member, err := m.Entities.PutMember(ctx, put)
	after, problem, err := done(ctx, m, member, err)
	if after == nil {
		return &model.PutScopeMemberPayload{Problem: problem}, err
	}
	o, err := m.openMembers(ctx, selection{}, id, page.Args{})
	if err != nil {
		return nil, err
	}
	edge := scopeMemberEdgeOf(o.At(string(member.User)), member)
	return &model.PutScopeMemberPayload{Scope: besideLoaded(ctx, "scope", loaders.From(ctx).Scopes, id), MemberEdge: &edge}, nil
}

func (m mutation) RemoveScopeMember(ctx context.Context, in model.RemoveScopeMemberInput) (*model.RemoveScopeMemberPayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	who, err := userID("input.userId", in.UserID)
	if err != nil {
		return nil, err
	}
	err = m.Entities.RemoveMember(ctx, entity.RemoveMember{Scope: id, User: who, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, who, err)
	if after == nil {
		return &model.RemoveScopeMemberPayload{Problem: problem}, err
	}
	load := loaders.From(ctx)
	return &model.RemoveScopeMemberPayload{
		Scope: besideLoaded(ctx, "scope", load.Scopes, id), User: besideLoaded(ctx, "user", load.Users, who),
	}, nil
}

func (m mutation) DeclareEntityIndex(ctx context.Context, in model.DeclareEntityIndexInput) (*model.DeclareEntityIndexPayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	declared := entity.DeclareIndex{
		Scope: id, Name: in.Name, Type: in.Type, Path: in.Path, Kind: in.Kind, Carries: in.Carries.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	}
	for _, part := range in.ThenBy.Value() {
		declared.ThenBy = append(declared.ThenBy, entity.Part{Path: part.Path, Kind: part.Kind})
	}
	for _, w := range in.Where.Value() {
		declared.Where = append(declared.Where, entity.Where{Path: w.Path, Equals: w.Equals.Value(), Is: w.Is.Value(), Exists: w.Exists.Value()})
	}
	s, err := m.Entities.DeclareIndex(ctx, declared)
	after, _, err := m.doneScope(ctx, s, err)
	return &model.DeclareEntityIndexPayload{Scope: after}, err
}

func (m mutation) RemoveEntityIndex(ctx context.Context, in model.RemoveEntityIndexInput) (*model.RemoveEntityIndexPayload, error) {
	id, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	s, err := m.Entities.RemoveIndex(ctx, entity.RemoveIndex{Scope: id, Name: in.Name, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneScope(ctx, s, err)
	return &model.RemoveEntityIndexPayload{Scope: after}, err
}
