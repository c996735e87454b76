package labelling

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// MoveItem changes an item with everything that belongs to it. It writes the attributes that differ between before and after,
// and leaves alone what others keep in the same rows. Called again with the same transition it returns nil as long as nobody
// else has changed the item.
//
// Each row of the transaction is of this item alone, those of conditions included: DynamoDB refuses a transaction one of whose rows
// is part of another that is under way, so that with the row of a label all who find the same would wait for one another.
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> on condition of its version; where the status changes,
// <project>:ProjectItem:<item>/status~<shard>:<status>:<shard>:<seq> before and after; <effort>/<project>:ProjectItemEffort~<shard>
// on condition that there is none, or one to change; with a new one <project>:ProjectItem:<item>/effort:… and
// <project>:User:<user>/effort:…; where an effort begins or ceases to await a review, <project>:User:<user>/review:…; where an item is removed or
// brought back, up to [labelling.MostEfforts] efforts with their <project>:User:<user>/effort:… and /review:…, and
// <project>:Removal:<removal>/item:0:ProjectItem:<item>; where a label changes, <project>:ProjectItem:<item>/category:… and /subcategory:…, before and
// after; taggie:Outbox:<shard>/outbox:<at>:Transition:<id>.
// Cost: 1 TransactWriteItems of up to 13 rows: 1 to extend a claim, 3 to make one; of up to 97 to remove an item or to bring one back.
func (db Store) MoveItem(ctx context.Context, m labelling.Move, once idempotency.Key) error {
	attempt := uuid.NewString()
	if m.Transition != nil {
		attempt = m.Transition.ID
	}
	// The effort comes before what points to it, and what shows the item as it is before what points to that.
	var actions []dynamo.Action
	if m.Effort != nil {
		actions = append(actions, putEffort(*m.Effort, m.Known != nil))
	}
	if m.Correction != nil {
		actions = append(actions, putEffort(*m.Correction, false))
	}
	made := m.Made()
	item, err := changeItem(m.Before, m.After, made != nil, attempt)
	if err != nil {
		return err
	}
	actions = append(actions, item...)
	if made != nil {
		actions = append(actions,
			dynamo.Action{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(projects.EffortOf(projects.ItemID(m.After.ItemID), *made), made.FinishedAt, nil)},
			dynamo.Action{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(projects.EffortOf(projects.UserIn(m.After.Project, made.User), *made), made.FinishedAt, nil)})
	}
	if m.Effort != nil {
		was := m.Known != nil && m.Known.AwaitsReview()
		actions = append(actions, review(*m.Effort, was)...)
	}
	actions = append(actions, relink(m.Before, m.After)...)
	actions = append(actions, removed(m)...)
	if m.Transition != nil {
		row, err := outboxRow(*m.Transition)
		if err != nil {
			return err
		}
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Item: row})
	}
	err = db.Transact(ctx, actions, once)
	if errors.Is(err, dynamo.ErrDone) {
		return nil
	}
	return err
}

