package projects

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
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
// of a new one; taggie:Tasks:<shard>/task:…; <project>/<project>:Project, which counts them, when it begins or all is removed;
// that of the change, if somebody asked for it. Cost: 1 TransactWriteItems of 1 row, 1 more when it is new, 1 more when it begins or all is removed, 1 more when
// somebody asked for it, and the tasks.
func (db Store) PutRemoval(ctx context.Context, by project.UserID, before *project.Removal, after project.Removal, follow []task.Task, once idempotency.Key) error {
	row, id := removalRow(after), removalID(after.TransferID)
	change := notedBy(by, after.ChangeFrom(before, by, db.Now()))
	if before == nil {
		actions := append(started(row, id, entities.Header{ID: id, Created: after.CreatedAt}, follow), underWayUnless(after.Project, "removals", true, !after.Working())...)
		return db.Transact(ctx, append(actions, change...), once)
	}
	actions := append(replaced(row, before.Version, follow), underWayUnless(after.Project, "removals", !before.Working(), !after.Working())...)
	return db.Transact(ctx, append(actions, change...), once)
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
	return db.BatchDelete(ctx, []dynamo.RowID{{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(RemovedBy(id, item))}})
}

// errGone ends the purge of an item that is gone.
var errGone = errors.New("the item is gone")

// PurgeItem removes what is left of a removed item: first it marks the row, from when on the item cannot be brought back, then it removes
// the tags by which its file is found and the efforts, and at last the item with what links to it, and its use of the item of a user. Each step can be done again. An item that
// is not removed, or is gone, stays as it is. The efforts are all that the item has; of one that is marked they are looked for.
// *project.ItemConflict when the item is not at its version any more. The caller knows that none of the efforts is counted, and that the queue
// has followed everything of this version.
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> on condition that it is removed and of its version; of an item that is marked
// _subject_key = <project>:ProjectItem:<item> AND _predicate_key BETWEEN effort: AND effort:<updated>; <effort>/<project>:ProjectItemEffort~<shard>;
// <project>:User:<user>/effort:… of those that count; <project>:ProjectItem:<item>/status~<shard>:REMOVED:…;
// <project>:Removal:<removal>/item:0:ProjectItem:<item>; si:<owner>/<item><project> and it:<owner>/<score><item> of one that is made of
// a user's item, and tagId = ~in#<file> AND begins_with(valueHash, <project>#).
// Cost: 2 TransactWriteItems; of one that is made of a user's item also 1 Query, and ⌈n/99⌉ for its tags; with efforts 2 × ⌈n/25⌉ BatchWriteItem; of one that is marked also 1 Query and 1 BatchGetItem per 100 efforts.
func (db Store) PurgeItem(ctx context.Context, i project.Item, efforts []project.Effort) error {
	if !i.Status.Hidden() {
		return nil
	}
	marked := i.Status == project.Purged
	if !marked {
		switch err := db.markPurged(ctx, i); {
		case errors.Is(err, errGone):
			return nil
		case errors.Is(err, dynamo.ErrDone): // by somebody else, or by this one, whose answer was lost
		case err != nil:
			return err
		}
	}
	err := db.purgeTags(ctx, i)
	switch {
	case err != nil || i.EffortsMade == 0:
	case marked:
		err = db.purgeMarked(ctx, i)
	default:
		err = db.purgeEfforts(ctx, i, efforts)
	}
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	id, row := ItemID(i.ItemID), purged(i)
	row.Remove = true
	i.Status = project.Removed // under which it is listed
	name, key := StatusEntry(i)
	actions := []dynamo.Action{
		row,
		{Table: dynamo.IndexEntries, Key: entities.IndexEntryKey(id, name, key), Remove: true},
		{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(RemovedBy(project.TransferID{Project: i.Project, ID: i.Removal}, i.ItemID)), Remove: true},
	}
	err = db.purgeWithUse(ctx, i, actions)
	if errors.Is(err, errGone) { // somebody else was as fast
		return nil
	}
	if err == nil {
		db.Release(AllowedItems, string(i.Project), 1)
	}
	return err
}

// purgeTags removes the tags by which the file of an item is found in the project. None comes any more, because the item is marked; errGone when it is
// not: those of a new item of the same id stay.
func (db Store) purgeTags(ctx context.Context, i project.Item) error {
	if i.Original.ID == "" {
		return nil
	}
	s := dynamo.Span{Table: dynamo.TagsTable, PK: keys.ProjectFileID(i.Original.ID), Keys: true, Limit: dynamo.MaxActions - 1}
	s.Low, s.High = dynamo.Prefixed(keys.ProjectTagsOf(string(i.Project), ""))
	for {
		actions := []dynamo.Action{purged(i)}
		next, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(row, dynamo.TagsTable)
			actions = append(actions, dynamo.Action{Table: dynamo.TagsTable, Key: key, Remove: true})
			return true, err
		})
		if err == nil && len(actions) > 1 {
			err = db.Transact(ctx, actions, idempotency.Key{})
		}
		if err != nil || next == nil {
			return err
		}
		s.Start = next
	}
}

