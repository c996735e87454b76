package projects

import (
	"context"
	"errors"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// LastManaged lists up to so many projects that have other members who are present, and of which nobody who is present but the user is a manager, by id. Who
// is deleted counts neither as a member nor as a manager.
//
// Index: primary. Key: as ListProjects; then as Others of each project that the user manages. Cost: that of ListProjects for each 100 projects, and that of
// Others for each that the user manages.
func (db Store) LastManaged(ctx context.Context, user project.UserID, limit int) ([]project.Project, error) {
	var last []project.Project
	for w := (page.Window{Limit: managedAtOnce}); ; {
		mine, err := db.ListProjects(ctx, user, w)
		if err != nil {
			return nil, err
		}
		needed := make([]bool, len(mine.Items))
		if err := errors.Join(db.Each(len(mine.Items), func(i int) error {
			if managers(mine.Items[i].Member) == 0 {
				return nil
			}
			others, err := db.Others(ctx, user, mine.Items[i])
			needed[i] = others.Heir.User != "" && !others.Managed
			return err
		})...); err != nil {
			return nil, err
		}
		for i, p := range mine.Items {
			if needed[i] {
				last = append(last, p)
			}
			if len(last) == limit {
				return last, nil
			}
		}
		if !mine.More || len(mine.Positions) == 0 {
			return last, nil
		}
		w.From = mine.Positions[len(mine.Positions)-1]
	}
}

// managedAtOnce is how many projects are read together.
const managedAtOnce = 100

// Others tells who is in a project besides a user: who has been a member for longest inherits first. Those of a deleted project are its former members. It looks
// for a manager who is present first, and then at nobody else.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, member:) or former:; PK = USER#<user_id> AND
// SK = PROFILE of each. Cost: 1 Query of 100, 200, 400, 500 … members, and 1 BatchGetItem for each 100 managers on them, until one is present; where none is,
// ⌈n/100⌉ BatchGetItem more for n other members.
func (db Store) Others(ctx context.Context, user project.UserID, p project.Project) (users.Others[project.Member], error) {
	predicate := "member"
	if p.Deletion.State != "" {
		predicate = "former"
	}
	return db.membership(p.ID, predicate).Others(ctx, user)
}

// membership are the members, or former members, of a project.
func (db Store) membership(id project.ID, predicate string) users.Membership[project.Member] {
	return users.Membership[project.Member]{
		DB: db.DB, Rows: LinksOf(ProjectID(id), predicate), Decode: DecodeProjectMember,
		User:    func(m project.Member) project.UserID { return m.User },
		Manages: func(m project.Member) bool { return managers(m) > 0 },
		Before:  func(a, b project.Member) int { return a.AddedAt.Compare(b.AddedAt) },
	}
}

// managedByOthers are the conditions that a project keeps a manager besides those who leave or manage it no more: see [users.Membership.Witness].
// [project.ErrLastManager] when it does not.
func (db Store) managedByOthers(ctx context.Context, id project.ID, leaving ...project.UserID) ([]dynamo.Action, error) {
	who, stays, found, err := db.membership(id, "member").Witness(ctx, leaving, ErrStale)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, db.unmanaged(ctx, id)
	}
	manages := dynamo.Action{Table: dynamo.RelationshipEntries, Key: ProjectMemberKey(id, who.User), Failed: stale}
	sameMember(&manages, who)
	return []dynamo.Action{stays, manages}, nil
}

// unmanaged says why nobody would manage a project: those of one that is being brought back are not all members yet.
func (db Store) unmanaged(ctx context.Context, id project.ID) error {
	found, errs := db.ProjectsByID(ctx, "", []project.ID{id})
	switch {
	case errs != nil && errs[0] != nil:
		return errs[0]
	case found[0].Deletion.State == "":
		return project.ErrLastManager
	case found[0].Deletion.State == project.Reinstating:
		return ErrStale
	}
	return fault.New(fault.NotFound, noSuchProject)
}

// Inherit moves a member, who must be as they were read, to a team of managers. [ErrStale] when something has changed.
//
// Index: primary. Key: <project>:Project:<project>/member:0:User:<user> on condition that it is as it was read; the counters of
// <project>/<project>:Project; on condition that USER#<user>/PROFILE is not deleted, and that <team>/<project>:Team is there; that of the change. Cost: 1 TransactWriteItems of 5 rows.
func (db Store) Inherit(ctx context.Context, heir project.Member, team string) error {
	after := heir
	after.Team, after.Type = team, project.Manager
	row := dynamo.Action{Table: dynamo.RelationshipEntries, Item: projectMemberRow(after), Failed: stale}
	sameMember(&row, heir)
	into := hasTeam(after)
	into.Failed = stale
	actions := append([]dynamo.Action{row, into, users.There(heir.User, ErrStale)}, noted(heir.ChangeTo(after, "", db.Now()))...)
	return db.Transact(ctx, append(actions, counted(heir.Project, 0, managers(after)-managers(heir))...), idempotency.Key{})
}

// ListAll lists all projects that a user is in, by id: those of which the user is a member, and those that are deleted, with the former membership.
//
// Index: primary. Key: as ListProjects. Cost: 1 Query and ⌈3n/100⌉ BatchGetItem.
func (db Store) ListAll(ctx context.Context, user project.UserID, w page.Window) (page.Slice[project.Project], error) {
	return listMine(ctx, db, user, w, func(ctx context.Context, user project.UserID, ids []project.ID) ([]project.Project, []error) {
		projects, errs, former := db.projectsWith(ctx, user, ids, formerMemberOf)
		members, failed := db.Memberships(ctx, user, ids)
		for i := range projects {
			switch {
			case errs[i] != nil:
			case former[i] != nil && former[i] != dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
				errs[i] = former[i]
			case projects[i].Member.Team != "":
			case failed == nil || failed[i] == nil:
				projects[i].Member = members[i]
			case !fault.Is(failed[i], fault.NotFound):
				errs[i] = failed[i]
			}
		}
		return projects, dynamo.Missing(errs, noSuchProject)
	}, func(p project.Project) (project.Project, bool) { return p, true })
}

// LeaveDeleted removes the former membership of a user in a deleted project, which others can bring back without it. Nothing happens where there is none.
//
// Index: primary. Key: <project>:Project:<project>/former:0:User:<user> on condition that it is as it was read; taggie:User:<user>/project:0:Project:<project>; the
// counters of <project>/<project>:Project, on condition that it is deleted. Cost: 1 TransactWriteItems of 3 rows.
func (db Store) LeaveDeleted(ctx context.Context, p project.Project) error {
	m := p.Member
	row := dynamo.Action{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(formerMemberOf(p.ID, m.User)), Remove: true, Failed: stale}
	sameMember(&row, m)
	count := counted(p.ID, -1, -managers(m))[0]
	count.Condition, count.Failed = "#deletion = :deleted", stale
	count.Values[":deleted"] = dynamo.Str(string(project.Deleted))
	delete(count.Values, ":last")
	return db.Transact(ctx, []dynamo.Action{row, count, {Table: dynamo.RelationshipEntries, Key: entities.RelationKey(projectOf(m.User, p.ID)), Remove: true}}, idempotency.Key{})
}
