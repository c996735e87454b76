package contents

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
)

type scopeLine struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Role      string      `json:"role"`
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`
	Indexes   []indexLine `json:"indexes"`
}

type indexLine struct {
	Name string   `json:"name"`
	Type string   `json:"type"`
	Path []string `json:"path"`
}

func (s Sources) eachScope(ctx context.Context, id archive.UserID, do func([]entity.Scope) error) error {
	return each(page.Max, func(w page.Window) (page.Slice[entity.Scope], error) { return s.Entities.ListScopes(ctx, id, w) }, do)
}

func (s Sources) scopes(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.eachScope(ctx, id, func(all []entity.Scope) error {
		for _, scope := range all {
			line := scopeLine{gid.Of("Scope", scope.ID).String(), scope.Name, roles[scope.Role], scope.CreatedAt, scope.UpdatedAt, []indexLine{}}
			for _, x := range scope.Declared() {
				line.Indexes = append(line.Indexes, indexLine{x.Name, x.Type, x.Path})
			}
			if err := emit(line); err != nil {
				return err
			}
		}
		return nil
	})
}

type entityLine struct {
	ID         string         `json:"id"`
	Scope      string         `json:"scope"`
	Type       string         `json:"type"`
	Key        string         `json:"key"`
	Attributes map[string]any `json:"attributes"`
	Meta       map[string]any `json:"meta,omitempty"`
	Version    int            `json:"version"`
	CreatedAt  time.Time      `json:"createdAt"`
	UpdatedAt  time.Time      `json:"updatedAt"`
}

type relationLine struct {
	Subject    string         `json:"subject"`
	Predicate  string         `json:"predicate"`
	Object     string         `json:"object"`
	Attributes map[string]any `json:"attributes,omitempty"`
}

// eachOwned shows all entities of the scopes that the user owns.
func (s Sources) eachOwned(ctx context.Context, id archive.UserID, do func(entity.Scope, []entity.Entity) error) error {
	return s.eachScope(ctx, id, func(all []entity.Scope) error {
		for _, scope := range all {
			if scope.Role < entity.OwnerRole {
				continue
			}
			if err := s.Entities.EachEntity(ctx, scope, func(some []entity.Entity) error { return do(scope, some) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s Sources) entities(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	return s.eachOwned(ctx, id, func(in entity.Scope, all []entity.Entity) error {
		for _, e := range all {
			if err := emit(entityLine{entityGID(e.ID), gid.Of("Scope", in.ID).String(), e.Type, e.Key(), e.Attributes, e.Meta, e.Version, e.CreatedAt, e.UpdatedAt}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s Sources) relations(ctx context.Context, id archive.UserID, emit archive.Emit) error {
	related := lists[entity.RelationsRequest, entity.Relation]{
		width: few / 4, window: func(r *entity.RelationsRequest) *page.Window { return &r.Window }, // of up to 10 KB each
		list: func(rs []entity.RelationsRequest) ([]page.Slice[entity.Relation], []error) {
			return s.Entities.ListRelations(ctx, rs)
		},
	}
	return s.eachOwned(ctx, id, func(_ entity.Scope, all []entity.Entity) error {
		requests := make([]entity.RelationsRequest, len(all))
		for i, e := range all {
			requests[i] = e.Relations("", page.Window{Limit: few})
		}
		return related.each(requests, func(i int, some []entity.Relation) error {
			for _, r := range some {
				if err := emit(relationLine{entityGID(all[i].ID), r.Predicate, entityGID(r.Object), r.Attributes}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func entityGID(id entity.ID) string { return gid.Of("Entity", id.Scope, id.Type, id.ID).String() }
