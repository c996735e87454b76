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
// Index: primary. Key: <project>/<project>:TeamList on condition of its version; <team>/<project>:Team.
// Cost: 1 BatchGetItem and 1 TransactWriteItems of 2 rows.
func (db Store) PutTeam(ctx context.Context, t project.Team, create bool, once idempotency.Key) error {
	return db.UntilSettled(ctx, func() error {
		lists, errs := db.lists(ctx, []entity.ID{listID(t.Project, teamList)})
		if errs != nil {
			return errs[0]
		}
		list := lists[0]
		at := slices.IndexFunc(list.Entries, func(e listed) bool { return e.ID == t.ID })
		same := slices.IndexFunc(list.Entries, func(e listed) bool { return project.Team{Name: e.Name}.Key() == t.Key() })
		switch {
		case same >= 0 && same != at:
			return project.NameTaken
		case !create && at < 0:
			return fault.New(fault.NotFound, noSuchTeam)
		case !create:
			list.Entries = slices.Clone(list.Entries)
			list.Entries[at].Name = t.Name
			t.Type, t.CreatedAt = list.Entries[at].Type, list.Entries[at].CreatedAt
		case at >= 0: // an earlier attempt, whose answer was lost, has created it, with the idempotency key
			return nil
		case len(list.Entries) >= project.MaxTeams:
			return fault.New(fault.Exhausted, "a project has at most %d teams: use those that are there, or another project", project.MaxTeams)
		default:
			list.Entries = append(slices.Clone(list.Entries), listed{ID: t.ID, Name: t.Name, Type: t.Type, CreatedAt: t.CreatedAt})
		}
		now := db.Now()
		return db.Transact(ctx, []dynamo.Action{list.put(now), {Table: dynamo.EntitiesMaster, Item: teamRow(t, list.Version+1, now)}}, once)
	})
}
