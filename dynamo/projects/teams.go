package projects

import (
	"context"
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

const noSuchTeam = "there is no such team"

// TeamsByID reads teams.
//
// Index: primary. Key: _id = <team> AND _scope_type_key = <project>:Team. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) TeamsByID(ctx context.Context, ids []project.TeamID) ([]project.Team, []error) {
	teams := make([]project.Team, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(teamID(id)), Decode: func(item dynamo.Item) error { return decodeTeam(item, &teams[i]) }}
	}
	return teams, dynamo.Missing(db.BatchGet(ctx, wants), noSuchTeam)
}

// ListTeams reads the teams of many projects.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:TeamList. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) ListTeams(ctx context.Context, ids []project.ID) ([][]project.Team, []error) {
	of := make([]entity.ID, len(ids))
	for i, id := range ids {
		of[i] = listID(id, teamList)
	}
	teams := make([][]project.Team, len(ids))
	lists, errs := db.lists(ctx, of)
	for i, l := range lists {
		for _, e := range l.Entries {
			teams[i] = append(teams[i], project.Team{TeamID: project.TeamID{Project: ids[i], ID: e.ID}, Name: e.Name, Type: e.Type, CreatedAt: e.CreatedAt})
		}
	}
	return teams, errs
}

// PutTeam creates a team or changes its name.
//
// Index: primary. Key: <project>/<project>:TeamList on condition of its version; <team>/<project>:Team; that of the change.
// Cost: 1 BatchGetItem and 1 TransactWriteItems of 3 rows.
func (db Store) PutTeam(ctx context.Context, by project.UserID, t project.Team, create bool, once idempotency.Key) error {
	return db.UntilSettled(ctx, func() error {
		lists, errs := db.lists(ctx, []entity.ID{listID(t.Project, teamList)})
		if errs != nil {
			return errs[0]
		}
		list := lists[0]
		at := slices.IndexFunc(list.Entries, func(e listed) bool { return e.ID == t.ID })
		same := slices.IndexFunc(list.Entries, func(e listed) bool { return project.Team{Name: e.Name}.Key() == t.Key() })
		now := db.Now()
		var change project.Change
		switch {
		case same >= 0 && same != at:
			return project.NameTaken
		case !create && at < 0:
			return fault.New(fault.NotFound, noSuchTeam)
		case !create:
			change = project.Team{Name: list.Entries[at].Name}.ChangeTo(t, by, now)
			list.Entries = slices.Clone(list.Entries)
			list.Entries[at].Name = t.Name
			t.Type, t.CreatedAt = list.Entries[at].Type, list.Entries[at].CreatedAt
		case at >= 0: // an earlier attempt, whose answer was lost, has created it, with the idempotency key
			return nil
		case len(list.Entries) >= project.MaxTeams:
			return fault.New(fault.Exhausted, "a project has at most %d teams: use those that are there, or another project", project.MaxTeams)
		default:
			change = t.Creation(by)
			list.Entries = append(slices.Clone(list.Entries), listed{ID: t.ID, Name: t.Name, Type: t.Type, CreatedAt: t.CreatedAt})
		}
		actions := append(notedBy(by, change), list.put(now), dynamo.Action{Table: dynamo.EntitiesMaster, Item: teamRow(t, list.Version+1, now)})
		return db.Transact(ctx, actions, once)
	})
}

