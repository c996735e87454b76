package projects

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// LastManaged lists up to so many projects that have other members, and of which nobody but the user is a manager, by id.
//
// Index: primary. Key: as ListProjects; then _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, member:) of each project that the user
// manages. Cost: that of ListProjects for each 100 projects, and 1 Query for each that the user manages.
func (db Store) LastManaged(ctx context.Context, user project.UserID, limit int) ([]project.Project, error) {
	var last []project.Project
	for w := (page.Window{Limit: managedAtOnce}); ; {
		mine, err := db.ListProjects(ctx, user, w)
		if err != nil {
			return nil, err
		}
		for _, p := range mine.Items {
			if !p.Member.Type.May(project.Manager) {
				continue
			}
			heir, managed, err := db.Heir(ctx, user, p)
			if err != nil {
				return nil, err
			}
			if heir.User != "" && !managed {
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

// Heir returns who has been a member of a project for longest besides a user, nobody where there is no other member, and whether there is another manager. Those
// of a deleted project are its former members.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, member:) or former:. Cost: 1 Query.
func (db Store) Heir(ctx context.Context, user project.UserID, p project.Project) (heir project.Member, managed bool, err error) {
	predicate := "member"
	if p.Deletion.State != "" {
		predicate = "former"
	}
	_, err = db.Query(ctx, LinksOf(ProjectID(p.ID), predicate), func(row dynamo.Item) (bool, error) {
		var m project.Member
		err := DecodeProjectMember(row, &m)
		if m.User == "" || m.User == user {
			return true, err
		}
		if heir.User == "" || m.AddedAt.Before(heir.AddedAt) {
			heir = m
		}
		managed = managed || m.Type.May(project.Manager)
		return true, err
	})
	return heir, managed, err
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
