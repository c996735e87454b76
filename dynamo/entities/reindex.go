package entities

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// reindexStep is how many entities are looked at between two reports.
const reindexStep = 50

// reindexAhead is how far beyond its own time a run looks: clocks of servers differ, and what was stored before it began may say
// that it was updated after.
const reindexAhead = time.Minute

// errEntityChanged says that an entity is not as it was read.
var errEntityChanged = fault.New(fault.Unavailable, "somebody else changes this entity again and again")

// Reindex reads the type in the order of updates, which tells the ids, then the entities themselves, and writes the index
// entries of those that do not emit what they should. A write leaves version and _updated as they are, so that the entity
// keeps its place in the order. What the index did not show yet is not found; a second pass finds it. What is updated after
// the run began, and moves to the end, is not followed there: otherwise a type that is updated all the time would hold a run
// for ever.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = <scope>:<type> AND _updated BETWEEN <since> AND a
// minute from now.
// Index: primary. Key: _id = <id> AND _scope_type_key = <scope>:<type> of each. Cost: 1 Query and 1 BatchGetItem per 50
// entities or megabyte, and 1 TransactWriteItems per entity whose entries change.
func (db Store) Reindex(ctx context.Context, scope, typ string, since time.Time, from string, emit entity.Mapper, report func(ctx context.Context, at string, entities int) error) error {
	scopeType := keys.ScopeTypeKey(scope, typ)
	s := dynamo.Span{Table: dynamo.EntitiesMaster, Index: dynamo.EntitiesByType, PK: scopeType, High: keys.Instant(db.Now().Add(reindexAhead)), Limit: reindexStep, Single: true}
	if !since.IsZero() {
		s.Low = keys.Instant(since)
	}
	if from != "" {
		updated, _ := splitUpdated(from)
		s.High = max(s.High, updated) // a server with a clock ahead was there; DynamoDB refuses a start outside of the range
		s.Start = updatedStart(scopeType, from)
	}
	for done := 0; ; {
		var ids []entity.ID
		at := from
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			h := Header{}
			err := dynamo.Attributes(item, h.Read)
			ids = append(ids, h.ID)
			at = updatedPosition(keys.Instant(h.Updated), h.ID.ID)
			return true, err
		})
		if err != nil {
			return err
		}
		if err := db.reindex(ctx, ids, emit); err != nil {
			return err
		}
		done += len(ids)
		if err := report(ctx, at, done); err != nil || next == nil {
			return err
		}
		s.Start, from = next, at
	}
}

// reindex brings the index entries of some entities up to date, reading again those that were changed meanwhile.
func (db Store) reindex(ctx context.Context, ids []entity.ID, emit entity.Mapper) error {
	for idle := 0; len(ids) > 0; idle++ {
		if idle > 0 && !db.Pause(ctx, idle) {
			return errors.Join(errEntityChanged, ctx.Err())
		}
		records, errs := db.records(ctx, ids)
		failed := db.Each(len(ids), func(i int) error {
			switch err := errs[i]; {
			case err == dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
				return nil
			case err != nil:
				return err
			}
			return db.putEntries(ctx, records[i].Entity(), emit)
		})
		var again []entity.ID
		var other []error
		for i, err := range failed {
			if errors.Is(err, errEntityChanged) {
				again = append(again, ids[i])
			} else if err != nil {
				other = append(other, err)
			}
		}
		if len(other) > 0 {
			return errors.Join(other...)
		}
		ids = again
	}
	return nil
}

// putEntries writes the index entries that an entity should emit, if it does not.
func (db Store) putEntries(ctx context.Context, e entity.Entity, emit entity.Mapper) error {
	after := emit(e)
	entries, err := indexActions(e.ID, e.Index, after)
	if err != nil {
		return refusedValue(err)
	}
	if len(entries) == 0 {
		return nil
	}
	head := dynamo.Action{Table: dynamo.EntitiesMaster, Key: EntityKey(e.ID), Update: "SET #entries = :after", Failed: func(dynamo.Attrs) error { return errEntityChanged }}
	head = unchanged(head, e.Version, e.Index)
	head.Values[":after"] = entriesValue(after)
	if e.Version == dynamo.FirstVersion { // the row of another program has none, and may have no map for it
		head.Update += ", #meta = :meta"
		if head.Values[":meta"], err = metaOf(e); err != nil {
			return refusedValue(err)
		}
	}
	return db.Transact(ctx, append([]dynamo.Action{head}, entries...), idempotency.Key{})
}
