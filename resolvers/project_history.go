package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// ProjectChange returns the resolvers of the fields of changes that are read apart.
func (r *Resolver) ProjectChange() graph.ProjectChangeResolver { return projectChanges{r} }

type projectChanges struct{ *Resolver }

func (projectChanges) By(ctx context.Context, c *project.Change) (*user.User, error) {
	return writer(ctx, c.By)
}

func (projectChanges) Member(ctx context.Context, c *project.Change) (*user.User, error) {
	return writer(ctx, c.Member)
}

func (r projects) History(ctx context.Context, p *project.Project, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Change], error) {
	sel := selected(ctx, "ProjectChangeConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.history", string(p.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectHistory.LoadNow(ctx, p.Transfers(o.Window))
	if err != nil {
		return nil, err
	}
	r.historyAhead(ctx, slice.Items, sel.items("ProjectChangeEdge", "ProjectChange"))
	return page.Plain(o, slice), nil
}

// historyAhead reads the people of changes.
func (r *Resolver) historyAhead(ctx context.Context, changes []project.Change, sel selection) {
	var first wave
	by, members := sel.showsProfiles("by"), sel.showsProfiles("member")
	for _, c := range changes {
		if by && c.By != "" {
			first.people = append(first.people, c.By)
		}
		if members && c.Member != "" {
			first.people = append(first.people, c.Member)
		}
	}
	first.read(loaders.From(ctx))
}
