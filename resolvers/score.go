package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// Score returns the resolvers of Score.
func (r *Resolver) Score() graph.ScoreResolver { return scores{r} }

// ScorePage returns the resolvers of ScorePage.
func (r *Resolver) ScorePage() graph.ScorePageResolver { return scorePages{r} }

// Annotation returns the resolvers of Annotation.
func (r *Resolver) Annotation() graph.AnnotationResolver { return annotations{r} }

// Snapshot returns the resolvers of Snapshot.
func (r *Resolver) Snapshot() graph.SnapshotResolver { return scoreSnapshots{r} }

func (q query) Score(ctx context.Context, id gid.ID, snapshot *gid.ID) (*model.Score, error) {
	key, err := scoreID("id", id)
	if err != nil {
		return nil, err
	}
	if snapshot != nil {
		if key, err = snapshotOf(key, *snapshot); err != nil {
			return nil, err
		}
	}
	s, err := q.score(ctx, key)
	if s != nil {
		q.scoresAhead(ctx, []model.Score{*s}, selected(ctx, "Score", "Node"))
	}
	return s, err
}

// score reads a score as it is now, or as of a snapshot; nil when there is none that the viewer may see.
func (r *Resolver) score(ctx context.Context, key score.SnapshotID) (*model.Score, error) {
	if key.ID != "" {
		at, err := r.snapshot(ctx, key)
		if at == nil || err != nil {
			return nil, err
		}
		return r.scoreAt(ctx, *at)
	}
	now, err := found(loaders.From(ctx).Scores.Load(ctx, key.Score))
	if now == nil || err != nil {
		return nil, err
	}
	return &model.Score{Score: *now}, nil
}

// snapshot reads a snapshot; nil when there is none that the viewer may see.
func (r *Resolver) snapshot(ctx context.Context, key score.SnapshotID) (*score.Snapshot, error) {
	load := loaders.From(ctx)
	of, err := found(load.Scores.Load(ctx, key.Score))
	if of == nil || err != nil {
		return nil, err
	}
	return found(load.Snapshots.Load(ctx, of.Snapshot(key.ID)))
}

// scoreAt reads a score as of a snapshot; nil when one of both is gone.
func (r *Resolver) scoreAt(ctx context.Context, at score.Snapshot) (*model.Score, error) {
	load := loaders.From(ctx)
	now, err := found(load.Scores.Load(ctx, at.SnapshotID.Score))
	if now == nil || err != nil {
		return nil, err
	}
	then, err := found(load.Contents.Load(ctx, at.Content()))
	if then == nil || err != nil {
		return nil, err
	}
	return &model.Score{Score: now.AsOf(*then), At: &at, Then: then}, nil
}

// asNow returns the scores as they are now.
func asNow(scores []score.Score) []model.Score {
	all := make([]model.Score, len(scores))
	for i, s := range scores {
		all[i] = model.Score{Score: s}
	}
	return all
}

func (r users) Scores(ctx context.Context, u *user.User, public bool, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.ScoreConnection, error) {
	sel, list := selected(ctx, "ScoreConnection"), "all"
	if public {
		list = "public"
	}
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.scores", string(u.ID), list)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ScoresOf.LoadNow(ctx, loaders.ScoresOf{ListOf: loaders.ListOf{User: u.ID, Window: o.Window}, Public: public})
	if err != nil {
		return nil, err
	}
	return r.scoreList(ctx, o, slice, sel), nil
}

func (q query) PublicScores(ctx context.Context, titlePrefix string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.ScoreConnection, error) {
	sel := selected(ctx, "ScoreConnection")
	o, err := q.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Query.publicScores", titlePrefix)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).PublicScores.LoadNow(ctx, loaders.PublicScores{Prefix: titlePrefix, Window: o.Window})
	if err != nil {
		return nil, err
	}
	return q.scoreList(ctx, o, slice, sel), nil
}

// scoreList shows a page of scores, and reads what is selected below them.
func (r *Resolver) scoreList(ctx context.Context, o page.Opened, slice page.Slice[score.Score], sel selection) *model.ScoreConnection {
	r.scoresAhead(ctx, asNow(slice.Items), sel.items("ScoreEdge", "Score", "Node"))
	return &model.ScoreConnection{Connection: page.Connect(o, slice, func(p page.Position, s score.Score) model.ScoreEdge {
		return model.ScoreEdge{Position: p, Node: model.Score{Score: s}}
	})}
}

