package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// DeletedProject returns the resolvers of DeletedProject.
func (r *Resolver) DeletedProject() graph.DeletedProjectResolver { return deletedProjects{r} }

type deletedProjects struct{ *Resolver }

func (deletedProjects) DeletedBy(ctx context.Context, p *project.DeletedProject) (*user.User, error) {
	return person(ctx, p.Deletion.By)
}

func (r users) DeletedProjects(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.DeletedProject], error) {
	sel := selected(ctx, "DeletedProjectConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.deletedProjects", string(u.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).DeletedOf.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	r.deletedAhead(ctx, slice.Items, sel.items("DeletedProjectEdge", "DeletedProject"))
	return page.Plain(o, slice), nil
}

// deletedAhead reads what is selected below deleted projects.
func (r *Resolver) deletedAhead(ctx context.Context, deleted []project.DeletedProject, sel selection) {
	var first wave
	if sel.showsProfiles("deletedBy") {
		for _, p := range deleted {
			first.people = append(first.people, p.Deletion.By)
		}
	}
	first.read(loaders.From(ctx))
}

// doneDeleted is done for deleted projects; see doneProject.
func (m mutation) doneDeleted(ctx context.Context, p project.DeletedProject, err error) (*project.DeletedProject, any, error) {
	after, problem, err := done(ctx, m, p, err)
	if after == nil || after.ID == "" {
		return nil, problem, err
	}
	m.deletedAhead(ctx, []project.DeletedProject{*after}, payload(ctx).in("deleted", "DeletedProject"))
	return after, nil, nil
}

func (m mutation) DeleteProject(ctx context.Context, in model.DeleteProjectInput) (*model.DeleteProjectPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	deleted, err := m.Projects.Delete(ctx, project.Delete{ID: id, Purge: in.Purge, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneDeleted(ctx, deleted, err)
	return &model.DeleteProjectPayload{Deleted: after, Problem: problem}, err
}

func (m mutation) UndoDeleteProject(ctx context.Context, in model.UndoDeleteProjectInput) (*model.UndoDeleteProjectPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	p, err := m.Projects.UndoDelete(ctx, project.ChangeDeletion{ID: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneProject(ctx, p, err)
	return &model.UndoDeleteProjectPayload{Project: after}, err
}

func (m mutation) PurgeDeletedProject(ctx context.Context, in model.PurgeDeletedProjectInput) (*model.PurgeDeletedProjectPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	deleted, err := m.Projects.PurgeDeleted(ctx, project.ChangeDeletion{ID: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneDeleted(ctx, deleted, err)
	return &model.PurgeDeletedProjectPayload{Deleted: after}, err
}
