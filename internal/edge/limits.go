package edge

import "github.com/taggie/taggie/internal/limit"

// Limits are those of documents that are kept by their hash.
func Limits() []limit.Limit {
	const notKept = "carried out, not kept"
	return []limit.Limit{
		{What: "Size", Of: "a document that is kept by its hash", Most: limit.Bytes(MaxDocument), Then: notKept},
		{What: "New documents that are kept by their hash", Of: "a caller", Most: limit.Count(DocumentBurst) + ", one more each " + limit.Time(DocumentEvery), Then: notKept},
		{What: "Time since it was used last", Of: "a document that is kept by its hash", Most: limit.Time(documentKept), Code: "PERSISTED_QUERY_NOT_FOUND"},
	}
}
