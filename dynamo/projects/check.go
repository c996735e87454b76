package projects

import (
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/project"
)

// Kinds are the kinds of rows that only projects have; their entities are those of [entities.Kinds].
func Kinds() []dynamo.RowKind {
	return []dynamo.RowKind{
		{Name: "a member of a project", Table: dynamo.RelationshipEntries, Needs: needsOfMember, Is: linkOfProject("member:")},
		{Name: "an invitation to a project", Table: dynamo.RelationshipEntries, Needs: needsOfInvitation, Is: linkOfProject("invitation:")},
		{Name: "a project of a user", Table: dynamo.RelationshipEntries, Is: dynamo.KeyBegins(keys.SubjectKey(entities.OurScope, "User", ""), "project:"), Needs: needsOfMembership},
	}
}

// linkOfProject reports whether a key is that of a relationship of a project under a predicate.
func linkOfProject(predicate string) func(dynamo.Key) bool {
	return func(k dynamo.Key) bool {
		parts := keys.Split(k.PK)
		return len(parts) == 3 && parts[1] == "Project" && parts[0] == parts[2] && strings.HasPrefix(k.SK, predicate) && !keys.IsPredicateEnd(k.SK)
	}
}

func needsOfInvitation(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var i project.Invitation
	if err := decodeInvitation(item, &i); err != nil || i.ID == "" {
		return nil, err
	}
	return []dynamo.Need{{What: "the project", Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(i.Project))}}, nil
}

func needsOfMember(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var m project.Member
	if err := DecodeProjectMember(item, &m); err != nil || m.User == "" {
		return nil, err
	}
	return []dynamo.Need{
		{What: "the project", Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(m.Project))},
		{What: "its place among the projects of the user", Table: dynamo.RelationshipEntries, Key: entities.RelationKey(projectOf(m.User, m.Project))},
	}, nil
}

func needsOfMembership(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var r entities.RelationRecord
	if err := entities.DecodeRelation(item, &r, func([]byte, dynamo.Value) error { return nil }); err != nil || r.Marker {
		return nil, err
	}
	p, user := project.ID(r.Object.ID), project.UserID(r.Subject.ID)
	return []dynamo.Need{{What: "the membership in the project", Table: dynamo.RelationshipEntries, Key: ProjectMemberKey(p, user), Or: entities.RelationKey(formerMemberOf(p, user))}}, nil
}

// NeedOfFile is the import or export whose file an object is; false when it is that of none.
func NeedOfFile(object string) (dynamo.Need, bool) {
	of, rest, _ := strings.Cut(object, "/")
	p, name, found := strings.Cut(rest, "/")
	id, _, _ := strings.Cut(name, ".")
	found = found && keys.IsUUID(p) && keys.IsUUID(id)
	transfer := project.TransferID{Project: project.ID(p), ID: id}
	need := dynamo.Need{What: "its " + strings.TrimSuffix(of, "s"), Table: dynamo.EntitiesMaster}
	switch {
	case found && of+"/" == strings.TrimSuffix(project.ImportKey(project.TransferID{}), "/"):
		need.Key = entities.EntityKey(importID(transfer))
	case found && of+"/" == strings.TrimSuffix(project.ExportKey(project.TransferID{}), "/"):
		need.Key = entities.EntityKey(exportID(transfer))
	default:
		return dynamo.Need{}, false
	}
	return need, true
}
