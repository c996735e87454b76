package filetag

import (
	"context"
	"errors"
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
	q, err := s.query(ctx, Query{Begin: r.Begin, Author: r.Author})
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	return s.Store.Search(ctx, q, w, s.check())
}

// SearchItems lists items that carry such a tag, each once, by the first of their tags. See [Service.Search].
func (s *Service) SearchItems(ctx context.Context, r Search, w page.Window) (page.Slice[ItemTag], error) {
	q, err := s.query(ctx, Query{Begin: r.Begin, Author: r.Author})
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	switch {
	case q.Author != "":
		return s.Store.Search(ctx, q, w, s.firstOfAuthor(q))
	case w.From == "" && !w.Backward:
		return s.Store.Search(ctx, q, w, s.firstSeen())
	default:
		q.Items = true
		return s.Store.Search(ctx, q, w, s.firstOnItem(q))
	}
}

// keep says which tags of a search count.
type keep = func(context.Context, []Entry) ([]ItemTag, error)

// firstOfAuthor keeps of an author's tags on an item the first one: the set knows.
func (s *Service) firstOfAuthor(q Query) keep {
	return s.checked(func(t ItemTag, set Set) bool {
		i := slices.IndexFunc(set.Tags, func(other Tag) bool {
			return strings.HasPrefix(other.Key, q.Begin) && (q.Own || set.Everybody(other))
		})
		return i >= 0 && set.Tags[i].Key == t.Key
	})
}

// firstSeen keeps the first tag on each item in a search that begins with the first of all tags.
func (s *Service) firstSeen() keep {
	seen := map[score.ItemRef]bool{}
	return s.checked(func(t ItemTag, _ Set) bool {
		again := seen[t.Item.ItemRef]
		seen[t.Item.ItemRef] = true
		return !again
	})
}

// firstOnItem keeps the first tag on each item. Among an author's own the set knows which that is, among those of all authors the index.
func (s *Service) firstOnItem(q Query) keep {
	candidates := s.firstOfAuthor(q)
	firsts := map[score.ItemRef]Entry{}
	return func(ctx context.Context, entries []Entry) ([]ItemTag, error) {
		tags, err := candidates(ctx, entries)
		if err != nil {
			return nil, err
		}
		var items []score.ItemRef
		for _, t := range tags {
			items = asked(firsts, items, t.Item.ItemRef)
		}
		found, errs := s.Store.FirstTags(ctx, q.Begin, items)
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		for i, item := range items {
			firsts[item] = found[i]
		}
		return slices.DeleteFunc(tags, func(t ItemTag) bool {
			e := firsts[t.Item.ItemRef]
			return e.Author != t.Author || e.Value != t.Key
		}), nil
	}
}

// WithTag asks for one page of the items on which an author has put a tag.
type WithTag struct {
	Tag    tag.ID
	Window page.Window
}

// ListWithTag lists the items on which each author has put a tag, as far as the viewer may see it, in the order of the requests.
func (s *Service) ListWithTag(ctx context.Context, r WithTag) (page.Slice[ItemTag], error) {
	q, err := s.query(ctx, Query{Begin: r.Tag.Key, Exact: true, Author: r.Tag.Author})
	if err != nil {
		return page.Slice[ItemTag]{}, err
	}
	return s.Store.Search(ctx, q, r.Window, s.check())
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
func (s *Service) query(ctx context.Context, q Query) (Query, error) {
	if q.Author != "" {
		q.Own = viewer.From(ctx).Is(q.Author)
		return q, nil // an author's tags are in partitions of their own
	}
	layout, err := s.currentLayout()
	q.Layouts = layout.shown()
	return q, err
}

// Values returns the first values that begin so, in order, with how often they are used, to complete what somebody types: of the tags that
// everybody may see, or of an author as far as the viewer may see them. The counts follow a change of who may read an item
// before that is acknowledged, as far as half of its time allows, or else within a minute. While tags are being spread over more
// shards one that moves may be counted twice.
func (s *Service) Values(ctx context.Context, r Search, limit int) ([]ValueCount, error) {
	if limit < 1 || limit > MaxValues {
		return nil, fault.Invalidf("first", "first must be 1 to %d", MaxValues)
	}
	q, err := s.query(ctx, Query{Begin: r.Begin, Author: r.Author})
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
