package entities

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
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
// TransactWriteItems of 3 rows, then as [Store.FinishDelete].
func (db Store) DeleteEntity(ctx context.Context, e entity.Entity, once idempotency.Key) error {
	now := db.Now()
	d := deletion{ID: uuid.NewString(), Key: EntityKey(e.ID), Entity: e.ID, At: now.UTC().Truncate(time.Millisecond)}
	mark := unchanged(dynamo.Action{Table: dynamo.EntitiesMaster, Key: d.Key, Update: "SET #meta = :meta"}, e.Version, e.Index)
	mark.Values[":meta"] = &types.AttributeValueMemberM{Value: dynamo.Attrs{
		"version": dynamo.Number(int64(e.Version)), "deleting": dynamo.Str(keys.Instant(d.At)), "deletion": dynamo.Str(d.ID),
	}}
	mark.Failed = func(row dynamo.Attrs) error {
		if row != nil && deletionOf(row) == d.ID {
			return errMarked
		}
		return entityConflict(row)
	}
	err := db.Transact(ctx, []dynamo.Action{
		mark, d.Order(), dynamo.TaskAction(task.Task{Kind: entity.DeleteEntities, ID: d.ID, Scope: e.Scope, Due: d.At.Add(dynamo.CallWithin)}),
	}, once)
	if err != nil && !errors.Is(err, errMarked) {
		return err
	}
	db.Release(allowedEntities, e.Scope, 1)
	ctx, cancel := dynamo.Within(ctx)
	defer cancel()
	_ = db.removeEntity(ctx, d) // the task goes on where this stops
	return nil
}

// errMarked says that an earlier attempt has marked the entity and its answer was lost.
var errMarked = errors.New("the entity is marked")

// deletion is what the task of a deletion needs to know.
type deletion struct {
	ID     string
	Entity entity.ID
	Key    dynamo.Key // of the entity's row
	At     time.Time
	done   time.Time // when everything was removed that was shown; zero before
}

func (d *deletion) Order() dynamo.Action {
	row := dynamo.RelationshipEntries.Key(orderKey(d.ID))
	row["scope"], row["type"], row["id"], row["sk"] = dynamo.Str(d.Entity.Scope), dynamo.Str(d.Entity.Type), dynamo.Str(d.Entity.ID), dynamo.Str(d.Key.SK)
	row["at"] = dynamo.Str(keys.Instant(d.At))
	return dynamo.Action{Table: dynamo.RelationshipEntries, Item: row}
}

func (d *deletion) Decode(item dynamo.Item) error {
	err := dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "scope":
			d.Entity.Scope, err = v.Str()
		case "type":
			d.Entity.Type, err = v.Str()
		case "id":
			d.Entity.ID, err = v.Str()
		case "sk":
			d.Key.SK, err = v.Str()
		case "at":
			d.At, err = v.Instant()
		case "done":
			d.done, err = v.Instant()
		}
		return err
	})
	d.Key.PK = d.Entity.ID
	return err
}

// deletionOf returns the id of the deletion that has marked the row of an entity.
func deletionOf(row dynamo.Attrs) string {
	if meta, ok := row["_meta"].(*types.AttributeValueMemberM); ok {
		return dynamo.Text(meta.Value["deletion"])
	}
	return ""
}

// subject is the partition of what the entity has in the two other tables.
func (d *deletion) subject() string {
	return keys.SubjectKey(d.Entity.Scope, d.Entity.Type, d.Entity.ID)
}

// marked is the condition that the row of the entity is still the one that was deleted.
func (d *deletion) marked(a dynamo.Action) dynamo.Action {
	a.Table, a.Key, a.Condition = dynamo.EntitiesMaster, d.Key, "#meta.#deletion = :deletion"
	a.Names = map[string]string{"#meta": "_meta", "#deletion": "deletion"}
	a.Values, a.Failed = dynamo.Attrs{":deletion": dynamo.Str(d.ID)}, dynamo.Moved
	return a
}

