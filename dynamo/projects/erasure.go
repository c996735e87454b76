package projects

import (
	"context"
	"errors"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// Erasing removes everything that a project has. Nobody is a member of it any more, so that nobody adds to it but what runs in the background.

// EraseTransfers removes imports, exports and removals, so that what runs one of them ends.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, import:), export: and removal:; <transfer>/<project>:Import,
// Export or Removal. Cost: 3 Queries and ⌈2n/25⌉ BatchWriteItem.
func (db Store) EraseTransfers(ctx context.Context, id project.ID) error {
	for _, predicate := range transferPredicates {
		var rows, links []dynamo.RowID
		if _, err := db.Query(ctx, LinksOf(ProjectID(id), predicate), func(row dynamo.Item) (bool, error) {
			var r entities.RelationRecord
			err := entities.DecodeRelation(row, &r, nil)
			rows = append(rows, dynamo.RowID{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(r.Object)})
			links = append(links, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(r.Relation)})
			return true, err
		}); err != nil {
			return err
		}
		if err := db.inOrder(ctx, rows, links); err != nil { // the links last: by them the rows are found again
			return err
		}
	}
	return nil
}

// inOrder carries out writes, those of a list after those before it.
func (db Store) inOrder(ctx context.Context, lists ...[]dynamo.RowID) error {
	for _, writes := range lists {
		if err := db.BatchDelete(ctx, writes); err != nil {
			return err
		}
	}
	return nil
}

// EraseItems removes the items and efforts that the indexes show, with all their rows, the uses of users' items, and the tags by which these are found. It returns how many things it
// found: what is not shown yet is found by the next call.
//
// Index: entities_by_type and index_lookup, eventually consistent. Key: _scope_type_key = <project>:ProjectItem~<shard> and ProjectItemEffort~<shard>;
// _scope_index_name = <project>:status~<shard> and review~<shard>. Index: tags_by_value, eventually consistent. Key: queryId = ~in#<project>. Cost: 2 to 3 Queries per shard (16), 1 for tags, one more per started megabyte; a row a tag, 4 rows an effort and
// up to 5 an item in BatchWriteItem of 25; of one that is made of a user's item 1 TransactWriteItems of 3 rows besides.
func (db Store) EraseItems(ctx context.Context, id project.ID) (int, error) {
	found := make([]int, keys.Shards)
	errs := db.Each(keys.Shards, func(shard int) error {
		n, err := db.eraseShard(ctx, id, shard)
		found[shard] = n
		return err
	})
	// Tags come by no other way than with an item that is there.
	total, err := db.eraseFound(ctx, dynamo.Span{Table: dynamo.TagsTable, Index: dynamo.TagsByValue, PK: keys.ProjectTagsID(string(id))})
	for _, n := range found {
		total += n
	}
	return total, errors.Join(append(errs, err)...)
}

func (db Store) eraseShard(ctx context.Context, id project.ID, shard int) (int, error) {
	efforts, items := 0, 0
	if err := entities.Sweep(ctx, db.DB, keys.ShardedScopeTypeKey(string(id), EffortType, shard), DecodeEffort, func(found []project.Effort) error {
		efforts += len(found)
		return db.eraseEfforts(ctx, found)
	}); err != nil {
		return 0, err
	}
	if err := entities.Sweep(ctx, db.DB, keys.ShardedScopeTypeKey(string(id), ItemType, shard), DecodeItem, func(found []project.Item) error {
		items += len(found)
		return db.eraseItems(ctx, found)
	}); err != nil {
		return 0, err
	}
	// Entries of what changed its status after it was read, and of what went before its entry.
	entries, err := db.eraseIndex(ctx, id, keys.IndexName(keys.StatusIndex, shard))
	if err == nil && shard < keys.ReviewShards {
		var reviews int
		reviews, err = db.eraseIndex(ctx, id, keys.IndexName(keys.ReviewIndex, shard))
		entries += reviews
	}
	return efforts + items + entries, err
}

// eraseEfforts removes efforts with what links to them, themselves last: by them the others are found again.
func (db Store) eraseEfforts(ctx context.Context, efforts []project.Effort) error {
	var links, rows []dynamo.RowID
	for _, e := range efforts {
		for _, subject := range []entity.ID{ItemID(project.ItemID{Project: e.Project, ID: e.Item}), UserIn(e.Project, e.User)} {
			links = append(links, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(EffortOf(subject, e))})
		}
		if e.ToReview {
			links = append(links, dynamo.RowID{Table: dynamo.IndexEntries, Key: ReviewKey(e)})
		}
		rows = append(rows, dynamo.RowID{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(EffortID(e.EffortID))})
	}
	return db.inOrder(ctx, links, rows)
}

// eraseItems does the same for items. One that is made of an item of a user goes together with the use of that.
func (db Store) eraseItems(ctx context.Context, items []project.Item) error {
	var links, rows []dynamo.RowID
	var using []project.Item
	for _, i := range items {
		name, key := StatusEntry(i)
		links = append(links, dynamo.RowID{Table: dynamo.IndexEntries, Key: entities.IndexEntryKey(ItemID(i.ItemID), name, key)})
		for _, kind := range LabelKinds {
			if r, is := Labelled(i, kind); is {
				links = append(links, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(r)})
			}
		}
		if i.Removal != "" {
			links = append(links, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(RemovedBy(project.TransferID{Project: i.Project, ID: i.Removal}, i.ItemID))})
		}
		if i.Original.ID == "" {
			rows = append(rows, dynamo.RowID{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(ItemID(i.ItemID))})
		} else {
			using = append(using, i)
		}
	}
	if err := db.inOrder(ctx, links, rows); err != nil {
		return err
	}
	return errors.Join(db.Each(len(using), func(n int) error {
		return db.purgeWithUse(ctx, using[n], []dynamo.Action{{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(ItemID(using[n].ItemID)), Remove: true}})
	})...)
}

