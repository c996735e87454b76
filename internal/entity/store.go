package entity

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

// Store keeps entities. All of it may fail with Unavailable or Exhausted besides the faults that are named.
type Store interface {
	Reader
	Writer
	Relations
	Scopes
	ScopeReader
	Rebuilder
	idempotency.Store
}

// Reader reads entities and index entries.
type Reader interface {
	// EntitiesByID returns the entity or the error of each id, in the order of ids. NotFound for one that does not exist or
	// is being deleted. It sees every acknowledged write.
	EntitiesByID(ctx context.Context, ids []ID) ([]Entity, []error)
	// ListEntities lists the entities of a type, the newest first. Eventually consistent.
	ListEntities(ctx context.Context, scope, typ string, w page.Window) (page.Slice[Entity], error)
	// CountLeftOut returns what the indexes of a scope leave out, by their names, of up to [MaxLeftOutCounted] entities. Eventually
	// consistent.
	CountLeftOut(ctx context.Context, scope string) (map[string]LeftOut, error)
	// ListByIndex lists the entities that emit a key in the range, in the order of keys, each as often as it does, as they are
	// now: one that has another key by now is left out. Which ones are there is eventually consistent.
	ListByIndex(ctx context.Context, scope, index string, r Range, w page.Window) (page.Slice[Indexed], error)
	// ListEntries is ListByIndex without the entities: of each there is only its ID, and it may have another key by now, or be gone.
	ListEntries(ctx context.Context, scope, index string, r Range, w page.Window) (page.Slice[Indexed], error)
}

// Indexed is an entity with the entry by which it was found.
type Indexed struct {
	IndexEntry
	Entity Entity
}

// Writer changes entities. Each method records the idempotency key with the effect and returns *idempotency.Replayed when it
// was used before.
type Writer interface {
	// PutEntity replaces before by after with its index entries: before nil stands for an entity that does not exist.
	// Relations, where given, become those of the entity: no reader sees a mixture of a predicate's old and new ones.
	// *[VersionConflict] when before is not the current state, by version and index entries (a rebuild changes these alone),
	// *[UnknownObject] when an object does not exist.
	PutEntity(ctx context.Context, before *Entity, after Entity, relations map[string][]Object, once idempotency.Key) error
	// PutFirstEntity creates an entity of a type that [Scope.Types] lacks, as PutEntity, and adds the type. *[VersionConflict] also when the scope is
	// not at the version that was read: the declarations may be others.
	PutFirstEntity(ctx context.Context, in Scope, e Entity, relations map[string][]Object, once idempotency.Key) error
	// DeleteEntity makes the entity disappear at once, and removes it with every relation from and to it and its index
	// entries, now as far as possible and later what indexes did not show yet. *[VersionConflict] as for PutEntity.
	DeleteEntity(ctx context.Context, e Entity, once idempotency.Key) error
	// FinishDelete removes what a deleted entity left; see [DeleteEntities]. It returns when the task is to come back, zero when
	// nothing can be left.
	FinishDelete(ctx context.Context, t task.Task) (again time.Time, err error)
}

// Relations keeps relationships. What is listed is never a mixture of old and new. A change fails with [Object.Refused] where it comes to that, before it
// looks whether the objects exist.
type Relations interface {
	// ListRelations lists the relations of each subject, in the order of predicate and index, in the order of the requests. It
	// sees every acknowledged write.
	ListRelations(ctx context.Context, requests []RelationsRequest) ([]page.Slice[Relation], []error)
	// ListReverseRelations lists the relations of which each is the object, by index, in the order of the requests. Eventually
	// consistent.
	ListReverseRelations(ctx context.Context, requests []RelationsRequest) ([]page.Slice[Relation], []error)
	// AddRelations adds objects behind those that are there, but none that is there already. It returns what was added.
	// *[UnknownObject] when an object does not exist, NotFound when the subject does not; Exhausted above [MaxRelations].
	AddRelations(ctx context.Context, subject ID, predicate string, objects []Object, once idempotency.Key) ([]Relation, error)
	// RemoveRelations removes the objects, as often as each is there, and returns what was removed, without attributes.
	RemoveRelations(ctx context.Context, subject ID, predicate string, objects []ID, once idempotency.Key) ([]Relation, error)
	// ReplaceRelations makes the objects, in their order, those under the predicate; the same one may be there more than once.
	ReplaceRelations(ctx context.Context, subject ID, predicate string, objects []Object, once idempotency.Key) error
	// SettleRelations finishes or takes back a change of relations that a lost server left half done; see [ChangeRelations].
	SettleRelations(ctx context.Context, t task.Task) error
}

