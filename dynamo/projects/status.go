package projects

import (
	"context"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// ListItems lists the items of a status, or status after status, shard after shard. Entries which the items do not have any
// more are left out, and pages stay full. While a page lies in one shard that is one Query; where a shard ends, the next ones
// are read side by side, more and more of them.
//
// Whether anything follows a page of 100, 200 … items is told by the index alone: looking at the item would be one more batch.
//
// Index: index_lookup, eventually consistent. Key: _scope_index_name = <project>:status~<shard> AND
// begins_with(_index_key, <status>:<shard>:), for one shard or several; then the items as in ItemsByID.
// Cost: 1 Query, 1 per shard where shards end, and ⌈n/100⌉ BatchGetItem.
func (db Store) ListItems(ctx context.Context, id project.ID, status project.Status, w page.Window) (page.Slice[project.Item], error) {
	return listShards(ctx, db, statusLists(id, status), w)
}

// statusLists are the lists of items by status: those of one status, or of one after another.
func statusLists(id project.ID, status project.Status) sharded[project.Item] {
	statuses := project.Statuses
	if status != "" {
		statuses = []project.Status{status}
	}
	s := sharded[project.Item]{
		split: SplitPosition,
		start: func(pk, key, item string) dynamo.Attrs { return StatusStart(id, pk, key, item) },
		id:    func(row entryRow) string { return row.id },
		want: func(row entryRow, into *project.Item) dynamo.Want {
			return WantItem(project.ItemID{Project: id, ID: row.id}, into)
		},
		position: statusPosition,
	}
	for _, status := range statuses {
		for shard := range keys.Shards {
			low, high := keys.StatusRange(string(status), shard)
			s.spans = append(s.spans, shardSpan(id, keys.StatusIndex, shard, low, high))
		}
	}
	return s
}

// statusPosition is where an item stands in the lists of its project.
func statusPosition(i project.Item) string {
	_, key := StatusEntry(i)
	return key + ":" + i.ID
}

// SplitPosition returns what a position in a list by status was made of.
func SplitPosition(p string) (key, item string) {
	at := strings.LastIndexByte(p, ':')
	return p[:max(at, 0)], p[at+1:]
}

// StatusStart is the exclusive start key at an entry.
func StatusStart(of project.ID, pk, key, item string) dynamo.Attrs {
	name := keys.IndexName(keys.StatusIndex, keys.Shard(item))
	start := dynamo.IndexEntries.Key(entities.IndexEntryKey(ItemID(project.ItemID{Project: of, ID: item}), name, key))
	start["_scope_index_name"], start["_index_key"] = dynamo.Str(pk), dynamo.Str(key)
	return start
}
