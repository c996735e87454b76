package resolvers

import (
	"slices"
	"strconv"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/project"
)

func categoryNode(l project.Label) model.Node { return model.Category{Label: l} }

func subcategoryNode(l project.Label) model.Node { return model.Subcategory{Label: l} }

// What clients name is referred to without a proof that the viewer may see it.

func teamRef(field string, id gid.ID) (project.Ref[project.TeamID], error) {
	key, err := teamID(field, id)
	return project.Ref[project.TeamID]{ID: key}, err
}

func categoryRef(field string, id gid.ID) (project.Ref[project.LabelID], error) {
	key, err := categoryID(field, id)
	return project.Ref[project.LabelID]{ID: key}, err
}

func subcategoryRef(field string, id gid.ID) (project.Ref[project.LabelID], error) {
	key, err := subcategoryID(field, id)
	return project.Ref[project.LabelID]{ID: key}, err
}

func projectItemRef(field string, id gid.ID) (project.Ref[project.ItemID], error) {
	key, err := projectItemID(field, id)
	return project.Ref[project.ItemID]{ID: key}, err
}

func effortRef(field string, id gid.ID) (project.Ref[project.EffortID], error) {
	key, err := effortID(field, id)
	return project.Ref[project.EffortID]{ID: key}, err
}

func projectID(field string, id gid.ID) (project.ID, error) {
	key, err := parts(field, id, "Project", 1)
	if err != nil {
		return "", err
	}
	return project.ID(key[0]), nil
}

func teamID(field string, id gid.ID) (project.TeamID, error) {
	key, err := parts(field, id, "Team", 2)
	if err != nil {
		return project.TeamID{}, err
	}
	return project.TeamID{Project: project.ID(key[0]), ID: key[1]}, nil
}

func categoryID(field string, id gid.ID) (project.LabelID, error) {
	return labelID(field, id, project.Category)
}

func subcategoryID(field string, id gid.ID) (project.LabelID, error) {
	return labelID(field, id, project.Subcategory)
}

func labelID(field string, id gid.ID, kind project.Kind) (project.LabelID, error) {
	key, err := parts(field, id, string(kind), 2)
	if err != nil {
		return project.LabelID{}, err
	}
	return project.LabelID{Project: project.ID(key[0]), Kind: kind, ID: key[1]}, nil
}

func projectItemID(field string, id gid.ID) (project.ItemID, error) {
	key, err := parts(field, id, "ProjectItem", 2)
	if err != nil {
		return project.ItemID{}, err
	}
	return project.ItemID{Project: project.ID(key[0]), ID: key[1]}, nil
}

// projectItemIDs reads a list of ids; nil for none. The field of an error names the place in the list.
func projectItemIDs(field string, ids []gid.ID) ([]project.ItemID, error) {
	if ids == nil {
		return nil, nil
	}
	all := make([]project.ItemID, len(ids))
	for i, id := range ids {
		var err error
		if all[i], err = projectItemID(field+"."+strconv.Itoa(i), id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func effortID(field string, id gid.ID) (project.EffortID, error) {
	key, err := parts(field, id, "ProjectItemEffort", 2)
	if err != nil {
		return project.EffortID{}, err
	}
	return project.EffortID{Project: project.ID(key[0]), ID: key[1]}, nil
}

func importID(field string, id gid.ID) (project.TransferID, error) {
	return transferID(field, id, "ProjectImport")
}

func exportID(field string, id gid.ID) (project.TransferID, error) {
	return transferID(field, id, "ProjectExport")
}

func removalID(field string, id gid.ID) (project.TransferID, error) {
	return transferID(field, id, "ProjectRemoval")
}

func transferID(field string, id gid.ID, typ string) (project.TransferID, error) {
	key, err := parts(field, id, typ, 2)
	if err != nil {
		return project.TransferID{}, err
	}
	return project.TransferID{Project: project.ID(key[0]), ID: key[1]}, nil
}

func invitationID(field string, id gid.ID) (project.InvitationID, error) {
	key, err := parts(field, id, "ProjectInvitation", 3)
	if err != nil {
		return project.InvitationID{}, err
	}
	created, err := strconv.ParseInt(key[1], 10, 64)
	if err != nil || created < 0 || strconv.FormatInt(created, 10) != key[1] {
		return project.InvitationID{}, fault.Invalidf(field, "this is not an id of the type ProjectInvitation")
	}
	return project.InvitationID{Project: project.ID(key[0]), Created: created, ID: key[2]}, nil
}

// parts returns the key parts of an id. None of them is empty: a store cannot be asked for such a key, and refuses with it all
// others of a batch.
func parts(field string, id gid.ID, typ string, n int) ([]string, error) {
	key, err := id.As(field, typ, n)
	if err == nil && slices.Contains(key, "") {
		err = fault.Invalidf(field, "this is not an id of the type %s", typ)
	}
	return key, err
}
