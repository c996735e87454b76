// Package entity says what is true about entities: typed records of a scope, the relationships between them, and the indexes
// by which they are found.
//
// It knows types, rules, the service that guards scopes, and the store it needs. It must not know engines, the contract, or
// what anybody keeps in entities. Start reading at [Entity], then [Service]; the store is described in store.go.
package entity

import (
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

// UserID identifies a user.
type UserID = viewer.UserID

// ID names an entity. Each part is any text without control characters; keys escape it.
type ID struct{ Scope, Type, ID string }

// The bounds of what a client may store.
const (
	MaxNameBytes      = 64         // of a type, predicate or index
	MaxIDBytes        = 200        // of an entity's id; four of them and three names stay below the 1,024 bytes of a sort key
	MaxAttributeBytes = 350_000    // of attributes and meta as JSON: an entity is one DynamoDB item, and that holds 400 KB
	MaxDepth          = 30         // of nested attributes: DynamoDB allows 32 levels
	MaxIndexEntries   = 40         // of one entity in all indexes: those that come and those that go fit into one transaction of 100 actions
	MaxIndexKeyBytes  = 512        // of an index key
	MaxScopes         = 1_000      // that one user creates
	MaxIndexes        = 20         // declared in one scope
	MaxRelations      = 10_000     // of one subject under one predicate
	MaxEntities       = 1_000_000  // of one scope; counted in the background, to within 10 %
	MaxScopeRelations = 10_000_000 // of one scope; counted in the background, to within 10 %
	MaxRelationsAdded = 1_000      // in one mutation
	MaxOtherScopes    = 10         // of the objects in one mutation, besides the subject's
	MaxMembers        = 1_000      // of one scope
	MaxScopeNameRunes = 100        // of the name of a scope
	MaxPath           = 10         // names in the path of an index
	MaxThenBy         = 3          // parts of the keys of an index after the first
	MaxWhere          = 5          // conditions of an index
	MaxCarries        = 10         // attributes that an index carries
	MaxCarriedBytes   = 4_000      // of what an entry carries as JSON: 40 entries and their entity stay below the 4 MB of a transaction

	MaxAttributeNameBytes     = 255     // of an attribute, nested or not
	MaxStoredBytes            = 380_000 // of attributes and meta as DynamoDB counts them: "[0,0]" takes more there than as JSON
	MaxRelationAttributeBytes = 10_000  // of the attributes of a relation as JSON
)

// Entity is a record.
type Entity struct {
	ID
	// Attributes are JSON: string, json.Number, bool, nil, []any, map[string]any. A name with a leading underscore is ours.
	Attributes map[string]any
	// Meta is what apps note about the entity: JSON as the attributes, but in no index. Nil for none; see [ReservedInMeta].
	Meta      map[string]any
	Version   int // 1, and one more each time the entity is set or updated
	CreatedAt time.Time
	UpdatedAt time.Time
	// Index is what the entity emits into indexes now: what an index shows besides is on its way out, or on its way in.
	Index []IndexEntry

	shown bool // proof that the viewer may see it; only the service sets it
}

// IndexEntry is one entry of an index, emitted by a mapping function.
type IndexEntry struct {
	Name       string         // of the index and its mapping function
	Key        string         // sorts as bytes
	Attributes map[string]any // of the entry's own; may be nil
	// Value is the value that the key stands for, a text or a json.Number. Only entries that the service shows have it.
	Value any
}

// LeftOutIndex is the name under which each entity has one entry more that says how many of its values indexes leave out: as its
// attributes, by the names of the indexes. No index can be declared under this name. It is not among the entries that are shown.
const LeftOutIndex = "~left-out"

// Entries returns the entries under declared indexes.
func (e Entity) Entries() []IndexEntry {
	return slices.DeleteFunc(slices.Clone(e.Index), func(x IndexEntry) bool { return x.Name == LeftOutIndex })
}

// Mapper is a mapping function: it emits the index entries of an entity.
type Mapper func(Entity) []IndexEntry

// Relation is an entry of the relationships of a subject: subject → predicate → object.
type Relation struct {
	Subject   ID
	Predicate string
	Index     int64 // orders the objects under the predicate; chosen by the store
	Object    ID
	// Attributes are the relation's own; may be nil.
	Attributes map[string]any
}

// Object is the object of a relation that is to be, in its place among others.
type Object struct {
	ID         ID
	Attributes map[string]any
	// Refused is what the change fails with if it relates the subject to the object more often than before; nil if it may.
	Refused error `json:"-"`
}

// Role is what a member may do in a scope.
type Role uint8

// The roles, each of which may do what the one before may.
const (
	NoRole     Role = iota
	ReaderRole      // read
	WriterRole      // set and delete entities, change relations
	OwnerRole       // change members and indexes
)

// Scope is a room of its own: what is in it is invisible from others.
type Scope struct {
	ID        string
	Name      string
	Version   int
	CreatedAt time.Time
	UpdatedAt time.Time
	Indexes   []Index
	// Types are those of which there may be entities; nil where that is not known. The first entity of a type adds it, which is no new version.
	Types     map[string]bool
	CreatedBy UserID // "" of a scope from before this was kept
	Deletion  domain.Deletion
	Role      Role // of the viewer
}

// Member is a user with a role in a scope.
type Member struct {
	Scope   string
	User    UserID
	Role    Role
	AddedAt time.Time
}

// KeyKind says which values an index takes and how they are ordered.
type KeyKind string

// The kinds of declared indexes.
const (
	StringKey KeyKind = "STRING" // texts, by their UTF-8 bytes
	NumberKey KeyKind = "NUMBER" // numbers, by value
)

// Index is an index that was declared for the entities of one type: the value at an attribute path is the key. Where the
// path leads to a list, each element is one.
type Index struct {
	Name       string
	Type       string   // of the entities
	Path       []string // names of attributes, from the outside in
	Kind       KeyKind
	ThenBy     []Part   // the further parts of a key
	Where      []Where  // what the entities have to meet, all of it
	Carries    []string // names of attributes that entries have, too
	DeclaredAt time.Time
	// Fresh says that there was no entity of the type when the index was declared; see [Service.DeclareIndex].
	Fresh bool
	// Ready is false while the entities that existed before are being indexed.
	Ready bool
	// Done is how many entities the rebuild has looked at.
	Done int
	// RemovedAt is when the index was removed, zero while it is not. Until its entries are gone the name stays taken.
	RemovedAt time.Time
	// Pass and At are where the rebuild stands: in the pass over all entities (0) or in the last one (1), and where in it.
	Pass int
	At   string

	scope string // of which it was shown; see [Scope.Declared]
	shown bool
}

// Range chooses keys of an index. The zero Range is all of them; the set fields narrow it down.
type Range struct {
	Equals     *string
	BeginsWith *string
	Between    *[2]string // both ends inclusive
	Before     *string    // exclusive
	After      *string    // exclusive
}

// VersionConflict says that the entity is not at the expected version. Current is the entity as it is, nil when there is
// none.
type VersionConflict struct{ Current *Entity }

// Error says what happened, for people.
func (*VersionConflict) Error() string {
	return "the entity is not at the version that was expected: it was changed meanwhile"
}

// UnknownObject says that the object of a relation does not exist.
type UnknownObject struct{ ID ID }

// Error says what happened, for people.
func (e *UnknownObject) Error() string { return "there is no " + e.ID.Type + " with the id " + e.ID.ID }

func notFound() error { return fault.New(fault.NotFound, "there is no such entity") }

// ScopeConflict says that the scope is not at the expected version. Current is the scope as it is.
type ScopeConflict struct{ Current Scope }

// Error says what happened, for people.
func (*ScopeConflict) Error() string {
	return "the scope is not at the version that was expected: it was changed meanwhile"
}

// UnknownUser says that there is no such user, or that they have blocked who wants to add them.
type UnknownUser struct{ Field string }

// Error says what happened, for people.
func (*UnknownUser) Error() string { return "there is no user whom you can add" }

// ErrLastOwner says that the last owner of a scope cannot leave or get another role. Owners who are deleted do not count.
var ErrLastOwner = &fault.Error{Kind: fault.Conflict, Message: "a scope keeps at least one owner"}
