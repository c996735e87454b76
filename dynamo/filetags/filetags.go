// Package filetags keeps the tags on items, the rows by which they are searched, and how many there are.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [Store].
package filetags

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
)

// Store keeps tags on items in the table tags. All that an author has put on an item is one row, with the item as its partition; it is
// the truth. Beside it are the document's rows, by which tags are searched, and rows that count: they change in the same
// transaction, and what they say is checked against the truth. See docs/decisions/0027.
type Store struct{ *dynamo.DB }

var _ filetag.Store = Store{}

// FindSets reads what authors have put on items.
//
// Index: primary. Key: tagId = #<file> AND valueHash = <author>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) FindSets(ctx context.Context, of []filetag.Key) ([]filetag.Set, []error) {
	sets, wants := make([]filetag.Set, len(of)), make([]dynamo.Want, len(of))
	for i, k := range of {
		sets[i].Key = k
		wants[i] = dynamo.Want{Table: dynamo.TagsTable, Key: tagSetKey(k), Decode: func(item dynamo.Item) error {
			err := decodeTagSet(item, &sets[i])
			if sets[i].Item.Owner != k.Item.Owner { // a row knows its item by an id that anybody can claim for his own
				sets[i] = filetag.Set{Key: k}
			}
			return err
		}}
	}
	return sets, dynamo.OrNone(db.BatchGet(ctx, wants))
}

// ListSets reads what all authors have put on each item, by author, concurrently within the bound.
//
// Index: primary. Key: tagId = #<file>, or ~public#<file> for what others may see; for a page with valueHash from that of an author on.
// Cost: 1 Query per item, one more per started megabyte.
func (db Store) ListSets(ctx context.Context, requests []filetag.SetsRequest) ([][]filetag.Set, []error) {
	lists := make([][]filetag.Set, len(requests))
	errs := db.Each(len(requests), func(i int) error {
		r := requests[i]
		s := dynamo.Span{Table: dynamo.TagsTable, PK: keys.FileID(string(r.Item.ID)), Limit: r.Limit, Backward: r.Backward}
		if r.Public {
			s.PK = keys.PublicFileID(string(r.Item.ID))
		}
		switch {
		case r.From == "":
		case r.Behind:
			s.Start = dynamo.TagsTable.Key(dynamo.Key{PK: s.PK, SK: string(r.From)})
		case r.Backward:
			s.High = string(r.From)
		default:
			s.Low = string(r.From)
		}
		_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var one filetag.Set
			err := decodeTagSet(item, &one)
			lists[i] = append(lists[i], one)
			return true, err
		})
		return err
	})
	return lists, dynamo.Errors(errs)
}

// Tallies reads how many tags there are on the items of sets.
//
// Index: primary. Key: tagId = ~set#<owner>#<set> AND valueHash = <author>, or ~ for everybody. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) Tallies(ctx context.Context, of []filetag.TallyKey) ([]filetag.Tally, []error) {
	tallies, wants := make([]filetag.Tally, len(of)), make([]dynamo.Want, len(of))
	for i, k := range of {
		wants[i] = dynamo.Want{Table: dynamo.TagsTable, Key: tallyKey(k), Decode: func(item dynamo.Item) error {
			var t tagTally
			err := decodeTally(item, &t)
			tallies[i] = t.Tally
			return err
		}}
	}
	return tallies, dynamo.OrNone(db.BatchGet(ctx, wants))
}
