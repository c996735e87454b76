package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// KeptScoreConnection returns the resolvers of KeptScoreConnection.
func (r *Resolver) KeptScoreConnection() graph.KeptScoreConnectionResolver {
	return keptScoreConnection{r}
}

// KeptScoreEdge returns the resolvers of KeptScoreEdge.
func (r *Resolver) KeptScoreEdge() graph.KeptScoreEdgeResolver { return keptScoreEdge{r} }

type (
	keptScoreConnection struct{ *Resolver }
	keptScoreEdge       struct{ *Resolver }
)

func (r users) KeptScores(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.KeptScoreConnection, error) {
	sel := selected(ctx, "KeptScoreConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.keptScores", string(u.ID))
	if err != nil {
		return nil, err
	}
	load := loaders.From(ctx)
	slice, err := load.KeptBy.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	if sel.has("nodes") || sel.in("edges", "KeptScoreEdge").has("node") {
		refs := make([]score.Ref, len(slice.Items))
		for i, k := range slice.Items {
			refs[i] = k.Score
		}
		load.Scores.Prefetch(refs)
		r.scoresAhead(ctx, asNow(loaded(ctx, load.Scores, refs)), sel.items("KeptScoreEdge", "Score", "Node"))
	}
	return &model.KeptScoreConnection{Connection: page.Connect(o, slice, func(p page.Position, k score.Kept) model.KeptScoreEdge {
		return model.KeptScoreEdge{Position: p, Kept: k}
	})}, nil
}

func (r keptScoreConnection) Nodes(ctx context.Context, c *model.KeptScoreConnection) ([]*model.Score, error) {
	return partial(ctx, c.Edges, func(e model.KeptScoreEdge) (*model.Score, error) { return r.keptScore(ctx, e) }), nil
}

func (r keptScoreEdge) Node(ctx context.Context, e *model.KeptScoreEdge) (*model.Score, error) {
	return r.keptScore(ctx, *e)
}

// keptScore reads the score; nil when it is gone or private.
func (r *Resolver) keptScore(ctx context.Context, e model.KeptScoreEdge) (*model.Score, error) {
	return r.score(ctx, score.SnapshotID{Score: e.Score})
}

// changeKept returns the input of the mutations.
func changeKept(id gid.ID, key *string) (score.ChangeKept, error) {
	of, err := scoreID("input.scoreId", id)
	if err == nil && of.ID != "" {
		err = fault.Invalidf("input.scoreId", "a score as of a snapshot cannot be kept; give the id of the score as it is now")
	}
	return score.ChangeKept{Score: of.Score, IdempotencyKey: key}, err
}

func (m mutation) KeepScore(ctx context.Context, in model.KeepScoreInput) (*model.KeepScorePayload, error) {
	change, err := changeKept(in.ScoreID, in.IdempotencyKey.Value())
	if err != nil {
		return nil, err
	}
	kept, err := m.Scores.Keep(ctx, change)
	after, _, err := m.doneScore(ctx, kept, err)
	return &model.KeepScorePayload{Score: after}, err
}

func (m mutation) DropScore(ctx context.Context, in model.DropScoreInput) (*model.DropScorePayload, error) {
	change, err := changeKept(in.ScoreID, in.IdempotencyKey.Value())
	if err != nil {
		return nil, err
	}
	after, _, err := done(ctx, m, in.ScoreID, m.Scores.Drop(ctx, change))
	return &model.DropScorePayload{DroppedScoreID: after}, err
}
