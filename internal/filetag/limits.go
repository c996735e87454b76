package filetag

import "github.com/taggie/taggie/internal/limit"

// Limits are those of tags on items.
func Limits() []limit.Limit {
	return []limit.Limit{
		{What: "Tags", Of: "an author on one item", Most: limit.Count(MaxTags), Code: limit.Invalid},
		{What: "Tags", Of: "an author on all items", Most: limit.About(MaxTagsOfAuthor), Code: limit.Exhausted, Set: "TAGGIE_ALLOWANCES"},
		{What: "Sets", Of: "`itemSets`", Most: limit.Count(MaxSets), Code: limit.Invalid},
		{What: "Suggested values", Of: "`itemTagValues`", Most: limit.Count(MaxValues), Code: limit.Invalid},
	}
}
