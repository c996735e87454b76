package filetag

import (
	"context"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

// EachPut shows all tags that the viewer has put on items, page by page: those on items that the viewer owns, that are pages of public scores, or that a
// project shows, which [Service.Search] does not find. What was put in the last moments may be missing. Forbidden for everybody else than the author.
func (s *Service) EachPut(ctx context.Context, author UserID, page func([]ItemTag) error) error {
	if !viewer.From(ctx).Is(author) {
		return fault.New(fault.Forbidden, "only the author may see this")
	}
	return s.Store.EachSet(ctx, author, func(sets []Set) error {
		known, entries := newEvidence(), make([]Entry, len(sets))
		for i, set := range sets {
			entries[i], known.sets[set.Key] = Entry{Key: set.Key, Via: set.Via}, set
		}
		if err := s.gather(ctx, known, entries); err != nil {
			return err
		}
		var tags []ItemTag
		for i, e := range entries {
			request, is := known.item(e)
			if !is && !viewer.From(ctx).Is(e.Item.Owner) {
				var err error
				if request, is, err = s.inProject(ctx, e.Item); err != nil {
					return err
				}
			}
			if is {
				tags = append(tags, shown(sets[i], request, author)...)
			}
		}
		return page(tags)
	})
}
