package dynamo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// settledWithin is how long the reverse index may take to show every relationship to a deleted entity.
const settledWithin = time.Minute

// DeleteEntity marks the entity, from when on it is NotFound and nothing can be related to it, and then removes what hangs on
// it; the task that is ordered with the mark does the rest. The marked row goes last, when the reverse index has surely shown
// every relationship to the entity: until then, a minute and a bit, nobody can make another one under the same id, which would
// inherit relationships that it never had, and lose new ones which look as if they were there already.
//
// Index: primary. Key: _id = <id> AND _scope_type_key = <scope>:<type> on condition of version and index entries. Cost: 1
// TransactWriteItems of 3 rows, then as [Entities.FinishDelete].
func (db Entities) DeleteEntity(ctx context.Context, e entity.Entity, once idempotency.Key) error {
	now := db.now()
	d := deletion{id: uuid.NewString(), key: entityKey(e.ID), entity: e.ID, at: now.UTC().Truncate(time.Millisecond)}
	mark := unchanged(action{table: entitiesMaster, key: d.key, update: "SET #meta = :meta"}, e.Version, e.Index)
	mark.values[":meta"] = metaOf(e.Version, attrs{"deleting": str(keys.Instant(d.at)), "deletion": str(d.id)})
	mark.failed = func(row attrs) error {
		if row != nil && deletionOf(row) == d.id {
			return errMarked
		}
		return entityConflict(row)
	}
	err := db.transact(ctx, []action{
		mark, d.order(), taskAction(task.Task{Kind: entity.DeleteEntities, ID: d.id, Scope: e.Scope, Due: d.at.Add(callWithin)}),
	}, once)
	if err != nil && !errors.Is(err, errMarked) {
		return err
	}
	_ = db.tallies.add(allowedEntities, e.Scope, -1) // fewer are always allowed
	ctx, cancel := within(ctx)
	defer cancel()
	_ = db.removeEntity(ctx, d) // the task goes on where this stops
	return nil
}

// errMarked says that an earlier attempt has marked the entity and its answer was lost.
var errMarked = errors.New("the entity is marked")

// deletion is what the task of a deletion needs to know.
type deletion struct {
	id     string
	entity entity.ID
	key    rowKey // of the entity's row
	at     time.Time
	done   time.Time // when everything was removed that was shown; zero before
}

func (d *deletion) order() action {
	row := relationshipEntries.key(orderKey(d.id))
	row["scope"], row["type"], row["id"], row["sk"] = str(d.entity.Scope), str(d.entity.Type), str(d.entity.ID), str(d.key.SK)
	row["at"] = str(keys.Instant(d.at))
	return action{table: relationshipEntries, item: row}
}

func (d *deletion) decode(item []byte) error {
	err := attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "scope":
			d.entity.Scope, err = v.str()
		case "type":
			d.entity.Type, err = v.str()
		case "id":
			d.entity.ID, err = v.str()
		case "sk":
			d.key.SK, err = v.str()
		case "at":
			d.at, err = v.instant()
		case "done":
			d.done, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
	d.key.PK = d.entity.ID
	return err
}

// deletionOf returns the id of the deletion that has marked the row of an entity.
func deletionOf(row attrs) string {
	if meta, ok := row["_meta"].(*types.AttributeValueMemberM); ok {
		return text(meta.Value["deletion"])
	}
	return ""
}

// subject is the partition of what the entity has in the two other tables.
func (d *deletion) subject() string {
	return keys.SubjectKey(d.entity.Scope, d.entity.Type, d.entity.ID)
}

// marked is the condition that the row of the entity is still the one that was deleted.
func (d *deletion) marked(a action) action {
	a.table, a.key, a.condition = entitiesMaster, d.key, "#meta.#deletion = :deletion"
	a.names = map[string]string{"#meta": "_meta", "#deletion": "deletion"}
	a.values, a.failed = attrs{":deletion": str(d.id)}, moved
	return a
}

