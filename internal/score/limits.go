package score

import "github.com/taggie/taggie/internal/limit"

// Limits are those of scores, snapshots, items and images.
func Limits() []limit.Limit {
	const refused = "UploadRefused"
	return []limit.Limit{
		{What: "Scores", Of: "a user", Most: limit.Count(MaxScores), Code: limit.Exhausted},
		{What: "Characters of a title", Of: "a score", Most: limit.Count(MaxTitle), Code: limit.Invalid},
		{What: "Size of the description", Of: "a score", Most: limit.Bytes(MaxDescription), Code: limit.Invalid},
		{What: "Pages", Of: "a score", Most: limit.Count(MaxPages), Code: limit.Invalid},
		{What: "Characters of what a page is called", Of: "a page", Most: limit.Count(MaxObject), Code: limit.Invalid},
		{What: "Characters of the label", Of: "a page", Most: limit.Count(MaxLabel), Code: limit.Invalid},
		{What: "Annotations", Of: "a score", Most: limit.Count(MaxAnnotations), Code: limit.Invalid},
		{What: "Size", Of: "an annotation", Most: limit.Bytes(MaxAnnotation), Code: limit.Invalid},
		{What: "Snapshots", Of: "a score", Most: limit.Count(MaxSnapshots), Code: "TooManySnapshots"},
		{What: "Characters of the name", Of: "a snapshot", Most: limit.Count(MaxName), Code: limit.Invalid},
		{What: "Snapshots whose content is read", Of: "an answer", Most: limit.Count(MaxContents), Code: limit.Exhausted},
		{What: "Contents of snapshots that are read, together", Of: "an answer", Most: limit.Bytes(MaxContentBytes), Code: limit.Exhausted},
		{What: "Items, with uploads that may still be completed", Of: "a user", Most: limit.Count(MaxItems), Code: limit.Exhausted},
		{What: "Uploads that may still be completed, or ended without an item within some hours", Of: "a user", Most: limit.Count(MaxUploads), Code: limit.Exhausted},
		{What: "Uploads that are completed at a time", Of: "a user, on a server", Most: limit.Count(MaxCompleting), Code: limit.Exhausted, Then: "after half of the time that is left"},
		{What: "Size of the file", Of: "an item", Most: limit.Bytes(MaxItem), Code: limit.Invalid},
		{What: "Size of the file", Of: "an image", Most: limit.Bytes(MaxSingle), Code: limit.Invalid, Then: "or `UploadRefused`, when it was not said to be an image"},
		{What: "Size of what is put at once", Of: "an upload", Most: limit.Bytes(MaxSingle), Then: "it comes in parts"},
		{What: "Characters of the name", Of: "an item", Most: limit.Count(MaxItemName), Code: limit.Invalid},
		{What: "Characters of the set", Of: "an item", Most: limit.Count(MaxSetName), Code: limit.Invalid},
		{What: "Characters of the media type", Of: "an item", Most: limit.Count(MaxType), Code: limit.Invalid},
		{What: "Pixels", Of: "an image", Most: limit.Count(MaxPixels), Code: refused},
		{What: "Pixels of a side", Of: "an image", Most: limit.Count(MaxSide), Code: refused},
		{What: "Memory to decode images, together, or a third of the memory if that is less", Of: "a server", Most: limit.Bytes(DecodeBytes), Code: limit.Exhausted, Then: "after half of the time that is left"},
	}
}
