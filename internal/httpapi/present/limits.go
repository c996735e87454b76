package present

import "github.com/taggie/taggie/internal/limit"

// Limits are those of what an answer tells of an error.
func Limits() []limit.Limit {
	return []limit.Limit{{What: "Size of a message of an error", Of: "an answer", Most: limit.Bytes(MaxMessage), Then: "cut off"}}
}