// FinishDelete removes what a deleted entity left: relationships to it and from it, and its index entries. As the reverse index
// lags, it comes back once more after a minute for relationships that were not shown, and removes the entity's row then.
//
// Index: primary. Key: _subject_key = taggie:Orders:<id> AND _predicate_key = order; then reverse_relationships, eventually
// consistent: _object_key = <scope>:<type>:<id>; _subject_key = <scope>:<type>:<id> in both tables. Cost: 1 GetItem, 3 Query, 1
// Query more per 99 rows, 1 TransactWriteItems per 99 rows and 1 at the end; the second time the same, 1 TransactWriteItems when
// nothing was left.
func (db Store) FinishDelete(ctx context.Context, t task.Task) (again time.Time, err error) {
	d := deletion{ID: t.ID}
	found, err := db.Get(ctx, dynamo.RelationshipEntries, orderKey(t.ID), d.Decode)
	if err != nil || !found {
		return time.Time{}, err
	}
	if d.done.IsZero() {
		if err := dynamo.UnlessMoved(db.removeEntity(ctx, d)); err != nil {
			return time.Time{}, err
		}
		return db.Now().Add(settledWithin), nil
	}
	if at := d.done.Add(settledWithin); db.Now().Before(at) {
		return at, nil
	}
	if err := db.removeShown(ctx, d); err != nil {
		return time.Time{}, dynamo.UnlessMoved(err)
	}
	return time.Time{}, dynamo.UnlessMoved(db.Transact(ctx, []dynamo.Action{
		d.marked(dynamo.Action{Remove: true}), {Table: dynamo.RelationshipEntries, Key: orderKey(d.ID), Remove: true},
	}, idempotency.Key{}))
}

// removeEntity removes everything that is shown, and notes when.
func (db Store) removeEntity(ctx context.Context, d deletion) error {
	if err := db.removeShown(ctx, d); err != nil {
		return err
	}
	return db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.RelationshipEntries, Key: orderKey(d.ID), Update: "SET #done = if_not_exists(#done, :now)", Condition: "attribute_exists(#pk)",
		Names: map[string]string{"#done": "done", "#pk": dynamo.RelationshipEntries.PK}, Values: dynamo.Attrs{":now": dynamo.Str(keys.Instant(db.Now()))}, Failed: dynamo.Moved,
	}}, idempotency.Key{})
}

// removeShown removes everything that is shown but the row of the entity. Each step is conditional on that row's being there
// still, so that whoever is late takes nothing from an entity that was made anew.
func (db Store) removeShown(ctx context.Context, d deletion) error {
	to := dynamo.Span{Table: dynamo.RelationshipEntries, Index: dynamo.ReverseRelationships, PK: d.subject(), Keys: true}
	from := dynamo.Span{Table: dynamo.RelationshipEntries, PK: d.subject(), Keys: true}
	entries := dynamo.Span{Table: dynamo.IndexEntries, PK: d.subject(), Keys: true}
	for _, s := range []dynamo.Span{to, from, entries} {
		if err := db.removeRows(ctx, s, d); err != nil {
			return err
		}
	}
	return nil
}

// removeRows removes the rows of a span, page by page, each page on condition that the deletion is the one of the row of the entity.
func (db Store) removeRows(ctx context.Context, s dynamo.Span, d deletion) error {
	s.Limit, s.Single = dynamo.MaxActions-1, true
	for more := true; more; more = s.Start != nil {
		var actions []dynamo.Action
		relations := map[string]int{} // by the scope of the subject, which may be another one
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(item, s.Table)
			actions = append(actions, dynamo.Action{Table: s.Table, Key: key, Remove: true})
			if s.Table == dynamo.RelationshipEntries && !keys.IsPredicateEnd(key.SK) {
				relations[keys.Split(key.PK)[0]]++
			}
			return true, err
		})
		if err != nil {
			return err
		}
		if len(actions) > 0 {
			actions = slices.Insert(actions, 0, d.marked(dynamo.Action{}))
		}
		if err := db.Transact(ctx, actions, idempotency.Key{}); err != nil {
			return err
		}
		for scope, n := range relations {
			db.Release(allowedRelations, scope, n)
		}
		s.Start = next
	}
	return nil
}
