package entity

// ScopeID is the id of a scope, where it has to be told from other texts.
type ScopeID string

// GlobalID returns the id by which the scope can be asked for again.
func (s Scope) GlobalID() ScopeID { return ScopeID(s.ID) }

// Key returns the part of the id that is unique within scope and type.
func (e Entity) Key() string { return e.ID.ID }
