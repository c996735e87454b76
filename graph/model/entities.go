package model

import (
	"fmt"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
)

// Connections and edges that carry nothing but their items.
type (
	// ScopeConnection is a page of scopes.
	ScopeConnection = page.List[entity.Scope]
	// ScopeEdge is a scope in a list.
	ScopeEdge = page.Edge[entity.Scope]
	// DeletedScopeConnection is a page of deleted scopes.
	DeletedScopeConnection = page.List[entity.DeletedScope]
	// DeletedScopeEdge is a deleted scope in a list.
	DeletedScopeEdge = page.Edge[entity.DeletedScope]
	// EntityConnection is a page of entities.
	EntityConnection = page.List[entity.Entity]
	// EntityEdge is an entity in a list.
	EntityEdge = page.Edge[entity.Entity]
)

// Unions; see aliases.go.
type (
	// RenameScopeProblem is an expected outcome of renameScope.
	RenameScopeProblem any
	// DeleteScopeProblem is an expected outcome of deleteScope.
	DeleteScopeProblem any
	// PutScopeMemberProblem is an expected outcome of putScopeMember.
	PutScopeMemberProblem any
	// RemoveScopeMemberProblem is an expected outcome of removeScopeMember.
	RemoveScopeMemberProblem any
	// SetEntityProblem is an expected outcome of setEntity.
	SetEntityProblem any
	// UpdateEntityProblem is an expected outcome of updateEntity.
	UpdateEntityProblem any
	// DeleteEntityProblem is an expected outcome of deleteEntity.
	DeleteEntityProblem any
	// ChangeRelationsProblem is an expected outcome of changes of relations.
	ChangeRelationsProblem any
)

// ScopeMemberConnection is a list of the members of a scope.
type ScopeMemberConnection struct {
	page.Connection[ScopeMemberEdge]
}

// ScopeMemberEdge is a member of a scope; resolvers load the user.
type ScopeMemberEdge struct {
	page.Position
	entity.Member
}

// IndexedEntityConnection is a list of entities in the order of an index.
type IndexedEntityConnection struct {
	page.Connection[IndexedEntityEdge]
}

// Nodes returns the entities without their edges.
func (c IndexedEntityConnection) Nodes() []entity.Entity {
	nodes := make([]entity.Entity, len(c.Edges))
	for i, e := range c.Edges {
		nodes[i] = e.Node
	}
	return nodes
}

// IndexedEntityEdge is an entity in an index.
type IndexedEntityEdge struct {
	page.Position
	Node entity.Entity
	Key  any // see [entity.IndexEntry.Value]

	Attributes map[string]any
}

// EntityKey is the key of the entity.
func (e IndexedEntityEdge) EntityKey() string { return e.Node.ID.ID }

// EntityRelationConnection is a list of relations of an entity.
type EntityRelationConnection struct {
	page.Connection[EntityRelationEdge]
}

// EntityRelationEdge is a relation of an entity; resolvers load the entity at the other end.
type EntityRelationEdge struct {
	page.Position
	entity.Relation
	Other entity.ID
}

// EntityType is the type of the entity at the other end.
func (e EntityRelationEdge) EntityType() string { return e.Other.Type }

// EntityKey is the key of the entity at the other end.
func (e EntityRelationEdge) EntityKey() string { return e.Other.ID }

// EntityScopeID is the scope of the entity at the other end.
func (e EntityRelationEdge) EntityScopeID() entity.ScopeID { return entity.ScopeID(e.Other.Scope) }

// MarshalScopeID writes the global id of a scope.
func MarshalScopeID(id entity.ScopeID) graphql.Marshaler {
	return gid.Single{Type: "Scope", Key: string(id)}
}

// UnmarshalScopeID is not used; see [UnmarshalUserID].
func UnmarshalScopeID(any) (entity.ScopeID, error) { return "", errOutputOnly }

// MarshalEntityID writes the global id of an entity.
func MarshalEntityID(id entity.ID) graphql.Marshaler {
	return gid.Of("Entity", id.Scope, id.Type, id.ID)
}

// UnmarshalEntityID is not used; see [UnmarshalUserID].
func UnmarshalEntityID(any) (entity.ID, error) { return entity.ID{}, errOutputOnly }

// The spelling of roles in the contract.
var roles = map[entity.Role]string{entity.ReaderRole: "READER", entity.WriterRole: "WRITER", entity.OwnerRole: "OWNER"}

// MarshalScopeRole writes a role.
func MarshalScopeRole(r entity.Role) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(roles[r])) })
}

// UnmarshalScopeRole reads a role.
func UnmarshalScopeRole(v any) (entity.Role, error) {
	for r, name := range roles {
		if v == name {
			return r, nil
		}
	}
	return entity.NoRole, fmt.Errorf("%.40v is not a role", v)
}
