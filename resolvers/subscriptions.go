package resolvers

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// Subscription returns the resolvers of Subscription.
func (r *Resolver) Subscription() graph.SubscriptionResolver { return subscription{r} }

// ProjectSnapshot returns the resolvers of ProjectSnapshot.
func (r *Resolver) ProjectSnapshot() graph.ProjectSnapshotResolver { return snapshots{r} }

// ProjectTeamStatistics returns the resolvers of ProjectTeamStatistics.
func (r *Resolver) ProjectTeamStatistics() graph.ProjectTeamStatisticsResolver {
	return teamStatistics{}
}

// ProjectEvent returns the resolvers of ProjectEvent.
func (r *Resolver) ProjectEvent() graph.ProjectEventResolver { return events{r} }

// MyQueue returns the resolvers of MyQueue.
func (r *Resolver) MyQueue() graph.MyQueueResolver { return myQueues{r} }

type subscription struct{ *Resolver }

// maxTypes is how many types of events there are.
const maxTypes = 18

const messageGap = "events were missed; what follows shows the project as it is now"

func (s subscription) ProjectEvents(ctx context.Context, projectID_ gid.ID, after *model.EventCursor, types []labelling.Cause, mine bool) (<-chan model.ProjectMessage, error) {
	id, err := projectID("projectId", projectID_)
	if err != nil {
		return nil, err
	}
	l := labelling.Listen{Project: id, Types: types, Mine: mine, Statistics: selected(ctx, "ProjectMessage", "ProjectSnapshot").has("statistics")}
	if len(types) > maxTypes {
		return nil, fault.Invalidf("types", "there are no more than %d types", maxTypes)
	}
	op := graphql.GetOperationContext(ctx)
	l.Left = Finisher(op)
	var seen model.EventCursor
	if again, err := resumed(op, &seen); err != nil {
		return nil, err
	} else if again { // the request is the first one's, repeated
		after = &seen
	}
	if after != nil {
		if after.Project != id {
			return nil, fault.Invalidf("after", "this is the cursor of another project")
		}
		l.After = &after.Cursor
	}
	told, err := s.Hub.Listen(ctx, l)
	if err != nil {
		return nil, err
	}
	return mapped(ctx, told, func(t labelling.Told[labelling.EventDetails]) (model.ProjectMessage, time.Time) {
		message := messageOf(t)
		reached[model.EventCursor](op, message)
		return message, t.Looked
	}), nil
}

func messageOf(t labelling.Told[labelling.EventDetails]) model.ProjectMessage {
	switch {
	case t.Snapshot != nil:
		return model.ProjectSnapshot{Project: t.Project, Snapshot: *t.Snapshot}
	case t.Event != nil:
		return model.ProjectEvent{Event: *t.Event, Project: t.Project, Details: t.Hydrated}
	}
	return model.ProjectGap{Message: messageGap}
}

