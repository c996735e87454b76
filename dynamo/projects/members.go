package projects

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// members reads memberships.
func (db Store) members(ctx context.Context, keys []dynamo.Key) ([]project.Member, []error) {
	members := make([]project.Member, len(keys))
	wants := make([]dynamo.Want, len(keys))
	for i, key := range keys {
		wants[i] = dynamo.Want{Table: dynamo.RelationshipEntries, Key: key, Decode: func(item dynamo.Item) error { return DecodeProjectMember(item, &members[i]) }}
	}
	return members, dynamo.Missing(db.BatchGet(ctx, wants), "there is no such member")
}

// MembersByID reads the memberships of many users in one project.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>.
// Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) MembersByID(ctx context.Context, id project.ID, users []project.UserID) ([]project.Member, []error) {
	keys := make([]dynamo.Key, len(users))
	for i, user := range users {
		keys[i] = ProjectMemberKey(id, user)
	}
	return db.members(ctx, keys)
}

// ListMembers lists the members of a project by user id. Those of one team are picked out of all: they are at most 2,000.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, member:). Cost: 1 Query; for
// one team further Queries of 100, 200, 400, 500 … rows, until the page is full.
func (db Store) ListMembers(ctx context.Context, id project.ID, team string, w page.Window) (page.Slice[project.Member], error) {
	l := dynamo.Listing[project.Member]{
		Span:     LinksOf(ProjectID(id), "member"),
		Decode:   DecodeProjectMember,
		Position: func(m project.Member) string { return string(m.User) },
		SortKey:  func(p string) string { return ProjectMemberKey(id, project.UserID(p)).SK },
	}
	if team == "" {
		return l.Read(ctx, db.DB, w)
	}
	return dynamo.Filtered(ctx, db.DB, l, w, func(_ context.Context, members []project.Member) ([]project.Member, error) {
		var kept []project.Member
		for _, m := range members {
			if m.Team == team {
				kept = append(kept, m)
			}
		}
		return kept, nil
	}, l.Position)
}

// PutMember adds a user to a team, or moves the user from another one.
//
// Index: primary. Key: <project>:Project:<project>/member:0:User:<user> on condition that it is as it was read;
// taggie:User:<user>/project:0:Project:<project>; the counters of <project>/<project>:Project; that of the change; on condition that
// USER#<user>/PROFILE and <team>/<project>:Team exist, and that USER#<user>/BLOCKED#<by> does not. Cost: 1 BatchGetItem and
// 1 TransactWriteItems of up to 7 rows; where a manager becomes another member, 1 Query and 1 BatchGetItem more, on condition of a manager who stays.
func (db Store) PutMember(ctx context.Context, by project.UserID, m project.Member, once idempotency.Key) error {
	return db.UntilSettled(ctx, func() error {
		before, there, err := db.member(ctx, m.Project, m.User)
		if err != nil {
			return err
		}
		if there && before.Team == m.Team {
			return db.Transact(ctx, nil, once)
		}
		row := dynamo.Action{Table: dynamo.RelationshipEntries, Item: projectMemberRow(m), Failed: stale}
		team := hasTeam(m)
		if there {
			sameMember(&row, before)
			change, err := db.counting(ctx, m.Project, 0, managers(m)-managers(before), m.User)
			if err != nil {
				return err
			}
			actions := append([]dynamo.Action{row, team}, notedBy(by, before.ChangeTo(m, by, m.AddedAt))...)
			return db.Transact(ctx, append(actions, change...), once)
		}
		row.Condition, row.Names = "attribute_not_exists(#subject)", map[string]string{"#subject": "_subject_key"}
		actions := []dynamo.Action{row,
			users.There(m.User, &project.UnknownUser{}),
			users.NotBlocked(by, m.User, &project.UnknownUser{}),
			team,
			{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(projectOf(m.User, m.Project), m.AddedAt, nil)},
		}
		actions = append(actions, notedBy(by, before.ChangeTo(m, by, m.AddedAt))...)
		return db.Transact(ctx, append(actions, counted(m.Project, 1, managers(m))...), once)
	})
}

