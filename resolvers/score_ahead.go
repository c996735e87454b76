package resolvers

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// What is selected below scores, their snapshots and items is read here, before it is resolved; see project_ahead.go.

// scoresAhead reads what is selected below scores: the items of all pages, texts, snapshots and owners side by side, then what is
// below these.
func (r *Resolver) scoresAhead(ctx context.Context, scores []model.Score, sel selection) {
	if len(scores) == 0 || len(sel.fields) == 0 {
		return
	}
	load := loaders.From(ctx)
	var people []user.ID
	var texts, descriptions []score.TextRequest // descriptions are read last: see [score.Score.Texts]
	var lists []score.SnapshotsRequest
	var at []score.Snapshot
	var pages []model.ScorePage
	ofPages, ofAnnotations := sel.in("pages", "ScorePage"), sel.in("annotations", "Annotation")
	itsOwner, itsDescription, itsSnapshots := sel.showsProfiles("owner"), sel.has("description"), sel.has("snapshots")
	for _, s := range scores {
		if s.At == nil {
			load.Scores.Prime(s.Ref, s.Score)
		} else {
			at = append(at, *s.At)
		}
		if itsOwner {
			people = append(people, s.Ref.Owner)
		}
		if request, there := s.Score.Description(); itsDescription && there && s.Then == nil {
			descriptions = append(descriptions, request)
		}
		if ofAnnotations.has("text") && s.Then == nil {
			for _, a := range s.AnnotationList() {
				texts = append(texts, a.Of)
			}
		}
		if itsSnapshots {
			lists = append(lists, s.ListSnapshots())
		}
		if ofPages.has("item") {
			pages = append(pages, s.PageList()...)
		}
	}
	items := r.itemsOfScores(ctx, scores, sel)
	var uploaded []score.ItemsRequest
	for _, list := range items {
		uploaded = append(uploaded, list.requests...)
	}
	var group errgroup.Group // errors are for those who load
	prefetch(&group, load.Users, people)
	prefetch(&group, load.Texts, append(texts, descriptions...))
	prefetch(&group, load.SnapshotsOf, lists)
	prefetch(&group, load.ItemsOf, uploaded)
	prefetch(&group, load.Items, itemsOfPages(pages))
	_ = group.Wait()

	r.pagesAhead(ctx, pages, ofPages)
	var listed []score.Snapshot
	for _, list := range loaded(ctx, load.SnapshotsOf, lists) {
		listed = append(listed, list...)
	}
	r.snapshotsAhead(ctx, listed, sel.in("snapshots", "Snapshot", "Node"))
	r.snapshotsAhead(ctx, at, sel.in("snapshot", "Snapshot", "Node"))
	for _, list := range items {
		for _, slice := range loaded(ctx, load.ItemsOf, list.requests) {
			r.itemsAhead(ctx, slice.Items, list.sel)
		}
	}
}

func itemsOfPages(pages []model.ScorePage) []score.ItemRequest {
	requests := make([]score.ItemRequest, len(pages))
	for i, p := range pages {
		requests[i] = p.Of
	}
	return requests
}

// itemsOfScores returns the lists of uploaded items that are selected of the scores.
func (r *Resolver) itemsOfScores(ctx context.Context, scores []model.Score, sel selection) (all []list[model.Score, score.ItemsRequest]) {
	sel.each("items", "ItemConnection", func(paging page.Args, below selection) {
		l := list[model.Score, score.ItemsRequest]{sel: below.items("ItemEdge", "Item", "Node")}
		for _, s := range scores {
			o, err := r.open(ctx, below, paging, "Score.items", string(s.Ref.Owner), string(s.Ref.ID))
			if err == nil {
				l.requests, l.of = append(l.requests, s.ItemsOf(o.Window)), append(l.of, s)
			}
		}
		all = append(all, l)
	})
	return all
}

// pagesAhead reads what is selected below pages.
func (r *Resolver) pagesAhead(ctx context.Context, pages []model.ScorePage, sel selection) {
	if len(pages) == 0 || !sel.has("item") && !sel.has("withdrawn") {
		return
	}
	load, requests := loaders.From(ctx), itemsOfPages(pages)
	load.Items.Prefetch(requests)
	r.itemsAhead(ctx, loaded(ctx, load.Items, requests), sel.in("item", "Item", "Node"))
}

// snapshotsAhead reads what is selected below snapshots.
func (r *Resolver) snapshotsAhead(ctx context.Context, snapshots []score.Snapshot, sel selection) {
	load := loaders.From(ctx)
	if sel.has("changes") {
		contents := make([]score.ContentRequest, len(snapshots))
		for i, s := range snapshots {
			contents[i] = s.Content()
		}
		load.Changes.Prefetch(contents)
	}
	if len(snapshots) == 0 || !sel.has("score") {
		return
	}
	var scores []score.Ref
	var contents []score.ContentRequest
	for _, s := range snapshots {
		scores, contents = append(scores, s.SnapshotID.Score), append(contents, s.Content())
	}
	var group errgroup.Group
	prefetch(&group, load.Scores, scores)
	prefetch(&group, load.Contents, contents)
	_ = group.Wait()
	var then []model.Score
	for _, s := range snapshots {
		if one, err := r.scoreAt(ctx, s); err == nil && one != nil {
			then = append(then, *one)
		}
	}
	r.scoresAhead(ctx, then, sel.in("score", "Score", "Node"))
}

