package resolvers

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// What is selected below something of a project is read here, before it is resolved: first what hangs on it, side by side, then
// what hangs on that. Whatever returns such a thing calls the function for its type, so that the fields below find everything
// there; internal/generate counts on it. What cannot be read, the resolvers of the fields report.

// wave is what is read side by side, as few requests for many keys as there are loaders. The loaders recover by themselves;
// what a client can influence is made before.
type wave struct {
	people       []user.ID
	archives     []archive.ID
	notes        []note.ID
	words        []tag.ID
	scopes       []string
	entities     []entity.ID
	scores       []score.Ref
	projects     []project.ID
	teams        []project.Ref[project.TeamID]
	labels       []project.Ref[project.LabelID]
	projectItems []project.Ref[project.ItemID]
	items        []score.ItemRequest
	histories    []project.ItemEffortsRequest
	work         []project.MemberEffortsRequest
	labelled     []project.LabelItemsRequest
	labelsOf     []project.Ref[project.ID]
	teamsOf      []project.Ref[project.ID]
	guidelines   []project.Ref[project.ID]
	invitesOf    []project.Ref[project.ID]
	invitations  []project.InvitationID
	efforts      []project.Ref[project.EffortID]
	imports      []project.TransferID
	exports      []project.TransferID
	removals     []project.TransferID
}

// read returns when everything is there.
func (w wave) read(load *loaders.Loaders) {
	var group errgroup.Group // errors are for those who load
	prefetch(&group, load.Users, w.people)
	prefetch(&group, load.Notes, w.notes)
	prefetch(&group, load.Tags, w.words)
	group.Go(func() error { // entities ask for their scopes first, so that these are read together with the others
		load.Scopes.Prefetch(w.scopes)
		load.Entities.Prefetch(w.entities)
		return nil
	})
	prefetch(&group, load.Scores, w.scores)
	prefetch(&group, load.Projects, w.projects)
	prefetch(&group, load.Teams, w.teams)
	prefetch(&group, load.Labels, w.labels)
	prefetch(&group, load.ProjectItems, w.projectItems)
	prefetch(&group, load.Items, w.items)
	prefetch(&group, load.ProjectItemEfforts, w.histories)
	prefetch(&group, load.MemberEfforts, w.work)
	prefetch(&group, load.ProjectItemsByLabel, w.labelled)
	prefetch(&group, load.LabelsOf, w.labelsOf)
	prefetch(&group, load.TeamsOf, w.teamsOf)
	prefetch(&group, load.Guidelines, w.guidelines)
	prefetch(&group, load.InvitesOf, w.invitesOf)
	prefetch(&group, load.Invitations, w.invitations)
	prefetch(&group, load.Efforts, w.efforts)
	prefetch(&group, load.Imports, w.imports)
	prefetch(&group, load.Exports, w.exports)
	prefetch(&group, load.Archives, w.archives)
	prefetch(&group, load.Removals, w.removals)
	_ = group.Wait()
}

func prefetch[K comparable, V any](group *errgroup.Group, l *loaders.Loader[K, V], keys []K) {
	if len(keys) > 0 {
		group.Go(func() error { l.Prefetch(keys); return nil })
	}
}

// label adds what something refers to, if to anything.
func (w *wave) label(ref project.Ref[project.LabelID], ok bool) {
	if ok {
		w.labels = append(w.labels, ref)
	}
}

// loaded returns those of the things that could be read, each once.
func loaded[K comparable, V any](ctx context.Context, l *loaders.Loader[K, V], keys []K) []V {
	var all []V
	seen := make(map[K]bool, len(keys))
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		if value, err := l.Load(ctx, key); err == nil {
			all = append(all, value)
		}
	}
	return all
}

// projectItemsAhead reads what is selected below items: labels, the items that they were made of, the efforts of those that have some, and the project side by side, then
// what is below these.
func (r *Resolver) projectItemsAhead(ctx context.Context, items []project.Item, sel selection) {
	if len(items) == 0 || len(sel.fields) == 0 {
		return
	}
	var first, categories, subcategories wave
	itsProject, itsItem, itsCategory, itsSubcategory := sel.has("project"), sel.has("item") || sel.has("withdrawn"), sel.has("category"), sel.has("subcategory")
	itsHolder, itsAuthor := sel.in("claim", "ProjectItemClaim").showsProfiles("user"), sel.showsProfiles("returnedTo")
	for _, i := range items {
		if itsProject {
			first.projects = append(first.projects, i.ItemID.Project)
		}
		if request, there := score.OfProject(i); itsItem && there {
			first.items = append(first.items, request)
		}
		if itsHolder && i.Status == project.Claimed {
			first.people = append(first.people, i.Claim.User)
		}
		if itsAuthor && i.ReturnedTo != "" {
			first.people = append(first.people, i.ReturnedTo)
		}
		if itsCategory {
			categories.label(i.CategoryRef())
		}
		if itsSubcategory {
			subcategories.label(i.SubcategoryRef())
		}
	}
	first.labels = slices.Concat(categories.labels, subcategories.labels)
	histories := r.historiesOf(ctx, items, sel)
	for _, list := range histories {
		first.histories = append(first.histories, list.requests...)
	}
	load := loaders.From(ctx)
	first.read(load)

	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
	r.itemsAhead(ctx, loaded(ctx, load.Items, first.items), sel.in("item", "Item", "Node"))
	r.bothAhead(ctx, categories.labels, subcategories.labels, sel)
	for _, list := range histories {
		var found []project.Effort
		for n, request := range list.requests {
			slice, err := load.ProjectItemEfforts.Load(ctx, request)
			if err != nil {
				continue
			}
			for _, e := range slice.Items {
				load.ProjectItems.Prime(e.ItemRef(), list.of[n])
			}
			found = append(found, slice.Items...)
		}
		r.effortsAhead(ctx, found, list.sel)
	}
}

