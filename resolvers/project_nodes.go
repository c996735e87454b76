package resolvers

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/loaders"
)

// projectNodesAhead begins to read those of the ids that are of projects and what belongs to them, each type in one batch.
func (q query) projectNodesAhead(ctx context.Context, ids []gid.ID, group *errgroup.Group) {
	load := loaders.From(ctx)
	var projects []project.ID
	var teams []project.Ref[project.TeamID]
	var labels []project.Ref[project.LabelID]
	var items []project.Ref[project.ItemID]
	var efforts []project.Ref[project.EffortID]
	var imports, exports []project.TransferID
	for _, id := range ids {
		switch id.Type {
		case "Project":
			projects = appendKey(projects, id, projectID)
		case "Team":
			teams = appendKey(teams, id, teamRef)
		case "Category":
			labels = appendKey(labels, id, categoryRef)
		case "Subcategory":
			labels = appendKey(labels, id, subcategoryRef)
		case "ProjectItem":
			items = appendKey(items, id, itemRef)
		case "ProjectItemEffort":
			efforts = appendKey(efforts, id, effortRef)
		case "ProjectImport":
			imports = appendKey(imports, id, importID)
		case "ProjectExport":
			exports = appendKey(exports, id, exportID)
		}
	}
	group.Go(func() error { load.Projects.Prefetch(projects); return nil })
	group.Go(func() error { load.Teams.Prefetch(teams); return nil })
	group.Go(func() error { load.Labels.Prefetch(labels); return nil })
	group.Go(func() error { load.Items.Prefetch(items); return nil })
	group.Go(func() error { load.Efforts.Prefetch(efforts); return nil })
	group.Go(func() error { load.Imports.Prefetch(imports); return nil })
	group.Go(func() error { load.Exports.Prefetch(exports); return nil })
}

// appendKey adds the key of an id that is one.
func appendKey[K any](all []K, id gid.ID, parse func(string, gid.ID) (K, error)) []K {
	if key, err := parse("", id); err == nil {
		return append(all, key)
	}
	return all
}

// projectNode reads the object with this id; ok tells whether it is one of a project.
func (q query) projectNode(ctx context.Context, field string, id gid.ID) (value model.Node, ok bool, err error) {
	load := loaders.From(ctx)
	switch id.Type {
	case "Project":
		value, err = nodeBy(ctx, load.Projects, field, id, projectID)
	case "Team":
		value, err = nodeBy(ctx, load.Teams, field, id, teamRef)
	case "Category":
		value, err = nodeBy(ctx, load.Labels, field, id, categoryRef)
	case "Subcategory":
		value, err = nodeBy(ctx, load.Labels, field, id, subcategoryRef)
	case "ProjectItem":
		value, err = nodeBy(ctx, load.Items, field, id, itemRef)
	case "ProjectItemEffort":
		value, err = nodeBy(ctx, load.Efforts, field, id, effortRef)
	case "ProjectImport":
		value, err = nodeBy(ctx, load.Imports, field, id, importID)
	case "ProjectExport":
		value, err = nodeBy(ctx, load.Exports, field, id, exportID)
	default:
		return nil, false, nil
	}
	if l, isLabel := value.(project.Label); isLabel {
		value = labelNode(l)
	}
	return value, true, err
}

// labelNode returns the label as the type that it has in the contract.
func labelNode(l project.Label) model.Node {
	if l.Kind == project.Category {
		return model.Category{Label: l}
	}
	return model.Subcategory{Label: l}
}

func nodeBy[K comparable, V any](ctx context.Context, l *loaders.Loader[K, V], field string, id gid.ID, parse func(string, gid.ID) (K, error)) (model.Node, error) {
	key, err := parse(field, id)
	if err != nil {
		return nil, err
	}
	return node(found(l.Load(ctx, key)))
}

// belowProjects reads what is selected below projects and what belongs to them.
func (q query) belowProjects(ctx context.Context, nodes []model.Node) {
	var projects []project.Project
	var teams []project.Team
	var categories, subcategories []project.Label
	var items []project.Item
	var efforts []project.Effort
	var imports []project.Import
	var exports []project.Export
	for _, value := range nodes {
		switch value := value.(type) {
		case project.Project:
			projects = append(projects, value)
		case project.Team:
			teams = append(teams, value)
		case model.Category:
			categories = append(categories, value.Label)
		case model.Subcategory:
			subcategories = append(subcategories, value.Label)
		case project.Item:
			items = append(items, value)
		case project.Effort:
			efforts = append(efforts, value)
		case project.Import:
			imports = append(imports, value)
		case project.Export:
			exports = append(exports, value)
		}
	}
	if len(projects) > 0 {
		q.projectsAhead(ctx, projects, selected(ctx, "Project", "Node"))
	}
	if len(teams) > 0 {
		q.teamsAhead(ctx, teams, selected(ctx, "Team", "Node"))
	}
	if len(categories) > 0 {
		q.labelsAhead(ctx, categories, selected(ctx, "Category", "Node"))
	}
	if len(subcategories) > 0 {
		q.labelsAhead(ctx, subcategories, selected(ctx, "Subcategory", "Node"))
	}
	if len(items) > 0 {
		q.itemsAhead(ctx, items, selected(ctx, "ProjectItem", "Node"))
	}
	if len(efforts) > 0 {
		q.effortsAhead(ctx, efforts, selected(ctx, "ProjectItemEffort", "Node"))
	}
	if len(imports) > 0 {
		q.importsAhead(ctx, imports, selected(ctx, "ProjectImport", "Node"))
	}
	if len(exports) > 0 {
		q.exportsAhead(ctx, exports, selected(ctx, "ProjectExport", "Node"))
	}
}

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

func itemRef(field string, id gid.ID) (project.Ref[project.ItemID], error) {
	key, err := itemID(field, id)
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

func itemID(field string, id gid.ID) (project.ItemID, error) {
	key, err := parts(field, id, "ProjectItem", 2)
	if err != nil {
		return project.ItemID{}, err
	}
	return project.ItemID{Project: project.ID(key[0]), ID: key[1]}, nil
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

func transferID(field string, id gid.ID, typ string) (project.TransferID, error) {
	key, err := parts(field, id, typ, 2)
	if err != nil {
		return project.TransferID{}, err
	}
	return project.TransferID{Project: project.ID(key[0]), ID: key[1]}, nil
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
