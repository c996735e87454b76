package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// Projects keeps projects and what belongs to them as entities of a scope of their own, whose name is the project's id.
type Projects struct{ *DB }

var _ project.Store = Projects{}

const noSuchProject = "there is no such project"

// errStale says that a condition failed because somebody else was faster: read again and decide again.
var errStale = errors.New("the row has changed")

func stale(attrs) error { return errStale }

// ProjectsByID reads projects with the membership of the user.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:Project; _subject_key = <project>:Project:<project>
// AND _predicate_key = member:0:User:<user>. Cost: ⌈2n/100⌉ BatchGetItem.
func (db Projects) ProjectsByID(ctx context.Context, user project.UserID, ids []project.ID) ([]project.Project, []error) {
	projects := make([]project.Project, len(ids))
	wants := make([]want, 0, 2*len(ids))
	for i, id := range ids {
		wants = append(wants, want{entitiesMaster, entityKey(projectID(id)), func(item []byte) error { return decodeProject(item, &projects[i]) }})
	}
	if user != "" {
		for i, id := range ids {
			wants = append(wants, want{relationshipEntries, projectMemberKey(id, user), func(item []byte) error { return decodeProjectMember(item, &projects[i].Member) }})
		}
	}
	all := db.batchGet(ctx, wants)
	errs := all[:len(ids)]
	for i, err := range all[len(ids):] {
		if err != errMissing && errs[i] == nil { //nolint:errorlint // batchGet returns it bare
			errs[i] = err // who cannot be told from a stranger must not be taken for one
		}
	}
	return projects, missing(errs, noSuchProject)
}

// ProjectAs reads a project as each of many users is in it; who is no member has none in it. The errors are aligned with users.
//
// Index: primary. Key: _subject_key = taggie:Project:<project> AND _predicate_key = the same, and
// _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>. Cost: ⌈(n+1)/100⌉ BatchGetItem.
func (db Projects) ProjectAs(ctx context.Context, id project.ID, users []project.UserID) ([]project.Project, []error) {
	var of project.Project
	members := make([]project.Member, len(users))
	wants := []want{{entitiesMaster, entityKey(projectID(id)), func(item []byte) error { return decodeProject(item, &of) }}}
	for i, user := range users {
		wants = append(wants, want{relationshipEntries, projectMemberKey(id, user), func(item []byte) error { return decodeProjectMember(item, &members[i]) }})
	}
	all := db.batchGet(ctx, wants)
	projects, errs := make([]project.Project, len(users)), make([]error, len(users))
	for i, err := range all[1:] {
		if all[0] != nil {
			errs[i] = all[0]
		} else if err != errMissing { //nolint:errorlint // batchGet returns it bare
			errs[i] = err // who cannot be told from a stranger must not be taken for one
		}
		projects[i] = of
		projects[i].Member = members[i]
	}
	return projects, missing(errs, noSuchProject)
}

// Memberships reads the memberships of one user in many projects.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>.
// Cost: ⌈n/100⌉ BatchGetItem.
func (db Projects) Memberships(ctx context.Context, user project.UserID, ids []project.ID) ([]project.Member, []error) {
	keys := make([]rowKey, len(ids))
	for i, id := range ids {
		keys[i] = projectMemberKey(id, user)
	}
	return db.members(ctx, keys)
}

// ListProjects lists the projects of a user, by id.
//
// Index: primary. Key: _subject_key = taggie:User:<user> AND begins_with(_predicate_key, project:); then the projects as in
// ProjectsByID. Cost: 1 Query and ⌈2n/100⌉ BatchGetItem.
func (db Projects) ListProjects(ctx context.Context, user project.UserID, w page.Window) (page.Slice[project.Project], error) {
	l := listing[project.ID]{
		span: linksOf(userID(user), "project"),
		decode: func(item []byte, id *project.ID) error {
			var r relationRecord
			err := decodeRelation(item, &r, nil)
			*id = project.ID(r.Object.ID)
			return err
		},
		sortKey: func(p string) string { return relationKey(projectOf(user, project.ID(p))).SK },
	}
	return filtered(ctx, db.DB, l, w, func(ctx context.Context, ids []project.ID) ([]project.Project, error) {
		projects, errs := db.ProjectsByID(ctx, user, ids)
		var kept []project.Project
		for i, p := range projects {
			if errs != nil && errs[i] != nil && !fault.Is(errs[i], fault.NotFound) {
				return nil, errs[i]
			}
			if p.ID != "" && p.Member.Team != "" { // the rows of a transaction are seen one by one
				kept = append(kept, p)
			}
		}
		return kept, nil
	}, func(p project.Project) string { return string(p.ID) })
}

// UpdateProject changes what is told about the project and its queue, and leaves alone what is counted on the row.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:Project, on condition of its version.
// Cost: 1 TransactWriteItems of 1 row.
func (db Projects) UpdateProject(ctx context.Context, before, after project.Project, once idempotency.Key) error {
	if before.Version == after.Version { // nothing to change, but a key to record
		return db.transact(ctx, nil, once)
	}
	attempt := uuid.NewString() // tells our own earlier attempt, whose answer was lost, from somebody else's change
	err := db.transact(ctx, []action{{
		table: entitiesMaster, key: entityKey(projectID(before.ID)),
		update: "SET #name = :name, #description = :description, #keywords = :keywords, #paused = :paused, #queue_size = :queue_size, " +
			"#updated = :updated, #meta.#version = :after, #attempt = :attempt",
		condition: "#meta.#version = :before",
		names: map[string]string{"#name": "name", "#description": "description", "#keywords": "keywords", "#paused": "paused",
			"#queue_size": "queue_size", "#updated": "_updated", "#meta": "_meta", "#version": "version", "#attempt": "_attempt"},
		values: attrs{":name": str(after.Name), ":description": str(after.Description), ":keywords": texts(after.Keywords),
			":paused": &types.AttributeValueMemberBOOL{Value: after.Paused}, ":queue_size": number(int64(after.QueueSize)),
			":updated": str(keys.Instant(after.UpdatedAt)), ":after": number(int64(after.Version)),
			":before": number(int64(before.Version)), ":attempt": str(attempt)},
		failed: func(row attrs) error {
			switch {
			case row == nil:
				return fault.New(fault.NotFound, noSuchProject)
			case text(row["_attempt"]) == attempt:
				return errDone
			}
			current := project.Project{Member: before.Member}
			if err := decodeProject(rowJSON(row), &current); err != nil {
				return err
			}
			return &project.VersionConflict{Current: current}
		},
	}}, once)
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// errDone says that a condition failed because the same change was made by an attempt whose answer was lost.
var errDone = errors.New("the change was made before")
