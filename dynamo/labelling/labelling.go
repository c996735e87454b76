// Package labelling moves the items of projects: each move is one transaction, with what tells of it in an outbox.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [Store].
package labelling

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Store keeps what the queues are made from: the items and efforts of [projects.Store], and the outbox between them and
// the queues.
type Store struct{ projects.Store }

var _ labelling.Truth = Store{}

// ListAllProjects lists the projects of all users, in the order of ids. A project may be listed a moment before it is there.
//
// Index: primary. Key: _subject_key = taggie:Projects:<shard> AND begins_with(_predicate_key, project:), for each shard.
// Cost: 1 Query per shard (16).
func (db Store) ListAllProjects(ctx context.Context, after project.ID, limit int) ([]project.ID, error) {
	low, high := dynamo.Prefixed("project:")
	shards := keys.ProjectsSubjectKeys()
	found := make([][]entities.RelationRecord, len(shards))
	errs := db.Each(len(shards), func(i int) error {
		s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: shards[i], Low: low, High: high, Limit: limit}
		if after != "" {
			s.Start = s.Table.Key(dynamo.Key{PK: s.PK, SK: entities.RelationKey(projects.Known(after)).SK})
		}
		_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var r entities.RelationRecord
			err := entities.DecodeRelation(item, &r, nil)
			found[i] = append(found[i], r)
			return true, err
		})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b entities.RelationRecord) int { return cmp.Compare(a.Key.SK, b.Key.SK) })
	ids := make([]project.ID, min(limit, len(all)))
	for i := range ids {
		ids[i] = project.ID(all[i].Object.ID)
	}
	return ids, nil
}