// DeleteTeam takes a team out of the list, and moves or removes its members.
//
// Index: primary. Key: <project>/<project>:TeamList on condition of its version; <team>/<project>:Team, and that of the team to which members move on condition that
// it is there; that of the change; then as in EmptyTeam. Cost: 2 BatchGetItem, 1 Query per 100 to 500 members of the project until it is known who is in the team, and 1
// TransactWriteItems of up to 87 rows and the tasks; where managers manage no more, 1 Query and 1 BatchGetItem more.
func (db Store) DeleteTeam(ctx context.Context, by project.UserID, t project.Team, follow []task.Task, once idempotency.Key) (moved []project.Member, more bool, err error) {
	err = db.UntilSettled(ctx, func() error {
		lists, errs := db.lists(ctx, []entity.ID{listID(t.Project, teamList)})
		if errs != nil {
			return errs[0]
		}
		list := lists[0]
		if !slices.ContainsFunc(list.Entries, func(e listed) bool { return e.ID == t.ID }) {
			now, err := db.teamNow(ctx, t.TeamID)
			if err == nil && now.DeletedAt.Equal(t.DeletedAt) && now.Into == t.Into { // an earlier attempt, whose answer was lost
				return nil
			}
			return fault.New(fault.NotFound, noSuchTeam)
		}
		list.Entries = slices.DeleteFunc(slices.Clone(list.Entries), func(e listed) bool { return e.ID == t.ID })
		var actions []dynamo.Action
		if moved, more, actions, err = db.emptied(ctx, t); err != nil {
			return err
		}
		actions = append(actions, list.put(db.Now()), dynamo.Action{Table: dynamo.EntitiesMaster, Item: teamRow(t, list.Version+1, t.DeletedAt)})
		actions = append(actions, notedBy(by, t.Removal(by))...)
		if more {
			actions = append(actions, dynamo.TaskActions(follow)...)
		}
		return db.Transact(ctx, actions, once)
	})
	return moved, more, err
}

// EmptyTeam moves or removes some members of a deleted team.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, member:); of each member
// <project>:Project:<project>/member:0:User:<user> on condition that it is as it was read, and, if they leave, taggie:User:<user>/project:0:Project:<project>; the
// counters of <project>/<project>:Project; the team to which they move on condition that it is there.
// Cost: 1 Query per 100 to 500 members of the project until enough are found, and 1 TransactWriteItems of up to 84 rows.
func (db Store) EmptyTeam(ctx context.Context, t project.Team) (moved []project.Member, err error) {
	err = db.UntilSettled(ctx, func() error {
		var actions []dynamo.Action
		if moved, _, actions, err = db.emptied(ctx, t); err != nil || len(moved) == 0 {
			return err
		}
		return db.Transact(ctx, actions, idempotency.Key{})
	})
	return moved, err
}

// emptied is what moves or removes up to [project.MembersAtOnce] members of a team, and whether there may be more.
func (db Store) emptied(ctx context.Context, t project.Team) (moved []project.Member, more bool, actions []dynamo.Action, err error) {
	found, err := db.ListMembers(ctx, t.Project, t.ID, page.Window{Limit: project.MembersAtOnce})
	if err != nil {
		return nil, false, nil, err
	}
	into := project.Team{Into: t.Into}
	for begun := false; into.Into != "" && (!begun || !into.DeletedAt.IsZero()); begun = true { // who moves to a team that was deleted since moves on with it
		if into, err = db.teamNow(ctx, project.TeamID{Project: t.Project, ID: into.Into}); err != nil {
			return nil, false, nil, err
		}
	}
	leave := into.ID == "" || !into.DeletedAt.IsZero()
	members, managing := 0, 0
	for _, before := range found.Items {
		after := before
		after.Team, after.Type, after.AddedAt = into.ID, into.Type, t.DeletedAt
		row := dynamo.Action{Table: dynamo.RelationshipEntries, Failed: stale}
		if leave {
			after.Team, after.Type = "", ""
			row.Key, row.Remove = ProjectMemberKey(t.Project, before.User), true
			actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(projectOf(before.User, t.Project)), Remove: true})
			members--
		} else {
			row.Item = projectMemberRow(after)
		}
		sameMember(&row, before)
		actions = append(actions, row)
		managing += managers(after) - managers(before)
		moved = append(moved, after)
	}
	if managing < 0 && found.More { // who is left could be the last
		return nil, false, nil, project.ErrLastManager
	}
	if !leave {
		actions = append(actions, hasTeam(project.Member{Project: t.Project, Team: into.ID, Type: into.Type}))
	}
	leaving := make([]project.UserID, len(moved))
	for i, m := range moved {
		leaving[i] = m.User
	}
	change, err := db.counting(ctx, t.Project, members, managing, leaving...)
	return moved, found.More, append(actions, change...), err
}

// teamNow reads a team.
func (db Store) teamNow(ctx context.Context, id project.TeamID) (project.Team, error) {
	teams, errs := db.TeamsByID(ctx, []project.TeamID{id})
	if errs != nil {
		return project.Team{}, errs[0]
	}
	return teams[0], nil
}
