package loaders

import (
	"context"

	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
)

// scoreLoaders read scores, their snapshots and items.
type scoreLoaders struct {
	Scores       *Loader[score.Ref, score.Score]
	Texts        *Loader[score.TextRequest, string]
	SnapshotsOf  *Loader[score.SnapshotsRequest, []score.Snapshot]
	Snapshots    *Loader[score.SnapshotRequest, score.Snapshot]
	Contents     *Loader[score.ContentRequest, score.Content]
	Changes      *Loader[score.ContentRequest, score.Comparison]
	Items        *Loader[score.ItemRequest, score.Item]
	ItemsOf      *Loader[score.ItemsRequest, page.Slice[score.Item]]
	ItemUses     *Loader[score.UsesRequest, page.Slice[score.Use]]
	ItemProjects *Loader[score.ProjectsRequest, page.Slice[project.Project]]
	ItemUsages   *Loader[user.ID, score.Usage]
	// Lists of a user, each read once however often the user is met in the response.
	ScoresOf    *Loader[ScoresOf, page.Slice[score.Score]]
	ScoreCounts *Loader[user.ID, int]
	KeptBy      *Loader[ListOf, page.Slice[score.Kept]]
	// Public scores of everybody by their titles.
	PublicScores *Loader[PublicScores, page.Slice[score.Score]]
}

// PublicScores asks for a page of the public scores that are found by the beginning of their titles.
type PublicScores struct {
	Prefix string
	Window page.Window
}

// ScoresOf asks for a page of a user's scores.
type ScoresOf struct {
	ListOf
	Public bool // only these
}

func newScoreLoaders(r *response, scores *score.Service, items *score.Items) scoreLoaders {
	history := scores.History()
	return scoreLoaders{
		Scores:       register(r, "scores", scores.ListByID),
		Texts:        register(r, "texts", scores.Texts),
		SnapshotsOf:  register(r, "snapshotsOf", scores.ListSnapshots),
		Snapshots:    register(r, "snapshots", scores.SnapshotsByID),
		Contents:     register(r, "contents", history.ScoresAt),
		Changes:      register(r, "changes", history.Comparisons),
		Items:        register(r, "items", items.ItemsByID),
		ItemsOf:      register(r, "itemsOf", items.ListItems),
		ItemUses:     register(r, "itemUses", items.ListUses),
		ItemProjects: register(r, "itemProjects", items.ListProjects),
		ItemUsages:   register(r, "itemUsages", items.Usages),
		ScoresOf: registerList(r, "scoresOf", func(ctx context.Context, k ScoresOf) (page.Slice[score.Score], error) {
			if k.Public {
				return scores.ListPublic(ctx, k.User, k.Window)
			}
			return scores.List(ctx, k.User, k.Window)
		}),
		ScoreCounts: registerList(r, "scoreCounts", scores.Count),
		KeptBy: registerList(r, "keptBy", func(ctx context.Context, k ListOf) (page.Slice[score.Kept], error) {
			return scores.ListKept(ctx, k.User, k.Window)
		}),
		PublicScores: registerList(r, "publicScores", func(ctx context.Context, k PublicScores) (page.Slice[score.Score], error) {
			return scores.FindPublic(ctx, k.Prefix, k.Window)
		}),
	}
}
