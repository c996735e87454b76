package projects

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// SweepLabels is the kind of tasks whose handler is [Store.SweepLabels].
const SweepLabels task.Kind = "project-labels"

// draftFor is how long it is waited for who writes labels before they are taken for left over.
const draftFor = time.Minute

// draft is many labels that are written before the lists name them. A task, which is recorded before and removed by the
// transaction that names them, removes them when that never comes.
type draft struct {
	db    Store
	task  task.Task
	begun bool
}

func (db Store) draft(id project.ID) *draft {
	return &draft{db: db, task: task.Task{Kind: SweepLabels, ID: uuid.NewString(), Scope: string(id), Due: db.Now().Add(draftFor)}}
}

// write writes the labels, once however often it is called.
func (d *draft) write(ctx context.Context, labels []dynamo.Action) error {
	if d.begun {
		return nil
	}
	for _, a := range labels {
		a.Item["draft"] = dynamo.Str(d.task.ID)
	}
	if err := d.db.Transact(ctx, []dynamo.Action{dynamo.TaskAction(d.task)}, idempotency.Key{}); err != nil {
		return err
	}
	if err := d.db.BatchPut(ctx, unconditional(labels)); err != nil {
		return err
	}
	d.begun = true
	return nil
}

// commit is the part of the transaction that names the labels by which nobody removes them any more; it fails when somebody
// has begun to.
func (d *draft) commit() dynamo.Action {
	return dynamo.Action{Table: dynamo.RelationshipEntries, Key: dynamo.TaskKey(d.task), Remove: true, Condition: "attribute_exists(#scope) AND attribute_not_exists(#token)", Names: dynamo.TaskNames("scope", "token"),
		Failed: func(dynamo.Attrs) error { return fault.New(fault.Unavailable, "this took too long; ask again") }}
}

// SweepLabels removes labels that were written and never named. It is a [task.Handler].
//
// Index: entities_by_type, eventually consistent: what it shows is a minute old. Key: _scope_type_key = <project>:Category and
// <project>:Subcategory. Cost: 1 Query each, and ⌈n/25⌉ BatchWriteItem.
func (db Store) SweepLabels(ctx context.Context, t task.Task) (time.Time, error) {
	var left []dynamo.RowID
	for _, kind := range LabelKinds {
		s := dynamo.Span{Table: dynamo.EntitiesMaster, Index: dynamo.EntitiesByType, PK: keys.ScopeTypeKey(t.Scope, string(kind))}
		_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var l project.Label
			of := ""
			err := dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
				if string(name) == "draft" {
					of, err = v.Str()
					return err
				}
				return nil
			})
			if err == nil && of == t.ID {
				err = decodeLabel(item, &l)
				left = append(left, dynamo.RowID{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(labelID(l.LabelID))})
			}
			return true, err
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	// The answer to the transaction that named them may have been lost, and its task with it only from our sight.
	named, errs := db.ListLabels(ctx, []project.ID{project.ID(t.Scope)})
	if errs != nil && !fault.Is(errs[0], fault.NotFound) {
		return time.Time{}, errs[0]
	}
	for _, l := range named[0] {
		left = slices.DeleteFunc(left, func(w dynamo.RowID) bool { return w.Key == entities.EntityKey(labelID(l.LabelID)) })
	}
	return time.Time{}, db.BatchDelete(ctx, left)
}
