package tag

import "github.com/taggie/taggie/internal/limit"

// Limits are those of tags and other words.
func Limits() []limit.Limit {
	return []limit.Limit{{What: "Size", Of: "a tag, in which `#`, `:` and `%` count three each", Most: limit.Bytes(MaxBytes), Code: limit.Invalid}}
}
