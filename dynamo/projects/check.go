package projects

import (
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/project"
)

// Kinds are the kinds of rows that only projects have; their entities are those of [entities.Kinds], except items.
func Kinds() []dynamo.RowKind {
	return []dynamo.RowKind{
		{Name: "an item of a project", Table: dynamo.EntitiesMaster, Is: IsItem, Needs: needsOfItem, Mend: dynamo.Remake},
		{Name: "a member of a project", Table: dynamo.RelationshipEntries, Needs: needsOfMember, Is: linkOfProject("member:"), Mend: dynamo.Restore},
		{Name: "an invitation to a project", Table: dynamo.RelationshipEntries, Needs: needsOfInvitation, Is: linkOfProject("invitation:"), Mend: dynamo.Restore},
		{Name: "a change of a project", Table: dynamo.NotesTable, Is: dynamo.KeyBegins(keys.HistoryPrefix, ""), Needs: needsOfChange, Mend: dynamo.Restore},
		{Name: "a project of a user", Table: dynamo.RelationshipEntries, Is: dynamo.KeyBegins(keys.SubjectKey(entities.OurScope, "User", ""), "project:"), Needs: needsOfMembership, Mend: dynamo.Restore},
	}
}

// linkOfProject reports whether a key is that of a relationship of a project under a predicate.
func linkOfProject(predicate string) func(dynamo.Key) bool {
	return func(k dynamo.Key) bool {
		parts := keys.Split(k.PK)
		return len(parts) == 3 && parts[1] == "Project" && parts[0] == parts[2] && strings.HasPrefix(k.SK, predicate) && !keys.IsPredicateEnd(k.SK)
	}
}

// IsItem reports whether a key of entities_master is that of an item of a project. An entity of a client may be called so.
func IsItem(k dynamo.Key) bool {
	parts := keys.Split(k.SK)
	return len(parts) == 2 && k == entities.ShardedKey(ItemID(project.ItemID{Project: project.ID(parts[0]), ID: k.PK}))
}

// rebuildItems puts items where they are found by their names.
const rebuildItems dynamo.Mend = "run `taggie rebuild --items`"

// needsOfItem are those of an entity, and that the item is where it is found by its name.
func needsOfItem(k dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	needs, err := entities.NeedsOfEntity(k, item)
	if err != nil || dynamo.TextOf(item, "_type") != ItemType {
		return needs, err
	}
	var i project.Item
	if err := DecodeItem(item, &i); err != nil {
		return nil, err
	}
	if readPlace(item) != placeOf(i) {
		needs = append(needs, dynamo.Need{What: "its right place by name", Mend: rebuildItems})
	}
	return needs, nil
}

func needsOfInvitation(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var i project.Invitation
	if err := decodeInvitation(item, &i); err != nil || i.ID == "" {
		return nil, err
	}
	return []dynamo.Need{{What: "the project", Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(i.Project))}}, nil
}

// needsOfChange is the project, also while it is deleted: its history goes before it.
func needsOfChange(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var c project.Change
	if err := decodeChange(item, &c); err != nil {
		return nil, err
	}
	return []dynamo.Need{{What: "the project", Table: dynamo.EntitiesMaster, Key: entities.EntityKey(ProjectID(c.Project))}}, nil
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
