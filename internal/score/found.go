package score

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/casefold"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
)

// maxFoundTitle is how many bytes of a folded title are in the place where it is found, which dynamo/keys cuts off: titles that differ only later
// cannot be told apart there.
const maxFoundTitle = 900

// FoldTitle returns the form of a title, or of the beginning of one, by which public scores are found.
func FoldTitle(title string) string {
	return casefold.Canonical(strings.TrimLeftFunc(title, unicode.IsSpace))
}

// FindPublic lists the public scores of everybody whose titles begin with the prefix, in the order of their folded titles. Case and normal form do not
// matter. Invalid without a character that counts, and where no title can begin so. A new score may be missing for a moment; one that is not public any
// more is never shown.
func (s *Service) FindPublic(ctx context.Context, prefix string, w page.Window) (page.Slice[Score], error) {
	begin := FoldTitle(prefix)
	if begin == "" {
		return page.Slice[Score]{}, fault.Invalidf("titlePrefix", "give at least one character that is no space")
	}
	if strings.ContainsFunc(prefix, unicode.IsControl) || utf8.RuneCountInString(prefix) > MaxTitle {
		return page.Slice[Score]{}, fault.Invalidf("titlePrefix", "titles have at most %d characters, none of them a control character", MaxTitle)
	}
	if len(begin) > maxFoundTitle {
		return page.Slice[Score]{}, fault.Invalidf("titlePrefix", "give a shorter beginning")
	}
	slice, err := s.shows.FindPublicScores(ctx, begin, w)
	slice.Items, _ = guard(ctx, slice.Items, nil)
	return slice, err
}
