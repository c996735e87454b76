package projects

import (
	"context"
	"errors"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// An effort that awaits a review has one row for that. By its primary key it is among those of its author, in the order in which they were
// finished; by the index it is among those of its category in a shard of the project.

// ReviewKey is the primary key of the row of an effort that awaits a review.
func ReviewKey(e project.Effort) dynamo.Key {
	author := UserIn(e.Project, e.User)
	return dynamo.Key{PK: keys.SubjectKey(author.Scope, author.Type, author.ID), SK: keys.PredicateKey("review", e.FinishedAt.UnixMilli(), EffortType, e.ID)}
}

// ReviewRow is that row.
func ReviewRow(e project.Effort) dynamo.Attrs {
	key := ReviewKey(e)
	row := entities.IndexRow(EffortID(e.EffortID), keys.IndexName(keys.ReviewIndex, keys.ReviewShard(e.ID)), reviewIndexKey(e), nil)
	row["_subject_key"], row["_unique_key"] = dynamo.Str(key.PK), dynamo.Str(key.SK)
	return row
}

func reviewIndexKey(e project.Effort) string {
	return keys.ReviewKey(keys.ReviewShard(e.ID), e.Category, e.FinishedAt)
}

// ListToReview lists efforts that await a review: those of an author, the oldest first, or those of all others than one, shard after shard, in each
// by category and then the oldest first. Entries of efforts that await none any more are left out, and pages stay full.
//
// Index: of all efforts index_lookup, eventually consistent. Key: _scope_index_name = <project>:review~<shard> AND
// begins_with(_index_key, <shard>:<category>:), for one shard or several. Of an author: primary. Key: _subject_key = <project>:User:<user> AND
// begins_with(_unique_key, review:). Then the efforts as in EffortsByID.
// Cost: 1 Query, 1 per shard (4) where shards end, and ⌈n/100⌉ BatchGetItem; of an author and a category one more per 100 to 500 efforts of others.
func (db Store) ListToReview(ctx context.Context, r project.ReviewsRequest) (page.Slice[project.Effort], error) {
	switch r.Author {
	case "":
		return listShards(ctx, db, reviewLists(r), r.Window)
	case r.Except:
		return page.Slice[project.Effort]{}, nil
	}
	s := dynamo.Span{Table: dynamo.IndexEntries, PK: ReviewKey(project.Effort{EffortID: project.EffortID{Project: r.Project}, User: r.Author}).PK}
	s.Low, s.High = dynamo.Prefixed("review:")
	lists := dynamo.ManyLists[entryRow, project.Effort]{
		DB: db.DB,
		Want: func(_ int, row entryRow, into *project.Effort) dynamo.Want {
			return WantEffort(project.EffortID{Project: r.Project, ID: row.id}, into)
		},
		Counts:   func(_ int, e project.Effort) bool { return e.AwaitsReview() },
		Position: func(e project.Effort) string { return timed(e.FinishedAt.UnixMilli(), e.ID) },
	}
	slices, errs := lists.Read(ctx, []page.Window{r.Window}, func(int) dynamo.Listing[entryRow] {
		return dynamo.Listing[entryRow]{
			Span: s, Decode: decodeEntryRow,
			Skips:   func(row entryRow) bool { return r.Category != "" && !within(row, r.Category) },
			SortKey: func(p string) string { at, id := parseTimed(p); return keys.PredicateKey("review", at, EffortType, id) },
		}
	})
	if err := errors.Join(errs...); err != nil {
		return page.Slice[project.Effort]{}, err
	}
	return slices[0], nil
}

// within reports whether an entry is of a category.
func within(row entryRow, category string) bool {
	low, high := keys.ReviewRange(keys.ReviewShard(row.id), category)
	return low <= row.key && row.key <= high
}

// reviewLists are the lists of efforts to review by shard, from the one on that comes first.
func reviewLists(r project.ReviewsRequest) sharded[project.Effort] {
	except := ReviewKey(project.Effort{EffortID: project.EffortID{Project: r.Project}, User: r.Except}).PK
	s := sharded[project.Effort]{
		skips: func(row entryRow) bool { return row.subject == except },
		split: func(position string) (key, id string) { key, id, _ = strings.Cut(position, "\n"); return key, id },
		start: func(pk, key, id string) dynamo.Attrs {
			subject, unique, _ := strings.Cut(id, "\n")
			start := dynamo.IndexEntries.Key(dynamo.Key{PK: subject, SK: unique})
			start["_scope_index_name"], start["_index_key"] = dynamo.Str(pk), dynamo.Str(key)
			return start
		},
		id: func(row entryRow) string { return row.subject + "\n" + row.unique },
		want: func(row entryRow, into *project.Effort) dynamo.Want {
			return WantEffort(project.EffortID{Project: r.Project, ID: row.id}, into)
		},
		position: func(e project.Effort) string {
			if !e.AwaitsReview() {
				return ""
			}
			key := ReviewKey(e)
			return reviewIndexKey(e) + "\n" + key.PK + "\n" + key.SK
		},
	}
	for n := range keys.ReviewShards {
		shard := (r.Begin + n) % keys.ReviewShards
		low, high := keys.ReviewRange(shard, r.Category)
		s.spans = append(s.spans, shardSpan(r.Project, keys.ReviewIndex, shard, low, high))
	}
	return s
}
