// Package projects keeps projects with their members, teams and labels, items, efforts, imports and exports. All are entities.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [Store].
package projects

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// Store keeps projects and what belongs to them as entities of a scope of their own, whose name is the project's id.
type Store struct{ *dynamo.DB }

var _ project.Store = Store{}

const noSuchProject = "there is no such project"

// ErrStale says that a condition failed because somebody else was faster: read again and decide again.
var ErrStale = errors.New("the row has changed")

func stale(dynamo.Attrs) error { return ErrStale }

// ProjectsByID reads projects with the membership of the user.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:Project; _subject_key = <project>:Project:<project>
// AND _predicate_key = member:0:User:<user>. Cost: ⌈2n/100⌉ BatchGetItem.
func (db Store) ProjectsByID(ctx context.Context, user project.UserID, ids []project.ID) ([]project.Project, []error) {
	projects, errs, members := db.projectsWith(ctx, user, ids, projectMemberOf)
	for i, err := range members {
		if err != dynamo.ErrMissing && errs[i] == nil { //nolint:errorlint // BatchGet returns it bare
			errs[i] = err // who cannot be told from a stranger must not be taken for one
		}
	}
	return projects, dynamo.Missing(errs, noSuchProject)
}

// projectsWith reads projects with a relation of the user, and returns the errors of both; "" for a user is nobody, of whom nothing is read.
func (db Store) projectsWith(ctx context.Context, user project.UserID, ids []project.ID, relation func(project.ID, project.UserID) entity.Relation) (projects []project.Project, errs, members []error) {
	projects = make([]project.Project, len(ids))
	wants := make([]dynamo.Want, 0, 2*len(ids))
	for i, id := range ids {
		wants = append(wants, dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(id)), Decode: func(item dynamo.Item) error { return DecodeProject(item, &projects[i]) }})
	}
	if user != "" {
		for i, id := range ids {
			wants = append(wants, dynamo.Want{Table: dynamo.RelationshipEntries, Key: entities.RelationKey(relation(id, user)), Decode: func(item dynamo.Item) error { return DecodeProjectMember(item, &projects[i].Member) }})
		}
	}
	all := db.BatchGet(ctx, wants)
	return projects, all[:len(ids)], all[len(ids):]
}

// ProjectAs reads a project as each of many users is in it; who is no member has none in it. The errors are aligned with users.
//
// Index: primary. Key: _subject_key = taggie:Project:<project> AND _predicate_key = the same, and
// _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>. Cost: ⌈(n+1)/100⌉ BatchGetItem.
func (db Store) ProjectAs(ctx context.Context, id project.ID, users []project.UserID) ([]project.Project, []error) {
	var of project.Project
	members := make([]project.Member, len(users))
	wants := []dynamo.Want{{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(id)), Decode: func(item dynamo.Item) error { return DecodeProject(item, &of) }}}
	for i, user := range users {
		wants = append(wants, dynamo.Want{Table: dynamo.RelationshipEntries, Key: ProjectMemberKey(id, user), Decode: func(item dynamo.Item) error { return DecodeProjectMember(item, &members[i]) }})
	}
	all := db.BatchGet(ctx, wants)
	projects, errs := make([]project.Project, len(users)), make([]error, len(users))
	for i, err := range all[1:] {
		if all[0] != nil {
			errs[i] = all[0]
		} else if err != dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = err // who cannot be told from a stranger must not be taken for one
		}
		projects[i] = of
		projects[i].Member = members[i]
	}
	return projects, dynamo.Missing(errs, noSuchProject)
}

// Memberships reads the memberships of one user in many projects.
//
// Index: primary. Key: _subject_key = <project>:Project:<project> AND _predicate_key = member:0:User:<user>.
// Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) Memberships(ctx context.Context, user project.UserID, ids []project.ID) ([]project.Member, []error) {
	keys := make([]dynamo.Key, len(ids))
	for i, id := range ids {
		keys[i] = ProjectMemberKey(id, user)
	}
	return db.members(ctx, keys)
}

// ListProjects lists the projects of a user, by id.
//
// Index: primary. Key: _subject_key = taggie:User:<user> AND begins_with(_predicate_key, project:); then the projects as in
// ProjectsByID. Cost: 1 Query and ⌈2n/100⌉ BatchGetItem.
func (db Store) ListProjects(ctx context.Context, user project.UserID, w page.Window) (page.Slice[project.Project], error) {
	return listMine(ctx, db, user, w, db.ProjectsByID, func(p project.Project) (project.Project, bool) { return p, p.Member.Team != "" }) // the rows of a transaction are seen one by one
}

