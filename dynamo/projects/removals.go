package projects

import (
	"context"
	"errors"
	"math"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// PutRemoval puts a removal and the tasks that follow from it.
//
// Index: primary. Key: <removal>/<project>:Removal on condition of its version; <project>:Project:<project>/removal:<created>:…
// of a new one; taggie:Tasks:<shard>/task:…; <project>/<project>:Project, which counts them, when it begins or all is removed.
// Cost: 1 TransactWriteItems of 1 row, 1 more when it is new, 1 more when it begins or all is removed, and the tasks.
func (db Store) PutRemoval(ctx context.Context, before *project.Removal, after project.Removal, follow []task.Task, once idempotency.Key) error {
	row, id := removalRow(after), removalID(after.TransferID)
	if before == nil {
		actions := append(started(row, id, entities.Header{ID: id, Created: after.CreatedAt}, follow), underWayUnless(after.Project, "removals", true, !after.Working())...)
		return db.Transact(ctx, actions, once)
	}
	return db.Transact(ctx, append(replaced(row, before.Version, follow), underWayUnless(after.Project, "removals", !before.Working(), !after.Working())...), once)
}

// RemovalsByID reads removals.
//
// Index: primary. Key: _id = <removal> AND _scope_type_key = <project>:Removal. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) RemovalsByID(ctx context.Context, ids []project.TransferID) ([]project.Removal, []error) {
	removals := make([]project.Removal, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = wantRemoval(id, &removals[i])
	}
	return removals, dynamo.Missing(db.BatchGet(ctx, wants), "there is no such removal")
}

func wantRemoval(id project.TransferID, into *project.Removal) dynamo.Want {
	return dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(removalID(id)), Decode: func(item dynamo.Item) error { return decodeRemoval(item, into) }}
}

// ListRemovals lists the removals of a project, the newest first.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, removal:), descending; then
// the removals as in RemovalsByID. Cost: 1 Query and ⌈n/100⌉ BatchGetItem.
func (db Store) ListRemovals(ctx context.Context, id project.ID, w page.Window) (page.Slice[project.Removal], error) {
	return listTransfers(ctx, db, id, removalType, w, wantRemoval, func(r project.Removal) string { return timed(r.CreatedAt.UnixMilli(), r.ID) })
}

// ListRemoved lists the items that a removal has removed and that were neither brought back nor are gone, up to limit, behind the one
// with an id; "" for all. It sees every acknowledged write.
//
// Index: primary. Key: _subject_key = <project>:Removal:<removal> AND begins_with(_predicate_key, item:). Cost: 1 Query.
func (db Store) ListRemoved(ctx context.Context, id project.TransferID, after string, limit int) ([]project.ItemID, error) {
	var items []project.ItemID
	s := LinksOf(removalID(id), "item")
	s.Limit, s.Single = limit, true
	if after != "" {
		s.Start = s.Table.Key(entities.RelationKey(RemovedBy(id, project.ItemID{Project: id.Project, ID: after})))
	}
	_, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
		var r entities.RelationRecord
		err := entities.DecodeRelation(row, &r, nil)
		items = append(items, project.ItemID{Project: id.Project, ID: r.Object.ID})
		return true, err
	})
	return items, err
}

// CountRemoved counts what [Store.ListRemoved] lists.
//
// Index: primary. Key: _subject_key = <project>:Removal:<removal> AND begins_with(_predicate_key, item:). Cost: 1 Query that returns
// only a number, one more per started megabyte.
func (db Store) CountRemoved(ctx context.Context, id project.TransferID) (int, error) {
	return db.CountRows(ctx, LinksOf(removalID(id), "item"), math.MaxInt)
}

// ForgetRemoved removes the link from a removal to an item that it has no more.
//
// Index: primary. Key: _subject_key = <project>:Removal:<removal> AND _predicate_key = item:0:ProjectItem:<item>. Cost: 1 BatchWriteItem.
func (db Store) ForgetRemoved(ctx context.Context, id project.TransferID, item project.ItemID) error {
	return db.BatchWrite(ctx, []dynamo.Write{{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(RemovedBy(id, item))}})
}

// errBack ends the purge of an item that was brought back meanwhile, or is gone.
var errBack = errors.New("the item is not removed any more")

