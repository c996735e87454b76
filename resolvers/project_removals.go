package resolvers

import (
	"context"
	"time"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// ProjectRemoval returns the resolvers of ProjectRemoval.
func (r *Resolver) ProjectRemoval() graph.ProjectRemovalResolver { return projectRemovals{r} }

type projectRemovals struct{ *Resolver }

func (projectRemovals) Project(ctx context.Context, p *project.Removal) (*project.Project, error) {
	return projectOf(ctx, p.TransferID.Project)
}

func (r projectRemovals) Import(ctx context.Context, p *project.Removal) (*project.Import, error) {
	if p.Import == "" {
		return nil, nil
	}
	i, err := found(loaders.From(ctx).Imports.Load(ctx, p.ImportID()))
	if i != nil {
		r.importsAhead(ctx, []project.Import{*i}, selected(ctx, "ProjectImport", "Node"))
	}
	return i, err
}

func (projectRemovals) Status(_ context.Context, p *project.Removal) (*project.Status, error) {
	if p.Status == "" {
		return nil, nil
	}
	return &p.Status, nil
}

func (projectRemovals) CreatedBy(ctx context.Context, p *project.Removal) (*user.User, error) {
	return person(ctx, p.CreatedBy)
}

func (projectRemovals) UndoUntil(_ context.Context, p *project.Removal) (*time.Time, error) {
	if p.State != project.Undoable {
		return nil, nil
	}
	return &p.UndoUntil, nil
}

// removalsAhead reads what is selected below removals.
func (r *Resolver) removalsAhead(ctx context.Context, removals []project.Removal, sel selection) {
	var first wave
	profiles := sel.showsProfiles("createdBy")
	for _, p := range removals {
		if profiles {
			first.people = append(first.people, p.CreatedBy)
		}
		if sel.has("project") {
			first.projects = append(first.projects, p.TransferID.Project)
		}
		if sel.has("import") && p.Import != "" {
			first.imports = append(first.imports, p.ImportID())
		}
	}
	load := loaders.From(ctx)
	first.read(load)
	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
	r.importsAhead(ctx, loaded(ctx, load.Imports, first.imports), sel.in("import", "ProjectImport", "Node"))
}

// doneRemoval is done for removals; see doneProject.
func (m mutation) doneRemoval(ctx context.Context, p project.Removal, err error) (*project.Removal, error) {
	after, _, err := done(ctx, m, p, err)
	if after == nil || after.ID == "" {
		return nil, err
	}
	m.removalsAhead(ctx, []project.Removal{*after}, payload(ctx).in("removal", "ProjectRemoval", "Node"))
	return after, nil
}

func (m mutation) RemoveProjectItems(ctx context.Context, in model.RemoveProjectItemsInput) (*model.RemoveProjectItemsPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	remove := project.Remove{Project: id, Status: in.Status.Value(), Purge: in.Purge, IdempotencyKey: in.IdempotencyKey.Value()}
	if remove.Items, err = projectItemIDs("input.itemIds", in.ItemIds.Value()); err != nil {
		return nil, err
	}
	if of := in.ImportID.Value(); of != nil {
		i, err := importID("input.importId", *of)
		if err != nil {
			return nil, err
		}
		remove.Import = &i
	}
	removal, err := m.Projects.Remove(ctx, remove)
	after, err := m.doneRemoval(ctx, removal, err)
	return &model.RemoveProjectItemsPayload{Removal: after}, err
}

func (m mutation) UndoProjectRemoval(ctx context.Context, in model.UndoProjectRemovalInput) (*model.UndoProjectRemovalPayload, error) {
	id, err := removalID("input.removalId", in.RemovalID)
	if err != nil {
		return nil, err
	}
	removal, err := m.Projects.UndoRemoval(ctx, project.ChangeRemoval{Removal: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, err := m.doneRemoval(ctx, removal, err)
	return &model.UndoProjectRemovalPayload{Removal: after}, err
}

func (m mutation) PurgeProjectRemoval(ctx context.Context, in model.PurgeProjectRemovalInput) (*model.PurgeProjectRemovalPayload, error) {
	id, err := removalID("input.removalId", in.RemovalID)
	if err != nil {
		return nil, err
	}
	removal, err := m.Projects.PurgeRemoval(ctx, project.ChangeRemoval{Removal: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, err := m.doneRemoval(ctx, removal, err)
	return &model.PurgeProjectRemovalPayload{Removal: after}, err
}