// purged is the condition that an item is marked as what its removal purges.
func purged(i project.Item) dynamo.Action {
	return dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(ItemID(i.ItemID)), Condition: "#status = :purged AND #removal = :removal",
		Names:  map[string]string{"#status": "status", "#removal": "removal"},
		Values: dynamo.Attrs{":purged": dynamo.Str(string(project.Purged)), ":removal": dynamo.Str(i.Removal)},
		Failed: func(dynamo.Attrs) error { return errGone },
	}
}

// markPurged marks a removed item: from then on it cannot be brought back. errGone, *project.ItemConflict, and [dynamo.ErrDone] when it is
// marked already.
func (db Store) markPurged(ctx context.Context, i project.Item) error {
	return db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(ItemID(i.ItemID)), Update: "SET #status = :purged, #meta.#version = :before + :one, #attempt = :none",
		Condition: "#status = :removed AND #removal = :removal AND #meta.#version = :before",
		Names:     map[string]string{"#status": "status", "#removal": "removal", "#meta": "_meta", "#version": "version", "#attempt": "_attempt"},
		Values: dynamo.Attrs{
			":purged": dynamo.Str(string(project.Purged)), ":removed": dynamo.Str(string(project.Removed)), ":removal": dynamo.Str(i.Removal),
			":before": dynamo.Number(int64(i.Version)), ":one": dynamo.Number(1), ":none": dynamo.Str(""),
		},
		Failed: func(row dynamo.Attrs) error {
			switch {
			case row == nil:
				return errGone
			case dynamo.Text(row["status"]) == string(project.Purged) && dynamo.Text(row["removal"]) == i.Removal:
				return dynamo.ErrDone
			}
			var current project.Item
			if err := DecodeItem(dynamo.ItemOf(row), &current); err != nil {
				return err
			}
			return &project.ItemConflict{Current: current}
		},
	}}, idempotency.Key{})
}

// purgeMarked removes the efforts of an item that was marked before, page by page, so that what was done is done when it fails. Those of a new
// item of the same id, which may be there by now if this server is slow, were made later than this item changed last.
func (db Store) purgeMarked(ctx context.Context, i project.Item) error {
	const atOnce = 100
	s := LinksOf(ItemID(i.ItemID), "effort")
	s.High = keys.PredicateKey("effort", i.UpdatedAt.UnixMilli()+1, "", "")
	s.Limit, s.Single = atOnce, true
	for {
		var efforts []project.Effort
		var wants []dynamo.Want
		next, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
			var r entities.RelationRecord
			err := entities.DecodeRelation(row, &r, nil)
			efforts = append(efforts, project.Effort{EffortID: project.EffortID{Project: i.Project, ID: r.Object.ID}, FinishedAt: time.UnixMilli(r.Index)})
			return true, err
		})
		if err != nil {
			return err
		}
		for n := range efforts {
			wants = append(wants, WantEffort(efforts[n].EffortID, &efforts[n]))
		}
		for _, err := range db.BatchGet(ctx, wants) {
			if err != nil && !errors.Is(err, dynamo.ErrMissing) {
				return err
			}
		}
		if err := db.purgeEfforts(ctx, i, efforts); err != nil {
			return err
		}
		if next == nil {
			return nil
		}
		s.Start = next
	}
}

// purgeEfforts removes efforts of an item with the links to them, in an order in which what is left can be found again when it fails: only an
// effort tells whose it is, and only the links of the item tell which efforts there are. A member has no link to an effort that was taken out of the
// statistics.
func (db Store) purgeEfforts(ctx context.Context, i project.Item, efforts []project.Effort) error {
	var members, rows, links []dynamo.RowID
	for _, e := range efforts {
		if e.User != "" && e.RemovedAt.IsZero() {
			members = append(members, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(EffortOf(UserIn(i.Project, e.User), e))})
		}
		if e.AwaitsReview() {
			members = append(members, dynamo.RowID{Table: dynamo.IndexEntries, Key: ReviewKey(e)})
		}
		rows = append(rows, dynamo.RowID{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(EffortID(e.EffortID))})
		links = append(links, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(EffortOf(ItemID(i.ItemID), e))})
	}
	for _, writes := range [][]dynamo.RowID{members, rows, links} {
		if err := db.BatchDelete(ctx, writes); err != nil {
			return err
		}
	}
	return nil
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
