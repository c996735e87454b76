package filetag

import (
	"context"
	"slices"
	"strings"

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
	slices, errs := make([]page.Slice[ItemTag], len(requests)), make([]error, len(requests))
	var keys []Key
	var lists []SetsRequest
	var atKey, atList []int
	for i, r := range requests {
		switch {
		case !r.Item.Allowed(ctx):
			errs[i] = noItem()
		case r.Author != "":
			keys, atKey = append(keys, Key{r.Item.ItemRef, r.Author}), append(atKey, i)
		default:
			lists, atList = append(lists, r.begin().sets()), append(atList, i)
		}
	}
	if len(keys) > 0 {
		sets, failed := s.Store.FindSets(ctx, keys)
		for n, i := range atKey {
			if failed != nil && failed[n] != nil {
				errs[i] = failed[n]
				continue
			}
			slices[i] = requests[i].pageOf(shown(sets[n], requests[i].Item, viewer.From(ctx).UserID))
		}
	}
	if len(lists) > 0 {
		found, failed := s.Store.ListSets(ctx, lists)
		for n, i := range atList {
			if failed != nil && failed[n] != nil {
				errs[i] = failed[n]
				continue
			}
			slices[i], errs[i] = s.listAll(ctx, requests[i], found[n])
		}
	}
	return slices, errs
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

// sets asks for as many sets as may be needed: of others' private ones nothing is shown.
func (w walk) sets() SetsRequest {
	author, _, _ := strings.Cut(w.from, " ")
	return SetsRequest{Item: w.Item.ItemRef, From: UserID(author), Backward: w.backward, Limit: w.limit + 1}
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

// tags returns the tags on the way, of the sets that were read, and of those that follow as long as there are not enough.
func (s *Service) tags(ctx context.Context, w walk, sets []Set) (tags []ItemTag, err error) {
	for request := w.sets(); ; {
		for _, set := range sets {
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
		if len(tags) >= w.limit || len(sets) < request.Limit {
			return tags[:min(len(tags), w.limit)], nil
		}
		request.From, request.Behind, request.Limit = sets[len(sets)-1].Author, true, min(2*request.Limit, page.Max)
		if sets, err = first(s.Store.ListSets(ctx, []SetsRequest{request})); err != nil {
			return nil, err
		}
	}
}

// listAll returns a page of the tags of all authors; the first sets were read.
func (s *Service) listAll(ctx context.Context, r TagsRequest, sets []Set) (page.Slice[ItemTag], error) {
	tags, err := s.tags(ctx, r.begin(), sets)
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	slice := page.Fill(r.Window, tags, position)
	if slice.Other = r.Window.From != ""; slice.Other && r.Window.Probe {
		back := walk{TagsRequest: r, from: r.Window.From, backward: !r.Window.Backward, inclusive: true, limit: 1}
		if sets, err = first(s.Store.ListSets(ctx, []SetsRequest{back.sets()})); err != nil {
			return slice, err
		}
		tags, err = s.tags(ctx, back, sets)
		slice.Other = len(tags) > 0
	}
	return slice, err
}