// listMine lists what counts of the projects of which a user is a member, or was when they were deleted, as read reads them.
func listMine[T any](ctx context.Context, db Store, user project.UserID, w page.Window, read func(context.Context, project.UserID, []project.ID) ([]project.Project, []error), counts func(project.Project) (T, bool)) (page.Slice[T], error) {
	type mine struct {
		id project.ID
		of T
	}
	l := dynamo.Listing[project.ID]{
		Span: LinksOf(entities.UserID(user), "project"),
		Decode: func(item dynamo.Item, id *project.ID) error {
			var r entities.RelationRecord
			err := entities.DecodeRelation(item, &r, nil)
			*id = project.ID(r.Object.ID)
			return err
		},
		SortKey: func(p string) string { return entities.RelationKey(projectOf(user, project.ID(p))).SK },
	}
	found, err := dynamo.Filtered(ctx, db.DB, l, w, func(ctx context.Context, ids []project.ID) ([]mine, error) {
		projects, errs := read(ctx, user, ids)
		var kept []mine
		for i, p := range projects {
			if errs != nil && errs[i] != nil && !fault.Is(errs[i], fault.NotFound) {
				return nil, errs[i]
			}
			if of, is := counts(p); is && p.ID != "" {
				kept = append(kept, mine{p.ID, of})
			}
		}
		return kept, nil
	}, func(m mine) string { return string(m.id) })
	all := page.Slice[T]{Positions: found.Positions, More: found.More, Other: found.Other, Until: found.Until}
	for _, m := range found.Items {
		all.Items = append(all.Items, m.of)
	}
	return all, err
}

// UpdateProject changes what is told about the project and its queue, and leaves alone what is counted on the row.
//
// Index: primary. Key: _id = <project> AND _scope_type_key = <project>:Project, on condition of its version; that of the change.
// Cost: 1 TransactWriteItems of 2 rows.
func (db Store) UpdateProject(ctx context.Context, before, after project.Project, once idempotency.Key) error {
	if before.Version == after.Version { // nothing to change, but a key to record
		return db.Transact(ctx, nil, once)
	}
	return unlessDone(db.Transact(ctx, append(noted(before.ChangeTo(after)), changeProject(before, after)), once))
}

// unlessDone is no error when an earlier attempt, whose answer was lost, has done it.
func unlessDone(err error) error {
	if errors.Is(err, dynamo.ErrDone) {
		return nil
	}
	return err
}

// changeProject writes all attributes that a project has of its own. *project.VersionConflict when before is not its version, and
// [dynamo.ErrDone] when this attempt has changed it already.
func changeProject(before, after project.Project) dynamo.Action {
	attempt := uuid.NewString() // tells our own earlier attempt, whose answer was lost, from somebody else's change
	names := map[string]string{"#updated": "_updated", "#meta": "_meta", "#version": "version", "#attempt": "_attempt"}
	values := dynamo.Attrs{
		":updated": dynamo.Str(keys.Instant(after.UpdatedAt)), ":after": dynamo.Number(int64(after.Version)),
		":before": dynamo.Number(int64(before.Version)), ":attempt": dynamo.Str(attempt),
	}
	update, removes := "SET #updated = :updated, #meta.#version = :after, #attempt = :attempt", ""
	row := projectRows.Row(&after)
	for _, name := range projectRows.Names() {
		names["#"+name] = name
		if value, there := row[name]; there {
			update += ", #" + name + " = :" + name
			values[":"+name] = value
		} else {
			removes += ", #" + name
		}
	}
	if removes != "" {
		update += " REMOVE " + strings.TrimPrefix(removes, ", ")
	}
	return dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(before.ID)),
		Update: update, Condition: "#meta.#version = :before", Names: names, Values: values,
		Failed: func(row dynamo.Attrs) error {
			switch {
			case row == nil:
				return fault.New(fault.NotFound, noSuchProject)
			case dynamo.Text(row["_attempt"]) == attempt:
				return dynamo.ErrDone
			}
			current := project.Project{Member: before.Member}
			if err := DecodeProject(dynamo.ItemOf(row), &current); err != nil {
				return err
			}
			return &project.VersionConflict{Current: current}
		},
	}
}

// withoutMetadata leaves out the one attribute of an item that may be large, and what only the next move needs.
var withoutMetadata = dynamo.Lightest(itemRows.Light())

// WithoutMetadata returns the store for reads of items that do not need their metadata, which may have 100 KB. It is good for
// nothing else.
func (db Store) WithoutMetadata() Store {
	return Store{DB: db.Projecting(dynamo.Projections{*db.Table(dynamo.EntitiesMaster): withoutMetadata})}
}

// Known is that there is a project: it is listed for jobs, which belong to no user.
func Known(id project.ID) entity.Relation {
	typ, shard := keys.ProjectsSubject(string(id))
	return entity.Relation{Subject: entity.ID{Scope: entities.OurScope, Type: typ, ID: shard}, Predicate: "project", Object: ProjectID(id)}
}
