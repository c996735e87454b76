package dynamo

import (
	"context"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
)

// FileTags keeps tags on items in the table tags. All that an author has put on an item is one row, with the item as its partition; it is
// the truth. Beside it are the document's rows, by which tags are searched, and rows that count: they change in the same
// transaction, and what they say is checked against the truth. See docs/decisions/0027.
type FileTags struct{ *DB }

var _ filetag.Store = FileTags{}

// FindSets reads what authors have put on items.
//
// Index: primary. Key: tagId = #<file> AND valueHash = <author>. Cost: ⌈n/100⌉ BatchGetItem.
func (db FileTags) FindSets(ctx context.Context, of []filetag.Key) ([]filetag.Set, []error) {
	sets, wants := make([]filetag.Set, len(of)), make([]want, len(of))
	for i, k := range of {
		sets[i].Key = k
		wants[i] = want{tagsTable, tagSetKey(k), func(item []byte) error {
			err := decodeTagSet(item, &sets[i])
			if sets[i].Item.Owner != k.Item.Owner { // a row knows its item by an id that anybody can claim for his own
				sets[i] = filetag.Set{Key: k}
			}
			return err
		}}
	}
	return sets, orNone(db.batchGet(ctx, wants))
}

// orNone takes rows that do not exist for empty ones.
func orNone(errs []error) []error {
	for i, err := range errs {
		if err == errMissing { //nolint:errorlint // batchGet returns it bare
			errs[i] = nil
		}
	}
	return some(errs)
}

// ListSets reads what all authors have put on each item, by author, concurrently within the bound.
//
// Index: primary. Key: tagId = #<file>, or ~public#<file> for what others may see; for a page with valueHash from that of an author on.
// Cost: 1 Query per item, one more per started megabyte.
func (db FileTags) ListSets(ctx context.Context, requests []filetag.SetsRequest) ([][]filetag.Set, []error) {
	lists := make([][]filetag.Set, len(requests))
	errs := db.each(len(requests), func(i int) error {
		r := requests[i]
		s := span{table: tagsTable, pk: keys.FileID(string(r.Item.ID)), limit: r.Limit, backward: r.Backward}
		if r.Public {
			s.pk = keys.PublicFileID(string(r.Item.ID))
		}
		switch {
		case r.From == "":
		case r.Behind:
			s.start = tagsTable.key(rowKey{s.pk, string(r.From)})
		case r.Backward:
			s.high = string(r.From)
		default:
			s.low = string(r.From)
		}
		_, err := db.query(ctx, s, func(item []byte) (bool, error) {
			var one filetag.Set
			err := decodeTagSet(item, &one)
			lists[i] = append(lists[i], one)
			return true, err
		})
		return err
	})
	return lists, some(errs)
}

// Tallies reads how many tags there are on the items of sets.
//
// Index: primary. Key: tagId = ~set#<owner>#<set> AND valueHash = <author>, or ~ for everybody. Cost: ⌈n/100⌉ BatchGetItem.
func (db FileTags) Tallies(ctx context.Context, of []filetag.TallyKey) ([]filetag.Tally, []error) {
	tallies, wants := make([]filetag.Tally, len(of)), make([]want, len(of))
	for i, k := range of {
		wants[i] = want{tagsTable, tallyKey(k), func(item []byte) error {
			var t tagTally
			err := decodeTally(item, &t)
			tallies[i] = t.Tally
			return err
		}}
	}
	return tallies, orNone(db.batchGet(ctx, wants))
}
