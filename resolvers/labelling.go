package resolvers

import (
	"cmp"
	"context"
	"slices"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
)

// ProjectItemClaim returns the resolvers of ProjectItemClaim.
func (r *Resolver) ProjectItemClaim() graph.ProjectItemClaimResolver { return claims{} }

// EffortReview returns the resolvers of EffortReview.
func (r *Resolver) EffortReview() graph.EffortReviewResolver { return reviews{} }

// UserStatistics returns the resolvers of UserStatistics.
func (r *Resolver) UserStatistics() graph.UserStatisticsResolver { return userStatistics{} }

// OnlineMember returns the resolvers of OnlineMember.
func (r *Resolver) OnlineMember() graph.OnlineMemberResolver { return onlineMembers{} }

func (q query) OnlineCount(ctx context.Context) (*int, error) {
	n, err := q.Labelling.OnlineCount(ctx)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

func (q query) DeadLetters(ctx context.Context, first int) ([]model.DeadLetter, error) {
	letters, err := q.Labelling.DeadLetters(ctx, first)
	if err != nil {
		return nil, err
	}
	all := make([]model.DeadLetter, len(letters))
	for i, l := range letters {
		all[i] = model.DeadLetter{DeadLetter: l}
	}
	return all, nil
}

func (projects) Queue(ctx context.Context, p *project.Project) (*model.ProjectQueue, error) {
	state, err := loaders.From(ctx).QueueStates.LoadNow(ctx, p.Member)
	if err != nil {
		return nil, err
	}
	return &model.ProjectQueue{State: state}, nil
}

func (projects) QueueRebuild(ctx context.Context, p *project.Project) (*labelling.Progress, error) {
	return loaders.From(ctx).Rebuilds.LoadNow(ctx, p.Member)
}

func (r projects) ViewerClaims(ctx context.Context, p *project.Project) ([]project.Item, error) {
	claims, err := loaders.From(ctx).Claims.LoadNow(ctx, p.Member)
	if err != nil {
		return nil, err
	}
	return r.claimed(ctx, *p, claims)
}

// claimed returns the items of the viewer's claims. What the queue has not heard of yet is left out.
func (r *Resolver) claimed(ctx context.Context, p project.Project, claims []labelling.Claim) ([]project.Item, error) {
	load := loaders.From(ctx)
	refs := make([]project.Ref[project.ItemID], len(claims))
	for i, c := range claims {
		refs[i] = p.ItemRef(c.Item.ID)
	}
	load.ProjectItems.Prefetch(refs)
	items := []project.Item{}
	for i, ref := range refs {
		item, err := found(load.ProjectItems.Load(ctx, ref))
		if err != nil {
			return nil, err
		}
		if item != nil && item.Status == project.Claimed && item.Claim.Token == claims[i].Token {
			items = append(items, *item)
		}
	}
	r.projectItemsAhead(ctx, items, selected(ctx, "ProjectItem", "Node"))
	return items, nil
}

func (projects) TopKeywords(ctx context.Context, p *project.Project) ([]labelling.Used, error) {
	return top(ctx, p, labelling.Keywords)
}

func (projects) TopCategories(ctx context.Context, p *project.Project) ([]labelling.Used, error) {
	return topLabels(ctx, p, labelling.Categories, project.Category)
}

func (projects) TopSubcategories(ctx context.Context, p *project.Project) ([]labelling.Used, error) {
	return topLabels(ctx, p, labelling.Subcategories, project.Subcategory)
}

// topLabels gives labels, which are counted by their ids, their names.
func topLabels(ctx context.Context, p *project.Project, w labelling.Words, kind project.Kind) ([]labelling.Used, error) {
	used, err := top(ctx, p, w)
	if err != nil || len(used) == 0 {
		return used, err
	}
	refs := make([]project.Ref[project.LabelID], len(used))
	for i, u := range used {
		refs[i] = p.LabelRef(kind, u.Value)
	}
	labels, errs := loaders.From(ctx).Labels.LoadAll(ctx, refs)
	named := []labelling.Used{}
	for i, u := range used {
		switch {
		case errs == nil || errs[i] == nil:
			named = append(named, labelling.Used{Value: labels[i].Name, Count: u.Count})
		case !fault.Is(errs[i], fault.NotFound): // it is not known any more what somebody found
			return nil, errs[i]
		}
	}
	slices.SortStableFunc(named, func(a, b labelling.Used) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	return named, nil
}

func top(ctx context.Context, p *project.Project, w labelling.Words) ([]labelling.Used, error) {
	return listed(loaders.From(ctx).Top.LoadNow(ctx, loaders.TopOf{Viewer: p.Member, Words: w}))
}

// listed makes a list that is empty tell itself from one that failed.
func listed[T any](all []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return append([]T{}, all...), nil
}

func (r projects) KeywordCompletions(ctx context.Context, p *project.Project, prefix string, first int) ([]string, error) {
	return listed(r.Labelling.Keywords(ctx, *p, prefix, first))
}

func (projects) Online(ctx context.Context, p *project.Project) ([]labelling.Online, error) {
	all, err := listed(loaders.From(ctx).Online.LoadNow(ctx, p.Member))
	people := make([]user.ID, len(all))
	for i, o := range all {
		people[i] = o.User
	}
	peopleAhead(ctx, people, selected(ctx, "OnlineMember"), "user")
	return all, err
}

// peopleAhead reads the users whose profiles are selected by a field of this name.
func peopleAhead(ctx context.Context, people []user.ID, sel selection, field string) {
	if sel.showsProfiles(field) {
		wave{people: people}.read(loaders.From(ctx))
	}
}

func (teams) Statistics(ctx context.Context, t *project.Team) (*labelling.Statistics, error) {
	p, err := projectOf(ctx, t.TeamID.Project)
	if p == nil {
		return nil, err
	}
	s, err := loaders.From(ctx).Statistics.Load(ctx, loaders.StatisticsOf{Viewer: p.Member, Team: t.ID})
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// teamStatisticsAhead reads the statistics that are selected of teams, whose projects were read, and the users in them.
func teamStatisticsAhead(ctx context.Context, teams []project.Team, sel selection) {
	if !sel.has("statistics") {
		return
	}
	load := loaders.From(ctx)
	var keys []loaders.StatisticsOf
	for _, t := range teams {
		if p, err := load.Projects.Load(ctx, t.TeamID.Project); err == nil {
			keys = append(keys, loaders.StatisticsOf{Viewer: p.Member, Team: t.ID})
		}
	}
	load.Statistics.Prefetch(keys)
	statisticsAhead(ctx, loaded(ctx, load.Statistics, keys), sel.in("statistics", "TeamStatistics"))
}

// statisticsAhead reads the users whose statistics are selected.
func statisticsAhead(ctx context.Context, all []labelling.Statistics, sel selection) {
	var people []user.ID
	for _, s := range all {
		for _, u := range s.Users {
			people = append(people, u.User)
		}
	}
	peopleAhead(ctx, people, sel.in("users", "UserStatistics"), "user")
}

func (projectItems) Claim(_ context.Context, i *project.Item) (*project.Claim, error) {
	if i.Status != project.Claimed {
		return nil, nil
	}
	return &i.Claim, nil
}

func (projectItems) ReturnedTo(ctx context.Context, i *project.Item) (*user.User, error) {
	if i.ReturnedTo == "" {
		return nil, nil
	}
	return person(ctx, i.ReturnedTo)
}

func (efforts) Review(_ context.Context, e *project.Effort) (*project.Review, error) {
	if e.Review.Verdict == "" {
		return nil, nil
	}
	return &e.Review, nil
}

type claims struct{}

func (claims) User(ctx context.Context, c *project.Claim) (*user.User, error) {
	return person(ctx, c.User)
}

func (claims) Token(ctx context.Context, c *project.Claim) (*string, error) {
	return c.TokenFor(viewer.From(ctx).UserID), nil
}

type reviews struct{}

func (reviews) By(ctx context.Context, r *project.Review) (*user.User, error) {
	return person(ctx, r.By)
}

type userStatistics struct{}

func (userStatistics) User(ctx context.Context, s *labelling.UserStatistics) (*user.User, error) {
	return person(ctx, s.User)
}

type onlineMembers struct{}

func (onlineMembers) User(ctx context.Context, o *labelling.Online) (*user.User, error) {
	return person(ctx, o.User)
}
