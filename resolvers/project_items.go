package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// ProjectItem returns the resolvers of ProjectItem.
func (r *Resolver) ProjectItem() graph.ProjectItemResolver { return projectItems{r} }

// ProjectItemEffort returns the resolvers of ProjectItemEffort.
func (r *Resolver) ProjectItemEffort() graph.ProjectItemEffortResolver { return efforts{r} }

type projectItems struct{ *Resolver }

func (projectItems) Project(ctx context.Context, i *project.Item) (*project.Project, error) {
	return projectOf(ctx, i.ItemID.Project)
}

func (projectItems) URL(_ context.Context, i *project.Item) (*string, error) {
	return orNull(i.URL), nil
}

func (projectItems) Item(ctx context.Context, i *project.Item) (*score.Item, error) {
	request, there := score.OfProject(*i)
	if !there {
		return nil, nil
	}
	return found(loaders.From(ctx).Items.Load(ctx, request))
}

func (projectItems) Withdrawn(ctx context.Context, i *project.Item) (*bool, error) {
	request, there := score.OfProject(*i)
	if !there {
		return new(bool), nil
	}
	return withdrawn(ctx, request)
}

// withdrawn reports whether an item that is used was withdrawn, or is gone.
func withdrawn(ctx context.Context, request score.ItemRequest) (*bool, error) {
	i, err := found(loaders.From(ctx).Items.Load(ctx, request))
	if err != nil {
		return nil, err
	}
	is := i == nil || !i.Withdrawn.IsZero()
	return &is, nil
}

func (projectItems) Category(ctx context.Context, i *project.Item) (*model.Category, error) {
	return category(ctx, i.CategoryRef)
}

func (projectItems) Subcategory(ctx context.Context, i *project.Item) (*model.Subcategory, error) {
	return subcategory(ctx, i.SubcategoryRef)
}

func (r projectItems) Efforts(ctx context.Context, i *project.Item, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Effort], error) {
	o, err := r.openHistory(ctx, selected(ctx, "ProjectItemEffortConnection"), *i, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	if i.EffortsMade == 0 { // there is nothing to be read
		return page.Plain(o, page.Slice[project.Effort]{}), nil
	}
	slice, err := loaders.From(ctx).ProjectItemEfforts.Load(ctx, i.History(o.Window))
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (r *Resolver) openHistory(ctx context.Context, sel selection, i project.Item, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "ProjectItem.efforts", string(i.ItemID.Project), i.ID)
}

type efforts struct{ *Resolver }

func (efforts) Project(ctx context.Context, e *project.Effort) (*project.Project, error) {
	return projectOf(ctx, e.EffortID.Project)
}

func (efforts) Item(ctx context.Context, e *project.Effort) (*project.Item, error) {
	return found(loaders.From(ctx).ProjectItems.Load(ctx, e.ItemRef()))
}

func (efforts) User(ctx context.Context, e *project.Effort) (*user.User, error) {
	return person(ctx, e.User)
}

func (efforts) Team(ctx context.Context, e *project.Effort) (*project.Team, error) {
	return found(loaders.From(ctx).Teams.Load(ctx, e.TeamRef()))
}

func (efforts) Category(ctx context.Context, e *project.Effort) (*model.Category, error) {
	return category(ctx, e.CategoryRef)
}

func (efforts) Subcategory(ctx context.Context, e *project.Effort) (*model.Subcategory, error) {
	return subcategory(ctx, e.SubcategoryRef)
}

// category returns the category that something refers to, nil when to none.
func category(ctx context.Context, refers func() (project.Ref[project.LabelID], bool)) (*model.Category, error) {
	l, err := label(ctx, refers)
	if l == nil {
		return nil, err
	}
	return &model.Category{Label: *l}, nil
}

// subcategory returns the subcategory that something refers to, nil when to none.
func subcategory(ctx context.Context, refers func() (project.Ref[project.LabelID], bool)) (*model.Subcategory, error) {
	l, err := label(ctx, refers)
	if l == nil {
		return nil, err
	}
	return &model.Subcategory{Label: *l}, nil
}

func label(ctx context.Context, refers func() (project.Ref[project.LabelID], bool)) (*project.Label, error) {
	ref, ok := refers()
	if !ok {
		return nil, nil
	}
	return found(loaders.From(ctx).Labels.Load(ctx, ref))
}

// orNull turns an empty text into null.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
