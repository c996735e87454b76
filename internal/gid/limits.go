package gid

import "github.com/taggie/taggie/internal/limit"

// Limits are those of ids.
func Limits() []limit.Limit {
	return []limit.Limit{{What: "Size", Of: "an id", Most: limit.Bytes(MaxBytes), Code: limit.Invalid}}
}
