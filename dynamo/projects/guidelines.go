package projects

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

func guidelinesID(id project.ID) entity.ID {
	return entity.ID{Scope: string(id), Type: "Guidelines", ID: string(id)}
}

// guidelinesKey is the key of the row of a project's guidelines.
func guidelinesKey(id project.ID) dynamo.Key { return entities.EntityKey(guidelinesID(id)) }

// guidelinesRows are the attributes that guidelines have of their own.
var guidelinesRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("text", func(g *project.Guidelines) *string { return &g.Text })),
	dynamo.OfText("updated_by", func(g *project.Guidelines) *project.UserID { return &g.UpdatedBy }),
)

func guidelinesRow(g project.Guidelines) dynamo.Attrs {
	h := entities.Header{ID: guidelinesID(g.Project), Version: g.Version, Created: g.UpdatedAt, Updated: g.UpdatedAt}
	return entities.EntityRow(guidelinesKey(g.Project), h, guidelinesRows.Row(&g))
}

func decodeGuidelines(item dynamo.Item, g *project.Guidelines) error {
	h, err := entities.DecodeOwn(guidelinesRows, item, g)
	g.Project, g.Version, g.UpdatedAt = project.ID(h.ID.Scope), h.Version, h.Updated
	return err
}

// GuidelinesOf reads the guidelines of many projects.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:Guidelines. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) GuidelinesOf(ctx context.Context, ids []project.ID) ([]project.Guidelines, []error) {
	all := make([]project.Guidelines, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: guidelinesKey(id), Decode: func(item dynamo.Item) error { return decodeGuidelines(item, &all[i]) }}
	}
	errs := db.BatchGet(ctx, wants)
	for i, err := range errs {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = nil // nobody has written any
		}
	}
	return all, errs
}

// PutGuidelines replaces the guidelines of a project. A member who left, or a project that is being deleted, ends it, so that no row is left behind.
//
// Index: primary. Key: <project>/<project>:Guidelines on condition of its version; <project>:Project:<project>/member:0:User:<user> on condition that it
// is as it was read; that of the change; the tasks. Cost: 1 TransactWriteItems of 3 rows and the tasks.
func (db Store) PutGuidelines(ctx context.Context, m project.Member, before, after project.Guidelines, follow []task.Task, once idempotency.Key) error {
	if before.Version == after.Version { // nothing to change, but a key to record
		return db.Transact(ctx, nil, once)
	}
	row := dynamo.Action{
		Table: dynamo.EntitiesMaster, Item: guidelinesRow(after), Condition: "attribute_not_exists(#meta)", Names: map[string]string{"#meta": "_meta"},
		Failed: func(row dynamo.Attrs) error {
			var current project.Guidelines
			if err := decodeGuidelines(dynamo.ItemOf(row), &current); err != nil {
				return err
			}
			if current == after { // an earlier attempt, whose answer was lost
				return dynamo.ErrDone
			}
			return &project.GuidelinesConflict{Current: current}
		},
	}
	if before.Version > 0 {
		row.Condition, row.Names["#version"] = "#meta.#version = :before", "version"
		row.Values = dynamo.Attrs{":before": dynamo.Number(int64(before.Version))}
	}
	member := dynamo.Action{Table: dynamo.RelationshipEntries, Key: ProjectMemberKey(m.Project, m.User), Failed: func(dynamo.Attrs) error {
		return &project.GuidelinesConflict{Current: before}
	}}
	sameMember(&member, m)
	actions := append(noted(before.ChangeTo(after)), row, member)
	return unlessDone(db.Transact(ctx, append(actions, dynamo.TaskActions(follow)...), once))
}
