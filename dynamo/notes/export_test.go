package notes

// What only the tests use.
const (
	MaxCleanups = maxCleanups
	TagRows     = tagRows
)

var (
	CleanupRow     = cleanupRow
	DecodeCleanup  = decodeCleanup
	DecodeNote     = decodeNote
	DecodeShare    = decodeShare
	DecodeVersion  = decodeVersion
	EndedRow       = endedRow
	LocatorParts   = locatorParts
	LocatorRow     = locatorRow
	NoteKey        = noteKey
	NoteRow        = noteRow
	ShareParts     = shareParts
	ShareRow       = shareRow
	TagRow         = tagRow
	TombstoneRow   = tombstoneRow
	VersionRow     = versionRow
	WithoutContent = withoutContent
)
