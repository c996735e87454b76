package projects

// What only the tests use.
const (
	DraftFor = draftFor
	TeamList = teamList
)

type (
	Listed    = listed
	ShortList = shortList
)

var (
	CountItems       = countItems
	DecodeExport     = decodeExport
	DecodeGuidelines = decodeGuidelines
	DecodeImport     = decodeImport
	DecodeChange     = decodeChange
	DecodeInvitation = decodeInvitation
	DecodeLabel      = decodeLabel
	DecodeRemoval    = decodeRemoval
	DecodeShortList  = decodeShortList
	DecodeTeam       = decodeTeam
	ExportRow        = exportRow
	GuidelinesRow    = guidelinesRow
	ImportRow        = importRow
	ChangeRow        = rowOfChange
	InvitationRow    = invitationRow
	LabelRow         = labelRow
	ListID           = listID
	ProjectMemberRow = projectMemberRow
	ProjectRow       = projectRow
	RemovalRow       = removalRow
	TeamRow          = teamRow
	WithoutMetadata  = withoutMetadata
)
