package dynamo

import (
	"context"

	"github.com/taggie/taggie/dynamo/keys"
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
func (db Labelling) ListByStatus(ctx context.Context, p project.ID, status project.Status, shard int, after string, limit int) (items []string, next string, err error) {
	s := span{
		table: indexEntries, index: indexLookup, pk: keys.ScopeIndexName(string(p), keys.IndexName(keys.StatusIndex, shard)),
		limit: limit, single: true, keys: true,
	}
	s.low, s.high = keys.StatusRange(string(status), shard)
	if after != "" {
		key, item := splitPosition(after)
		s.start = statusStart(p, s.pk, key, item)
	}
	last, err := db.query(ctx, s, func(raw []byte) (bool, error) {
		row, err := keyOf(raw, indexEntries)
		items = append(items, indexed(row))
		return true, err
	})
	if err != nil || last == nil {
		return items, "", err
	}
	return items, text(last[indexLookup.sk]) + ":" + indexed(rowKey{PK: text(last[indexEntries.pk])}), nil
}

// indexed is the id of the item that an entry of an index belongs to.
func indexed(entry rowKey) string {
	parts := keys.Split(entry.PK)
	return parts[len(parts)-1]
}

// CountItems returns what was counted of the items of a project, within 10 %; see [DB.CountAllowances].
//
// Index: primary. Key: PK = COUNT#items#<project> AND SK = COUNT. Cost: 1 GetItem.
func (db Labelling) CountItems(ctx context.Context, p project.ID) (int, error) {
	return db.readTally(ctx, allowed{allowedItems.kind, string(p)})
}

// ScanItems reads the items of a shard by when they changed last.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = <project>:ProjectItem~<shard>. Cost: 1 Query per
// started megabyte.
func (db Labelling) ScanItems(ctx context.Context, p project.ID, shard int, page func([]project.Item) error) error {
	return sweep(ctx, db.DB, keys.ShardedScopeTypeKey(string(p), itemType, shard), decodeItem, page)
}

// ScanEfforts reads the efforts of a shard by when they changed last.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = <project>:ProjectItemEffort~<shard>. Cost: 1 Query
// per started megabyte.
func (db Labelling) ScanEfforts(ctx context.Context, p project.ID, shard int, page func([]project.Effort) error) error {
	return sweep(ctx, db.DB, keys.ShardedScopeTypeKey(string(p), effortType, shard), decodeEffort, page)
}

// sweep hands all entities of a partition over, page by page. What is changed meanwhile moves to the end, where it is met
// again: nothing is missed.
func sweep[T any](ctx context.Context, db *DB, pk string, decode func([]byte, *T) error, page func([]T) error) error {
	s := span{table: entitiesMaster, index: entitiesByType, pk: pk, single: true}
	for {
		var found []T
		next, err := db.query(ctx, s, func(item []byte) (bool, error) {
			var of T
			err := decode(item, &of)
			found = append(found, of)
			return true, err
		})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			if err := page(found); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		s.start = next
	}
}