func (users) ScoreCount(ctx context.Context, u *user.User) (*int, error) {
	n, err := loaders.From(ctx).ScoreCounts.LoadNow(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

type scores struct{ *Resolver }

func (scores) Description(ctx context.Context, s *model.Score) (*string, error) {
	if s.Then != nil {
		return &s.Then.Description, nil
	}
	request, there := s.Score.Description()
	if !there {
		return new(string), nil
	}
	text, err := loaders.From(ctx).Texts.Load(ctx, request)
	if err != nil {
		return nil, err
	}
	return &text, nil
}

func (r scores) Snapshots(ctx context.Context, s *model.Score) ([]score.Snapshot, error) {
	all, err := loaders.From(ctx).SnapshotsOf.Load(ctx, s.ListSnapshots())
	if err != nil {
		return nil, err
	}
	r.snapshotsAhead(ctx, all, selected(ctx, "Snapshot", "Node"))
	return append([]score.Snapshot{}, all...), nil // an empty list is none that failed
}

func (r scores) Items(ctx context.Context, s *model.Score, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[score.Item], error) {
	sel := selected(ctx, "ItemConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Score.items", string(s.Ref.Owner), string(s.Ref.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).ItemsOf.Load(ctx, s.ItemsOf(o.Window))
	if err != nil {
		return nil, err
	}
	r.itemsAhead(ctx, slice.Items, sel.items("ItemEdge", "Item", "Node"))
	return page.Plain(o, slice), nil
}

func (scores) Owner(ctx context.Context, s *model.Score) (*user.User, error) {
	return person(ctx, s.Ref.Owner)
}

type scorePages struct{ *Resolver }

func (scorePages) Item(ctx context.Context, p *model.ScorePage) (*score.Item, error) {
	return found(loaders.From(ctx).Items.Load(ctx, p.Of))
}

func (scorePages) Withdrawn(ctx context.Context, p *model.ScorePage) (*bool, error) {
	return withdrawn(ctx, p.Of)
}

type annotations struct{ *Resolver }

func (annotations) Text(ctx context.Context, a *model.Annotation) (*string, error) {
	if a.Known != nil {
		return a.Known, nil
	}
	text, err := loaders.From(ctx).Texts.Load(ctx, a.Of)
	if err != nil {
		return nil, err
	}
	return &text, nil
}

type scoreSnapshots struct{ *Resolver }

func (r scoreSnapshots) Score(ctx context.Context, s *score.Snapshot) (*model.Score, error) {
	of, err := r.scoreAt(ctx, *s)
	if of != nil {
		r.scoresAhead(ctx, []model.Score{*of}, selected(ctx, "Score", "Node"))
	}
	return of, err
}

func (r scoreSnapshots) Changes(ctx context.Context, s *score.Snapshot) (*model.ScoreChanges, error) {
	c, err := found(loaders.From(ctx).Changes.Load(ctx, s.Content()))
	if c == nil || err != nil {
		return nil, err
	}
	changes := &model.ScoreChanges{
		Changed: !c.Same(), Title: c.Title, Description: c.Description,
		Pages: make([]model.PageChange, len(c.Pages)), Annotations: make([]model.AnnotationChange, len(c.Annotations)),
	}
	var shown []model.ScorePage
	for i, d := range c.Pages {
		p := model.ScorePage{Page: d.Of, Of: s.Item(d.Of)}
		if d.After != nil {
			p.Index = *d.After
		} else {
			p.Index = *d.Before
		}
		changes.Pages[i] = model.PageChange{Before: d.Before, After: d.After, Page: p}
		shown = append(shown, p)
	}
	for i, d := range c.Annotations {
		changes.Annotations[i] = model.AnnotationChange{Before: d.Before, After: d.After, Text: d.Of}
	}
	r.pagesAhead(ctx, shown, selected(ctx, "ScoreChanges").in("pages", "PageChange").in("page", "ScorePage"))
	return changes, nil
}
