package filetags

// What only the tests use.
type (
	FoundTag = foundTag
	TagTally = tagTally
)

var (
	CountFileTags = countFileTags
	DecodeLayout  = decodeLayout
	DecodeTagRow  = decodeTagRow
	DecodeTagSet  = decodeTagSet
	DecodeTally   = decodeTally
	FileTagRows   = fileTagRows
	LayoutKey     = layoutKey
	LayoutRow     = layoutRow
	TagSetRow     = tagSetRow
	TagTallies    = tagTallies
)
