package project

import (
	"time"

	"github.com/taggie/taggie/internal/limit"
)

// Limits are those of projects, their items, imports and exports.
func Limits() []limit.Limit {
	const mistake = "the line counts as a mistake"
	return []limit.Limit{
		{What: "Projects created", Of: "a user", Most: limit.Count(MaxProjects), Code: limit.Exhausted},
		{What: "Characters of a name", Of: "a project, a team or a category", Most: limit.Count(MaxNameRunes), Code: limit.Invalid},
		{What: "Size of the description", Of: "a project", Most: limit.Bytes(MaxDescriptionBytes), Code: limit.Invalid},
		{What: "Size of the guidelines", Of: "a project", Most: limit.Bytes(MaxGuidelinesBytes), Code: limit.Invalid},
		{What: "Categories, and as many subcategories", Of: "a project", Most: limit.Count(MaxCategories), Code: limit.Exhausted},
		{What: "Suggested keywords", Of: "a project", Most: limit.Count(MaxSuggestions), Code: limit.Invalid},
		{What: "Waiting items", Of: "a queue", Most: limit.Count(MaxQueueSize), Code: limit.Invalid},
		{What: "Teams", Of: "a project", Most: limit.Count(MaxTeams), Code: limit.Exhausted},
		{What: "Members", Of: "a project", Most: limit.Count(MaxMembers), Code: limit.Exhausted},
		{What: "Open invitations", Of: "a project", Most: limit.Count(MaxInvitations), Code: limit.Exhausted},
		{What: "Users who can join by it", Of: "an invitation", Most: limit.Count(MaxInvitationUses), Code: limit.Invalid},
		{What: "Days until it expires", Of: "an invitation", Most: limit.Count(MaxInvitationDays), Code: limit.Invalid},
		{What: "Characters of a value", Of: "a change in the history of a project", Most: limit.Count(mostShown), Then: "the rest is left out, and `…` tells so"},
		{What: "Time for which it is kept", Of: "a change in the history of a project", Most: limit.Time(HistoryKept), Then: "it is not listed any more"},
		{What: "Items", Of: "a project", Most: limit.About(MaxItems), Then: mistake, Set: "TAGGIE_ALLOWANCES"},
		{What: "Imports in progress, and as many exports and removals", Of: "a project", Most: limit.Count(MaxTransfers), Code: limit.Exhausted},
		{What: "Imports in all, and as many exports and removals", Of: "a project", Most: limit.Count(MaxTransfersEver), Code: limit.Exhausted},
		{What: "Items named in `removeProjectItems`", Of: "a removal", Most: limit.Count(MaxRemovedItems), Code: limit.Invalid},
		{What: "Time to undo it", Of: "a removal", Most: limit.Time(UndoRemoval), Code: "CONFLICT"},
		{What: "Size of the file", Of: "an import", Most: limit.Bytes(MaxImportBytes), Code: limit.Invalid},
		{What: "Lines", Of: "an import", Most: limit.Count(MaxImportLines), Then: "the import ends as `FAILED`; the lines before are imported"},
		{What: "Size of a line", Of: "an import", Most: limit.Bytes(MaxLineBytes), Then: mistake},
		{What: "Mistakes listed", Of: "an import", Most: limit.Count(MaxImportFaults), Then: "others are only counted"},
		{What: "Items named in `importItems`", Of: "an import", Most: limit.Count(MaxImportItems), Code: limit.Invalid},
		{What: "Size of `externalId`", Of: "an item of a project", Most: limit.Bytes(MaxExternalIDBytes), Then: mistake},
		{What: "Characters of the name", Of: "an item of a project", Most: limit.Count(MaxItemNameRunes), Then: mistake},
		{What: "Characters of the type", Of: "an item of a project", Most: limit.Count(MaxItemTypeRunes), Then: mistake},
		{What: "Size of the URL", Of: "an item of a project", Most: limit.Bytes(MaxURLBytes), Then: mistake},
		{What: "Size of the metadata as JSON", Of: "an item of a project", Most: limit.Bytes(MaxMetadataBytes), Then: mistake},
		{What: "Levels of nested metadata", Of: "an item of a project", Most: limit.Count(MaxMetadataDepth), Then: mistake},
		{What: "Size of a name in metadata", Of: "an item of a project", Most: limit.Bytes(maxMetadataNameBytes), Then: mistake},
		{What: "Finishes, including those taken back or found incorrect", Of: "an item of a project", Most: limit.Count(MaxEfforts), Code: limit.Exhausted},
		{What: "Time that a claim can be set to last", Of: "a project", Most: limit.Time(MaxLease * time.Minute), Code: limit.Invalid},
		{What: "Days for which a member is new", Of: "a project", Most: limit.Count(MaxNewcomerDays), Code: limit.Invalid},
		{What: "Keywords", Of: "a finish", Most: limit.Count(MaxKeywords), Code: limit.Invalid},
		{What: "Characters of a keyword", Of: "a finish or a project", Most: limit.Count(MaxKeywordRunes), Code: limit.Invalid},
	}
}
