package resolvers

import (
	"context"
	"time"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// Item returns the resolvers of Item.
func (r *Resolver) Item() graph.ItemResolver { return items{r} }

// ItemUseConnection returns the resolvers of ItemUseConnection.
func (r *Resolver) ItemUseConnection() graph.ItemUseConnectionResolver { return useConnection{r} }

// ItemUseEdge returns the resolvers of ItemUseEdge.
func (r *Resolver) ItemUseEdge() graph.ItemUseEdgeResolver { return useEdge{r} }

func (q query) UploadedParts(ctx context.Context, id gid.ID) ([]score.Part, error) {
	key, err := itemID("itemId", id)
	if err != nil {
		return nil, err
	}
	parts, err := q.Items.ListParts(ctx, key)
	if err != nil {
		return nil, err
	}
	return append([]score.Part{}, parts...), nil // an empty list is none that failed
}

func (r users) Items(ctx context.Context, u *user.User, all bool, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[score.Item], error) {
	sel, list, request := selected(ctx, "ItemConnection"), "library", score.LibraryItems
	if all {
		list, request = "all", score.AllItems
	}
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.items", string(u.ID), list)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ItemsOf.LoadNow(ctx, request(u.ID, o.Window))
	if err != nil {
		return nil, err
	}
	r.itemsAhead(ctx, slice.Items, sel.items("ItemEdge", "Item", "Node"))
	return page.Plain(o, slice), nil
}

func (users) ItemUsage(ctx context.Context, u *user.User) (*score.Usage, error) {
	usage, err := loaders.From(ctx).ItemUsages.Load(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	return &usage, nil
}

type items struct{ *Resolver }

// pixels returns a measure, nil when it is not known.
func pixels(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func (items) Width(_ context.Context, i *score.Item) (*int, error) { return pixels(i.Width), nil }

func (items) Height(_ context.Context, i *score.Item) (*int, error) { return pixels(i.Height), nil }

func (items) ThumbnailWidth(_ context.Context, i *score.Item) (*int, error) {
	return pixels(i.Thumbnail.Width), nil
}

func (items) ThumbnailHeight(_ context.Context, i *score.Item) (*int, error) {
	return pixels(i.Thumbnail.Height), nil
}

func (r items) URL(ctx context.Context, i *score.Item) (*string, error) {
	url, err := r.Items.Download(ctx, *i)
	return orNull(url), err
}

func (r items) ThumbnailURL(ctx context.Context, i *score.Item) (*string, error) {
	url, err := r.Items.ThumbnailURL(ctx, *i)
	return orNull(url), err
}

func (items) Owner(ctx context.Context, i *score.Item) (*user.User, error) {
	return person(ctx, i.Owner)
}

// scoreOf returns the score to which an item was uploaded, false for one of the library.
func scoreOf(i score.Item) (score.Ref, bool) {
	of := i.Told()
	return score.Ref{Owner: of.Owner, ID: of.Score}, of.Score != score.Library
}

func (r items) Score(ctx context.Context, i *score.Item) (*model.Score, error) {
	of, there := scoreOf(*i)
	if !there {
		return nil, nil
	}
	return r.score(ctx, score.SnapshotID{Score: of})
}

func (items) UseCount(ctx context.Context, i *score.Item) (*int, error) {
	if !score.MaySeeUses(ctx, *i) {
		return nil, nil
	}
	return &i.Refs, nil
}

func (items) WithdrawnAt(ctx context.Context, i *score.Item) (*time.Time, error) {
	if i.Withdrawn.IsZero() || !score.MaySeeUses(ctx, *i) {
		return nil, nil
	}
	return &i.Withdrawn, nil
}

func (r items) UsedBy(ctx context.Context, i *score.Item, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.ItemUseConnection, error) {
	sel := selected(ctx, "ItemUseConnection")
	o, err := r.openUses(ctx, sel, *i, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ItemUses.Load(ctx, i.Uses(o.Window))
	if err != nil {
		return nil, err
	}
	r.usersOfItemsAhead(ctx, []page.Slice[score.Use]{slice}, sel)
	return &model.ItemUseConnection{Connection: page.Connect(o, slice, func(p page.Position, u score.Use) model.ItemUseEdge {
		return model.ItemUseEdge{Position: p, Use: u}
	})}, nil
}

func (r *Resolver) openUses(ctx context.Context, sel selection, i score.Item, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Item.usedBy", string(i.Owner), string(i.Score), string(i.ID))
}

func (r items) Projects(ctx context.Context, i *score.Item, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Project], error) {
	sel := selected(ctx, "ProjectConnection")
	o, err := r.openItemProjects(ctx, sel, *i, page.Args{First: first, After: after, Last: last, Before: before}, "projects")
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ItemProjects.Load(ctx, i.Projects(o.Window))
	if err != nil {
		return nil, err
	}
	r.projectsAhead(ctx, slice.Items, sel.items("ProjectEdge", "Project", "Node"))
	return page.Plain(o, slice), nil
}

// openItemProjects opens one of the lists of an item that have an element for each project.
func (r *Resolver) openItemProjects(ctx context.Context, sel selection, i score.Item, paging page.Args, field string) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Item."+field, string(i.Owner), string(i.Score), string(i.ID))
}

// ProjectItems shows a project's item at the place of the project. Where there is none, since it was removed or is still to be imported, the
// page is shorter.
func (r items) ProjectItems(ctx context.Context, i *score.Item, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[project.Item], error) {
	sel := selected(ctx, "ProjectItemConnection")
	o, err := r.openItemProjects(ctx, sel, *i, page.Args{First: first, After: after, Last: last, Before: before}, "projectItems")
	if err != nil {
		return nil, err
	}
	load := loaders.From(ctx)
	projects, err := load.ItemProjects.Load(ctx, i.Projects(o.Window))
	if err != nil {
		return nil, err
	}
	all, errs := load.ProjectItems.LoadAll(ctx, madeOf(load, *i, projects.Items))
	made := page.Slice[project.Item]{More: projects.More, Other: projects.Other, Until: projects.Until}
	for n := range all {
		switch {
		case errs[n] == nil:
			made.Items, made.Positions = append(made.Items, all[n]), append(made.Positions, projects.Positions[n])
		case !fault.Is(errs[n], fault.NotFound):
			return nil, errs[n]
		}
	}
	if made.More && made.Until == "" {
		far := len(projects.Positions) - 1
		if o.Window.Backward {
			far = 0
		}
		made.Until = projects.Positions[far]
	}
	r.projectItemsAhead(ctx, made.Items, sel.items("ProjectItemEdge", "ProjectItem", "Node"))
	return page.Plain(o, made), nil
}

// madeOf names the items that these projects made of an item. The projects are not read again below them.
func madeOf(load *loaders.Loaders, i score.Item, projects []project.Project) []project.Ref[project.ItemID] {
	refs := make([]project.Ref[project.ItemID], len(projects))
	for n, p := range projects {
		load.Projects.Prime(p.ID, p)
		refs[n] = p.ItemCalled(i.ItemRef.Original().ExternalID())
	}
	return refs
}

type useConnection struct{ *Resolver }

func (r useConnection) Nodes(ctx context.Context, c *model.ItemUseConnection) ([]model.ItemUser, error) {
	found := partial(ctx, c.Edges, func(e model.ItemUseEdge) (*model.ItemUser, error) { return r.using(ctx, e.Use) })
	all := make([]model.ItemUser, len(found))
	for i, one := range found {
		if one != nil {
			all[i] = *one
		}
	}
	return all, nil
}

type useEdge struct{ *Resolver }

func (r useEdge) Node(ctx context.Context, e *model.ItemUseEdge) (model.ItemUser, error) {
	one, err := r.using(ctx, e.Use)
	if one == nil || err != nil {
		return nil, err
	}
	return *one, nil
}

// using reads what uses an item; nil when it is gone.
func (r *Resolver) using(ctx context.Context, u score.Use) (*model.ItemUser, error) {
	var value model.ItemUser
	switch u.Kind {
	case score.UsedByScore:
		s, err := r.score(ctx, score.SnapshotID{Score: u.OfScore()})
		if s == nil || err != nil {
			return nil, err
		}
		value = *s
	case score.UsedBySnapshot:
		s, err := r.snapshot(ctx, u.OfSnapshot())
		if s == nil || err != nil {
			return nil, err
		}
		value = *s
	case score.UsedByProject:
		p, err := projectOf(ctx, u.OfProject())
		if p == nil || err != nil {
			return nil, err
		}
		value = *p
	default:
		return nil, nil
	}
	return &value, nil
}
