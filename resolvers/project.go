package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// Project returns the resolvers of Project.
func (r *Resolver) Project() graph.ProjectResolver { return projects{r} }

// Team returns the resolvers of Team.
func (r *Resolver) Team() graph.TeamResolver { return teams{r} }

// ProjectMember returns the resolvers of ProjectMember.
func (r *Resolver) ProjectMember() graph.ProjectMemberResolver { return projectMembers{r} }

// Category returns the resolvers of Category.
func (r *Resolver) Category() graph.CategoryResolver { return categories{r} }

// Subcategory returns the resolvers of Subcategory.
func (r *Resolver) Subcategory() graph.SubcategoryResolver { return subcategories{r} }

func (q query) Project(ctx context.Context, id gid.ID) (*project.Project, error) {
	key, err := projectID("id", id)
	if err != nil {
		return nil, err
	}
	p, err := found(loaders.From(ctx).Projects.Load(ctx, key))
	if p != nil {
		q.projectsAhead(ctx, []project.Project{*p}, selected(ctx, "Project", "Node"))
	}
	return p, err
}

func (r users) Projects(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Project], error) {
	sel := selected(ctx, "ProjectConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.projects", string(u.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectsOf.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	r.projectsAhead(ctx, slice.Items, sel.items("ProjectEdge", "Project", "Node"))
	return page.Plain(o, slice), nil
}

type projects struct{ *Resolver }

func (r projects) Categories(ctx context.Context, p *project.Project, includeRetired bool) ([]model.Category, error) {
	of, err := r.labelsOf(ctx, p, project.Category, includeRetired)
	if err != nil {
		return nil, err
	}
	all := make([]model.Category, len(of))
	for i, l := range of {
		all[i] = model.Category{Label: l}
	}
	return all, nil
}

func (r projects) Subcategories(ctx context.Context, p *project.Project, includeRetired bool) ([]model.Subcategory, error) {
	of, err := r.labelsOf(ctx, p, project.Subcategory, includeRetired)
	if err != nil {
		return nil, err
	}
	all := make([]model.Subcategory, len(of))
	for i, l := range of {
		all[i] = model.Subcategory{Label: l}
	}
	return all, nil
}

// labelsOf reads both lists of a project together, and returns one of them.
func (r projects) labelsOf(ctx context.Context, p *project.Project, kind project.Kind, retired bool) ([]project.Label, error) {
	labels, err := loaders.From(ctx).LabelsOf.LoadNow(ctx, p.Ref())
	if err != nil {
		return nil, err
	}
	of := kind.Of(labels)
	if !retired {
		of = project.InUse(of)
	}
	r.labelsAhead(ctx, of, selected(ctx, string(kind), "Node"))
	return of, nil
}

func (r projects) Teams(ctx context.Context, p *project.Project) ([]project.Team, error) {
	all, err := loaders.From(ctx).TeamsOf.LoadNow(ctx, p.Ref())
	if err != nil {
		return nil, err
	}
	r.teamsAhead(ctx, all, selected(ctx, "Team", "Node"))
	return append([]project.Team{}, all...), nil // an empty list is none that failed
}

func (r projects) Members(ctx context.Context, p *project.Project, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Member], error) {
	sel := selected(ctx, "ProjectMemberConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.members", string(p.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectMembers.LoadNow(ctx, p.Members(o.Window))
	if err != nil {
		return nil, err
	}
	r.membersAhead(ctx, slice.Items, sel.items("ProjectMemberEdge", "ProjectMember"))
	return page.Plain(o, slice), nil
}

func (r projects) Items(ctx context.Context, p *project.Project, status *project.Status, namePrefix *string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Item], error) {
	sel := selected(ctx, "ProjectItemConnection")
	var of project.Status // all of them
	if status != nil {
		of = *status
	}
	list := []string{string(p.ID), string(of)}
	if namePrefix != nil {
		list = append(list, *namePrefix)
	}
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.items", list...)
	if err != nil {
		return nil, err
	}
	request := p.Items(of, o.Window)
	if namePrefix != nil {
		request = p.ItemsNamed(*namePrefix, of, o.Window)
	}
	slice, err := loaders.From(ctx).ProjectItemsOf.LoadNow(ctx, request)
	if err != nil {
		return nil, err
	}
	r.projectItemsAhead(ctx, slice.Items, sel.items("ProjectItemEdge", "ProjectItem", "Node"))
	return page.Plain(o, slice), nil
}

func (r projects) ToReview(ctx context.Context, p *project.Project, authorID, categoryID *gid.ID, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Effort], error) {
	author, category, err := reviewsOf(p.ID, "", authorID, categoryID)
	if err != nil {
		return nil, err
	}
	sel := selected(ctx, "ProjectItemEffortConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.toReview", string(p.ID), string(author), category)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ToReview.LoadNow(ctx, p.AwaitingReview(author, category, o.Window))
	if err != nil {
		return nil, err
	}
	r.effortsAhead(ctx, slice.Items, sel.items("ProjectItemEffortEdge", "ProjectItemEffort", "Node"))
	return page.Plain(o, slice), nil
}

func (r projects) ToReviewCount(ctx context.Context, p *project.Project, authorID, categoryID *gid.ID) (*int, error) {
	author, category, err := reviewsOf(p.ID, "", authorID, categoryID)
	if err != nil {
		return nil, err
	}
	n, err := r.Labelling.ToReview(ctx, *p, author, category)
	return &n, err
}

// reviewsOf reads whose efforts to review are wanted, and of what category, "" for all of them; prefix stands before the names of the fields.
func reviewsOf(of project.ID, prefix string, by, as *gid.ID) (author project.UserID, category string, err error) {
	if by != nil {
		if author, err = userID(prefix+"authorId", *by); err != nil {
			return "", "", err
		}
	}
	if as == nil {
		return author, "", nil
	}
	c, err := categoryID(prefix+"categoryId", *as)
	if err == nil && c.Project != of {
		err = fault.Invalidf(prefix+"categoryId", "this is not in the list of the project")
	}
	return author, c.ID, err
}

func (r projects) ItemTags(ctx context.Context, p *project.Project, beginsWith string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[filetag.ItemTag], error) {
	begin, err := filetag.Begin("beginsWith", beginsWith)
	if err != nil {
		return nil, err
	}
	sel := selected(ctx, "ItemTagConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.itemTags", string(p.ID), begin)
	if err != nil {
		return nil, err
	}
	slice, err := r.FileTags.SearchProject(ctx, *p, begin, o.Window)
	if err != nil {
		return nil, err
	}
	r.itemTagsAhead(ctx, slice.Items, sel.items("ItemTagEdge", "ItemTag"))
	return page.Plain(o, slice), nil
}

func (r projects) ItemByExternalID(ctx context.Context, p *project.Project, externalID string) (*project.Item, error) {
	i, err := found(loaders.From(ctx).ProjectItems.Load(ctx, p.ItemCalled(externalID)))
	if i != nil {
		r.projectItemsAhead(ctx, []project.Item{*i}, selected(ctx, "ProjectItem", "Node"))
	}
	return i, err
}

func (r projects) Imports(ctx context.Context, p *project.Project, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Import], error) {
	sel := selected(ctx, "ProjectImportConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.imports", string(p.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectImports.LoadNow(ctx, p.Transfers(o.Window))
	if err != nil {
		return nil, err
	}
	r.importsAhead(ctx, slice.Items, sel.items("ProjectImportEdge", "ProjectImport", "Node"))
	return page.Plain(o, slice), nil
}

func (r projects) Removals(ctx context.Context, p *project.Project, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Removal], error) {
	sel := selected(ctx, "ProjectRemovalConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.removals", string(p.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectRemovals.LoadNow(ctx, p.Transfers(o.Window))
	if err != nil {
		return nil, err
	}
	r.removalsAhead(ctx, slice.Items, sel.items("ProjectRemovalEdge", "ProjectRemoval", "Node"))
	return page.Plain(o, slice), nil
}

func (r projects) Exports(ctx context.Context, p *project.Project, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Export], error) {
	sel := selected(ctx, "ProjectExportConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Project.exports", string(p.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectExports.LoadNow(ctx, p.Transfers(o.Window))
	if err != nil {
		return nil, err
	}
	r.exportsAhead(ctx, slice.Items, sel.items("ProjectExportEdge", "ProjectExport", "Node"))
	return page.Plain(o, slice), nil
}

// projectOf returns the project of something of it.
func projectOf(ctx context.Context, id project.ID) (*project.Project, error) {
	return found(loaders.From(ctx).Projects.Load(ctx, id))
}

type teams struct{ *Resolver }

func (teams) Project(ctx context.Context, t *project.Team) (*project.Project, error) {
	return projectOf(ctx, t.TeamID.Project)
}

func (r teams) Members(ctx context.Context, t *project.Team, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Member], error) {
	o, err := r.openTeam(ctx, selected(ctx, "ProjectMemberConnection"), *t, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectMembers.LoadNow(ctx, t.Members(o.Window))
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (r *Resolver) openTeam(ctx context.Context, sel selection, t project.Team, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Team.members", string(t.TeamID.Project), t.ID)
}

type projectMembers struct{ *Resolver }

func (projectMembers) User(ctx context.Context, m *project.Member) (*user.User, error) {
	return person(ctx, m.User)
}

func (projectMembers) Team(ctx context.Context, m *project.Member) (*project.Team, error) {
	return found(loaders.From(ctx).Teams.Load(ctx, m.TeamRef()))
}

func (r projectMembers) Efforts(ctx context.Context, m *project.Member, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Effort], error) {
	o, err := r.openMember(ctx, selected(ctx, "ProjectItemEffortConnection"), *m, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).MemberEfforts.Load(ctx, m.Efforts(o.Window))
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (r *Resolver) openMember(ctx context.Context, sel selection, m project.Member, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "ProjectMember.efforts", string(m.Project), string(m.User))
}

type categories struct{ *Resolver }

func (categories) MergedInto(ctx context.Context, c *model.Category) (*model.Category, error) {
	return category(ctx, c.IntoRef)
}

func (categories) Project(ctx context.Context, c *model.Category) (*project.Project, error) {
	return projectOf(ctx, c.LabelID.Project)
}

func (r categories) Items(ctx context.Context, c *model.Category, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Item], error) {
	return r.labelled(ctx, c.Label, page.Args{First: first, After: after, Last: last, Before: before})
}

type subcategories struct{ *Resolver }

func (subcategories) MergedInto(ctx context.Context, c *model.Subcategory) (*model.Subcategory, error) {
	return subcategory(ctx, c.IntoRef)
}

func (subcategories) Project(ctx context.Context, c *model.Subcategory) (*project.Project, error) {
	return projectOf(ctx, c.LabelID.Project)
}

func (r subcategories) Items(ctx context.Context, c *model.Subcategory, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Item], error) {
	return r.labelled(ctx, c.Label, page.Args{First: first, After: after, Last: last, Before: before})
}

// labelled lists the items of a label for the field that is being resolved.
func (r *Resolver) labelled(ctx context.Context, l project.Label, paging page.Args) (*page.List[project.Item], error) {
	o, err := r.openLabel(ctx, selected(ctx, "ProjectItemConnection"), l, paging)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ProjectItemsByLabel.Load(ctx, l.Items(o.Window))
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (r *Resolver) openLabel(ctx context.Context, sel selection, l project.Label, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, string(l.Kind)+".items", string(l.LabelID.Project), l.ID)
}
