package filetag

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

// Search says which tags to look for.
type Search struct {
	Begin  string // what they begin with, as [Begin] returns it
	Author UserID // whose; "" for those that everybody may see
}

// Search lists tags that the viewer may see, ordered by value, item and author. It is eventually consistent: a new tag may be missing, but
// no tag is shown that was taken away, nor one on an item that the viewer may no longer read. Where much has to be left
// out a page may be short: then More tells that there may be more.
func (s *Service) Search(ctx context.Context, r Search, w page.Window) (page.Slice[ItemTag], error) {
	q, err := s.query(Query{Begin: r.Begin, Author: r.Author})
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	return s.Store.Search(ctx, q, w, s.check)
}

// SearchItems lists items that carry such a tag, each once, by the first of their tags. See [Service.Search].
func (s *Service) SearchItems(ctx context.Context, r Search, w page.Window) (page.Slice[ItemTag], error) {
	q, err := s.query(Query{Begin: r.Begin, Author: r.Author})
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	return s.Store.Search(ctx, q, w, func(ctx context.Context, entries []Entry) ([]ItemTag, error) {
		tags, err := s.check(ctx, entries)
		if err != nil {
			return nil, err
		}
		return s.firstOfItems(ctx, q, tags)
	})
}

// WithTag asks for one page of the items on which an author has put a tag.
type WithTag struct {
	Tag    tag.ID
	Window page.Window
}

// ListWithTag lists the items on which each author has put a tag, as far as the viewer may see it, in the order of the requests.
func (s *Service) ListWithTag(ctx context.Context, r WithTag) (page.Slice[ItemTag], error) {
	q, err := s.query(Query{Begin: r.Tag.Key, Exact: true, Author: r.Tag.Author})
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	return s.Store.Search(ctx, q, r.Window, s.check)
}

// FindWord returns a word that its author has put on an item; NotFound when the viewer sees it on none.
func (s *Service) FindWord(ctx context.Context, id tag.ID) (tag.Tag, error) {
	found, err := s.ListWithTag(ctx, WithTag{Tag: id, Window: page.Window{Limit: 1}})
	if err == nil && len(found.Items) == 0 {
		err = fault.New(fault.NotFound, "there is no such tag")
	}
	if err != nil {
		return tag.Tag{}, err
	}
	return found.Items[0].Word(), nil
}

// query completes a query.
func (s *Service) query(q Query) (Query, error) {
	if q.Author != "" {
		return q, nil // an author's tags are in one partition
	}
	layout, err := s.currentLayout()
	q.Layouts = layout.shown()
	return q, err
}

// firstOfItems leaves out tags of items that come with an earlier one.
func (s *Service) firstOfItems(ctx context.Context, q Query, tags []ItemTag) ([]ItemTag, error) {
	seen := map[score.ItemRef]int{}
	var requests []SetsRequest
	var keys []Key
	for _, t := range tags {
		if _, is := seen[t.Item.ItemRef]; !is {
			seen[t.Item.ItemRef] = len(requests)
			requests, keys = append(requests, SetsRequest{Item: t.Item.ItemRef}), append(keys, Key{t.Item.ItemRef, q.Author})
		}
	}
	var lists [][]Set
	var errs []error
	if q.Author == "" {
		lists, errs = s.Store.ListSets(ctx, requests)
	} else {
		var sets []Set
		sets, errs = s.Store.FindSets(ctx, keys)
		for i := range sets {
			lists = append(lists, sets[i:i+1])
		}
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(tags, func(t ItemTag) bool {
		for _, set := range lists[seen[t.Item.ItemRef]] {
			if earlier, is := set.first(ctx, q); is && cmp.Or(strings.Compare(earlier.Key, t.Key), cmp.Compare(set.Author, t.Author)) < 0 {
				return true
			}
		}
		return false
	}), nil
}

// first returns the first tag of the set that the query finds for the viewer.
func (s Set) first(ctx context.Context, q Query) (Tag, bool) {
	own := q.Author != "" && viewer.From(ctx).Is(s.Author)
	for _, t := range s.Tags {
		if strings.HasPrefix(t.Key, q.Begin) && (own || s.Everybody(t) || q.Author != "" && t.Public) {
			return t, true
		}
	}
	return Tag{}, false
}

// Values returns the first values that begin so, in order, with how often they are used, to complete what somebody types: of the tags that
// everybody may see, or of an author as far as the viewer may see them. The counts follow a change of who may read an item
// before that is acknowledged; or within a minute, if a server is lost meanwhile.
func (s *Service) Values(ctx context.Context, r Search, limit int) ([]ValueCount, error) {
	if limit < 1 || limit > MaxValues {
		return nil, fault.Invalidf("first", "first must be 1 to %d", MaxValues)
	}
	q, err := s.query(Query{Begin: r.Begin, Author: r.Author, Public: r.Author != "" && !viewer.From(ctx).Is(r.Author)})
	if err != nil {
		return nil, err
	}
	return s.Store.Values(ctx, q, limit)
}

// Tagged reports whether the items of each set carry a tag that the viewer may see: of anyone, where there is no author, or of the author.
// For the counts by which it knows see [Service.Values].
func (s *Service) Tagged(ctx context.Context, keys []TallyKey) ([]bool, []error) {
	me := viewer.From(ctx).UserID
	all := keys
	own := map[int]int{} // where the viewer's own tags are counted
	for i, key := range keys {
		if key.Author == "" && me != "" {
			own[i], all = len(all), append(all[:len(all):len(all)], TallyKey{key.Set, me})
		}
	}
	tallies, errs := s.Store.Tallies(ctx, all)
	tagged := make([]bool, len(keys))
	for i, key := range keys {
		tagged[i] = tallies[i].Public > 0
		if key.Author == "" || key.Author == me {
			tagged[i] = tallies[i].Tags > 0
		}
		if at, is := own[i]; is {
			tagged[i] = tagged[i] || tallies[at].Tags > 0
			if errs != nil && errs[i] == nil {
				errs[i] = errs[at]
			}
		}
	}
	if errs != nil {
		errs = errs[:len(keys)]
	}
	return tagged, errs
}
