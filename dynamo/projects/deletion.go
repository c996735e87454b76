package projects

import (
	"cmp"
	"context"
	"errors"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// membersAtOnce is how many members move in one transaction: two rows each, and one for the project.
const membersAtOnce = (dynamo.MaxActions - 1) / 2

// PutDeletion changes the deletion of a project, and makes its member a former one when it begins to be deleted, or a member again when it begins to be
// brought back.
//
// Index: primary. Key: <project>/<project>:Project on condition of its version; where it begins,
// <project>:Project:<project>/member:0:User:<user> and /former:0:User:<user>, one of them on condition that it is as it was read;
// taggie:Tasks:<shard>/task:…; that of the change where it begins. Cost: 1 TransactWriteItems of 1 row, 3 more where it begins, and the tasks.
func (db Store) PutDeletion(ctx context.Context, before, after project.Project, follow []task.Task, once idempotency.Key) error {
	actions := append([]dynamo.Action{changeProject(before, after)}, dynamo.TaskActions(follow)...)
	if is := after.Deletion.State; is != before.Deletion.State && (is == project.Deleting || is == project.Reinstating) {
		actions = append(actions, moveMember(before.Member, is)...)
	}
	err := db.Transact(ctx, append(actions, noted(before.ChangeTo(after))...), once)
	if errors.Is(err, ErrStale) { // the member left, or went to another team
		return &project.VersionConflict{Current: before}
	}
	return unlessDone(err)
}

// moveMember makes a member a former one, or the other way round, on condition that he is as he was read.
func moveMember(m project.Member, is project.DeletionState) []dynamo.Action {
	from, to := projectMemberOf, formerMemberOf
	if is == project.Reinstating {
		from, to = to, from
	}
	was := dynamo.Action{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(from(m.Project, m.User)), Remove: true, Failed: stale}
	sameMember(&was, m)
	return []dynamo.Action{was, {Table: dynamo.RelationshipEntries, Item: memberRow(m, to)}}
}

// MoveMembers moves up to 49 members of a project that is being deleted or brought back.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND begins_with(_predicate_key, member:) or former:; these rows and those that
// take their place, on condition that they are as they were read, and that <project>/<project>:Project is in the same state.
// Cost: 1 Query and 1 TransactWriteItems of up to 99 rows.
func (db Store) MoveMembers(ctx context.Context, p project.Project) ([]project.Member, error) {
	predicate := "member"
	switch p.Deletion.State {
	case project.Deleting:
	case project.Reinstating:
		predicate = "former"
	default:
		return nil, &project.VersionConflict{Current: p}
	}
	var moved []project.Member
	err := db.UntilSettled(ctx, func() error {
		moved = nil
		s := LinksOf(ProjectID(p.ID), predicate)
		s.Limit, s.Single = membersAtOnce, true
		if _, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
			var m project.Member
			err := DecodeProjectMember(row, &m)
			if m.User != "" {
				moved = append(moved, m)
			}
			return true, err
		}); err != nil || len(moved) == 0 {
			return err
		}
		actions := []dynamo.Action{{
			Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(p.ID)), Condition: "#deletion = :state",
			Names: map[string]string{"#deletion": "deletion"}, Values: dynamo.Attrs{":state": dynamo.Str(string(p.Deletion.State))},
			Failed: func(dynamo.Attrs) error { return &project.VersionConflict{Current: p} },
		}}
		for _, m := range moved {
			actions = append(actions, moveMember(m, p.Deletion.State)...)
		}
		return db.Transact(ctx, actions, idempotency.Key{})
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

// DeletedByID reads deleted projects with the membership that the user had.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:Project; _subject_key = <project>:Project:<project> AND
// _predicate_key = former:0:User:<user>. Cost: ⌈2n/100⌉ BatchGetItem.
func (db Store) DeletedByID(ctx context.Context, user project.UserID, ids []project.ID) ([]project.Project, []error) {
	projects, errs, members := db.projectsWith(ctx, user, ids, formerMemberOf)
	for i, err := range members {
		if errs[i] == nil && (err != nil || projects[i].Deletion.State == "") {
			projects[i], errs[i] = project.Project{}, cmp.Or(err, dynamo.ErrMissing)
		}
	}
	return projects, dynamo.Missing(errs, "there is no such deleted project")
}

// ListDeleted lists the deleted projects of which a user was a manager, by id.
//
// Index: primary. Key: _subject_key = taggie:User:<user> AND begins_with(_predicate_key, project:); then the projects as in
// DeletedByID. Cost: 1 Query and ⌈2n/100⌉ BatchGetItem, more where most projects of the user are not deleted.
func (db Store) ListDeleted(ctx context.Context, user project.UserID, w page.Window) (page.Slice[project.DeletedProject], error) {
	return listMine(ctx, db, user, w, db.DeletedByID, func(p project.Project) (project.DeletedProject, bool) {
		return project.DeletedProject{Project: p}, p.Member.Type.May(project.Manager)
	})
}
