package filetag

import (
	"context"
	"slices"
	"strings"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/viewer"
)

// TagsRequest asks for one page of the tags on an item; see [OfItem].
type TagsRequest struct {
	Item   score.ItemRequest
	Author UserID // whose; "" for all authors
	Window page.Window
}

// OfItem asks for tags on an item that was shown to the viewer.
func OfItem(i score.Item, author UserID, w page.Window) TagsRequest {
	return TagsRequest{Item: i.Request(), Author: author, Window: w}
}

// ListTags lists the tags on each item, by author and value, in the order of the requests: the public ones, and the viewer's own. It sees
// every acknowledged write, and the tags of an author as they were at one moment. NotFound for an item that was not shown to the
// viewer.
func (s *Service) ListTags(ctx context.Context, requests []TagsRequest) ([]page.Slice[ItemTag], []error) {
	pages, errs := make([]page.Slice[ItemTag], len(requests)), make([]error, len(requests))
	me := viewer.From(ctx).UserID
	var keys []Key
	var lists []SetsRequest
	var atKey, atList []int
	for i, r := range requests {
		if !r.Item.Allowed(ctx) {
			errs[i] = noItem()
			continue
		}
		author := r.Author
		if author == "" { // the viewer's own are beside what others may see
			lists, atList, author = append(lists, r.begin().sets()), append(atList, i), me
		}
		if author != "" {
			keys, atKey = append(keys, Key{r.Item.ItemRef, author}), append(atKey, i)
		}
	}
	own := make([]Set, len(requests))
	if len(keys) > 0 {
		sets, failed := s.Store.FindSets(ctx, keys)
		for n, i := range atKey {
			own[i] = sets[n]
			if failed != nil {
				errs[i] = failed[n]
			}
		}
	}
	for i, r := range requests {
		if r.Author != "" && errs[i] == nil {
			pages[i] = r.pageOf(shown(own[i], r.Item, me))
		}
	}
	if len(lists) > 0 {
		found, failed := s.Store.ListSets(ctx, lists)
		for n, i := range atList {
			if errs[i] == nil && failed != nil {
				errs[i] = failed[n]
			}
			if errs[i] == nil {
				pages[i], errs[i] = s.listAll(ctx, requests[i], own[i], found[n])
			}
		}
	}
	return pages, errs
}

// position of a tag on its item.
func position(t ItemTag) string { return string(t.Author) + " " + t.Key }

// pageOf cuts a page out of the tags of one author.
func (r TagsRequest) pageOf(all []ItemTag) page.Slice[ItemTag] {
	if r.Window.Backward {
		slices.Reverse(all)
	}
	at := 0
	for at < len(all) && !r.begin().behind(all[at]) {
		at++
	}
	slice := page.Fill(r.Window, slices.Clone(all[at:]), position)
	slice.Other = r.Window.From != "" && (at > 0 || !r.Window.Probe)
	return slice
}

// walk is a way through the tags of an item.
type walk struct {
	TagsRequest
	from      string // a position; "" for the first one of the way
	backward  bool
	inclusive bool // the position itself counts
	limit     int
}

func (r TagsRequest) begin() walk {
	return walk{TagsRequest: r, from: r.Window.From, backward: r.Window.Backward, limit: r.Window.Limit + 1}
}

// sets asks for as many sets as may be needed, and one more, for the viewer's may be among them.
func (w walk) sets() SetsRequest {
	author, _, _ := strings.Cut(w.from, " ")
	return SetsRequest{Item: w.Item.ItemRef, Public: true, From: UserID(author), Backward: w.backward, Limit: w.limit + 1}
}

// among puts the viewer's own set in its place among the sets that were read, which are the last ones or not.
func (r SetsRequest) among(sets []Set, own Set, last bool) []Set {
	if len(own.Tags) == 0 {
		return sets
	}
	compare := func(s Set, author UserID) int {
		if r.Backward {
			return strings.Compare(string(author), string(s.Author))
		}
		return strings.Compare(string(s.Author), string(author))
	}
	at, there := slices.BinarySearchFunc(sets, own.Author, compare)
	switch {
	case there:
		sets[at] = own
	case r.Behind && compare(own, r.From) <= 0, at == len(sets) && !last: // it came before, or comes later
	default:
		sets = slices.Insert(sets, at, own)
	}
	return sets
}

// behind reports whether the tag comes behind the position.
func (w walk) behind(t ItemTag) bool {
	switch at := position(t); {
	case w.from == "" || w.inclusive && at == w.from:
		return true
	case w.backward:
		return at < w.from
	default:
		return at > w.from
	}
}

// tags returns the tags on the way, of the viewer's own set and the others that were read, and of those that follow as long as there are
// not enough.
func (s *Service) tags(ctx context.Context, w walk, own Set, sets []Set) (tags []ItemTag, err error) {
	for request := w.sets(); ; {
		last, next := len(sets) < request.Limit, UserID("")
		if !last {
			next = sets[len(sets)-1].Author
		}
		for _, set := range request.among(sets, own, last) {
			of := shown(set, w.Item, viewer.From(ctx).UserID)
			if w.backward {
				slices.Reverse(of)
			}
			for _, t := range of {
				if w.behind(t) {
					tags = append(tags, t)
				}
			}
		}
		if len(tags) >= w.limit || last {
			return tags[:min(len(tags), w.limit)], nil
		}
		request.From, request.Behind = next, true
		if sets, err = domain.First(s.Store.ListSets(ctx, []SetsRequest{request})); err != nil {
			return nil, err
		}
	}
}

// listAll returns a page of the tags of all authors; the viewer's own set and the first of the others were read.
func (s *Service) listAll(ctx context.Context, r TagsRequest, own Set, sets []Set) (page.Slice[ItemTag], error) {
	tags, err := s.tags(ctx, r.begin(), own, sets)
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	slice := page.Fill(r.Window, tags, position)
	if slice.Other = r.Window.From != ""; slice.Other && r.Window.Probe {
		back := walk{TagsRequest: r, from: r.Window.From, backward: !r.Window.Backward, inclusive: true, limit: 1}
		if sets, err = domain.First(s.Store.ListSets(ctx, []SetsRequest{back.sets()})); err != nil {
			return slice, err
		}
		tags, err = s.tags(ctx, back, own, sets)
		slice.Other = len(tags) > 0
	}
	return slice, err
}