// FinishDelete removes what a deleted entity left: relationships to it and from it, and its index entries. As the reverse index
// lags, it comes back once more after a minute for relationships that were not shown, and removes the entity's row then.
//
// Index: primary. Key: _subject_key = taggie:Orders:<id> AND _predicate_key = order; then reverse_relationships, eventually
// consistent: _object_key = <scope>:<type>:<id>; _subject_key = <scope>:<type>:<id> in both tables. Cost: 1 GetItem, 3 Query, 1
// Query more per 99 rows, 1 TransactWriteItems per 99 rows and 1 at the end; the second time the same, 1 TransactWriteItems when
// nothing was left.
func (db Entities) FinishDelete(ctx context.Context, t task.Task) (again time.Time, err error) {
	d := deletion{id: t.ID}
	found, err := db.get(ctx, relationshipEntries, orderKey(t.ID), d.decode)
	if err != nil || !found {
		return time.Time{}, err
	}
	if d.done.IsZero() {
		if err := unlessMoved(db.removeEntity(ctx, d)); err != nil {
			return time.Time{}, err
		}
		return db.now().Add(settledWithin), nil
	}
	if at := d.done.Add(settledWithin); db.now().Before(at) {
		return at, nil
	}
	if err := db.removeShown(ctx, d); err != nil {
		return time.Time{}, unlessMoved(err)
	}
	return time.Time{}, unlessMoved(db.transact(ctx, []action{
		d.marked(action{remove: true}), {table: relationshipEntries, key: orderKey(d.id), remove: true},
	}, idempotency.Key{}))
}

// unlessMoved leaves out that somebody else has done the same meanwhile.
func unlessMoved(err error) error {
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

// removeEntity removes everything that is shown, and notes when.
func (db Entities) removeEntity(ctx context.Context, d deletion) error {
	if err := db.removeShown(ctx, d); err != nil {
		return err
	}
	return db.transact(ctx, []action{{
		table: relationshipEntries, key: orderKey(d.id), update: "SET #done = if_not_exists(#done, :now)", condition: "attribute_exists(#pk)",
		names: map[string]string{"#done": "done", "#pk": relationshipEntries.pk}, values: attrs{":now": str(keys.Instant(db.now()))}, failed: moved,
	}}, idempotency.Key{})
}

// removeShown removes everything that is shown but the row of the entity. Each step is conditional on that row's being there
// still, so that whoever is late takes nothing from an entity that was made anew.
func (db Entities) removeShown(ctx context.Context, d deletion) error {
	to := span{table: relationshipEntries, index: reverseRelationships, pk: d.subject(), keys: true}
	from := span{table: relationshipEntries, pk: d.subject(), keys: true}
	entries := span{table: indexEntries, pk: d.subject(), keys: true}
	for _, s := range []span{to, from, entries} {
		if err := db.removeRows(ctx, s, d); err != nil {
			return err
		}
	}
	return nil
}

// removeRows removes the rows of a span, page by page, each page on condition that the deletion is the one of the row of the entity.
func (db Entities) removeRows(ctx context.Context, s span, d deletion) error {
	s.limit, s.single = maxActions-1, true
	for more := true; more; more = s.start != nil {
		var actions []action
		relations := 0
		next, err := db.query(ctx, s, func(item []byte) (bool, error) {
			key, err := keyOf(item, s.table)
			actions = append(actions, action{table: s.table, key: key, remove: true})
			if s.table == relationshipEntries && !keys.IsPredicateEnd(key.SK) {
				relations++
			}
			return true, err
		})
		if err != nil {
			return err
		}
		if len(actions) > 0 {
			actions = slices.Insert(actions, 0, d.marked(action{}))
		}
		if err := db.transact(ctx, actions, idempotency.Key{}); err != nil {
			return err
		}
		_ = db.tallies.add(allowedRelations, d.entity.Scope, -relations) // fewer are always allowed
		s.start = next
	}
	return nil
}
