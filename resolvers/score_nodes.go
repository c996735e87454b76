package resolvers

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/loaders"
)

// scoreNodesAhead begins to read those of the ids that are of scores and what belongs to them, each type in one batch.
func (q query) scoreNodesAhead(ctx context.Context, ids []gid.ID, group *errgroup.Group) {
	load := loaders.From(ctx)
	var refs []score.Ref
	var snapshots []score.SnapshotID
	var items []score.ItemRequest
	for _, id := range ids {
		switch id.Type {
		case "Score":
			if key, err := scoreID("", id); err == nil {
				refs = append(refs, key.Score)
				if key.ID != "" {
					snapshots = append(snapshots, key)
				}
			}
		case "Snapshot":
			snapshots = appendKey(snapshots, id, snapshotID)
		case "Item":
			items = appendKey(items, id, fileRequest)
		}
	}
	prefetch(group, load.Files, items)
	group.Go(func() error {
		load.Scores.Prefetch(append(refs, scoresOf(snapshots)...))
		load.Snapshots.Prefetch(snapshotRequests(ctx, snapshots))
		return nil
	})
}

// contentsAhead reads what the ids name as of snapshots, in one batch, when the snapshots are there.
func (q query) contentsAhead(ctx context.Context, ids []gid.ID) {
	var contents []score.ContentRequest
	for _, id := range ids {
		key, err := scoreID("", id)
		if err != nil || key.ID == "" {
			continue
		}
		if at, err := q.snapshot(ctx, key); err == nil && at != nil {
			contents = append(contents, at.Content())
		}
	}
	loaders.From(ctx).Contents.Prefetch(contents)
}

// scoresOf returns the scores of snapshots.
func scoresOf(snapshots []score.SnapshotID) []score.Ref {
	refs := make([]score.Ref, len(snapshots))
	for i, s := range snapshots {
		refs[i] = s.Score
	}
	return refs
}

// snapshotRequests asks for the snapshots of scores that were read.
func snapshotRequests(ctx context.Context, snapshots []score.SnapshotID) []score.SnapshotRequest {
	var requests []score.SnapshotRequest
	for _, s := range snapshots {
		if of, err := loaders.From(ctx).Scores.Load(ctx, s.Score); err == nil {
			requests = append(requests, of.Snapshot(s.ID))
		}
	}
	return requests
}

// scoreNode reads the object with this id; ok tells whether it is one of a score.
func (q query) scoreNode(ctx context.Context, field string, id gid.ID) (value model.Node, ok bool, err error) {
	load := loaders.From(ctx)
	switch id.Type {
	case "Score":
		key, err := scoreID(field, id)
		if err != nil {
			return nil, true, err
		}
		value, err = node(q.score(ctx, key))
		return value, true, err
	case "Snapshot":
		key, err := snapshotID(field, id)
		if err != nil {
			return nil, true, err
		}
		value, err = node(q.snapshot(ctx, key))
		return value, true, err
	case "Item":
		value, err = nodeBy(ctx, load.Files, field, id, fileRequest)
	default:
		return nil, false, nil
	}
	return value, true, err
}

// belowScores reads what is selected below scores and what belongs to them.
func (q query) belowScores(ctx context.Context, nodes []model.Node) {
	var scores []model.Score
	var snapshots []score.Snapshot
	var items []score.Item
	for _, value := range nodes {
		switch value := value.(type) {
		case model.Score:
			scores = append(scores, value)
		case score.Snapshot:
			snapshots = append(snapshots, value)
		case score.Item:
			items = append(items, value)
		}
	}
	if len(scores) > 0 {
		q.scoresAhead(ctx, scores, selected(ctx, "Score", "Node"))
	}
	if len(snapshots) > 0 {
		q.snapshotsAhead(ctx, snapshots, selected(ctx, "Snapshot", "Node"))
	}
	if len(items) > 0 {
		q.filesAhead(ctx, items, selected(ctx, "Item", "Node"))
	}
}

// scoreID returns the key of a score; its ID is "" for one as it is now.
func scoreID(field string, id gid.ID) (score.SnapshotID, error) {
	n := 2
	if len(id.Key) == 3 {
		n = 3
	}
	key, err := parts(field, id, "Score", n)
	if err != nil {
		return score.SnapshotID{}, err
	}
	of := score.SnapshotID{Score: score.Ref{Owner: score.UserID(key[0]), ID: score.ID(key[1])}}
	if n == 3 {
		of.ID = key[2]
	}
	return of, nil
}

// scoreNow returns the key of a score that can be changed.
func scoreNow(field string, id gid.ID) (score.Ref, error) {
	key, err := scoreID(field, id)
	if err == nil && key.ID != "" {
		err = fault.Invalidf(field, "a score as of a snapshot cannot be changed; give the id of the score as it is now")
	}
	return key.Score, err
}

// snapshotOf returns the key of a score as of a snapshot of it.
func snapshotOf(key score.SnapshotID, snapshot gid.ID) (score.SnapshotID, error) {
	at, err := snapshotID("snapshot", snapshot)
	if err == nil && (at.Score != key.Score || key.ID != "" && key != at) {
		err = fault.Invalidf("snapshot", "this is a snapshot of another score")
	}
	return at, err
}

func snapshotID(field string, id gid.ID) (score.SnapshotID, error) {
	key, err := parts(field, id, "Snapshot", 3)
	if err != nil {
		return score.SnapshotID{}, err
	}
	return score.SnapshotID{Score: score.Ref{Owner: score.UserID(key[0]), ID: score.ID(key[1])}, ID: key[2]}, nil
}

func fileID(field string, id gid.ID) (score.ItemRef, error) {
	key, err := parts(field, id, "Item", 3)
	if err != nil {
		return score.ItemRef{}, err
	}
	return score.ItemRef{Owner: score.UserID(key[0]), Score: score.ID(key[1]), ID: score.ItemID(key[2])}, nil
}

func fileRequest(field string, id gid.ID) (score.ItemRequest, error) {
	key, err := fileID(field, id)
	return score.AnItem(key), err
}
