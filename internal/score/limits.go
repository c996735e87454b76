package score

import "github.com/taggie/taggie/internal/limit"

// Limits are those of scores, snapshots, items and images.
func Limits() []limit.Limit {
	const refused = "UploadRefused"
	return []limit.Limit{
		{What: "Scores", Of: "a user", Most: limit.Count(MaxScores), Code: limit.Exhausted},
		{What: "Scores of others that are kept", Of: "a user", Most: limit.Count(MaxKept), Code: limit.Exhausted},
		{What: "Characters of a title", Of: "a score", Most: limit.Count(MaxTitle), Code: limit.Invalid},
		{What: "Size of the description", Of: "a score", Most: limit.Bytes(MaxDescription), Code: limit.Invalid},
		{What: "Pages", Of: "a score", Most: limit.Count(MaxPages), Code: limit.Invalid},
		{What: "Characters of the name", Of: "a page", Most: limit.Count(MaxObject), Code: limit.Invalid},
		{What: "Characters of the label", Of: "a page", Most: limit.Count(MaxLabel), Code: limit.Invalid},
		{What: "Annotations", Of: "a score", Most: limit.Count(MaxAnnotations), Code: limit.Invalid},
		{What: "Size", Of: "an annotation", Most: limit.Bytes(MaxAnnotation), Code: limit.Invalid},
		{What: "Snapshots", Of: "a score", Most: limit.Count(MaxSnapshots), Code: "TooManySnapshots"},
		{What: "Characters of the name", Of: "a snapshot", Most: limit.Count(MaxName), Code: limit.Invalid},
		{What: "Snapshots whose content is read", Of: "an answer", Most: limit.Count(MaxContents), Code: limit.Exhausted},
		{What: "Size of the contents of snapshots that are read, together", Of: "an answer", Most: limit.Bytes(MaxContentBytes), Code: limit.Exhausted},
		{What: "Items, including uploads that can still be completed", Of: "a user", Most: limit.Count(MaxItems), Code: limit.Exhausted},
		{What: "Uploads that can still be completed, or ended without an item in the last hours", Of: "a user", Most: limit.Count(MaxUploads), Code: limit.Exhausted},
		{What: "Uploads being completed", Of: "a user, on a server", Most: limit.Count(MaxCompleting), Code: limit.Exhausted, Then: "after a wait of half the remaining time"},
		{What: "Size of the file", Of: "an item", Most: limit.Bytes(MaxItem), Code: limit.Invalid},
		{What: "Size of the file", Of: "an image", Most: limit.Bytes(MaxSingle), Code: limit.Invalid, Then: "or `UploadRefused`, if it was not announced as an image"},
		{What: "Size of a file uploaded at once", Of: "an upload", Most: limit.Bytes(MaxSingle), Then: "it is uploaded in parts"},
		{What: "Characters of the name", Of: "an item", Most: limit.Count(MaxItemName), Code: limit.Invalid},
		{What: "Characters of the set", Of: "an item", Most: limit.Count(MaxSetName), Code: limit.Invalid},
		{What: "Characters of the media type", Of: "an item", Most: limit.Count(MaxType), Code: limit.Invalid},
		{What: "Pixels", Of: "an image", Most: limit.Count(MaxPixels), Code: refused},
		{What: "Pixels of a side", Of: "an image", Most: limit.Count(MaxSide), Code: refused},
		{What: "Memory to decode images, together; at most a third of all memory", Of: "a server", Most: limit.Bytes(DecodeBytes), Code: limit.Exhausted, Then: "after a wait of half the remaining time"},
	}
}
