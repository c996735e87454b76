package entity

import "context"

// What only the tests use that see this room from outside.
const (
	ProgressAfter = progressAfter
	TypesNoted    = typesNoted
)

var (
	Invalid  = invalid
	KeysOf   = keysOf
	NotFound = notFound
	Texts    = texts
)

// Get reads an entity for the viewer, as repeated mutations do.
func (s *Service) Get(ctx context.Context, id ID) (Entity, error) { return s.get(ctx, id) }

// WasShown reports whether the entity carries the proof that the viewer may see it.
func (e Entity) WasShown() bool { return e.shown }

// AsShown returns the entity with that proof.
func (e Entity) AsShown() Entity {
	e.shown = true
	return e
}
