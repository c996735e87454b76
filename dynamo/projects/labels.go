package projects

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// LabelKinds are the kinds of labels in the order in which both lists are shown.
var LabelKinds = []project.Kind{project.Category, project.Subcategory}

const noSuchLabel = "there is no such category"

// labelsAtOnce is how many labels go into the transaction that lists them, beside what else is in it.
const labelsAtOnce = 80

// labelRows are the attributes that labels have of their own.
var labelRows = dynamo.LayoutOf(
	dynamo.OfText("name", func(l *project.Label) *string { return &l.Name }),
	dynamo.Optional(dynamo.OfInstant("retired_at", func(l *project.Label) *time.Time { return &l.RetiredAt })),
	dynamo.Optional(dynamo.OfText("merged_into", func(l *project.Label) *string { return &l.Into })),
	dynamo.Optional(dynamo.OfInstant("merged_at", func(l *project.Label) *time.Time { return &l.MergedAt })),
)

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
	return labels, dynamo.Missing(db.BatchGet(ctx, wants), noSuchLabel)
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
			labels[of] = append(labels[of], e.label(id))
		}
	}
	return labels, dynamo.Missing(errs, noSuchProject)
}

// label is the label of an element.
func (e listed) label(id project.LabelID) project.Label {
	return project.Label{LabelID: id, Name: e.Name, RetiredAt: e.RetiredAt}
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
// versions; <label>/<project>:Category or <project>:Subcategory; that of the change; the tasks. Cost: 1 BatchGetItem and 1 TransactWriteItems; with more than
// 80 labels ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 1 row besides.
func (db Store) AddLabels(ctx context.Context, by project.UserID, id project.ID, labels []project.Label, follow []task.Task, once idempotency.Key) error {
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
		actions = append(actions, notedBy(by, project.Additions(by, id, labels, db.Now()))...)
		actions = append(actions, dynamo.TaskActions(follow)...)
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

// UpdateLabel changes a label and its element of the list. Of one that was merged, an earlier attempt whose answer was lost did it.
//
// Index: primary. Key: <project>/<project>:CategoryList or SubcategoryList on condition of its version; <label>/<project>:Category or Subcategory;
// that of the change. Cost: 1 BatchGetItem and 1 TransactWriteItems of 3 rows and the tasks; 2 BatchGetItem of a label that is in no list.
func (db Store) UpdateLabel(ctx context.Context, id project.LabelID, c project.LabelChange, follow []task.Task, once idempotency.Key) (after project.Label, err error) {
	err = db.UntilSettled(ctx, func() error {
		lists, errs := db.lists(ctx, []entity.ID{listID(id.Project, string(id.Kind))})
		if errs != nil {
			return errs[0]
		}
		list := lists[0]
		find := func(id string) int { return slices.IndexFunc(list.Entries, func(e listed) bool { return e.ID == id }) }
		at := find(id.ID)
		if at < 0 {
			labels, errs := db.LabelsByID(ctx, []project.LabelID{id})
			if errs != nil {
				return errs[0]
			}
			if after = labels[0]; c.Into == "" || after.Into != c.Into {
				return project.ErrMerged
			}
			return nil
		}
		into := ""
		if to := find(c.Into); c.Into != "" {
			if to < 0 || !list.Entries[to].RetiredAt.IsZero() {
				return project.ErrNoTarget
			}
			into = list.Entries[to].Name
		}
		before := list.Entries[at].label(id)
		after = c.Of(before)
		if slices.ContainsFunc(list.Entries, func(e listed) bool { return e.ID != id.ID && e.label(id).Key() == after.Key() }) {
			return project.NameTaken
		}
		list.Entries = slices.Clone(list.Entries)
		if list.Entries[at].Name, list.Entries[at].RetiredAt = after.Name, after.RetiredAt; after.Into != "" {
			list.Entries = slices.Delete(list.Entries, at, at+1)
		}
		actions := append([]dynamo.Action{list.put(db.Now()), changeLabel(after, db.Now())}, dynamo.TaskActions(follow)...)
		actions = append(actions, notedBy(c.By, before.ChangeTo(after, into, c.By, db.Now()))...)
		return db.Transact(ctx, actions, once)
	})
	return after, err
}

// LabelMerged stores since when nothing is labelled any more with a label that was merged. Nothing else changes such a label.
//
// Index: primary. Key: <label>/<project>:Category or Subcategory. Cost: 1 TransactWriteItems of 1 row.
func (db Store) LabelMerged(ctx context.Context, l project.Label) error {
	return db.Transact(ctx, []dynamo.Action{changeLabel(l, l.MergedAt)}, idempotency.Key{})
}

// changeLabel writes what a label has of its own over a row that exists.
func changeLabel(l project.Label, now time.Time) dynamo.Action {
	return entities.Overwrite(labelRow(l, shortList{Updated: now}), labelRows.Names(), fault.New(fault.NotFound, noSuchLabel))
}

// unconditional returns the puts as rows of a batch.
func unconditional(puts []dynamo.Action) []dynamo.Put {
	writes := make([]dynamo.Put, len(puts))
	for i, a := range puts {
		writes[i] = dynamo.Put{Table: a.Table, Item: a.Item}
	}
	return writes
}
