package project

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/casefold"
	"github.com/taggie/taggie/internal/fault"
)

// maxFoundName is how many bytes of a folded name are in the place where an item is found: names that differ only later cannot be told apart there.
const maxFoundName = 900

// FoldItemName returns the form of the name of an item, or of the beginning of one, by which items are found. Case and normal form do not matter.
func FoldItemName(name string) string {
	return casefold.Canonical(strings.TrimLeftFunc(name, unicode.IsSpace))
}

// parseNamePrefix returns the folded beginning of names. Invalid without a character that counts, and where no name can begin so.
func parseNamePrefix(field, prefix string) (string, error) {
	begin := FoldItemName(prefix)
	switch {
	case begin == "":
		return "", fault.Invalidf(field, "give at least one character that is no space")
	case !utf8.ValidString(prefix) || strings.ContainsFunc(prefix, unicode.IsControl) || utf8.RuneCountInString(prefix) > MaxItemNameRunes:
		return "", fault.Invalidf(field, "names have at most %d characters, none of them a control character", MaxItemNameRunes)
	case len(begin) > maxFoundName:
		return "", fault.Invalidf(field, "give a shorter beginning")
	}
	return begin, nil
}
