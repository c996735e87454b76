package projects

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/project"
)

// ProjectID is a project as an entity.
func ProjectID(id project.ID) entity.ID {
	return entity.ID{Scope: string(id), Type: "Project", ID: string(id)}
}

// UserIn is a user as a subject within a project: what is listed there is the project's.
func UserIn(id project.ID, user project.UserID) entity.ID {
	return entity.ID{Scope: string(id), Type: "User", ID: string(user)}
}

// LinksOf returns the range of all relationships of a subject under a predicate.
func LinksOf(subject entity.ID, name string) dynamo.Span {
	low, high := dynamo.Prefixed(name + ":")
	return dynamo.Span{Table: dynamo.RelationshipEntries, PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID), Low: low, High: high}
}

// projectRows are the attributes that projects have of their own.
var projectRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("name", func(p *project.Project) *string { return &p.Name })),
	dynamo.Optional(dynamo.OfText("description", func(p *project.Project) *string { return &p.Description })),
	dynamo.OfTexts("keywords", func(p *project.Project) *[]string { return &p.Keywords }),
	dynamo.OfFlag("paused", func(p *project.Project) *bool { return &p.Paused }),
	dynamo.OfWhole("queue_size", func(p *project.Project) *int { return &p.QueueSize }),
	dynamo.OfWhole("lease_minutes", func(p *project.Project) *project.Lease { return &p.Lease }),
	dynamo.Optional(dynamo.OfWhole("unreviewed_percent", func(p *project.Project) *int { return &p.Reviews.Unreviewed })),
	dynamo.Optional(dynamo.OfWhole("newcomer_days", func(p *project.Project) *int { return &p.Reviews.NewcomerDays })),
	dynamo.Optional(dynamo.OfText("created_by", func(p *project.Project) *project.UserID { return &p.CreatedBy })),
	dynamo.Optional(dynamo.OfText("deletion", func(p *project.Project) *project.DeletionState { return &p.Deletion.State })),
	dynamo.Optional(dynamo.OfText("deleted_by", func(p *project.Project) *project.UserID { return &p.Deletion.By })),
	dynamo.Optional(dynamo.OfInstant("deleted_at", func(p *project.Project) *time.Time { return &p.Deletion.At })),
	dynamo.Optional(dynamo.OfInstant("undo_until", func(p *project.Project) *time.Time { return &p.Deletion.UndoUntil })),
)

// projectRow is a project of one member, a manager.
func projectRow(p project.Project) dynamo.Attrs {
	id := ProjectID(p.ID)
	row := entities.EntityRow(entities.EntityKey(id), entities.Header{ID: id, Version: p.Version, Created: p.CreatedAt, Updated: p.UpdatedAt}, projectRows.Row(&p))
	row["_meta"] = &types.AttributeValueMemberM{Value: dynamo.Attrs{"version": dynamo.Number(int64(p.Version)), "members": dynamo.Number(1), "managers": dynamo.Number(1)}}
	return row
}

// DecodeProject reads the row of a project.
func DecodeProject(item dynamo.Item, p *project.Project) error {
	h, err := entities.DecodeOwn(projectRows, item, p)
	p.ID, p.Version, p.CreatedAt, p.UpdatedAt = project.ID(h.ID.Scope), h.Version, h.Created, h.Updated
	return err
}

// projectMemberOf is that a project has a member. There is no order among members, so that the row can be read by its key.
func projectMemberOf(id project.ID, user project.UserID) entity.Relation {
	return entity.Relation{Subject: ProjectID(id), Predicate: "member", Object: entities.UserID(user)}
}

// ProjectMemberKey is the key of the row that says that a user is a member of a project.
func ProjectMemberKey(id project.ID, user project.UserID) dynamo.Key {
	return entities.RelationKey(projectMemberOf(id, user))
}

// formerMemberOf is that a user was a member of a project when it was deleted.
func formerMemberOf(id project.ID, user project.UserID) entity.Relation {
	return entity.Relation{Subject: ProjectID(id), Predicate: "former", Object: entities.UserID(user)}
}

// projectOf is that a user is a member of a project, or was when it was deleted, seen from the user.
func projectOf(user project.UserID, id project.ID) entity.Relation {
	return entity.Relation{Subject: entities.UserID(user), Predicate: "project", Object: ProjectID(id)}
}

// memberRows are the attributes that memberships have of their own.
var memberRows = dynamo.LayoutOf(
	dynamo.OfText("team", func(m *project.Member) *string { return &m.Team }),
	dynamo.OfText("type", func(m *project.Member) *project.TeamType { return &m.Type }),
	dynamo.OfInstant("added_at", func(m *project.Member) *time.Time { return &m.AddedAt }),
)

func projectMemberRow(m project.Member) dynamo.Attrs { return memberRow(m, projectMemberOf) }

func memberRow(m project.Member, is func(project.ID, project.UserID) entity.Relation) dynamo.Attrs {
	return entities.RelationRow(is(m.Project, m.User), m.AddedAt, memberRows.Row(&m))
}

// DecodeProjectMember leaves the member empty unless its user is one of ours: who may write in a scope of a client can make
// entities and relations whose keys are those of a project with the scope's id, but only to objects of that scope.
func DecodeProjectMember(item dynamo.Item, m *project.Member) error {
	r, err := entities.DecodeOwnOf(memberRows, item, m)
	if isOfAnother(item, r, err) {
		*m = project.Member{}
		return nil
	}
	m.Project, m.User = project.ID(r.Subject.ID), project.UserID(r.Object.ID)
	return err
}

// isOfAnother reports whether a relationship leads to something that is not ours. If its own attributes cannot be read, it may not be known yet where it leads.
func isOfAnother(item dynamo.Item, r entities.RelationRecord, err error) bool {
	if err != nil {
		r = entities.RelationRecord{}
		if entities.DecodeRelation(item, &r, nil) != nil {
			return false
		}
	}
	return r.Object.Scope != entities.OurScope
}

func teamID(id project.TeamID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: "Team", ID: id.ID}
}

// teamRows are the attributes that teams have of their own.
var teamRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("name", func(t *project.Team) *string { return &t.Name })),
	dynamo.Optional(dynamo.OfText("type", func(t *project.Team) *project.TeamType { return &t.Type })),
	dynamo.Optional(dynamo.OfInstant("deleted_at", func(t *project.Team) *time.Time { return &t.DeletedAt })),
	dynamo.Optional(dynamo.OfText("into", func(t *project.Team) *string { return &t.Into })),
)

func teamRow(t project.Team, version int, updated time.Time) dynamo.Attrs {
	id := teamID(t.TeamID)
	return entities.EntityRow(entities.EntityKey(id), entities.Header{ID: id, Version: version, Created: t.CreatedAt, Updated: updated}, teamRows.Row(&t))
}

func decodeTeam(item dynamo.Item, t *project.Team) error {
	h, err := entities.DecodeOwn(teamRows, item, t)
	t.TeamID, t.CreatedAt = project.TeamID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}, h.Created
	return err
}

func labelID(id project.LabelID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: string(id.Kind), ID: id.ID}
}