// eraseIndex removes what an index shows under a name, and returns how many entries that were.
func (db Store) eraseIndex(ctx context.Context, id project.ID, name string) (int, error) {
	return db.eraseFound(ctx, dynamo.Span{Table: dynamo.IndexEntries, Index: dynamo.IndexLookup, PK: keys.ScopeIndexName(string(id), name)})
}

// eraseFound removes the rows of a span, page by page, and returns how many there were.
func (db Store) eraseFound(ctx context.Context, s dynamo.Span) (n int, err error) {
	s.Keys, s.Single = true, true
	for {
		var found []dynamo.RowID
		next, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(row, s.Table)
			found = append(found, dynamo.RowID{Table: s.Table, Key: key})
			return true, err
		})
		if err == nil {
			err = db.BatchDelete(ctx, found)
		}
		if n += len(found); err != nil || next == nil {
			return n, err
		}
		s.Start = next
	}
}

// partTypes are the types of what a project has few of.
var partTypes = []string{"Team", string(project.Category), string(project.Subcategory), teamList + "List", string(project.Category) + "List", string(project.Subcategory) + "List", importType, exportType, removalType}

// EraseProject removes what is left of a project without items: its teams, labels, lists and guidelines, its invitations, its former members, its history, and at last the project itself. Who created it may create another one then.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = <project>:<type>, for 9 types. Index: primary. Key: _subject_key =
// <project>:Project:<project>, and taggie:User:<user>/project:0:Project:<project> of each former member; taggie:QueueMark:<project>/mark:; <project>/<project>:Guidelines;
// PK = PROJECT_HISTORY#<project>#<year>-<quarter> of 5 quarters;
// COUNT#items#<project>/COUNT; taggie:Projects:<shard>/project:0:Project:<project> and <project>/<project>:Project;
// USER#<user>/PROFILE of its count. Cost: 15 Queries, ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 3 rows.
func (db Store) EraseProject(ctx context.Context, p project.Project) error {
	var parts []dynamo.RowID
	for _, typ := range partTypes {
		s := dynamo.Span{Table: dynamo.EntitiesMaster, Index: dynamo.EntitiesByType, PK: keys.ScopeTypeKey(string(p.ID), typ), Keys: true}
		if _, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(row, dynamo.EntitiesMaster)
			parts = append(parts, dynamo.RowID{Table: dynamo.EntitiesMaster, Key: key})
			return true, err
		}); err != nil {
			return err
		}
	}
	parts = append(parts, dynamo.RowID{Table: dynamo.EntitiesMaster, Key: guidelinesKey(p.ID)},
		dynamo.RowID{Table: dynamo.RelationshipEntries, Key: dynamo.Key{PK: keys.MarkSubjectKey(string(p.ID)), SK: keys.MarkKey}})
	var links []dynamo.RowID
	subject := ProjectID(p.ID)
	s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID)}
	if _, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
		var r entities.RelationRecord
		err := entities.DecodeRelation(row, &r, nil)
		if r.Object.Scope == entities.OurScope && r.Object.Type == "User" {
			parts = append(parts, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(projectOf(project.UserID(r.Object.ID), p.ID))})
		}
		links = append(links, dynamo.RowID{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(r.Relation)})
		return true, err
	}); err != nil {
		return err
	}
	if err := db.inOrder(ctx, parts, links); err != nil {
		return err
	}
	if err := db.eraseHistory(ctx, p.ID); err != nil {
		return err
	}
	if err := db.ForgetTally(ctx, dynamo.Allowed{Kind: AllowedItems.Kind, Of: string(p.ID)}); err != nil {
		return err
	}
	return db.eraseRow(ctx, p)
}

// eraseRow removes the row of a project, that it is known, and that its creator has it.
func (db Store) eraseRow(ctx context.Context, p project.Project) error {
	actions := []dynamo.Action{
		{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(p.ID)), Remove: true, Condition: "attribute_exists(#id)", Names: map[string]string{"#id": "_id"},
			Failed: func(dynamo.Attrs) error { return dynamo.ErrDone }},
		{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(Known(p.ID)), Remove: true},
	}
	if p.CreatedBy != "" {
		actions = append(actions, users.CreatedOneLess(p.CreatedBy, errGone, "projects"))
	}
	err := db.Transact(ctx, actions, idempotency.Key{})
	if errors.Is(err, errGone) { // the user is, or counts none
		err = db.Transact(ctx, actions[:2], idempotency.Key{})
	}
	return unlessDone(err)
}

// EraseTasks removes all tasks that are about a project, also the one that asks for this.
//
// Index: primary. Key: _subject_key = taggie:Tasks:<shard>, for each shard. Cost: 1 Query per shard (4), one more per started megabyte, and ⌈n/25⌉ BatchWriteItem.
func (db Store) EraseTasks(ctx context.Context, id project.ID) error {
	return db.ForgetTasks(ctx, string(id), project.RunImport, project.RunExport, project.RunRemoval, project.RunTeam, project.RunRelabel, project.RunDeletion, project.RunErasure, project.RunTelling, SweepLabels)
}
