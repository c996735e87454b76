package entities

import (
	"context"
	"encoding/json"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
)

// CountLeftOut reads the entries that count what indexes leave out. Each entity has its own, so that no two writers meet there.
//
// Index: index_lookup, eventually consistent. Key: _scope_index_name = <scope>:~left-out. Cost: 1 Query per started megabyte, of some
// 3,000 entities; at most 4.
func (db Store) CountLeftOut(ctx context.Context, scope string) (map[string]entity.LeftOut, error) {
	all := map[string]entity.LeftOut{}
	s := dynamo.Span{Table: dynamo.IndexEntries, Index: dynamo.IndexLookup, PK: keys.ScopeIndexName(scope, entity.LeftOutIndex), Limit: entity.MaxLeftOutCounted}
	next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var r entryRecord
		if err := decodeEntry(item, &r); err != nil {
			return false, err
		}
		for name, of := range r.Attributes {
			number, _ := of.(json.Number)
			n, err := number.Int64()
			if err != nil {
				return false, err
			}
			left := all[name]
			left.Values, left.Entities = left.Values+int(n), left.Entities+1
			if len(left.Examples) < entity.MaxLeftOutExamples {
				left.Examples = append(left.Examples, r.ID)
			}
			all[name] = left
		}
		return true, nil
	})
	if next != nil {
		for name, left := range all {
			left.More = true
			all[name] = left
		}
	}
	return all, err
}
