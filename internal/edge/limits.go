package edge

import "github.com/taggie/taggie/internal/limit"

// Limits are those of documents that are kept by their hash.
func Limits() []limit.Limit {
	const notKept = "carried out, not kept"
	return []limit.Limit{
		{What: "Size", Of: "a document kept by its hash", Most: limit.Bytes(MaxDocument), Then: notKept},
		{What: "New documents kept by their hash", Of: "a caller", Most: limit.Count(DocumentBurst) + ", one more each " + limit.Time(DocumentEvery), Then: notKept},
		{What: "Time since its last use", Of: "a document kept by its hash", Most: limit.Time(documentKept), Code: "PERSISTED_QUERY_NOT_FOUND"},
	}
}