// RelationsRequest asks for one page of the relations of an entity.
type RelationsRequest struct {
	Entity    ID
	Predicate string // "" for all
	Window    page.Window
	shown     bool // proof that the entity was shown to the viewer
}

// Scopes keeps scopes and their members, where no client can write them as entities. Changes are atomic.
type Scopes interface {
	// ScopesByID returns the scope or the error of each id with the role of the user, in the order of ids; NotFound for one that
	// does not exist. A scope of which the user is no member has [NoRole]; so has every scope for the user "", who is nobody. One
	// that is deleted is returned with its Deletion. It sees every acknowledged write.
	ScopesByID(ctx context.Context, user UserID, ids []string) ([]Scope, []error)
	// PutScope replaces before by after and records the tasks with it; before nil stands for a scope that does not exist, whose
	// first owner is given. Types are stored with a new scope only. An index that is Fresh is declared on condition that the type is none of
	// them. One that begins to be erased is known to EraseScopes. *[ScopeConflict] when before is not the current
	// version.
	PutScope(ctx context.Context, before *Scope, after Scope, owner *Member, follow []task.Task, once idempotency.Key) error
	// MemberByID returns the membership of a user, or NotFound. It sees every acknowledged write.
	MemberByID(ctx context.Context, scope string, user UserID) (Member, error)
	// PutMember adds the user for another user, or changes the role. *[UnknownUser] when the user does not exist, or is new and has blocked the other
	// one. The last owner stays:
	// [ErrLastOwner]; Exhausted above [MaxMembers].
	PutMember(ctx context.Context, by UserID, m Member, once idempotency.Key) error
	// DeleteMember removes the user, if there; [ErrLastOwner].
	DeleteMember(ctx context.Context, scope string, user UserID, once idempotency.Key) error
	// ListMembers lists the members of a scope by user id.
	ListMembers(ctx context.Context, scope string, w page.Window) (page.Slice[Member], error)
	// ListScopes lists the scopes of which the user is a member, by id, but those that are deleted.
	ListScopes(ctx context.Context, user UserID, w page.Window) (page.Slice[Scope], error)
	// ListDeletedScopes lists the deleted scopes of which the user is an owner, by id.
	ListDeletedScopes(ctx context.Context, user UserID, w page.Window) (page.Slice[DeletedScope], error)
	// EraseScopes removes all that the scopes have that have been being erased for [Settle], themselves last: the one with this id
	// and all others. It returns when to try again where a run of another server is going on or has just ended, zero when this
	// scope is gone.
	EraseScopes(ctx context.Context, id string) (again time.Time, err error)
}

// ScopeReader reads whole scopes.
type ScopeReader interface {
	// EachEntity shows all entities of the scope page by page, those of a type together, but those that are being deleted. Which there are is eventually
	// consistent; each is shown as it is now.
	EachEntity(ctx context.Context, scope string, page func([]Entity) error) error
}

// Rebuilder rebuilds indexes.
type Rebuilder interface {
	// Reindex makes the index entries that emit returns those of each entity of the type that was updated at or after since, in
	// the order of updates, from where an earlier run stopped. What emit is given has its entries of now in Index. An entity
	// keeps version and time of update, and is written on condition that neither its version nor its entries changed since it
	// was read; otherwise it is read again. An entity that is updated meanwhile moves to the end of the order and may be missed.
	// After each step, a few dozen entities, it reports where it is and how many entities this run has looked at, and stops at
	// an error of report with that error.
	Reindex(ctx context.Context, scope, typ string, since time.Time, from string, emit Mapper, report func(ctx context.Context, at string, entities int) error) error
}

// The kinds of tasks.
const (
	ChangeRelations task.Kind = "entity-relations" // settle a change of relations
	DeleteEntities  task.Kind = "entity-delete"    // remove what a deleted entity left
	RebuildIndex    task.Kind = "entity-index"     // index the entities that exist
	EraseScope      task.Kind = "scope-deletion"   // wait until a deleted scope cannot be brought back, and remove all that it has
)
