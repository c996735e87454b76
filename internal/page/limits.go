package page

import "github.com/taggie/taggie/internal/limit"

// Limits are those of lists.
func Limits() []limit.Limit {
	return []limit.Limit{{What: "Elements, at least 1; ids of `nodes` and the like", Of: "a page of a list", Most: limit.Count(Max), Code: limit.Invalid}}
}