// itemsAhead reads what is selected below items.
func (r *Resolver) itemsAhead(ctx context.Context, items []score.Item, sel selection) {
	if len(items) == 0 || len(sel.fields) == 0 {
		return
	}
	load := loaders.From(ctx)
	var people []user.ID
	var scores []score.Ref
	var uses []score.UsesRequest
	itsOwner, itsScore := sel.showsProfiles("owner"), sel.has("score")
	for _, i := range items {
		if itsOwner {
			people = append(people, i.Owner)
		}
		if of, there := scoreOf(i); itsScore && there {
			scores = append(scores, of)
		}
	}
	sel.each("usedBy", "ItemUseConnection", func(paging page.Args, below selection) {
		for _, i := range items {
			if o, err := r.openUses(ctx, below, i, paging); err == nil {
				uses = append(uses, i.Uses(o.Window))
			}
		}
	})
	lists := r.projectsOfItems(ctx, items, sel, "projects", "Project")
	made := r.projectsOfItems(ctx, items, sel, "projectItems", "ProjectItem")
	var memberships []score.ProjectsRequest
	for _, list := range append(made, lists...) {
		memberships = append(memberships, list.requests...)
	}
	var group errgroup.Group
	prefetch(&group, load.Users, people)
	prefetch(&group, load.Scores, scores)
	prefetch(&group, load.ItemUses, uses)
	prefetch(&group, load.ItemProjects, memberships)
	belowTags := r.tagsOfItemsAhead(ctx, items, sel, &group)
	_ = group.Wait()
	belowTags()
	for _, list := range lists {
		var projects []project.Project
		for _, slice := range loaded(ctx, load.ItemProjects, list.requests) {
			projects = append(projects, slice.Items...)
		}
		r.projectsAhead(ctx, projects, list.sel)
	}
	for _, list := range made {
		var refs []project.Ref[project.ItemID]
		for n, request := range list.requests {
			if slice, err := load.ItemProjects.Load(ctx, request); err == nil {
				refs = append(refs, madeOf(load, list.of[n], slice.Items)...)
			}
		}
		load.ProjectItems.Prefetch(refs)
		r.projectItemsAhead(ctx, loaded(ctx, load.ProjectItems, refs), list.sel)
	}
	r.scoresAhead(ctx, asNow(loaded(ctx, load.Scores, scores)), sel.in("score", "Score", "Node"))
	r.usersOfItemsAhead(ctx, loaded(ctx, load.ItemUses, uses), sel.in("usedBy", "ItemUseConnection"))
}

// projectsOfItems returns the lists that are selected of the items and have an element for each project.
func (r *Resolver) projectsOfItems(ctx context.Context, items []score.Item, sel selection, field, element string) (all []list[score.Item, score.ProjectsRequest]) {
	sel.each(field, element+"Connection", func(paging page.Args, below selection) {
		l := list[score.Item, score.ProjectsRequest]{sel: below.items(element+"Edge", element, "Node")}
		for _, i := range items {
			if o, err := r.openItemProjects(ctx, below, i, paging, field); err == nil {
				l.requests, l.of = append(l.requests, i.Projects(o.Window)), append(l.of, i)
			}
		}
		all = append(all, l)
	})
	return all
}

// usersOfItemsAhead reads the scores, snapshots and projects that use items, if they are selected.
func (r *Resolver) usersOfItemsAhead(ctx context.Context, lists []page.Slice[score.Use], sel selection) {
	if !sel.has("nodes") && !sel.in("edges", "ItemUseEdge").has("node") {
		return
	}
	load := loaders.From(ctx)
	var scores []score.Ref
	var snapshots []score.SnapshotID
	var projects []project.ID
	for _, list := range lists {
		for _, u := range list.Items {
			switch u.Kind {
			case score.UsedByScore:
				scores = append(scores, u.OfScore())
			case score.UsedBySnapshot:
				snapshots = append(snapshots, u.OfSnapshot())
			case score.UsedByProject:
				projects = append(projects, u.OfProject())
			}
		}
	}
	var group errgroup.Group
	prefetch(&group, load.Scores, append(scoresOf(snapshots), scores...))
	prefetch(&group, load.Projects, projects)
	_ = group.Wait()
	load.Snapshots.Prefetch(snapshotRequests(ctx, snapshots))
	ofProjects := sel.in("nodes", "Project", "ItemUser", "Node").and(sel.in("edges", "ItemUseEdge").in("node", "Project", "ItemUser", "Node"))
	r.projectsAhead(ctx, loaded(ctx, load.Projects, projects), ofProjects)
	nodes := sel.in("nodes", "Score", "ItemUser", "Node").and(sel.in("edges", "ItemUseEdge").in("node", "Score", "ItemUser", "Node"))
	r.scoresAhead(ctx, asNow(loaded(ctx, load.Scores, scores)), nodes)
}