// DeleteMember removes a user from a project.
//
// Index: primary. Key: <project>:Project:<project>/member:0:User:<user> on condition that it is as it was read;
// taggie:User:<user>/project:0:Project:<project>; the counters of <project>/<project>:Project; that of the change. Cost: 1 BatchGetItem and
// 1 TransactWriteItems of 4 rows; for a manager 1 Query and 1 BatchGetItem more, on condition of a manager who stays.
func (db Store) DeleteMember(ctx context.Context, by project.UserID, id project.ID, user project.UserID, once idempotency.Key) error {
	return db.UntilSettled(ctx, func() error {
		before, there, err := db.member(ctx, id, user)
		if err != nil {
			return err
		}
		if !there {
			return db.Transact(ctx, nil, once)
		}
		row := dynamo.Action{Table: dynamo.RelationshipEntries, Key: ProjectMemberKey(id, user), Remove: true, Failed: stale}
		sameMember(&row, before)
		actions := []dynamo.Action{row, {Table: dynamo.RelationshipEntries, Key: entities.RelationKey(projectOf(user, id)), Remove: true}}
		change, err := db.counting(ctx, id, -1, -managers(before), user)
		if err != nil {
			return err
		}
		actions = append(actions, notedBy(by, before.ChangeTo(project.Member{}, by, db.Now()))...)
		return db.Transact(ctx, append(actions, change...), once)
	})
}

// member reads one membership, and whether there is one.
func (db Store) member(ctx context.Context, id project.ID, user project.UserID) (project.Member, bool, error) {
	found, errs := db.MembersByID(ctx, id, []project.UserID{user})
	switch {
	case errs == nil:
		return found[0], true, nil
	case fault.Is(errs[0], fault.NotFound):
		return project.Member{}, false, nil
	}
	return project.Member{}, false, errs[0]
}

// hasTeam is that the team of a member is there, and of the type that the member is.
func hasTeam(m project.Member) dynamo.Action {
	return dynamo.Action{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(teamID(project.TeamID{Project: m.Project, ID: m.Team})), Condition: "#type = :type AND attribute_not_exists(deleted_at)",
		Names: map[string]string{"#type": "type"}, Values: dynamo.Attrs{":type": dynamo.Str(string(m.Type))},
		Failed: func(dynamo.Attrs) error { return fault.New(fault.NotFound, noSuchTeam) }}
}

// sameMember makes the membership being as it was read the condition of the action.
func sameMember(a *dynamo.Action, m project.Member) {
	a.Condition, a.Names = "#team = :team AND added_at = :added", map[string]string{"#team": "team"}
	a.Values = dynamo.Attrs{":team": dynamo.Str(m.Team), ":added": dynamo.Str(keys.Instant(m.AddedAt))}
}

// managers returns how many managers the member is.
func managers(m project.Member) int {
	if m.Type == project.Manager {
		return 1
	}
	return 0
}

// counting is [counted], with the condition that a manager stays who is not deleted, if some leave.
func (db Store) counting(ctx context.Context, id project.ID, members, managers int, leaving ...project.UserID) ([]dynamo.Action, error) {
	actions := counted(id, members, managers)
	if managers >= 0 {
		return actions, nil
	}
	stays, err := db.managedByOthers(ctx, id, leaving...)
	return append(actions, stays...), err
}

// counted changes how many members and managers a project has: never more than the bound, never no manager.
func counted(id project.ID, members, managers int) []dynamo.Action {
	if members == 0 && managers == 0 {
		return nil
	}
	a := dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(id)),
		Update:    "SET #meta.#members = #meta.#members + :members, #meta.#managers = #meta.#managers + :managers",
		Condition: "attribute_exists(#meta) AND attribute_not_exists(#deletion)",
		Names:     map[string]string{"#meta": "_meta", "#members": "members", "#managers": "managers", "#deletion": "deletion"},
		Values:    dynamo.Attrs{":members": dynamo.Number(int64(members)), ":managers": dynamo.Number(int64(managers))},
		Failed: func(row dynamo.Attrs) error {
			meta, there := row["_meta"].(*types.AttributeValueMemberM)
			switch {
			case !there, row["deletion"] != nil && dynamo.Text(row["deletion"]) != string(project.Reinstating):
				return fault.New(fault.NotFound, noSuchProject)
			case row["deletion"] != nil: // for a moment
				return ErrStale
			case managers < 0 && dynamo.Count(meta.Value["managers"]) <= -managers:
				return project.ErrLastManager
			case members > 0 && dynamo.Count(meta.Value["members"]) >= project.MaxMembers:
				return fault.New(fault.Exhausted, "a project has at most %d members: remove some first", project.MaxMembers)
			}
			return ErrStale
		},
	}
	if managers < 0 {
		a.Condition += " AND #meta.#managers > :last"
		a.Values[":last"] = dynamo.Number(int64(-managers))
	}
	if members > 0 {
		a.Condition += " AND #meta.#members < :most"
		a.Values[":most"] = dynamo.Number(project.MaxMembers)
	}
	return []dynamo.Action{a}
}
