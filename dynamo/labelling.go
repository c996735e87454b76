package dynamo

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Labelling keeps what the queues are made from: the items and efforts of [Projects], and the outbox between them and
// the queues.
type Labelling struct{ Projects }

var _ labelling.Truth = Labelling{}

// known is that there is a project: it is listed for jobs, which belong to no user.
func known(id project.ID) entity.Relation {
	typ, shard := keys.ProjectsSubject(string(id))
	return entity.Relation{Subject: entity.ID{Scope: ourScope, Type: typ, ID: shard}, Predicate: "project", Object: projectID(id)}
}

// ListAllProjects lists the projects of all users, in the order of ids. A project may be listed a moment before it is there.
//
// Index: primary. Key: _subject_key = taggie:Projects:<shard> AND begins_with(_predicate_key, project:), for each shard.
// Cost: 1 Query per shard (16).
func (db Labelling) ListAllProjects(ctx context.Context, after project.ID, limit int) ([]project.ID, error) {
	low, high := prefixed("project:")
	shards := keys.ProjectsSubjectKeys()
	found := make([][]relationRecord, len(shards))
	errs := db.each(len(shards), func(i int) error {
		s := span{table: relationshipEntries, pk: shards[i], low: low, high: high, limit: limit}
		if after != "" {
			s.start = s.table.key(rowKey{s.pk, relationKey(known(after)).SK})
		}
		_, err := db.query(ctx, s, func(item []byte) (bool, error) {
			var r relationRecord
			err := decodeRelation(item, &r, nil)
			found[i] = append(found[i], r)
			return true, err
		})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b relationRecord) int { return cmp.Compare(a.Key.SK, b.Key.SK) })
	ids := make([]project.ID, min(limit, len(all)))
	for i := range ids {
		ids[i] = project.ID(all[i].Object.ID)
	}
	return ids, nil
}