// mapped hands on what comes from one channel in another form, until that is closed or the context ends. Form tells also since when it is
// known that the viewer may have it.
func mapped[A, B any](ctx context.Context, from <-chan A, form func(A) (B, time.Time)) <-chan B {
	to := make(chan B)
	op := graphql.GetOperationContext(ctx)
	go func() {
		defer close(to)
		for a := range from {
			if Admit(ctx, op) != nil {
				return
			}
			b, at := form(a)
			rests(op, at)
			select {
			case to <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}

func (s subscription) MyQueue(ctx context.Context, projectID_ gid.ID) (<-chan *model.MyQueue, error) {
	id, err := projectID("projectId", projectID_)
	if err != nil {
		return nil, err
	}
	claims, err := s.Hub.Claims(ctx, id, Finisher(graphql.GetOperationContext(ctx)))
	if err != nil {
		return nil, err
	}
	return mapped(ctx, claims, func(c labelling.ClaimsNow) (*model.MyQueue, time.Time) {
		return &model.MyQueue{Shown: c.Project, Now: c.Claims}, c.Looked
	}), nil
}

func (s subscription) OnlineCount(ctx context.Context) (<-chan *int, error) {
	counts, err := s.Hub.OnlineCount(ctx)
	if err != nil {
		return nil, err
	}
	return mapped(ctx, counts, func(n int) (*int, time.Time) { return &n, time.Time{} }), nil
}

func (s subscription) ImportProgress(ctx context.Context, importID_ gid.ID) (<-chan *project.Import, error) {
	id, err := importID("importId", importID_)
	if err != nil {
		return nil, err
	}
	states, err := s.Projects.WatchImport(ctx, id, Finisher(graphql.GetOperationContext(ctx)))
	return seen(ctx, states, err)
}

func (s subscription) ExportProgress(ctx context.Context, exportID_ gid.ID) (<-chan *project.Export, error) {
	id, err := exportID("exportId", exportID_)
	if err != nil {
		return nil, err
	}
	states, err := s.Projects.WatchExport(ctx, id, Finisher(graphql.GetOperationContext(ctx)))
	return seen(ctx, states, err)
}

func (s subscription) RemovalProgress(ctx context.Context, removalID_ gid.ID) (<-chan *project.Removal, error) {
	id, err := removalID("removalId", removalID_)
	if err != nil {
		return nil, err
	}
	states, err := s.Projects.WatchRemoval(ctx, id, Finisher(graphql.GetOperationContext(ctx)))
	return seen(ctx, states, err)
}

func (s subscription) IndexProgress(ctx context.Context, scope gid.ID, name string) (<-chan *entity.Index, error) {
	id, err := scopeID("scopeId", scope)
	if err != nil {
		return nil, err
	}
	states, err := s.Entities.WatchIndex(ctx, id, name, Finisher(graphql.GetOperationContext(ctx)))
	return seen(ctx, states, err)
}

// seen hands on how work goes as what may be null in the contract.
func seen[T any](ctx context.Context, from <-chan task.Seen[T], err error) (<-chan *T, error) {
	if err != nil {
		return nil, err
	}
	return mapped(ctx, from, func(s task.Seen[T]) (*T, time.Time) { return &s.Value, s.At }), nil
}

type myQueues struct{ *Resolver }

func (myQueues) Project(ctx context.Context, q *model.MyQueue) (*project.Project, error) {
	return projectOf(ctx, q.Shown.ID)
}

func (r myQueues) Claims(ctx context.Context, q *model.MyQueue) ([]project.Item, error) {
	return r.claimed(ctx, q.Shown, q.Now)
}

type snapshots struct{ *Resolver }

func (r snapshots) Claims(ctx context.Context, s *model.ProjectSnapshot) ([]project.Item, error) {
	loaders.From(ctx).Projects.Prime(s.Project.ID, s.Project)
	return r.claimed(ctx, s.Project, s.Snapshot.Claims)
}

func (r snapshots) Statistics(ctx context.Context, s *model.ProjectSnapshot) ([]model.ProjectTeamStatistics, error) {
	load := loaders.From(ctx)
	load.Projects.Prime(s.Project.ID, s.Project)
	teams, err := load.TeamsOf.LoadNow(ctx, s.Project.Ref())
	if err != nil {
		return nil, err
	}
	of := make(map[string]labelling.Statistics, len(s.Snapshot.Statistics))
	for _, one := range s.Snapshot.Statistics {
		of[one.Team] = one
	}
	sel := selected(ctx, "ProjectTeamStatistics")
	r.teamsAhead(ctx, teams, sel.in("team", "Team", "Node"))
	all, each := make([]model.ProjectTeamStatistics, len(teams)), make([]labelling.Statistics, len(teams))
	for i, t := range teams {
		ref := s.Project.TeamRef(t.ID)
		load.Teams.Prime(ref, t)
		each[i] = of[t.ID]
		all[i] = model.ProjectTeamStatistics{Of: ref, Statistics: each[i]}
	}
	statisticsAhead(ctx, each, sel.in("statistics", "TeamStatistics"))
	return all, nil
}

type teamStatistics struct{}

func (teamStatistics) Team(ctx context.Context, s *model.ProjectTeamStatistics) (*project.Team, error) {
	return found(loaders.From(ctx).Teams.Load(ctx, s.Of))
}

type events struct{ *Resolver }

func (events) ItemID(_ context.Context, e *model.ProjectEvent) (*gid.ID, error) {
	if e.Event.Item == "" {
		return nil, nil
	}
	id := gid.Of("ProjectItem", string(e.Project.ID), e.Event.Item)
	return &id, nil
}

func (r events) Item(ctx context.Context, e *model.ProjectEvent) (*project.Item, error) {
	if e.Event.Item == "" {
		return nil, nil
	}
	prime(ctx, e)
	sel := selected(ctx, "ProjectItem", "Node")
	ref := e.Project.ItemRef(e.Event.Item)
	if e.Details.Item != nil && !sel.has("metadata") { // which may be large, and is not kept
		loaders.From(ctx).ProjectItems.Prime(ref, e.Project.Item(*e.Details.Item))
	}
	item, err := found(loaders.From(ctx).ProjectItems.Load(ctx, ref))
	if item != nil {
		r.primeEfforts(ctx, e, *item, sel)
		r.projectItemsAhead(ctx, []project.Item{*item}, sel)
	}
	return item, err
}

// primeEfforts gives the loaders the pages of the item's efforts that are selected, read once for all who are told of the event.
func (r events) primeEfforts(ctx context.Context, e *model.ProjectEvent, item project.Item, sel selection) {
	if e.Details.Efforts == nil {
		return
	}
	for _, list := range r.historiesOf(ctx, []project.Item{item}, sel) {
		for _, request := range list.requests {
			if slice, err := e.Details.Efforts(ctx, request.Window); err == nil {
				loaders.From(ctx).ProjectItemEfforts.Prime(request, e.Project.Efforts(slice))
			}
		}
	}
}

// prime gives the loaders of a response what was read once for all who are told of the event.
func prime(ctx context.Context, e *model.ProjectEvent) {
	load := loaders.From(ctx)
	for _, u := range e.Details.People {
		load.Users.Prime(u.ID, u)
	}
	if e.Details.Item == nil {
		return
	}
	item := e.Project.Item(*e.Details.Item)
	for _, l := range e.Details.Labels {
		for _, refers := range []func() (project.Ref[project.LabelID], bool){item.CategoryRef, item.SubcategoryRef} {
			if ref, ok := refers(); ok && ref.ID == l.LabelID {
				load.Labels.Prime(ref, e.Project.Label(l))
			}
		}
	}
}

func (events) Status(_ context.Context, e *model.ProjectEvent) (*project.Status, error) {
	if e.Event.Status == "" || e.Event.Status.Hidden() {
		return nil, nil
	}
	return &e.Event.Status, nil
}

func (events) User(ctx context.Context, e *model.ProjectEvent) (*user.User, error) {
	return somebody(ctx, e, e.Event.User)
}

func (events) Author(ctx context.Context, e *model.ProjectEvent) (*user.User, error) {
	return somebody(ctx, e, e.Event.Author)
}

func somebody(ctx context.Context, e *model.ProjectEvent, id user.ID) (*user.User, error) {
	if id == "" {
		return nil, nil
	}
	prime(ctx, e)
	return person(ctx, id)
}

func (r events) Team(ctx context.Context, e *model.ProjectEvent) (*project.Team, error) {
	if e.Event.Team == "" {
		return nil, nil
	}
	prime(ctx, e)
	if e.Details.Team != nil {
		if t, ok := e.Details.Team(ctx); ok {
			loaders.From(ctx).Teams.Prime(e.Project.TeamRef(t.ID), e.Project.Team(t))
		}
	}
	team, err := found(loaders.From(ctx).Teams.Load(ctx, e.Project.TeamRef(e.Event.Team)))
	if team != nil {
		r.teamsAhead(ctx, []project.Team{*team}, selected(ctx, "Team", "Node"))
	}
	return team, err
}