// PurgeItem removes what is left of a removed item: first it marks the row, from when on the item cannot be brought back, then it removes
// the efforts, and at last the item with what links to it, and its use of the item of a user. Each step can be done again. An item that
// is not removed stays as it is. The caller knows that the outbox has nothing of the item.
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> on condition that it is removed; _subject_key =
// <project>:ProjectItem:<item> AND begins_with(_predicate_key, effort:); <effort>/<project>:ProjectItemEffort~<shard>;
// <project>:ProjectItem:<item>/status~<shard>:REMOVED:…; <project>:Removal:<removal>/item:0:ProjectItem:<item>;
// si:<owner>/<item><project> and it:<owner>/<score><item> of one that is made of a user's item.
// Cost: 2 TransactWriteItems; with efforts 1 Query and ⌈2n/25⌉ BatchWriteItem.
func (db Store) PurgeItem(ctx context.Context, i project.Item) error {
	if !i.Status.Hidden() {
		return nil
	}
	id := ItemID(i.ItemID)
	if i.Status == project.Removed {
		err := db.Transact(ctx, []dynamo.Action{{
			Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(id), Update: "SET #status = :purged, #meta.#version = #meta.#version + :one, #attempt = :none",
			Condition: "#status = :removed AND #removal = :removal",
			Names:     map[string]string{"#status": "status", "#removal": "removal", "#meta": "_meta", "#version": "version", "#attempt": "_attempt"},
			Values: dynamo.Attrs{
				":purged": dynamo.Str(string(project.Purged)), ":removed": dynamo.Str(string(project.Removed)), ":removal": dynamo.Str(i.Removal),
				":one": dynamo.Number(1), ":none": dynamo.Str(""),
			},
			Failed: func(row dynamo.Attrs) error {
				if dynamo.Text(row["status"]) == string(project.Purged) {
					return dynamo.ErrDone
				}
				return errBack
			},
		}}, idempotency.Key{})
		if errors.Is(err, errBack) {
			return nil
		}
		if err != nil && !errors.Is(err, dynamo.ErrDone) {
			return err
		}
	}
	if i.EffortsMade > 0 {
		if err := db.purgeEfforts(ctx, i); err != nil {
			return err
		}
	}
	i.Status = project.Removed // under which it is listed
	name, key := StatusEntry(i)
	actions := []dynamo.Action{
		{
			Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(id), Remove: true, Condition: "#status = :purged", Names: map[string]string{"#status": "status"},
			Values: dynamo.Attrs{":purged": dynamo.Str(string(project.Purged))}, Failed: func(dynamo.Attrs) error { return errBack },
		},
		{Table: dynamo.IndexEntries, Key: entities.IndexEntryKey(id, name, key), Remove: true},
		{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(RemovedBy(project.TransferID{Project: i.Project, ID: i.Removal}, i.ItemID)), Remove: true},
	}
	err := db.purgeWithUse(ctx, i, actions)
	if errors.Is(err, errBack) { // somebody else was as fast
		return nil
	}
	if err == nil {
		db.Release(AllowedItems, string(i.Project), 1)
	}
	return err
}

// purgeEfforts removes the efforts of an item, page by page, so that what was done is done when it fails.
func (db Store) purgeEfforts(ctx context.Context, i project.Item) error {
	const atOnce = 100
	s := LinksOf(ItemID(i.ItemID), "effort")
	s.Limit, s.Single = atOnce, true
	for {
		var rows []dynamo.Write
		next, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
			var r entities.RelationRecord
			err := entities.DecodeRelation(row, &r, nil)
			effort := EffortID(project.EffortID{Project: i.Project, ID: r.Object.ID})
			rows = append(rows,
				dynamo.Write{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(effort)},
				dynamo.Write{Table: dynamo.RelationshipEntries, Key: r.Key})
			return true, err
		})
		if err != nil {
			return err
		}
		if err := db.BatchWrite(ctx, rows); err != nil {
			return err
		}
		if next == nil {
			return nil
		}
	}
}

// purgeWithUse carries out actions together with what ends the use of the item of a user, as that is.
func (db Store) purgeWithUse(ctx context.Context, i project.Item, actions []dynamo.Action) error {
	if i.Original.ID == "" {
		return db.Transact(ctx, actions, idempotency.Key{})
	}
	by, item := uses.By{Project: i.Project}, score.RefOf(i.Original)
	unused, noItem := false, false
	for idle := 0; ; idle++ {
		all := actions
		if !unused {
			all = append(actions[:len(actions):len(actions)], by.Drop(item, noItem)...)
		}
		err := db.Transact(ctx, all, idempotency.Key{})
		use, ok := errors.AsType[uses.UnexpectedError](err)
		switch {
		case !ok:
			return err
		case use.Uncounted:
			if err := uses.Count(ctx, db.DB, use.Item); err != nil {
				return err
			}
		case use.NoItem:
			noItem = true
		default:
			unused = true
		}
		if idle > 2 && !db.Pause(ctx, idle) {
			return dynamo.ErrMoved
		}
	}
}
