package projects

import (
	"context"
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// LabelKinds are the kinds of labels in the order in which both lists are shown.
var LabelKinds = []project.Kind{project.Category, project.Subcategory}

// labelsAtOnce is how many labels go into the transaction that lists them, beside what else is in it.
const labelsAtOnce = 80

// labelRows are the attributes that labels have of their own.
var labelRows = dynamo.LayoutOf(dynamo.OfText("name", func(l *project.Label) *string { return &l.Name }))

func labelRow(l project.Label, list shortList) dynamo.Attrs {
	id := labelID(l.LabelID)
	return entities.EntityRow(entities.EntityKey(id), entities.Header{ID: id, Version: 1, Created: list.Updated, Updated: list.Updated}, labelRows.Row(&l))
}

func decodeLabel(item dynamo.Item, l *project.Label) error {
	h, err := entities.DecodeOwn(labelRows, item, l)
	l.LabelID = project.LabelID{Project: project.ID(h.ID.Scope), Kind: project.Kind(h.ID.Type), ID: h.ID.ID}
	return err
}

// LabelsByID reads labels.
//
// Index: primary. Key: _id = <label> AND _scope_type_key = <project>:Category or <project>:Subcategory.
// Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) LabelsByID(ctx context.Context, ids []project.LabelID) ([]project.Label, []error) {
	labels := make([]project.Label, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(labelID(id)), Decode: func(item dynamo.Item) error { return decodeLabel(item, &labels[i]) }}
	}
	return labels, dynamo.Missing(db.BatchGet(ctx, wants), "there is no such category")
}

// ListLabels reads both lists of many projects.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:CategoryList and <project>:SubcategoryList.
// Cost: ⌈2n/100⌉ BatchGetItem.
func (db Store) ListLabels(ctx context.Context, ids []project.ID) ([][]project.Label, []error) {
	labels, errs := make([][]project.Label, len(ids)), make([]error, len(ids))
	lists, unread := db.lists(ctx, labelLists(ids...))
	for i := range lists {
		of := i / len(LabelKinds)
		if unread != nil && unread[i] != nil {
			errs[of] = unread[i]
			continue
		}
		for _, e := range lists[i].Entries {
			id := project.LabelID{Project: ids[of], Kind: LabelKinds[i%len(LabelKinds)], ID: e.ID}
			labels[of] = append(labels[of], project.Label{LabelID: id, Name: e.Name})
		}
	}
	return labels, dynamo.Missing(errs, noSuchProject)
}

func labelLists(projects ...project.ID) []entity.ID {
	var ids []entity.ID
	for _, id := range projects {
		for _, kind := range LabelKinds {
			ids = append(ids, listID(id, string(kind)))
		}
	}
	return ids
}

// AddLabels adds to the lists. Many labels are written before the lists name them, in batches: what is in no list does not
// exist for anybody.
//
// Index: primary. Key: <project>/<project>:CategoryList and <project>/<project>:SubcategoryList on condition of their
// versions; <label>/<project>:Category or <project>:Subcategory. Cost: 1 BatchGetItem and 1 TransactWriteItems; with more than
// 80 labels ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 1 row besides.
func (db Store) AddLabels(ctx context.Context, id project.ID, labels []project.Label, once idempotency.Key) error {
	draft := db.draft(id)
	return db.UntilSettled(ctx, func() error {
		lists, errs := db.lists(ctx, labelLists(id))
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		if named(lists, labels) {
			return nil
		}
		actions, entities, err := addLabels(lists, labels, db)
		if err != nil {
			return err
		}
		if len(labels) <= labelsAtOnce {
			return db.Transact(ctx, append(actions, entities...), once)
		}
		if err := draft.write(ctx, entities); err != nil {
			return err
		}
		return db.Transact(ctx, append(actions, draft.commit()), once)
	})
}

// named reports whether the labels are in the lists: an earlier attempt, whose answer was lost, has put them there, with the
// idempotency key. Ids are new each time, names are not.
func named(lists []shortList, labels []project.Label) bool {
	return len(labels) > 0 && slices.ContainsFunc(lists, func(list shortList) bool {
		return slices.ContainsFunc(list.Entries, func(e listed) bool { return e.ID == labels[0].ID })
	})
}

// addLabels returns the lists with the labels added, and the labels.
func addLabels(lists []shortList, labels []project.Label, db Store) (changed, entities []dynamo.Action, err error) {
	now := db.Now()
	for i, kind := range LabelKinds {
		list := lists[i]
		taken := map[string]bool{}
		for _, e := range list.Entries {
			taken[project.Label{Name: e.Name}.Key()] = true
		}
		list.Updated = now
		list.Entries = slices.Clone(list.Entries)
		for _, l := range labels {
			if l.Kind != kind {
				continue
			}
			if taken[l.Key()] {
				return nil, nil, project.NameTaken
			}
			taken[l.Key()] = true
			list.Entries = append(list.Entries, listed{ID: l.ID, Name: l.Name})
			entities = append(entities, dynamo.Action{Table: dynamo.EntitiesMaster, Item: labelRow(l, list)})
		}
		switch {
		case len(list.Entries) > project.MaxCategories:
			return nil, nil, fault.New(fault.Exhausted, "a list has at most %d categories: use those that are there, or another project", project.MaxCategories)
		case len(list.Entries) > len(lists[i].Entries):
			changed = append(changed, list.put(now))
		}
	}
	return changed, entities, nil
}

// unconditional returns the puts as writes of a batch.
func unconditional(puts []dynamo.Action) []dynamo.Write {
	writes := make([]dynamo.Write, len(puts))
	for i, a := range puts {
		writes[i] = dynamo.Write{Table: a.Table, Item: a.Item}
	}
	return writes
}
