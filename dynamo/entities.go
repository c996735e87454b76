package dynamo

import (
	"context"
	"errors"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// Entities keeps entities with their relationships and index entries, and the scopes they are in.
type Entities struct{ *DB }

var _ entity.Store = Entities{}

// PutEntity puts the entity, and its index entries by difference. The entity is the head of these: readers of an index ask
// it. With relations it is the last step of their change, and one transaction makes both visible.
//
// Index: primary. Key: _id = <id> AND _scope_type_key = <scope>:<type> on condition of version and index entries;
// _subject_key = <scope>:<type>:<id> AND _unique_key = <index>:<key> of each entry that comes or goes.
// Cost: 1 TransactWriteItems of 1 row and these entries; with relations as ReplaceRelations,
// whose last transaction has these rows.
func (db Entities) PutEntity(ctx context.Context, before *entity.Entity, after entity.Entity, relations map[string][]entity.Object, once idempotency.Key) error {
	actions, err := db.putActions(before, after)
	if err != nil {
		return err
	}
	created := 0
	if before == nil {
		created = 1
	}
	return db.tallies.spend(allowedEntities, after.ID.Scope, created, func() error {
		return db.putWith(ctx, after.ID, actions, relations, once)
	})
}

// putWith carries out actions, and the change of relations that comes with them.
func (db Entities) putWith(ctx context.Context, id entity.ID, actions []action, relations map[string][]entity.Object, once idempotency.Key) error {
	if len(relations) == 0 {
		return db.transact(ctx, actions, once)
	}
	edits := make(map[string]relationsEdit, len(relations))
	for predicate, objects := range relations {
		edits[predicate] = replacing(objects)
	}
	_, err := db.changeRelations(ctx, id, edits, actions, once)
	return err
}

// putActions are the row of the entity and its index entries.
func (db Entities) putActions(before *entity.Entity, after entity.Entity) ([]action, error) {
	row, err := rowOfEntity(entityKey(after.ID), after)
	if err != nil {
		return nil, refusedValue(err)
	}
	put := action{table: entitiesMaster, item: row}
	var was []entity.IndexEntry
	if before == nil {
		put.condition, put.names, put.failed = "attribute_not_exists(#id)", map[string]string{"#id": "_id"}, entityThere
	} else {
		was, put.failed = before.Index, entityConflict
		put = unchanged(put, before.Version, was)
	}
	entries, err := indexActions(after.ID, was, after.Index)
	if err != nil {
		return nil, refusedValue(err)
	}
	return append([]action{put}, entries...), nil
}

// entityConflict says what an entity is instead of what was expected.
func entityConflict(row attrs) error {
	current, err := currentEntity(row)
	if err != nil {
		return err
	}
	return &entity.VersionConflict{Current: current}
}

// entityThere says what an entity is that was not to be there. The row of one that is being deleted stays until everything
// that hangs on it is gone, and then the id is free.
func entityThere(row attrs) error {
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
	if errors.Is(err, errUnkept) {
		return fault.Wrap(fault.Invalid, err, "one of the values cannot be kept")
	}
	return err
}
