package filetags

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
)

// EachSet shows all sets of an author that have tags, page by page, by item.
//
// Index: tags_by_author, eventually consistent. Key: setAuthor = <author>. Index: primary. Key: tagId = #<file> AND valueHash = <author> of each. Cost: 1
// Query per started megabyte of keys, which are those of some 7,000 sets, and ⌈n/100⌉ BatchGetItem for the n of each Query.
func (db Store) EachSet(ctx context.Context, author filetag.UserID, page func([]filetag.Set) error) error {
	s := dynamo.Span{Table: dynamo.TagsTable, Index: dynamo.TagsByAuthor, PK: string(author), Keys: true, Single: true}
	for {
		var found []dynamo.Key
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(item, dynamo.TagsTable)
			found = append(found, key)
			return true, err
		})
		if err != nil {
			return err
		}
		for some := range slices.Chunk(found, dynamo.MaxBatchGet) {
			sets, err := db.sets(ctx, author, some)
			if err == nil && len(sets) > 0 {
				err = page(sets)
			}
			if err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		s.Start = next
	}
}

// sets returns those of the sets that are there, are the author's and have tags.
func (db Store) sets(ctx context.Context, author filetag.UserID, keys []dynamo.Key) ([]filetag.Set, error) {
	sets, wants := make([]filetag.Set, len(keys)), make([]dynamo.Want, len(keys))
	for i, key := range keys {
		wants[i] = dynamo.Want{Table: dynamo.TagsTable, Key: key, Decode: func(item dynamo.Item) error { return decodeTagSet(item, &sets[i]) }}
	}
	if err := errors.Join(dynamo.OrNone(db.BatchGet(ctx, wants))...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(sets, func(s filetag.Set) bool { return s.Author != author || len(s.Tags) == 0 }), nil
}

// Indexing is what came of giving sets their place in the index of their author.
type Indexing struct {
	Sets    int // that there are
	Indexed int // of them, which had no place
	Unread  dynamo.Unread
}

// IndexSets gives sets their place in the index of their author, where they lack it: an earlier version of Taggie put them. It can be run again, beside
// servers. A server of an earlier version takes the place away with each change: run it when all servers are updated.
//
// Index: primary. Key: all rows, eventually consistent; tagId = #<file> AND valueHash = <author> on condition that it is there. Cost: 1 Scan per
// megabyte of the table, with a pause after each page; 1 TransactWriteItems of 1 row for each set without a place, concurrently within the bound.
func (db Store) IndexSets(ctx context.Context) (done Indexing, err error) {
	names := []string{dynamo.TagsTable.PK, dynamo.TagsTable.SK, dynamo.TagsByAuthor.PK}
	err = dynamo.WalkAll(ctx, db.DB, dynamo.TagsTable, names, &done.Unread, func(key dynamo.Key, item dynamo.Item, without *dynamo.Key) (bool, error) {
		if !strings.HasPrefix(key.PK, keys.FileIDPrefix) {
			return false, nil
		}
		done.Sets++
		*without = key
		return dynamo.TextOf(item, dynamo.TagsByAuthor.PK) != key.SK, nil
	}, func(without []dynamo.Key) error {
		for i, err := range db.Each(len(without), func(i int) error { return db.indexSet(ctx, without[i]) }) {
			if err == nil {
				done.Indexed++
			} else if err = done.Unread.Note(ctx, dynamo.TagsTable, without[i], err); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// indexSet gives a set its place; one that is gone needs none.
func (db Store) indexSet(ctx context.Context, key dynamo.Key) error {
	return dynamo.UnlessMoved(db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.TagsTable, Key: key, Update: "SET #of = :author", Condition: "attribute_exists(#id)",
		Names:  map[string]string{"#of": dynamo.TagsByAuthor.PK, "#id": dynamo.TagsTable.PK},
		Values: dynamo.Attrs{":author": dynamo.Str(key.SK)}, Failed: dynamo.Moved,
	}}, idempotency.Key{}))
}
