package entity

import (
	"context"

	"github.com/taggie/taggie/internal/domain"
)

// The bounds of what is told about values that an index leaves out.
const (
	MaxLeftOutCounted  = 10_000 // entities of a scope that are counted
	MaxLeftOutExamples = 10     // entities that are told of each index
)

// LeftOut is what an index leaves out: values at its path that cannot be keys, or are more than an entity may have entries.
type LeftOut struct {
	Values   int
	Entities int
	More     bool // there are more entities than were counted
	Examples []ID // some of the entities
}

// LeftOutRequest asks for what the indexes of a scope leave out; see [Index.LeftOut].
type LeftOutRequest struct {
	Scope string
	shown bool
}

// LeftOut asks for what the indexes of the scope leave out, of which this is one.
func (x Index) LeftOut() LeftOutRequest { return LeftOutRequest{Scope: x.scope, shown: x.shown} }

// LeftOut returns what the indexes of each scope leave out, by their names, where the viewer was shown the scope; NotFound for others.
func (s *Service) LeftOut(ctx context.Context, requests []LeftOutRequest) ([]map[string]LeftOut, []error) {
	return domain.Allowed(requests, func(r LeftOutRequest) error {
		if !r.shown {
			return noScope()
		}
		return nil
	}, func(requests []LeftOutRequest) ([]map[string]LeftOut, []error) {
		left, errs := make([]map[string]LeftOut, len(requests)), make([]error, len(requests))
		for i, r := range requests {
			left[i], errs[i] = s.o.Store.CountLeftOut(ctx, r.Scope)
		}
		return left, errs
	})
}
