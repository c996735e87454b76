package dynamo

import (
	"context"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// CreateProject puts a project with its lists, its first team and its first manager. Many labels are written before, in
// batches: nobody knows the project's id until its row is there.
//
// Index: primary. Key: <project>/<project>:Project on condition that there is none, and its lists; <team>/<project>:Team;
// <project>:Project:<project>/member:0:User:<user>; taggie:User:<user>/project:0:Project:<project>; taggie:Projects:<shard>/project:0:Project:<project>;
// the labels; USER#<user>/PROFILE on condition that it exists and of its count. Cost: 1 TransactWriteItems of 9 rows and the labels; with more than 80 of them
// ⌈n/25⌉ BatchWriteItem and 1 TransactWriteItems of 1 row besides.
func (db Projects) CreateProject(ctx context.Context, p project.Project, labels []project.Label, t project.Team, m project.Member, once idempotency.Key) error {
	// The project comes last: what is seen of it before is nothing.
	actions := []action{
		createsOne(m.User, "projects", project.MaxProjects, &project.UnknownUser{},
			fault.New(fault.Exhausted, "a user creates at most %d projects: use those that are there, or have another user create one", project.MaxProjects)),
		{table: entitiesMaster, item: teamRow(t, 1, t.CreatedAt)},
		{table: relationshipEntries, item: projectMemberRow(m)},
		{table: relationshipEntries, item: relationRow(projectOf(m.User, p.ID), m.AddedAt, nil)},
		{table: relationshipEntries, item: relationRow(known(p.ID), p.CreatedAt, nil)},
	}
	teams := shortList{id: listID(p.ID, teamList), version: 1, created: p.CreatedAt, updated: p.CreatedAt}
	teams.entries = []listed{{ID: t.ID, Name: t.Name, Type: t.Type, CreatedAt: t.CreatedAt}}
	lists := []shortList{teams}
	var entities []action
	for _, kind := range labelKinds {
		list := shortList{id: listID(p.ID, string(kind)), version: 1, created: p.CreatedAt, updated: p.CreatedAt}
		for _, l := range labels {
			if l.Kind == kind {
				list.entries = append(list.entries, listed{ID: l.ID, Name: l.Name})
				entities = append(entities, action{table: entitiesMaster, item: labelRow(l, list)})
			}
		}
		lists = append(lists, list)
	}
	for _, list := range lists {
		actions = append(actions, action{table: entitiesMaster, item: list.row()})
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
	actions = append(actions, action{table: entitiesMaster, item: projectRow(p), condition: "attribute_not_exists(#id)",
		names: map[string]string{"#id": "_id"}, failed: func(attrs) error { return fault.New(fault.Conflict, "there is such a project already") }})
	return db.transact(ctx, actions, once)
}
