package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// members reads memberships.
func (db Projects) members(ctx context.Context, keys []rowKey) ([]project.Member, []error) {
	members := make([]project.Member, len(keys))
	wants := make([]want, len(keys))
	for i, key := range keys {
		wants[i] = want{relationshipEntries, key, func(item []byte) error { return decodeProjectMember(item, &members[i]) }}
	}
	return members, missing(db.batchGet(ctx, wants), "there is no such member")
}

// MembersByID reads the memberships of many users in one project.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>.
// Cost: ⌈n/100⌉ BatchGetItem.
func (db Projects) MembersByID(ctx context.Context, id project.ID, users []project.UserID) ([]project.Member, []error) {
	keys := make([]rowKey, len(users))
	for i, user := range users {
		keys[i] = projectMemberKey(id, user)
	}
	return db.members(ctx, keys)
}

// ListMembers lists the members of a project by user id. Those of one team are picked out of all: they are at most 2,000.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, member:). Cost: 1 Query; for
// one team further Queries of 100, 200, 400, 500 … rows, until the page is full.
func (db Projects) ListMembers(ctx context.Context, id project.ID, team string, w page.Window) (page.Slice[project.Member], error) {
	l := listing[project.Member]{
		span:     linksOf(projectID(id), "member"),
		decode:   decodeProjectMember,
		position: func(m project.Member) string { return string(m.User) },
		sortKey:  func(p string) string { return projectMemberKey(id, project.UserID(p)).SK },
	}
	if team == "" {
		return l.read(ctx, db.DB, w)
	}
	return filtered(ctx, db.DB, l, w, func(_ context.Context, members []project.Member) ([]project.Member, error) {
		var kept []project.Member
		for _, m := range members {
			if m.Team == team {
				kept = append(kept, m)
			}
		}
		return kept, nil
	}, l.position)
}

// PutMember adds a user to a team, or moves the user from another one.
//
// Index: primary. Key: <project>:Project:<project>/member:0:User:<user> on condition that it is as it was read;
// taggie:User:<user>/project:0:Project:<project>; the counters of <project>/<project>:Project; on condition that
// USER#<user>/PROFILE and <team>/<project>:Team exist. Cost: 1 BatchGetItem and 1 TransactWriteItems of up to 5 rows.
func (db Projects) PutMember(ctx context.Context, m project.Member, once idempotency.Key) error {
	return db.untilSettled(ctx, func() error {
		before, there, err := db.member(ctx, m.Project, m.User)
		if err != nil {
			return err
		}
		if there && before.Team == m.Team {
			return db.transact(ctx, nil, once)
		}
		row := action{table: relationshipEntries, item: projectMemberRow(m), failed: stale}
		team := action{table: entitiesMaster, key: entityKey(teamID(project.TeamID{Project: m.Project, ID: m.Team})), condition: "#type = :type",
			names: map[string]string{"#type": "type"}, values: attrs{":type": str(string(m.Type))},
			failed: func(attrs) error { return fault.New(fault.NotFound, noSuchTeam) }}
		if there {
			row.asMember(before)
			return db.transact(ctx, append([]action{row, team}, counted(m.Project, 0, managers(m)-managers(before))...), once)
		}
		row.condition, row.names = "attribute_not_exists(#subject)", map[string]string{"#subject": "_subject_key"}
		actions := []action{row,
			{table: notesTable, key: profileKey(m.User), condition: "attribute_exists(PK)", failed: func(attrs) error { return &project.UnknownUser{} }},
			team,
			{table: relationshipEntries, item: relationRow(projectOf(m.User, m.Project), m.AddedAt, nil)},
		}
		return db.transact(ctx, append(actions, counted(m.Project, 1, managers(m))...), once)
	})
}

// DeleteMember removes a user from a project.
//
// Index: primary. Key: <project>:Project:<project>/member:0:User:<user> on condition that it is as it was read;
// taggie:User:<user>/project:0:Project:<project>; the counters of <project>/<project>:Project. Cost: 1 BatchGetItem and
// 1 TransactWriteItems of 3 rows.
func (db Projects) DeleteMember(ctx context.Context, id project.ID, user project.UserID, once idempotency.Key) error {
	return db.untilSettled(ctx, func() error {
		before, there, err := db.member(ctx, id, user)
		if err != nil {
			return err
		}
		if !there {
			return db.transact(ctx, nil, once)
		}
		row := action{table: relationshipEntries, key: projectMemberKey(id, user), remove: true, failed: stale}
		row.asMember(before)
		actions := []action{row, {table: relationshipEntries, key: relationKey(projectOf(user, id)), remove: true}}
		return db.transact(ctx, append(actions, counted(id, -1, -managers(before))...), once)
	})
}

// member reads one membership, and whether there is one.
func (db Projects) member(ctx context.Context, id project.ID, user project.UserID) (project.Member, bool, error) {
	found, errs := db.MembersByID(ctx, id, []project.UserID{user})
	switch {
	case errs == nil:
		return found[0], true, nil
	case fault.Is(errs[0], fault.NotFound):
		return project.Member{}, false, nil
	}
	return project.Member{}, false, errs[0]
}

// asMember makes the membership being as it was read the condition of the action.
func (a *action) asMember(m project.Member) {
	a.condition, a.names = "#team = :team AND added_at = :added", map[string]string{"#team": "team"}
	a.values = attrs{":team": str(m.Team), ":added": str(keys.Instant(m.AddedAt))}
}

// managers returns how many managers the member is.
func managers(m project.Member) int {
	if m.Type == project.Manager {
		return 1
	}
	return 0
}

// counted changes how many members and managers a project has: never more than the bound, never no manager.
func counted(id project.ID, members, managers int) []action {
	if members == 0 && managers == 0 {
		return nil
	}
	a := action{
		table: entitiesMaster, key: entityKey(projectID(id)),
		update:    "SET #meta.#members = #meta.#members + :members, #meta.#managers = #meta.#managers + :managers",
		condition: "attribute_exists(#meta)",
		names:     map[string]string{"#meta": "_meta", "#members": "members", "#managers": "managers"},
		values:    attrs{":members": number(int64(members)), ":managers": number(int64(managers))},
		failed: func(row attrs) error {
			meta, there := row["_meta"].(*types.AttributeValueMemberM)
			switch {
			case !there:
				return fault.New(fault.NotFound, noSuchProject)
			case managers < 0 && count(meta.Value["managers"]) <= 1:
				return project.ErrLastManager
			case members > 0 && count(meta.Value["members"]) >= project.MaxMembers:
				return fault.New(fault.Exhausted, "a project has at most %d members: remove some first", project.MaxMembers)
			}
			return errStale
		},
	}
	if managers < 0 {
		a.condition += " AND #meta.#managers > :last"
		a.values[":last"] = number(1)
	}
	if members > 0 {
		a.condition += " AND #meta.#members < :most"
		a.values[":most"] = number(project.MaxMembers)
	}
	return []action{a}
}
