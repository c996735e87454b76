package filetag

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/viewer"
)

// Everybody may read an item that is a page of a public score, as the score is now: a page of one of its snapshots does not count.
// Who has the id of a limited score may read its items through it, and sees their public tags; but a search does not know who has
// which ids, so that it does not find them, and only their owner puts tags on them.

// pageOf returns the item as a page of a public score that the viewer was shown; false when it is none. Ids of items are unique, and
// who does not own the item does not know to which score it was uploaded: the page tells.
func pageOf(in score.Score, ref score.ItemRef) (score.ItemRequest, bool) {
	if in.Access != score.Public || in.Owner != ref.Owner {
		return score.ItemRequest{}, false
	}
	i := slices.IndexFunc(in.Pages, func(p score.Page) bool { return p.Item == ref.ID })
	if i < 0 {
		return score.ItemRequest{}, false
	}
	return in.Item(in.Pages[i]), true
}

// maxUses is how many uses of an item are looked at to find a score that shows it, besides those that are known to have done so or to be
// about to. An item in more snapshots and scores than this may not be found by everybody after the score that showed it is gone.
const maxUses = 10 * page.Max

// maxUsesOfStranger is how many scores among the first uses of an item are looked at for who does not own it. An item that is hidden
// costs as many calls as one that does not exist, however much it is used.
const maxUsesOfStranger = 100

// stranger reports whether it is another user than the owner of the item who asks; a task is nobody.
func stranger(ctx context.Context, ref score.ItemRef) bool {
	me := viewer.From(ctx).UserID
	return me != "" && me != ref.Owner
}

// shownScores is how many public scores are read at a time to see whether they show an item.
const shownScores = 10

// via returns a public score that has the item as a page: one of the likely ones if it has, otherwise the first one by id; the zero Score for
// none.
func (s *Service) via(ctx context.Context, ref score.ItemRef, likely ...score.ID) (score.Score, error) {
	var refs []score.Ref
	for _, id := range likely {
		if in := (score.Ref{Owner: ref.Owner, ID: id}); id != "" && !slices.Contains(refs, in) {
			refs = append(refs, in)
		}
	}
	if len(refs) > 0 {
		if found, err := s.showing(ctx, ref, refs); err != nil || found.ID != "" {
			return found, err
		}
	}
	w := page.Window{Limit: page.Max}
	for seen := 0; seen < maxUses; {
		uses, err := domain.First(s.Kept.Items.ListUsesOf(ctx, []score.UsesRequest{{Item: ref, Window: w}}))
		if err != nil {
			return score.Score{}, err
		}
		seen += len(uses.Items)
		if refs, err = s.publicOf(ctx, ref, uses.Items); err != nil {
			return score.Score{}, err
		}
		for some := range slices.Chunk(refs, shownScores) {
			if found, err := s.showing(ctx, ref, some); err != nil || found.ID != "" {
				return found, err
			}
		}
		if !uses.More || stranger(ctx, ref) {
			break
		}
		w.From = uses.Positions[len(uses.Positions)-1]
	}
	return score.Score{}, nil
}

// publicOf returns the public scores among the uses of an item.
func (s *Service) publicOf(ctx context.Context, ref score.ItemRef, uses []score.Use) ([]score.Ref, error) {
	var refs []score.Ref
	for _, u := range uses {
		if u.Kind == score.UsedByScore {
			refs = append(refs, score.Ref{Owner: ref.Owner, ID: score.ID(u.By)})
		}
	}
	if stranger(ctx, ref) {
		refs = refs[:min(len(refs), maxUsesOfStranger)]
	}
	if len(refs) == 0 && stranger(ctx, ref) {
		refs = []score.Ref{{Owner: ref.Owner, ID: score.ID(s.NewID())}}
	}
	public, errs := s.Kept.Scores.ArePublic(ctx, refs)
	var shown []score.Ref
	for i, is := range public {
		if errs != nil && errs[i] != nil {
			return nil, errs[i]
		}
		if is {
			shown = append(shown, refs[i])
		}
	}
	return shown, nil
}

// showing returns the first of the scores that is public and has the item as a page, the zero Score for none.
func (s *Service) showing(ctx context.Context, ref score.ItemRef, refs []score.Ref) (score.Score, error) {
	found, errs := s.Kept.Scores.ScoresByID(ctx, refs)
	for i, in := range found {
		if errs != nil && errs[i] != nil {
			if fault.Is(errs[i], fault.NotFound) {
				continue
			}
			return score.Score{}, errs[i]
		}
		if _, is := pageOf(in, ref); is {
			return in, nil
		}
	}
	return score.Score{}, nil
}