// list is a list that is selected of many things.
type list[T, R any] struct {
	requests []R
	of       []T       // what each request is about
	sel      selection // of the elements
}

// historiesOf returns the lists of efforts that are selected of those items that have any, be they taken back or not.
func (r *Resolver) historiesOf(ctx context.Context, items []project.Item, sel selection) (all []list[project.Item, project.ItemEffortsRequest]) {
	sel.each("efforts", "ProjectItemEffortConnection", func(paging page.Args, below selection) {
		l := list[project.Item, project.ItemEffortsRequest]{sel: below.items("ProjectItemEffortEdge", "ProjectItemEffort", "Node")}
		for _, i := range items {
			if i.EffortsMade == 0 {
				continue
			}
			if o, err := r.openHistory(ctx, below, i, paging); err == nil {
				l.requests, l.of = append(l.requests, i.History(o.Window)), append(l.of, i)
			}
		}
		all = append(all, l)
	})
	return all
}

// effortsAhead reads what is selected below efforts.
func (r *Resolver) effortsAhead(ctx context.Context, efforts []project.Effort, sel selection) {
	if len(efforts) == 0 || len(sel.fields) == 0 {
		return
	}
	var first, categories, subcategories wave
	itsProject, itsItem, itsUser, itsTeam := sel.has("project"), sel.has("item"), sel.showsProfiles("user"), sel.has("team")
	itsCategory, itsSubcategory := sel.has("category"), sel.has("subcategory")
	itsReviewer := sel.in("review", "EffortReview").showsProfiles("by")
	for _, e := range efforts {
		if itsProject {
			first.projects = append(first.projects, e.EffortID.Project)
		}
		if itsItem {
			first.projectItems = append(first.projectItems, e.ItemRef())
		}
		if itsUser {
			first.people = append(first.people, e.User)
		}
		if itsReviewer && e.Review.By != "" {
			first.people = append(first.people, e.Review.By)
		}
		if itsTeam {
			first.teams = append(first.teams, e.TeamRef())
		}
		if itsCategory {
			categories.label(e.CategoryRef())
		}
		if itsSubcategory {
			subcategories.label(e.SubcategoryRef())
		}
	}
	first.labels = slices.Concat(categories.labels, subcategories.labels)
	load := loaders.From(ctx)
	first.read(load)

	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
	r.teamsAhead(ctx, loaded(ctx, load.Teams, first.teams), sel.in("team", "Team", "Node"))
	r.bothAhead(ctx, categories.labels, subcategories.labels, sel)
	r.projectItemsAhead(ctx, loaded(ctx, load.ProjectItems, first.projectItems), sel.in("item", "ProjectItem", "Node"))
}

// bothAhead reads what is selected below the categories and subcategories of items or efforts; their items together.
func (r *Resolver) bothAhead(ctx context.Context, categories, subcategories []project.Ref[project.LabelID], sel selection) {
	load := loaders.From(ctx)
	ofCategory, ofSubcategory := sel.in("category", "Category", "Node"), sel.in("subcategory", "Subcategory", "Node")
	first, second := loaded(ctx, load.Labels, categories), loaded(ctx, load.Labels, subcategories)
	var both wave
	for _, list := range append(r.projectItemsOf(ctx, first, ofCategory), r.projectItemsOf(ctx, second, ofSubcategory)...) {
		both.labelled = append(both.labelled, list.requests...)
	}
	both.read(load)
	r.labelsAhead(ctx, first, ofCategory)
	r.labelsAhead(ctx, second, ofSubcategory)
}

// labelsAhead reads what is selected below labels of one kind.
func (r *Resolver) labelsAhead(ctx context.Context, labels []project.Label, sel selection) {
	if len(labels) == 0 || len(sel.fields) == 0 {
		return
	}
	var first wave
	if sel.has("project") {
		for _, l := range labels {
			first.projects = append(first.projects, l.LabelID.Project)
		}
	}
	lists := r.projectItemsOf(ctx, labels, sel)
	for _, list := range lists {
		first.labelled = append(first.labelled, list.requests...)
	}
	load := loaders.From(ctx)
	first.read(load)

	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
	for _, list := range lists {
		var found []project.Item
		for n, request := range list.requests {
			slice, err := load.ProjectItemsByLabel.Load(ctx, request)
			if err != nil {
				continue
			}
			for _, i := range slice.Items {
				refers := i.CategoryRef
				if list.of[n].Kind == project.Subcategory {
					refers = i.SubcategoryRef
				}
				if ref, ok := refers(); ok && ref.ID == list.of[n].LabelID {
					load.Labels.Prime(ref, list.of[n])
				}
			}
			found = append(found, slice.Items...)
		}
		r.projectItemsAhead(ctx, found, list.sel)
	}
}

// projectItemsOf returns the lists of items that are selected of the labels.
func (r *Resolver) projectItemsOf(ctx context.Context, labels []project.Label, sel selection) (all []list[project.Label, project.LabelItemsRequest]) {
	sel.each("items", "ProjectItemConnection", func(paging page.Args, below selection) {
		l := list[project.Label, project.LabelItemsRequest]{sel: below.items("ProjectItemEdge", "ProjectItem", "Node")}
		for _, label := range labels {
			if o, err := r.openLabel(ctx, below, label, paging); err == nil {
				l.requests, l.of = append(l.requests, label.Items(o.Window)), append(l.of, label)
			}
		}
		all = append(all, l)
	})
	return all
}
