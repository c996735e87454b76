package resolvers

import (
	"context"
	"errors"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/loaders"
)

// entityProblem is the part of problem for scopes and entities; nil for what is none of theirs.
func (m mutation) entityProblem(ctx context.Context, err error) any {
	if stale, ok := errors.AsType[*entity.VersionConflict](err); ok {
		if stale.Current != nil {
			m.entityAhead(ctx, *stale.Current, selected(ctx).in("problem", "EntityConflict", "Problem").in("current", "Entity", "Node"))
		}
		return model.EntityConflict{Message: stale.Error(), Current: stale.Current}
	}
	if stale, ok := errors.AsType[*entity.ScopeConflict](err); ok {
		return model.ScopeConflict{Message: stale.Error(), Current: stale.Current}
	}
	if unknown, ok := errors.AsType[*entity.UnknownObject](err); ok {
		return model.UnknownObject{Message: unknown.Error(), ScopeID: gid.Of("Scope", unknown.ID.Scope), Type: unknown.ID.Type, Key: unknown.ID.ID}
	}
	if unknown, ok := errors.AsType[*entity.UnknownUser](err); ok {
		return model.UnknownUser{Message: unknown.Error(), Field: unknown.Field}
	}
	if errors.Is(err, entity.ErrLastOwner) {
		return model.LastOwner{Message: entity.ErrLastOwner.Message}
	}
	return nil
}

// doneEntity is done for entities, of which there is none when a repeated request finds it gone.
func (m mutation) doneEntity(ctx context.Context, e entity.Entity, err error) (*entity.Entity, any, error) {
	after, problem, err := done(ctx, m, e, err)
	if after != nil && after.Key() == "" {
		after = nil
	}
	if after != nil {
		m.entityAhead(ctx, *after, selected(ctx).in("entity", "Entity", "Node"))
	}
	return after, problem, err
}

// doneRelations is done for changes of relations, whose payloads show the subject.
func (m mutation) doneRelations(ctx context.Context, subject entity.ID, err error) (*entity.Entity, any, error) {
	after, problem, err := done(ctx, m, subject, err)
	if after == nil {
		return nil, problem, err
	}
	e := besideLoaded(ctx, "entity", loaders.From(ctx).Entities, subject)
	if e != nil {
		m.entityAhead(ctx, *e, selected(ctx).in("entity", "Entity", "Node"))
	}
	return e, nil, nil
}

func (m mutation) entityAhead(ctx context.Context, e entity.Entity, sel selection) {
	loaders.From(ctx).Entities.Prime(e.ID, e)
	m.entitiesAhead(ctx, []entity.Entity{e}, sel)
}

func (m mutation) SetEntity(ctx context.Context, in model.SetEntityInput) (*model.SetEntityPayload, error) {
	scope, err := scopeID("input.scopeId", in.ScopeID)
	if err != nil {
		return nil, err
	}
	relations, err := predicatesOf(in.Relations.Value())
	if err != nil {
		return nil, err
	}
	e, err := m.Entities.Set(ctx, entity.Set{
		Scope: scope, Type: in.Type, ID: in.Key.Value(), Attributes: in.Attributes, Meta: in.Meta.Value(), Relations: relations,
		ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	})
	after, problem, err := m.doneEntity(ctx, e, err)
	return &model.SetEntityPayload{Entity: after, Problem: problem}, err
}

func predicatesOf(in []model.PredicateInput) ([]entity.PredicateObjects, error) {
	relations := make([]entity.PredicateObjects, len(in))
	for i, p := range in {
		objects, err := objectsOf("input.relations."+strconv.Itoa(i)+".objects", p.Objects)
		if err != nil {
			return nil, err
		}
		relations[i] = entity.PredicateObjects{Predicate: p.Predicate, Objects: objects}
	}
	return relations, nil
}

func objectsOf(field string, in []model.RelationObjectInput) ([]entity.Object, error) {
	objects := make([]entity.Object, len(in))
	for i, o := range in {
		id, err := entityID(field+"."+strconv.Itoa(i)+".entityId", o.EntityID)
		if err != nil {
			return nil, err
		}
		objects[i] = entity.Object{ID: id, Attributes: o.Attributes.Value()}
	}
	return objects, nil
}

func (m mutation) UpdateEntity(ctx context.Context, in model.UpdateEntityInput) (*model.UpdateEntityPayload, error) {
	id, err := entityID("input.entityId", in.EntityID)
	if err != nil {
		return nil, err
	}
	e, err := m.Entities.Update(ctx, entity.Update{
		Entity: id, Attributes: in.Attributes, Meta: in.Meta.Value(), ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	})
	after, problem, err := m.doneEntity(ctx, e, err)
	return &model.UpdateEntityPayload{Entity: after, Problem: problem}, err
}

func (m mutation) DeleteEntity(ctx context.Context, in model.DeleteEntityInput) (*model.DeleteEntityPayload, error) {
	id, err := entityID("input.entityId", in.EntityID)
	if err != nil {
		return nil, err
	}
	err = m.Entities.Delete(ctx, entity.Delete{Entity: id, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	deleted, problem, err := done(ctx, m, gid.Of("Entity", id.Scope, id.Type, id.ID), err)
	return &model.DeleteEntityPayload{DeletedEntityID: deleted, Problem: problem}, err
}

func (m mutation) AddEntityRelations(ctx context.Context, in model.AddEntityRelationsInput) (*model.AddEntityRelationsPayload, error) {
	put, err := relationsOf(in.EntityID, in.Predicate, in.Objects, in.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	_, err = m.Entities.AddRelations(ctx, put)
	subject, problem, err := m.doneRelations(ctx, put.Subject, err)
	return &model.AddEntityRelationsPayload{Entity: subject, Problem: problem}, err
}

func (m mutation) ReplaceEntityRelations(ctx context.Context, in model.ReplaceEntityRelationsInput) (*model.ReplaceEntityRelationsPayload, error) {
	put, err := relationsOf(in.EntityID, in.Predicate, in.Objects, in.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	err = m.Entities.ReplaceRelations(ctx, put)
	subject, problem, err := m.doneRelations(ctx, put.Subject, err)
	return &model.ReplaceEntityRelationsPayload{Entity: subject, Problem: problem}, err
}

func relationsOf(subject gid.ID, predicate string, objects []model.RelationObjectInput, key graphql.Omittable[*string]) (entity.PutRelations, error) {
	put := entity.PutRelations{Predicate: predicate, IdempotencyKey: key.Value()}
	var err error
	if put.Subject, err = entityID("input.entityId", subject); err == nil {
		put.Objects, err = objectsOf("input.objects", objects)
	}
	return put, err
}

func (m mutation) RemoveEntityRelations(ctx context.Context, in model.RemoveEntityRelationsInput) (*model.RemoveEntityRelationsPayload, error) {
	subject, err := entityID("input.entityId", in.EntityID)
	if err != nil {
		return nil, err
	}
	remove := entity.RemoveRelations{Subject: subject, Predicate: in.Predicate, IdempotencyKey: in.IdempotencyKey.Value()}
	for i, object := range in.ObjectIds {
		id, err := entityID("input.objectIds."+strconv.Itoa(i), object)
		if err != nil {
			return nil, err
		}
		remove.Objects = append(remove.Objects, id)
	}
	_, err = m.Entities.RemoveRelations(ctx, remove)
	after, _, err := m.doneRelations(ctx, subject, err)
	return &model.RemoveEntityRelationsPayload{Entity: after}, err
}
