package projects

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// CreateProject puts a project with its lists, its first team and its first manager. Many labels are written before, in
// batches: nobody knows the project's id until its row is there.
//
// Index: primary. Key: <project>/<project>:Project on condition that there is none, and its lists; <team>/<project>:Team;
// <project>:Project:<project>/member:0:User:<user>; taggie:User:<user>/project:0:Project:<project>; taggie:Projects:<shard>/project:0:Project:<project>;
// the labels; that of the change; USER#<user>/PROFILE on condition that it exists and of its count. Cost: 1 TransactWriteItems of 10 rows and the labels; with more than 80 of them
// ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 1 row besides.
func (db Store) CreateProject(ctx context.Context, p project.Project, labels []project.Label, t project.Team, m project.Member, once idempotency.Key) error {
	// The project comes last: what is seen of it before is nothing.
	actions := []dynamo.Action{
		users.CreatesOne(m.User, "projects", project.MaxProjects, &project.UnknownUser{},
			fault.New(fault.Exhausted, "a user creates at most %d projects: use those that are there, or have another user create one", project.MaxProjects)),
		{Table: dynamo.EntitiesMaster, Item: teamRow(t, 1, t.CreatedAt)},
		{Table: dynamo.RelationshipEntries, Item: projectMemberRow(m)},
		{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(projectOf(m.User, p.ID), m.AddedAt, nil)},
		{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(Known(p.ID), p.CreatedAt, nil)},
	}
	teams := shortList{ID: listID(p.ID, teamList), Version: 1, Created: p.CreatedAt, Updated: p.CreatedAt}
	teams.Entries = []listed{{ID: t.ID, Name: t.Name, Type: t.Type, CreatedAt: t.CreatedAt}}
	lists := []shortList{teams}
	actions = append(actions, noted(p.Creation())...)
	var entities []dynamo.Action
	for _, kind := range LabelKinds {
		list := shortList{ID: listID(p.ID, string(kind)), Version: 1, Created: p.CreatedAt, Updated: p.CreatedAt}
		for _, l := range labels {
			if l.Kind == kind {
				list.Entries = append(list.Entries, listed{ID: l.ID, Name: l.Name})
				entities = append(entities, dynamo.Action{Table: dynamo.EntitiesMaster, Item: labelRow(l, list)})
			}
		}
		lists = append(lists, list)
	}
	for _, list := range lists {
		actions = append(actions, dynamo.Action{Table: dynamo.EntitiesMaster, Item: list.Row()})
	}
	if len(entities) <= labelsAtOnce {
		actions = append(actions, entities...)
	} else {
		draft := db.draft(p.ID)
		if err := draft.write(ctx, entities); err != nil {
			return err
		}
		actions = append(actions, draft.commit())
	}
	actions = append(actions, dynamo.Action{Table: dynamo.EntitiesMaster, Item: projectRow(p), Condition: "attribute_not_exists(#id)",
		Names: map[string]string{"#id": "_id"}, Failed: func(dynamo.Attrs) error { return fault.New(fault.Conflict, "there is such a project already") }})
	return db.Transact(ctx, actions, once)
}
