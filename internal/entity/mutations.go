package entity

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// Set is the input of [Service.Set].
type Set struct {
	Scope string
	Type  string
	// ID is made when it is nil.
	ID         *string
	Attributes map[string]any
	// Meta replaces that of the entity, which stays if it is nil.
	Meta map[string]any `json:",omitzero"`
	// Relations become those of the entity, under each predicate that is given; under others they stay. The viewer has to be able to write in the
	// scopes of the objects that come, too.
	Relations []PredicateObjects
	// ExpectedVersion is 0 for an entity that must not exist yet.
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Set creates an entity, or replaces its attributes, and its meta where that is given. It returns *[VersionConflict] and *[UnknownObject] as expected outcomes, and
// the zero Entity to a repeated request when the entity is gone meanwhile.
func (s *Service) Set(ctx context.Context, in Set) (Entity, error) {
	if err := checkName("input.type", "a type", in.Type); err != nil {
		return Entity{}, err
	}
	if in.ID != nil {
		if err := checkID("input.key", *in.ID); err != nil {
			return Entity{}, err
		}
	}
	attributes, err := parseAttributes("input.attributes", in.Attributes)
	if err != nil {
		return Entity{}, err
	}
	meta, err := parseMeta("input.meta", in.Meta)
	if err != nil {
		return Entity{}, err
	}
	if err := checkTogether("input.meta", attributes, meta); err != nil {
		return Entity{}, err
	}
	relations, others, err := parseRelations(in.Scope, in.Relations)
	if err != nil {
		return Entity{}, err
	}
	return s.once(ctx, "setEntity", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Entity, error) {
		id := ID{Scope: in.Scope, Type: in.Type}
		if in.ID != nil {
			id.ID = *in.ID
		} else {
			id.ID = s.o.NewID()
		}
		return s.edit(ctx, id, in.ExpectedVersion, true, func(scope Scope, before *Entity) (Entity, error) {
			if err := s.refuseObjects(ctx, others); err != nil {
				return Entity{}, err
			}
			after := Entity{ID: id, Attributes: attributes, Meta: meta}
			if in.Meta == nil && before != nil {
				after.Meta = before.Meta
				if err := checkMeta(after.Meta); err != nil {
					return Entity{}, err
				}
				if err := checkTogether("input.attributes", attributes, after.Meta); err != nil {
					return Entity{}, err
				}
			}
			return s.put(ctx, scope, before, after, relations, once)
		})
	})
}

// Update is the input of [Service.Update].
type Update struct {
	Entity ID
	// Attributes replace those of the same name; null removes one, and what is absent stays.
	Attributes map[string]any
	// Meta changes the meta by the same rules.
	Meta            map[string]any `json:",omitzero"`
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Update changes some attributes of an entity, and some of its meta. It returns *[VersionConflict] as an expected outcome, and the zero Entity as Set
// does.
func (s *Service) Update(ctx context.Context, in Update) (Entity, error) {
	changes, err := parseAttributes("input.attributes", in.Attributes)
	if err != nil {
		return Entity{}, err
	}
	noted, err := parseMeta("input.meta", in.Meta)
	if err != nil {
		return Entity{}, err
	}
	return s.once(ctx, "updateEntity", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Entity, error) {
		return s.edit(ctx, in.Entity, in.ExpectedVersion, false, func(scope Scope, before *Entity) (Entity, error) {
			attributes, err := parseAttributes("input.attributes", merged(before.Attributes, changes)) // together they may be too large
			if err != nil {
				return Entity{}, err
			}
			after := Entity{ID: in.Entity, Attributes: attributes, Meta: before.Meta}
			field := "input.attributes"
			if len(noted) > 0 {
				field = "input.meta"
				if after.Meta = merged(before.Meta, noted); len(after.Meta) == 0 {
					after.Meta = nil
				}
			}
			if err := checkMeta(after.Meta); err != nil {
				return Entity{}, err
			}
			if err := checkTogether(field, attributes, after.Meta); err != nil {
				return Entity{}, err
			}
			return s.put(ctx, scope, before, after, nil, once)
		})
	})
}

// put stores the next state of an entity, with what it emits into the indexes of the scope.
func (s *Service) put(ctx context.Context, scope Scope, before *Entity, after Entity, relations map[string][]Object, once idempotency.Key) (Entity, error) {
	after.Version = before.version() + 1
	if before != nil {
		after.CreatedAt, after.UpdatedAt = before.CreatedAt, domain.Later(s.o.Now, before.UpdatedAt)
	} else {
		after.UpdatedAt = domain.Later(s.o.Now, time.Time{})
		after.CreatedAt = after.UpdatedAt
	}
	after.Index = scope.entries(after)
	scope.changed(before, after.Index)
	scope.show(&after)
	once = once.With(after.Scope, after.Type, after.ID.ID)
	if before == nil && scope.isFresh(after.Type) {
		return after, s.o.Store.PutFirstEntity(ctx, scope, after, relations, once)
	}
	return after, s.o.Store.PutEntity(ctx, before, after, relations, once)
}

// Delete is the input of [Service.Delete].
type Delete struct {
	Entity          ID
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Delete removes an entity, every relation from and to it, and its index entries. It returns *[VersionConflict] as an expected
// outcome.
func (s *Service) Delete(ctx context.Context, in Delete) error {
	_, err := domain.Once(ctx, s.guard(), "deleteEntity", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (Entity, error) {
		return s.edit(ctx, in.Entity, in.ExpectedVersion, false, func(_ Scope, before *Entity) (Entity, error) {
			return *before, s.o.Store.DeleteEntity(ctx, *before, once.With(in.Entity.Scope, in.Entity.Type, in.Entity.ID))
		})
	}, func(context.Context, []string) (Entity, error) { return Entity{}, nil })
	return err
}

// once runs a mutation of the viewer that results in an entity; the zero Entity when a repeated request finds it gone.
func (s *Service) once(ctx context.Context, mutation string, key *string, input any, effect func(context.Context, idempotency.Key) (Entity, error)) (Entity, error) {
	return domain.Once(ctx, s.guard(), mutation, key, input, effect, func(ctx context.Context, result []string) (Entity, error) {
		e, err := s.get(ctx, ID{Scope: result[0], Type: result[1], ID: result[2]})
		if fault.Is(err, fault.NotFound) {
			return Entity{}, nil
		}
		return e, err
	})
}
