// Package entities keeps entities, their relations and indexes, and the scopes they are in.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [Store].
package entities

import (
	"context"
	"errors"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// Store keeps entities with their relationships and index entries, and the scopes they are in.
type Store struct{ *dynamo.DB }

var _ entity.Store = Store{}

// PutEntity puts the entity, and its index entries by difference. The entity is the head of these: readers of an index ask
// it. With relations it is the last step of their change, and one transaction makes both visible.
//
// Index: primary. Key: _id = <id> AND _scope_type_key = <scope>:<type> on condition of version and index entries;
// _subject_key = <scope>:<type>:<id> AND _unique_key = <index>:<key> of each entry that comes or goes.
// Cost: 1 TransactWriteItems of 1 row and these entries; with relations as ReplaceRelations,
// whose last transaction has these rows.
func (db Store) PutEntity(ctx context.Context, before *entity.Entity, after entity.Entity, relations map[string][]entity.Object, once idempotency.Key) error {
	actions, err := db.putActions(before, after)
	if err != nil {
		return err
	}
	created := 0
	if before == nil {
		created = 1
	}
	return db.Spend(allowedEntities, after.ID.Scope, created, func() error {
		return db.putWith(ctx, after.ID, actions, relations, once)
	})
}

// PutFirstEntity creates an entity of a type that the scope has not noted, and notes it, on condition of the version of the scope. The row of the
// scope is shared, but only until the type is noted.
//
// Index: primary. Key: as PutEntity, and _id = <scope> AND _scope_type_key = taggie:Scope~<shard> on condition of the version. Cost: as
// PutEntity, with 1 row more.
func (db Store) PutFirstEntity(ctx context.Context, in entity.Scope, e entity.Entity, relations map[string][]entity.Object, once idempotency.Key) error {
	actions, err := db.putActions(nil, e)
	if err != nil {
		return err
	}
	actions = append(actions, noteType(in, e.Type))
	return db.Spend(allowedEntities, e.Scope, 1, func() error { return db.putWith(ctx, e.ID, actions, relations, once) })
}

// putWith carries out actions, and the change of relations that comes with them.
func (db Store) putWith(ctx context.Context, id entity.ID, actions []dynamo.Action, relations map[string][]entity.Object, once idempotency.Key) error {
	if len(relations) == 0 {
		return db.Transact(ctx, actions, once)
	}
	edits := make(map[string]relationsEdit, len(relations))
	for predicate, objects := range relations {
		edits[predicate] = replacing(objects)
	}
	_, err := db.changeRelations(ctx, id, edits, actions, once)
	return err
}

// putActions are the row of the entity and its index entries.
func (db Store) putActions(before *entity.Entity, after entity.Entity) ([]dynamo.Action, error) {
	row, err := rowOfEntity(EntityKey(after.ID), after)
	if err != nil {
		return nil, refusedValue(err)
	}
	put := dynamo.Action{Table: dynamo.EntitiesMaster, Item: row}
	var was []entity.IndexEntry
	if before == nil {
		put.Condition, put.Names, put.Failed = "attribute_not_exists(#id)", map[string]string{"#id": "_id"}, entityThere
	} else {
		was, put.Failed = before.Index, entityConflict
		put = unchanged(put, before.Version, was)
	}
	entries, err := indexActions(after.ID, was, after.Index)
	if err != nil {
		return nil, refusedValue(err)
	}
	return append([]dynamo.Action{put}, entries...), nil
}

// entityConflict says what an entity is instead of what was expected.
func entityConflict(row dynamo.Attrs) error {
	current, err := currentEntity(row)
	if err != nil {
		return err
	}
	return &entity.VersionConflict{Current: current}
}

// entityThere says what an entity is that was not to be there. The row of one that is being deleted stays until everything
// that hangs on it is gone, and then the id is free.
func entityThere(row dynamo.Attrs) error {
	current, err := currentEntity(row)
	switch {
	case err != nil:
		return err
	case current == nil:
		return fault.New(fault.Unavailable, "an entity with this id is being deleted; the id is free again in a minute or two")
	}
	return &entity.VersionConflict{Current: current}
}

// refusedValue gives the error of a value that DynamoDB would not keep its kind.
func refusedValue(err error) error {
	if errors.Is(err, dynamo.ErrUnkept) {
		return fault.Wrap(fault.Invalid, err, "one of the values cannot be kept")
	}
	return err
}

// withoutOwn leaves out what clients put into entities, and of _meta what apps note there.
var withoutOwn = dynamo.Lightest(headerRows.Light()).Only("_meta", "version", "deleting")

// WithoutAttributes returns the store for reads of entities that need neither attributes nor meta, which may have 350 KB; they
// are empty then. Scopes are entities too, and lack everything: it is good for nothing else.
func (db Store) WithoutAttributes() Store {
	return Store{DB: db.Projecting(dynamo.Projections{*db.Table(dynamo.EntitiesMaster): withoutOwn, *db.IndexName(dynamo.EntitiesByType): withoutOwn})}
}
