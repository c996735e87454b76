package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/project"
)

// ourScope is the scope of what belongs to no project, and to no scope of a client.
const ourScope = "taggie"

func userID(user project.UserID) entity.ID {
	return entity.ID{Scope: ourScope, Type: "User", ID: string(user)}
}

func projectID(id project.ID) entity.ID {
	return entity.ID{Scope: string(id), Type: "Project", ID: string(id)}
}

// userIn is a user as a subject within a project: what is listed there is the project's.
func userIn(id project.ID, user project.UserID) entity.ID {
	return entity.ID{Scope: string(id), Type: "User", ID: string(user)}
}

// linksOf returns the range of all relationships of a subject under a predicate.
func linksOf(subject entity.ID, name string) span {
	low, high := prefixed(name + ":")
	return span{table: relationshipEntries, pk: keys.SubjectKey(subject.Scope, subject.Type, subject.ID), low: low, high: high}
}

// texts is a list of strings.
func texts(of []string) types.AttributeValue {
	list := make([]types.AttributeValue, len(of))
	for i, s := range of {
		list[i] = str(s)
	}
	return &types.AttributeValueMemberL{Value: list}
}

// readTexts reads what texts wrote.
func readTexts(v value) ([]string, error) {
	var all []string
	err := v.list(func(s string) error {
		all = append(all, s)
		return nil
	})
	return all, err
}

// nonEmpty returns attributes without those that are empty.
func nonEmpty(own map[string]string) attrs {
	row := make(attrs, len(own)+12)
	for name, s := range own {
		if s != "" {
			row[name] = str(s)
		}
	}
	return row
}

// readText reads a text of some string type.
func readText[T ~string](v value, into *T) error {
	s, err := v.str()
	*into = T(s)
	return err
}

// projectRows are the attributes that projects have of their own.
var projectRows = layoutOf(
	optional(ofText("name", func(p *project.Project) *string { return &p.Name })),
	optional(ofText("description", func(p *project.Project) *string { return &p.Description })),
	ofTexts("keywords", func(p *project.Project) *[]string { return &p.Keywords }),
	ofFlag("paused", func(p *project.Project) *bool { return &p.Paused }),
	ofWhole("queue_size", func(p *project.Project) *int { return &p.QueueSize }),
)

// projectRow is a project of one member, a manager.
func projectRow(p project.Project) attrs {
	id := projectID(p.ID)
	row := entityRow(entityKey(id), header{ID: id, Version: p.Version, Created: p.CreatedAt, Updated: p.UpdatedAt}, projectRows.row(&p))
	row["_meta"] = &types.AttributeValueMemberM{Value: attrs{"version": number(int64(p.Version)), "members": number(1), "managers": number(1)}}
	return row
}

func decodeProject(item []byte, p *project.Project) error {
	h, err := decodeOwn(projectRows, item, p)
	p.ID, p.Version, p.CreatedAt, p.UpdatedAt = project.ID(h.ID.Scope), h.Version, h.Created, h.Updated
	return err
}

// projectMemberOf is that a project has a member. There is no order among members, so that the row can be read by its key.
func projectMemberOf(id project.ID, user project.UserID) entity.Relation {
	return entity.Relation{Subject: projectID(id), Predicate: "member", Object: userID(user)}
}

func projectMemberKey(id project.ID, user project.UserID) rowKey {
	return relationKey(projectMemberOf(id, user))
}

// projectOf is the same, seen from the user.
func projectOf(user project.UserID, id project.ID) entity.Relation {
	return entity.Relation{Subject: userID(user), Predicate: "project", Object: projectID(id)}
}

func projectMemberRow(m project.Member) attrs {
	return relationRow(projectMemberOf(m.Project, m.User), m.AddedAt, attrs{
		"team": str(m.Team), "type": str(string(m.Type)), "added_at": str(keys.Instant(m.AddedAt)),
	})
}

// decodeProjectMember leaves the member empty unless its user is one of ours: who may write in a scope of a client can make
// entities and relations whose keys are those of a project with the scope's id, but only to objects of that scope.
func decodeProjectMember(item []byte, m *project.Member) error {
	var r relationRecord
	err := decodeRelation(item, &r, func(name []byte, v value) (err error) {
		switch string(name) {
		case "team":
			m.Team, err = v.str()
		case "type":
			err = readText(v, &m.Type)
		case "added_at":
			m.AddedAt, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
	if r.Object.Scope != ourScope {
		*m = project.Member{}
		return err
	}
	m.Project, m.User = project.ID(r.Subject.ID), project.UserID(r.Object.ID)
	return err
}

func teamID(id project.TeamID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: "Team", ID: id.ID}
}

// teamRows are the attributes that teams have of their own.
var teamRows = layoutOf(
	optional(ofText("name", func(t *project.Team) *string { return &t.Name })),
	optional(ofText("type", func(t *project.Team) *project.TeamType { return &t.Type })),
)

func teamRow(t project.Team, version int, updated time.Time) attrs {
	id := teamID(t.TeamID)
	return entityRow(entityKey(id), header{ID: id, Version: version, Created: t.CreatedAt, Updated: updated}, teamRows.row(&t))
}

func decodeTeam(item []byte, t *project.Team) error {
	h, err := decodeOwn(teamRows, item, t)
	t.TeamID, t.CreatedAt = project.TeamID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}, h.Created
	return err
}

func labelID(id project.LabelID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: string(id.Kind), ID: id.ID}
}