// changeItem changes what differs of an item, and its entry of the index when it is listed elsewhere from now on. Its place by name differs only
// when it is removed or brought back, so that nothing else writes into that index. found is that it gets one more effort. The attempt tells an earlier one, whose answer was lost, from somebody else's change.
func changeItem(before, after project.Item, found bool, attempt string) ([]dynamo.Action, error) {
	was, err := projects.ItemRow(before)
	if err != nil {
		return nil, err
	}
	is, err := projects.ItemRow(after)
	if err != nil {
		return nil, err
	}
	e := newEdit()
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if (!entities.Ours([]byte(name)) || projects.IsPlace(name)) && !reflect.DeepEqual(was[name], is[name]) {
			e.set("#"+name, name, is[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, stays := is[name]; !stays {
			e.remove(name)
		}
	}
	e.set("#_updated", "_updated", is["_updated"])
	e.set("#_attempt", "_attempt", dynamo.Str(attempt))
	one := int64(0)
	if found {
		one = 1
	}
	e.names["#made"], e.values[":before_made"], e.values[":more"] = projects.EffortsMade, dynamo.Number(int64(before.EffortsMade)), dynamo.Number(one)
	e.sets = append(e.sets, "#made = if_not_exists(#made, :before_made) + :more")
	e.names["#meta"], e.names["#version"] = "_meta", "version"
	e.set("#meta.#version", "version", dynamo.Number(int64(after.Version)))

	id := projects.ItemID(after.ItemID)
	name, key := projects.StatusEntry(after)
	_, old := projects.StatusEntry(before)
	var listed []dynamo.Action
	if old != key {
		e.names["#entries"], e.names["#index"] = "_index_entries", name
		e.set("#entries.#index", "index", dynamo.Texts([]string{key}))
		listed = []dynamo.Action{
			{Table: dynamo.IndexEntries, Item: entities.IndexRow(id, name, key, nil)},
			{Table: dynamo.IndexEntries, Key: entities.IndexEntryKey(id, name, old), Remove: true}}
	}
	a := e.action(dynamo.EntitiesMaster, entities.ShardedKey(id))
	a.Condition, a.Values[":before"] = "#meta.#version = :before", dynamo.Number(int64(before.Version))
	if found { // those that were taken back, or are incorrect, are kept too
		a.Condition += " AND (attribute_not_exists(#made) OR #made < :most_made)"
		a.Values[":most_made"] = dynamo.Number(project.MaxEfforts)
	}
	a.Failed = func(row dynamo.Attrs) error {
		switch {
		case row == nil:
			return fault.New(fault.NotFound, projects.NoSuchItem)
		case dynamo.Text(row["_attempt"]) == attempt:
			return dynamo.ErrDone
		case found && dynamo.Count(row[projects.EffortsMade]) >= project.MaxEfforts:
			return fault.New(fault.Exhausted, "people have said %d times what this item is, as often as one may: leave it as it is", project.MaxEfforts)
		}
		var current project.Item
		if err := projects.DecodeItem(dynamo.ItemOf(row), &current); err != nil {
			return err
		}
		return &project.ItemConflict{Current: current}
	}
	return append([]dynamo.Action{a}, listed...), nil
}

// putEffort puts a new effort, or writes everything that an effort has over one that exists.
func putEffort(of project.Effort, exists bool) dynamo.Action {
	row := projects.EffortRow(of)
	if !exists {
		return dynamo.Action{Table: dynamo.EntitiesMaster, Item: row, Condition: "attribute_not_exists(#id)", Names: map[string]string{"#id": "_id"}}
	}
	return entities.Overwrite(row, projects.EffortRows.Names(), fault.New(fault.NotFound, projects.NoSuchEffort))
}

// removed is what a removal changes besides the item, or what bringing an item back does: its efforts, whether their members have them,
// and that the removal has the item.
func removed(m labelling.Move) []dynamo.Action {
	var actions []dynamo.Action
	for _, e := range m.Efforts {
		link := projects.EffortOf(projects.UserIn(m.After.Project, e.User), e)
		has := dynamo.Action{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(link, e.FinishedAt, nil)}
		if !e.RemovedAt.IsZero() {
			has = dynamo.Action{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(link), Remove: true}
		}
		actions = append(actions, putEffort(e, true), has)
		actions = append(actions, review(e, e.ToReview)...)
	}
	of := func(i project.Item) entity.Relation {
		return projects.RemovedBy(project.TransferID{Project: i.Project, ID: i.Removal}, i.ItemID)
	}
	switch was, is := m.Before.Removal, m.After.Removal; {
	case was == is:
	case is != "":
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(of(m.After), m.After.UpdatedAt, nil)})
	default:
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(of(m.Before)), Remove: true})
	}
	return actions
}

// review has an effort among those to review when it awaits that, and takes it out when it did until now and does not any more.
func review(e project.Effort, was bool) []dynamo.Action {
	switch awaits := e.AwaitsReview(); {
	case awaits:
		return []dynamo.Action{{Table: dynamo.IndexEntries, Item: projects.ReviewRow(e)}}
	case was:
		return []dynamo.Action{{Table: dynamo.IndexEntries, Key: projects.ReviewKey(e), Remove: true}}
	}
	return nil
}

// relink removes the links to the labels that the item was found to be, and puts those to what it is found to be now. Whether the
// labels exist is not asked: who moves the item has read them, and labels are never deleted.
func relink(before, after project.Item) []dynamo.Action {
	var actions []dynamo.Action
	for _, kind := range projects.LabelKinds {
		was, before := projects.Labelled(before, kind)
		is, now := projects.Labelled(after, kind)
		if before && now && entities.RelationKey(was) == entities.RelationKey(is) {
			continue
		}
		if before {
			actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(was), Remove: true})
		}
		if now {
			actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(is, after.UpdatedAt, nil)})
		}
	}
	return actions
}

// edit is an update of some attributes of a row.
type edit struct {
	sets, removes []string
	names         map[string]string
	values        dynamo.Attrs
}

func newEdit() *edit { return &edit{names: map[string]string{}, values: dynamo.Attrs{}} }

// set gives a new value to what is at a path: an attribute, whose name it is, or something within one, whose names the
// caller adds.
func (e *edit) set(path, name string, v types.AttributeValue) {
	if !strings.Contains(path, ".") {
		e.names[path] = name
	}
	e.sets = append(e.sets, path+" = :"+name)
	e.values[":"+name] = v
}

func (e *edit) remove(name string) {
	e.removes = append(e.removes, "#"+name)
	e.names["#"+name] = name
}

func (e *edit) action(t dynamo.Table, key dynamo.Key) dynamo.Action {
	a := dynamo.Action{Table: t, Key: key, Update: "SET " + strings.Join(e.sets, ", "), Names: e.names, Values: e.values}
	if len(e.removes) > 0 {
		a.Update += " REMOVE " + strings.Join(e.removes, ", ")
	}
	return a
}
