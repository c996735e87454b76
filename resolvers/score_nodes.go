package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/loaders"
)

func (r *Resolver) scoreNode(ctx context.Context, field string, id gid.ID) (model.Node, error) {
	key, err := scoreID(field, id)
	if err != nil {
		return nil, err
	}
	return nodeOf(r.score(ctx, key))
}

func (r *Resolver) snapshotNode(ctx context.Context, field string, id gid.ID) (model.Node, error) {
	key, err := snapshotID(field, id)
	if err != nil {
		return nil, err
	}
	return nodeOf(r.snapshot(ctx, key))
}

// snapshotsOfScores reads the snapshots that the ids name, alone or with what a score was then, of scores that were read.
func (r *Resolver) snapshotsOfScores(ctx context.Context, ids []gid.ID) {
	var snapshots []score.SnapshotID
	for _, id := range ids {
		if key, err := snapshotID("", id); err == nil {
			snapshots = append(snapshots, key)
		}
		if key, err := scoreID("", id); err == nil && key.ID != "" {
			snapshots = append(snapshots, key)
		}
	}
	loaders.From(ctx).Snapshots.Prefetch(snapshotRequests(ctx, snapshots))
}

// contentsOfSnapshots reads what scores were then, of snapshots that were read.
func (r *Resolver) contentsOfSnapshots(ctx context.Context, ids []gid.ID) {
	var contents []score.ContentRequest
	for _, id := range ids {
		key, err := scoreID("", id)
		if err != nil || key.ID == "" {
			continue
		}
		if at, err := r.snapshot(ctx, key); err == nil && at != nil {
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

func snapshotRequests(ctx context.Context, snapshots []score.SnapshotID) []score.SnapshotRequest {
	var requests []score.SnapshotRequest
	for _, s := range snapshots {
		if of, err := loaders.From(ctx).Scores.Load(ctx, s.Score); err == nil {
			requests = append(requests, of.Snapshot(s.ID))
		}
	}
	return requests
}

func refOfScore(field string, id gid.ID) (score.Ref, error) {
	key, err := scoreID(field, id)
	return key.Score, err
}

func refOfSnapshot(field string, id gid.ID) (score.Ref, error) {
	key, err := snapshotID(field, id)
	return key.Score, err
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

func itemID(field string, id gid.ID) (score.ItemRef, error) {
	key, err := parts(field, id, "Item", 3)
	if err != nil {
		return score.ItemRef{}, err
	}
	return score.ItemRef{Owner: score.UserID(key[0]), Score: score.ID(key[1]), ID: score.ItemID(key[2])}, nil
}

func itemRequest(field string, id gid.ID) (score.ItemRequest, error) {
	key, err := itemID(field, id)
	return score.AnItem(key), err
}
