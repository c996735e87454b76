package labelling

import (
	"context"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// labelling asks for shards by number; they are those of the keys.
var _ [labelling.Shards]struct{} = [keys.Shards]struct{}{}

// ListByStatus lists items by what the index says of them, without looking at them: what was changed a moment ago may be
// missing, or be listed still.
//
// Index: index_lookup, eventually consistent. Key: _scope_index_name = <project>:status~<shard> AND
// begins_with(_index_key, <status>:<shard>:). Cost: 1 Query.
func (db Store) ListByStatus(ctx context.Context, p project.ID, status project.Status, shard int, after labelling.Place, limit int) (items []string, next labelling.Place, err error) {
	s := dynamo.Span{
		Table: dynamo.IndexEntries, Index: dynamo.IndexLookup, PK: keys.ScopeIndexName(string(p), keys.IndexName(keys.StatusIndex, shard)),
		Limit: limit, Single: true, Keys: true,
	}
	s.Low, s.High = keys.StatusRange(string(status), shard)
	if after != next {
		s.Start = projects.StatusStart(p, s.PK, s.Low+after.Seq, after.Item)
	}
	last, err := db.Query(ctx, s, func(raw dynamo.Item) (bool, error) {
		row, err := dynamo.KeyOf(raw, dynamo.IndexEntries)
		items = append(items, indexed(row))
		return true, err
	})
	if err != nil || last == nil {
		return items, next, err
	}
	next.Seq = strings.TrimPrefix(dynamo.Text(last[dynamo.IndexLookup.SK]), s.Low)
	next.Item = indexed(dynamo.Key{PK: dynamo.Text(last[dynamo.IndexEntries.PK])})
	return items, next, nil
}

// indexed is the id of the item that an entry of an index belongs to.
func indexed(entry dynamo.Key) string {
	parts := keys.Split(entry.PK)
	return parts[len(parts)-1]
}

// CountItems returns what was counted of the items of a project, within 10 %; see [dynamo.DB.CountAllowances].
//
// Index: primary. Key: PK = COUNT#items#<project> AND SK = COUNT. Cost: 1 GetItem.
func (db Store) CountItems(ctx context.Context, p project.ID) (int, error) {
	return db.ReadTally(ctx, dynamo.Allowed{Kind: projects.AllowedItems.Kind, Of: string(p)})
}

// ScanItems reads the items of a shard by when they changed last.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = <project>:ProjectItem~<shard>. Cost: 1 Query per
// started megabyte.
func (db Store) ScanItems(ctx context.Context, p project.ID, shard int, page func([]project.Item) error) error {
	return entities.Sweep(ctx, db.DB, keys.ShardedScopeTypeKey(string(p), projects.ItemType, shard), projects.DecodeItem, page)
}

// ScanEfforts reads the efforts of a shard by when they changed last.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = <project>:ProjectItemEffort~<shard>. Cost: 1 Query
// per started megabyte.
func (db Store) ScanEfforts(ctx context.Context, p project.ID, shard int, page func([]project.Effort) error) error {
	return entities.Sweep(ctx, db.DB, keys.ShardedScopeTypeKey(string(p), projects.EffortType, shard), projects.DecodeEffort, page)
}
