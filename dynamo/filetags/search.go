package filetags

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// maxSearchRounds bounds how often each partition of a search is asked for more. A page that is not full then is returned as it is.
const maxSearchRounds = 5

// tagSpans returns the partitions that a query has to look at, those of a layout together.
func tagSpans(q filetag.Query) (layouts [][]dynamo.Span) {
	index, id, own, public := dynamo.TagsByValue, keys.QueryID, keys.OwnQueryID, keys.PublicQueryID
	if utf8.RuneCountInString(q.Begin) < 2 && !q.Exact {
		index, id, own, public = dynamo.TagsByLetter, keys.LetterID, keys.OwnLetterID, keys.PublicLetterID
	}
	s := dynamo.Span{Table: dynamo.TagsTable, Index: index}
	s.Low, s.High = dynamo.Prefixed(q.Begin)
	if q.Exact {
		s.Low, s.High = dynamo.Prefixed(keys.ExactOrder(q.Begin))
	}
	if q.Project != "" {
		s.Index, s.PK = dynamo.TagsByValue, keys.ProjectTagsID(string(q.Project))
		return [][]dynamo.Span{{s}}
	}
	if q.Author != "" {
		s.PK = id(q.Begin, string(q.Author))
		all := []dynamo.Span{s}
		if q.Own {
			s.PK = own(q.Begin, string(q.Author))
			all = append(all, s)
		}
		return [][]dynamo.Span{all}
	}
	for _, shards := range q.Layouts {
		var all []dynamo.Span
		for of := range shards {
			s.PK = public(q.Begin, of, shards)
			all = append(all, s)
		}
		layouts = append(layouts, all)
	}
	return layouts
}

// Search merges the shards in order, and reads on while what is found does not count, up to five times: then the page may be short. It
// reads again what lies behind the last row that counts for sure, which is why a page goes on from any row.
//
// Index: tags_by_value, for one character tags_by_letter. Key: queryId = <prefix>[#~<nn>], or <prefix>#<author> and for the author
// <prefix>#<author>#~, AND begins_with(valueOrder, <value>); letterId in the place of queryId for one character; in a project always
// queryId = ~in#<project>. Cost: 1 Query per shard, all at once, 1 for a project or the tags of an author, 2 for the author; up to four times more where much does not count, and the same
// for the other side of a page if it is probed.
func (db Store) Search(ctx context.Context, q filetag.Query, w page.Window, keep func(context.Context, []filetag.Entry) ([]filetag.ItemTag, error)) (page.Slice[filetag.ItemTag], error) {
	s := tagSearch{db: db, query: q, keep: keep}
	found, until, err := s.walk(ctx, w.From, w.Backward, false, w.Limit+1)
	if err != nil {
		return page.Slice[filetag.ItemTag]{}, err
	}
	slice := page.Fill(w, found, tagPosition)
	if until != "" && !slice.More {
		slice.More, slice.Until = true, until
	}
	if slice.Other = w.From != ""; slice.Other && w.Probe {
		found, until, err = s.walk(ctx, w.From, !w.Backward, true, 1)
		slice.Other = len(found) > 0 || until != ""
	}
	return slice, err
}

func tagPosition(t filetag.ItemTag) string {
	return keys.ValueOrder(t.Key, string(t.Item.ID), string(t.Author))
}

// tagSearch looks for tags.
type tagSearch struct {
	db    Store
	query filetag.Query
	keep  func(context.Context, []filetag.Entry) ([]filetag.ItemTag, error)
}

// walk returns up to so many tags that count, from a position on. until is where it gave up, "" when it did not.
func (s tagSearch) walk(ctx context.Context, from string, backward, inclusive bool, want int) (kept []filetag.ItemTag, until string, err error) {
	for round := range maxSearchRounds {
		limit := want
		if round > 0 && !s.query.Items {
			limit = dynamo.Further(round-1, want-len(kept))
		}
		rows, end, err := s.read(ctx, from, backward, inclusive, limit)
		if err != nil {
			return nil, "", err
		}
		if len(rows) > 0 {
			entries := make([]filetag.Entry, len(rows))
			for i, r := range rows {
				entries[i] = r.Entry
			}
			counted, err := s.keep(ctx, entries)
			if err != nil {
				return nil, "", err
			}
			kept = append(kept, counted...)
			from, inclusive = rows[len(rows)-1].Order, false
		}
		if end || len(kept) >= want {
			return kept[:min(len(kept), want)], "", nil
		}
	}
	return kept, from, nil
}

// read returns the next rows of all shards in order, as far as it is sure that none is missing among them; end says that there are no
// more.
func (s tagSearch) read(ctx context.Context, from string, backward, inclusive bool, limit int) (rows []foundTag, end bool, err error) {
	compare := func(a, b string) int { return strings.Compare(a, b) }
	if backward {
		compare = func(a, b string) int { return strings.Compare(b, a) }
	}
	end = true
	sure := "" // up to where all shards were read, if some have more
	for _, spans := range tagSpans(s.query) {
		found, more := make([][]foundTag, len(spans)), make([]bool, len(spans))
		errs := s.db.Each(len(spans), func(i int) (err error) {
			found[i], more[i], err = s.readShard(ctx, spans[i], from, backward, inclusive, share(limit, len(spans)))
			return err
		})
		if err := errors.Join(errs...); err != nil {
			return nil, false, err
		}
		for i := range spans {
			rows = append(rows, found[i]...)
			if last := len(found[i]) - 1; more[i] && last >= 0 && (sure == "" || compare(found[i][last].Order, sure) < 0) {
				sure = found[i][last].Order
			}
			end = end && !more[i]
		}
	}
	slices.SortFunc(rows, func(a, b foundTag) int { return compare(a.Order, b.Order) })
	rows = slices.CompactFunc(rows, func(a, b foundTag) bool { return a.Order == b.Order }) // it may move between layouts
	if sure != "" {
		n, _ := slices.BinarySearchFunc(rows, sure, func(r foundTag, sure string) int { return compare(r.Order, sure) })
		rows = rows[:n+1]
	}
	if len(rows) > limit {
		rows, end = rows[:limit], false
	}
	return rows, end, nil
}