// shown returns the tags of a set that a user sees who may read the item.
func shown(set Set, request score.ItemRequest, to UserID) []ItemTag {
	var tags []ItemTag
	for _, t := range set.Tags {
		if t.Public || set.Author == to {
			tags = append(tags, ItemTag{Item: request, Author: set.Author, SetName: set.SetName, Tag: t})
		}
	}
	return tags
}

// evidence is what decides whether the viewer may see what a search found. It is kept for the whole search, so that nothing is read
// twice, and the tags of an author on an item are those of one moment.
type evidence struct {
	sets   map[Key]Set
	scores map[score.Ref]score.Score
	items  map[score.ItemRef]bool // of the viewer, that exist
}

func newEvidence() evidence {
	return evidence{map[Key]Set{}, map[score.Ref]score.Score{}, map[score.ItemRef]bool{}}
}

// check leaves out what the viewer may not see, or what has changed since it was indexed: the set decides about the tag; the score, or
// that the viewer owns it, about the item.
func (s *Service) check() keep {
	return s.checked(func(ItemTag, Set) bool { return true })
}

// checked is like check, and leaves out what does not count, given its set, besides.
func (s *Service) checked(counts func(ItemTag, Set) bool) keep {
	known := newEvidence()
	return func(ctx context.Context, entries []Entry) ([]ItemTag, error) {
		if err := s.gather(ctx, known, entries); err != nil {
			return nil, err
		}
		var tags []ItemTag
		for _, e := range entries {
			if t, is := known.shows(ctx, e); is && counts(t, known.sets[e.Key]) {
				tags = append(tags, t)
			}
		}
		return tags, nil
	}
}

// shows returns the tag of the entry if the viewer may see it.
func (p evidence) shows(ctx context.Context, e Entry) (ItemTag, bool) {
	set := p.sets[e.Key]
	t, there := find(set.Tags, e.Value)
	if !there || !t.Public && !viewer.From(ctx).Is(e.Author) {
		return ItemTag{}, false
	}
	request, is := p.item(e)
	return ItemTag{Item: request, Author: e.Author, SetName: set.SetName, Tag: t}, is
}

// item returns the item of the entry if the viewer may read it.
func (p evidence) item(e Entry) (score.ItemRequest, bool) {
	if p.items[e.Item] {
		return score.AnItem(e.Item), true
	}
	return pageOf(p.scores[score.Ref{Owner: e.Item.Owner, ID: e.Via}], e.Item)
}

// gather reads what is not known yet of the sets, the scores and the viewer's items, in one batch each.
func (s *Service) gather(ctx context.Context, p evidence, entries []Entry) error {
	var keys []Key
	var scores []score.Ref
	var items []score.ItemRequest
	for _, e := range entries {
		own := viewer.From(ctx).Is(e.Item.Owner)
		if !own && e.Via == "" {
			continue
		}
		keys = asked(p.sets, keys, e.Key)
		if own {
			if _, is := p.items[e.Item]; !is {
				p.items[e.Item], items = false, append(items, score.AnItem(e.Item))
			}
		} else {
			scores = asked(p.scores, scores, score.Ref{Owner: e.Item.Owner, ID: e.Via})
		}
	}
	var group errgroup.Group
	group.Go(func() error {
		sets, errs := s.Store.FindSets(ctx, keys)
		return there(sets, errs, func(i int) { p.sets[keys[i]] = sets[i] })
	})
	group.Go(func() error {
		found, errs := s.Scores.ListByID(ctx, scores)
		return there(found, errs, func(i int) { p.scores[scores[i]] = found[i] })
	})
	group.Go(func() error {
		found, errs := s.Items.ItemsByID(ctx, items)
		return there(found, errs, func(i int) { p.items[found[i].ItemRef] = true })
	})
	return group.Wait()
}

// asked appends a key that was not asked for yet.
func asked[K comparable, V any](of map[K]V, keys []K, key K) []K {
	if _, is := of[key]; is {
		return keys
	}
	var none V
	of[key] = none
	return append(keys, key)
}

// there calls each for every value that exists, and returns the first error besides NotFound.
func there[T any](values []T, errs []error, each func(i int)) error {
	for i := range values {
		switch {
		case errs == nil || errs[i] == nil:
			each(i)
		case !fault.Is(errs[i], fault.NotFound):
			return errs[i]
		}
	}
	return nil
}