// share is how many rows are read of each of the shards where so many are wanted of all: what falls to one, and three deviations more.
// Where that was too few after all, the next round goes on.
func share(wanted, shards int) int {
	if shards == 1 {
		return wanted
	}
	mean := float64(wanted) / float64(shards)
	return min(wanted, int(math.Ceil(mean+3*math.Sqrt(mean)))+1)
}

// readShard reads rows of one partition. The row at from itself is read and left out: a row that is gone meanwhile can be no start.
func (s tagSearch) readShard(ctx context.Context, of dynamo.Span, from string, backward, inclusive bool, limit int) (rows []foundTag, more bool, err error) {
	of.Backward, of.Limit = backward, limit+1
	switch {
	case from == "":
		of.Limit = limit
	case backward:
		of.High = from
	default:
		of.Low = from
	}
	next, err := s.db.Query(ctx, of, func(item dynamo.Item) (bool, error) {
		var r foundTag
		err := decodeTagRow(item, &r)
		if err == nil && (inclusive || r.Order != from) {
			rows = append(rows, r)
		}
		return true, err
	})
	return rows[:min(len(rows), limit)], next != nil || len(rows) > limit, err
}

// Values merges the counts of all shards.
//
// Index: primary. Key: tagId = ~value#<letter>[#~<nn>], or ~value#<letter>#<author> and for the author ~value#<letter>#<author>#~,
// AND begins_with(valueHash, <value>). Cost: 1 Query per shard, all at once, 1 for the values of an author, 2 for the author.
func (db Store) Values(ctx context.Context, q filetag.Query, limit int) ([]filetag.ValueCount, error) {
	counts := map[string]filetag.ValueCount{}
	sure := ""
	for _, partitions := range valuePartitions(q) {
		found, until := make([][]filetag.ValueCount, len(partitions)), make([]string, len(partitions))
		errs := db.Each(len(partitions), func(i int) (err error) {
			found[i], until[i], err = db.values(ctx, partitions[i], q, limit)
			return err
		})
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		for i := range partitions {
			for _, c := range found[i] {
				c.Count += counts[c.Key].Count
				counts[c.Key] = c
			}
			if until[i] != "" && (sure == "" || until[i] < sure) {
				sure = until[i]
			}
		}
	}
	var all []filetag.ValueCount
	for _, c := range counts {
		if sure == "" || c.Key <= sure {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b filetag.ValueCount) int { return strings.Compare(a.Key, b.Key) })
	return all[:min(limit, len(all))], nil
}

// FirstTags reads in the index which of the tags on a file comes first.
//
// Index: tags_by_file. Key: fileId = <file> AND begins_with(valueOrder, <value>). Cost: 1 Query of 1 row per item, concurrently within
// the bound.
func (db Store) FirstTags(ctx context.Context, begin string, items []score.ItemRef) ([]filetag.Entry, []error) {
	entries := make([]filetag.Entry, len(items))
	s := dynamo.Span{Table: dynamo.TagsTable, Index: dynamo.TagsByFile, Limit: 1}
	s.Low, s.High = dynamo.Prefixed(begin)
	errs := db.Each(len(items), func(i int) error {
		of := s
		of.PK = string(items[i].ID)
		_, err := db.Query(ctx, of, func(item dynamo.Item) (bool, error) {
			var first foundTag
			err := decodeTagRow(item, &first)
			entries[i] = first.Entry
			return false, err
		})
		return err
	})
	return entries, dynamo.Errors(errs)
}

func valuePartitions(q filetag.Query) (layouts [][]string) {
	if q.Author != "" {
		all := []string{keys.TagValuesID(q.Begin, string(q.Author))}
		if q.Own {
			all = append(all, keys.OwnTagValuesID(q.Begin, string(q.Author)))
		}
		return [][]string{all}
	}
	for _, shards := range q.Layouts {
		var all []string
		for of := range shards {
			all = append(all, keys.PublicTagValuesID(q.Begin, of, shards))
		}
		layouts = append(layouts, all)
	}
	return layouts
}

// values reads the first values of a partition that are used, and up to where, "" for its end. Those that are used no more
// are few: they are removed.
func (db Store) values(ctx context.Context, partition string, q filetag.Query, limit int) (counts []filetag.ValueCount, until string, err error) {
	s := dynamo.Span{Table: dynamo.TagsTable, PK: partition, Limit: limit}
	s.Low, s.High = dynamo.Prefixed(q.Begin)
	for round := range maxSearchRounds {
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var t tagTally
			key, err := dynamo.KeyOf(item, dynamo.TagsTable)
			if err == nil {
				err = decodeTally(item, &t)
			}
			until = key.SK
			if t.Tags > 0 {
				counts = append(counts, filetag.ValueCount{Value: t.value, Key: key.SK, Count: t.Tags})
			}
			return true, err
		})
		if err != nil {
			return nil, "", err
		}
		if next == nil {
			return counts, "", nil
		}
		if len(counts) >= limit {
			break
		}
		s.Start, s.Limit = next, dynamo.Further(round, limit)
	}
	return counts, until, nil
}
