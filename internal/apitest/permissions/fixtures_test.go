package permissions

import "strings"

// Values that documents may name:
//
//   - people: $owner, $view, $stranger, $leaver, $heir (whose is what is left), $goer, $departed (who is deleted), $nobody (who does not exist), $ownerEmail, $takenEmail, $email (the role's own);
//   - notes: $note, $deleted, $version, $tag;
//   - an archive: $archive, which is done and lacks a file;
//   - a scope: $scope, $entity and $other, which are related to one another, $ghost (which does not exist); $doomedScope and $deletedScope, of the same people;
//   - a project: $project, $managers, $reviewers, $taggies, $category, $subcategory, $import (awaits that it is started), $imported,
//     $export (done), $doomed (another project), $deletedProject, $removal (which can be undone), $removedItem, items and efforts as renewItems says, $token of $held, $used of $reviewedItem, and positions among its events: $cursor,
//     $forged;
//   - other projects: $paused, and $full, of which the holder has as many items as one may have;
//   - dead letters: $letter, $spare;
//   - scores: $keptScore (the leaver's, public, and kept by the owner), $score, $past (the same as of its $snapshot), $fullScore (which may have no more snapshots); items: $file and $page (in use),
//     $spareFile, $lentFile, $withdrawnFile, $ghostFile (which does not exist); $word, which $file is tagged with; uploads: $upload, $unwanted, $lie (which is no image), $parts (of which one part has come);
//   - $fresh, another text each time, and $it, the object that the way looks for.

// arguments are those of fields that need some, or need them to be of use here.
var arguments = map[string]string{
	"Query.invitation":  `(token: $inviteToken)`,
	"Query.node":        `(id: $it)`,
	"Query.nodes":       `(ids: [$it])`,
	"Query.user":        `(id: $owner)`,
	"Query.userByEmail": `(email: $ownerEmail)`,
	"Query.users":       `(prefix: $ownerEmail)`,
	"Query.note":        `(id: $note)`,
	"User.tag":          `(value: "WalkSecret")`,
	"Query.scope":       `(id: $scope)`,
	"Query.entity":      `(id: $entity)`,
	"Query.project":     `(id: $project)`,
	"Note.versionAt":    `(number: 1)`,

	"User.scopes":                `(first: 500)`, // the owner has many by and by
	"User.projects":              `(first: 500)`,
	"Scope.entities":             `(type: "thing")`,
	"Scope.entity":               `(type: "thing", key: "walk")`,
	"Scope.lookup":               `(index: "bySecret")`,
	"Project.itemTags":           `(beginsWith: $word)`,
	"Project.itemByExternalId":   `(externalId: $scanned)`,
	"Project.keywordCompletions": `(prefix: "secret")`,

	"Query.score":         `(id: $score)`,
	"Query.publicScores":  `(titlePrefix: "a score for")`,
	"Query.uploadedParts": `(itemId: $parts)`,
	"User.items":          `(all: true, first: 500)`,
	"Query.itemTags":      `(beginsWith: $word, authorId: $owner)`,
	"Query.taggedItems":   `(beginsWith: $word, authorId: $owner)`,
	"Query.itemTagValues": `(beginsWith: $word, authorId: $owner)`,
	"Query.itemSets":      `(sets: [{ownerId: $owner, name: "walk"}])`,
	"ItemSet.taggedBy":    `(userId: $owner)`,

	"Subscription.projectEvents":  `(projectId: $project)`,
	"Subscription.scoreEvents":    `(scoreId: $score)`,
	"Subscription.myQueue":        `(projectId: $project)`,
	"Subscription.importProgress": `(importId: $imported)`,
	"Subscription.exportProgress": `(exportId: $export)`,

	"Subscription.archiveProgress": `(archiveId: $archive)`,
	"Mutation.createArchive":       `(input: {})`,

	"Subscription.removalProgress": `(removalId: $removal)`,
	"Subscription.indexProgress":   `(scopeId: $scope, name: "bySecret")`,

	"Mutation.createUser":         `(input: {name: "Walker", email: $email})`,
	"Mutation.updateUser":         `(input: {name: $fresh})`,
	"Mutation.createNote":         `(input: {title: $fresh, content: "mine"})`,
	"Mutation.updateNote":         `(input: {noteId: $note, title: $fresh})`,
	"Mutation.changeNoteDeadline": `(input: {noteId: $note, deadline: "2031-02-03T04:05:06Z"})`,
	"Mutation.deleteNote":         `(input: {noteId: $note})`,
	"Mutation.undeleteNote":       `(input: {noteId: $deleted})`,
	"Mutation.restoreVersion":     `(input: {versionId: $version})`,
	"Mutation.addNoteTags":        `(input: {noteId: $note, tags: ["more"]})`,
	"Mutation.removeNoteTags":     `(input: {noteId: $note, tags: ["walksecret"]})`,
	"Mutation.shareNote":          `(input: {noteId: $note, userId: $stranger, permission: VIEW})`,
	"Mutation.openSharedNote":     `(input: {noteId: $note})`,
	"Mutation.endShares":          `(input: {byUserId: $owner})`,
	"Mutation.blockUser":          `(input: {userId: $stranger})`,
	"Mutation.unblockUser":        `(input: {userId: $stranger})`,
	"Mutation.unshareNote":        `(input: {noteId: $note, userId: $view})`,

	"Mutation.createScope":            `(input: {name: $fresh})`,
	"Mutation.renameScope":            `(input: {scopeId: $scope, name: $fresh})`,
	"Mutation.deleteScope":            `(input: {scopeId: $doomedScope})`,
	"Mutation.undoDeleteScope":        `(input: {scopeId: $deletedScope})`,
	"Mutation.purgeDeletedScope":      `(input: {scopeId: $deletedScope})`,
	"Mutation.putScopeMember":         `(input: {scopeId: $scope, userId: $stranger, role: READER})`,
	"Mutation.removeScopeMember":      `(input: {scopeId: $scope, userId: $view})`,
	"Mutation.declareEntityIndex":     `(input: {scopeId: $scope, name: $fresh, type: "thing", path: ["name"], kind: STRING})`,
	"Mutation.removeEntityIndex":      `(input: {scopeId: $scope, name: "spare"})`,
	"Mutation.setEntity":              `(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {name: $fresh}})`,
	"Mutation.updateEntity":           `(input: {entityId: $entity, attributes: {name: $fresh}})`,
	"Mutation.deleteEntity":           `(input: {entityId: $entity})`,
	"Mutation.addEntityRelations":     `(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $entity}]})`,
	"Mutation.removeEntityRelations":  `(input: {entityId: $entity, predicate: "likes", objectIds: [$other]})`,
	"Mutation.replaceEntityRelations": `(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $entity}]})`,

	"Mutation.createProject":           `(input: {name: $fresh, categories: ["one"]})`,
	"Mutation.updateProject":           `(input: {projectId: $project, name: $fresh})`,
	"Mutation.updateGuidelines":        `(input: {projectId: $project, text: $fresh})`,
	"Mutation.removeSuggestedKeywords": `(input: {projectId: $project, keywords: ["spare word"]})`,
	"Mutation.deleteProject":           `(input: {projectId: $doomed})`,
	"Mutation.undoDeleteProject":       `(input: {projectId: $deletedProject})`,
	"Mutation.purgeDeletedProject":     `(input: {projectId: $deletedProject})`,
	"Mutation.addProjectCategories":    `(input: {projectId: $project, categories: [$fresh]})`,
	"Mutation.updateCategory":          `(input: {categoryId: $category, name: $fresh})`,
	"Mutation.updateSubcategory":       `(input: {subcategoryId: $subcategory, name: $fresh})`,
	"Mutation.createTeam":              `(input: {projectId: $project, name: $fresh, type: TAGGIE})`,
	"Mutation.renameTeam":              `(input: {teamId: $reviewers, name: $fresh})`,
	"Mutation.deleteTeam":              `(input: {teamId: $taggies, moveTo: $reviewers})`,
	"Mutation.putProjectMember":        `(input: {teamId: $taggies, userId: $stranger})`,
	"Mutation.createProjectInvitation": `(input: {teamId: $taggies})`,
	"Mutation.revokeProjectInvitation": `(input: {invitationId: $invitation})`,
	"Mutation.acceptProjectInvitation": `(input: {token: $inviteToken})`,
	"Mutation.removeProjectMember":     `(input: {projectId: $project, userId: $view})`,
	"Mutation.createProjectImport":     `(input: {projectId: $project, format: JSON_LINES, bytes: 10})`,
	"Mutation.startProjectImport":      `(input: {importId: $import})`,
	"Mutation.importItems":             `(input: {projectId: $project, library: true})`,
	"Mutation.cancelProjectImport":     `(input: {importId: $import})`,
	"Mutation.removeProjectItems":      `(input: {projectId: $project, itemIds: [$open]})`,
	"Mutation.undoProjectRemoval":      `(input: {removalId: $removal})`,
	"Mutation.purgeProjectRemoval":     `(input: {removalId: $removal})`,
	"Mutation.createProjectExport":     `(input: {projectId: $project, format: CSV})`,

	"Mutation.claimProjectItems":   `(input: {projectId: $project})`,
	"Mutation.extendClaim":         `(input: {itemId: $held, token: $token})`,
	"Mutation.finishProjectItem":   `(input: {itemId: $held, token: $token, categoryId: $category, subcategoryId: $subcategory, keywords: ["walked"]})`,
	"Mutation.finishProjectItems":  `(input: {finishes: [{itemId: $held, token: $token, categoryId: $category, subcategoryId: $subcategory, keywords: ["walked"]}]})`,
	"Mutation.skipProjectItem":     `(input: {itemId: $held, token: $token, reason: FOR_NOBODY})`,
	"Mutation.returnSkippedItems":  `(input: {projectId: $project, itemIds: [$goneItem]})`,
	"Mutation.releaseProjectItem":  `(input: {itemId: $held, token: $token})`,
	"Mutation.claimReviews":        `(input: {projectId: $project})`,
	"Mutation.reviewEffort":        `(input: {effortId: $hers, verdict: CORRECT, comment: $fresh})`,
	"Mutation.undoFinish":          `(input: {effortId: $mine})`,
	"Mutation.pauseProject":        `(input: {projectId: $project})`,
	"Mutation.resumeProject":       `(input: {projectId: $paused})`,
	"Mutation.rebuildProjectQueue": `(input: {projectId: $project})`,
	"Mutation.heartbeat":           `(input: {projectIds: [$project]})`,
	"Mutation.retryDeadLetter":     `(input: {id: $letter})`,
	"Mutation.dropDeadLetter":      `(input: {id: $spare})`,

	"Mutation.createScore":      `(input: {title: $fresh})`,
	"Mutation.updateScore":      `(input: {scoreId: $score, title: $fresh})`,
	"Mutation.deleteScore":      `(input: {scoreId: $score})`,
	"Mutation.keepScore":        `(input: {scoreId: $keptScore})`,
	"Mutation.dropScore":        `(input: {scoreId: $keptScore})`,
	"Mutation.createSnapshot":   `(input: {scoreId: $score, name: $fresh})`,
	"Mutation.renameSnapshot":   `(input: {snapshotId: $snapshot, name: $fresh})`,
	"Mutation.deleteSnapshot":   `(input: {snapshotId: $snapshot})`,
	"Mutation.restoreSnapshot":  `(input: {snapshotId: $snapshot})`,
	"Mutation.requestUpload":    `(input: {name: $fresh, type: "text/plain", size: 5, sha256: "` + someSum + `"})`,
	"Mutation.signUploadPart":   `(input: {itemId: $parts, partNumber: 1, sha256: "` + someSum + `"})`,
	"Mutation.completeUpload":   `(input: {itemId: $upload})`,
	"Mutation.abortUpload":      `(input: {itemId: $unwanted})`,
	"Mutation.renameItem":       `(input: {itemId: $spareFile, name: $fresh})`,
	"Mutation.setItemSetName":   `(input: {itemId: $spareFile, setName: $fresh})`,
	"Mutation.withdrawItem":     `(input: {itemId: $lentFile})`,
	"Mutation.deleteItem":       `(input: {itemId: $spareFile})`,
	"Mutation.revokeUser":       `(input: {userId: $leaver})`,
	"Mutation.deleteUser":       `(input: {userId: $goer})`,
	"Mutation.undoDeleteUser":   `(input: {userId: $departed})`,
	"Mutation.purgeDeletedUser": `(input: {userId: $departed})`,
	"Mutation.setItemQuota":     `(input: {userId: $owner, quota: 209715199})`,
	"Mutation.setItemTags":      `(input: {itemId: $spareFile, tags: [{value: $fresh}]})`,
	"Mutation.removeItemTags":   `(input: {itemId: $file, tags: [$word]})`,
}

// starts are the places from which ways go on, for types that are reached in more than one way or only in special ones.
// Types that are not named here are reached along every field that returns them.
var starts = map[string][]string{
	"User":    {`query user(id: $owner)`, `query viewer`},
	"Note":    {`query note(id: $note)`},
	"Version": {`query note(id: $note) . latestVersion`},
	"Tag":     {`query note(id: $note) . tags`, `query node(id: $tag)`},

	"Scope":             {`query scope(id: $scope)`},
	"Entity":            {`query entity(id: $entity)`},
	"Project":           {`query project(id: $project)`},
	"Team":              {`query project(id: $project) . teams`},
	"ProjectMember":     {`query project(id: $project) . members . nodes`},
	"Category":          {`query project(id: $project) . categories`},
	"Subcategory":       {`query project(id: $project) . subcategories`},
	"ProjectItem":       {`query project(id: $project) . items . nodes`, `query project(id: $project) . viewerClaims`, `query node(id: $item)`, `query nodes(ids: [$returned])`},
	"ProjectItemEffort": {`query node(id: $effort)`, `query nodes(ids: [$reviewed])`},
	"ProjectImport":     {`query project(id: $project) . imports . nodes`},
	"ProjectExport":     {`query project(id: $project) . exports . nodes`},
	"ProjectInvitation": {`query project(id: $project) . invitations`},
	"InvitationPreview": {`query invitation(token: $inviteToken)`},
	"ProjectRemoval":    {`query project(id: $project) . removals . nodes`},
	"ProjectChange":     {`query project(id: $project) . history . nodes`},
	"ChangedField":      {`query project(id: $project) . history . nodes . fields`},

	"EmailTaken": {
		`mutation createUser(input: {name: "Walker", email: $takenEmail}) . problem`,
		`mutation updateUser(input: {email: $takenEmail}) . problem`,
	},
	"UserConflict": {`mutation updateUser(input: {name: $fresh, expectedVersion: 99}) . problem`},
	"NoteConflict": {
		`mutation updateNote(input: {noteId: $note, title: $fresh, expectedVersion: 99}) . problem`,
		`mutation changeNoteDeadline(input: {noteId: $note, deadline: null, expectedVersion: 99}) . problem`,
		`mutation deleteNote(input: {noteId: $note, expectedVersion: 99}) . problem`,
		`mutation restoreVersion(input: {versionId: $version, expectedVersion: 99}) . problem`,
	},
	"TooManyTags": {`mutation addNoteTags(input: {noteId: $note, tags: [` + manyTags + `]}) . problem`},
	"UnknownUser": {
		`mutation shareNote(input: {noteId: $note, userId: $nobody, permission: VIEW}) . problem`,
		`mutation putScopeMember(input: {scopeId: $scope, userId: $nobody, role: READER}) . problem`,
		`mutation putProjectMember(input: {teamId: $taggies, userId: $nobody}) . problem`,
	},

	"ScopeConflict": {
		`mutation renameScope(input: {scopeId: $scope, name: $fresh, expectedVersion: 99}) . problem`,
		`mutation deleteScope(input: {scopeId: $scope, expectedVersion: 99}) . problem`,
	},
	"StillNeeded": {`mutation deleteUser(input: {userId: $owner}) . problem`},
	"LastOwner": {
		`mutation putScopeMember(input: {scopeId: $scope, userId: $owner, role: READER}) . problem`,
		`mutation removeScopeMember(input: {scopeId: $scope, userId: $owner}) . problem`,
	},
	"EntityConflict": {
		`mutation setEntity(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {name: $fresh}, expectedVersion: 99}) . problem`,
		`mutation updateEntity(input: {entityId: $entity, attributes: {name: $fresh}, expectedVersion: 99}) . problem`,
		`mutation deleteEntity(input: {entityId: $entity, expectedVersion: 99}) . problem`,
	},
	"UnknownObject": {
		`mutation setEntity(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {name: $fresh}, relations: [{predicate: "likes", objects: [{entityId: $ghost}]}]}) . problem`,
		`mutation addEntityRelations(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $ghost}]}) . problem`,
		`mutation replaceEntityRelations(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $ghost}]}) . problem`,
	},
	"ProjectConflict": {
		`mutation updateProject(input: {projectId: $project, name: $fresh, expectedVersion: 99}) . problem`,
		`mutation deleteProject(input: {projectId: $project, expectedVersion: 99}) . problem`,
	},
	"GuidelinesConflict": {`mutation updateGuidelines(input: {projectId: $project, text: $fresh, expectedVersion: 99}) . problem`},
	"NameTaken": {
		`mutation addProjectCategories(input: {projectId: $project, categories: ["SECRET CATEGORY"]}) . problem`,
		`mutation updateCategory(input: {categoryId: $category, name: "taken"}) . problem`,
		`mutation updateSubcategory(input: {subcategoryId: $subcategory, name: "taken"}) . problem`,
		`mutation createTeam(input: {projectId: $project, name: "Managers", type: TAGGIE}) . problem`,
		`mutation renameTeam(input: {teamId: $reviewers, name: "Managers"}) . problem`,
	},
	"InvitationInvalid": {`mutation acceptProjectInvitation(input: {token: "none"}) . problem`},
	"LastManager": {
		`mutation putProjectMember(input: {teamId: $taggies, userId: $owner}) . problem`,
		`mutation removeProjectMember(input: {projectId: $project, userId: $owner}) . problem`,
		`mutation deleteTeam(input: {teamId: $managers}) . problem`,
	},

	"TeamStatistics": {`query project(id: $project) . viewerMember . team . statistics`},

	"NotePosition": {`subscription noteEvents`},
	"NoteEvent":    {`subscription noteEvents(after: $noteCursor)`},
	"NoteGap":      {`subscription noteEvents(after: $forgedNoteCursor)`},

	"ScorePosition": {`subscription scoreEvents(scoreId: $score)`},
	"ScoreEvent":    {`subscription scoreEvents(scoreId: $score, after: $scoreCursor)`},
	"ScoreGap":      {`subscription scoreEvents(scoreId: $score, after: $forgedScoreCursor)`},

	"ProjectSnapshot": {`subscription projectEvents(projectId: $project)`},
	"ProjectEvent":    {`subscription projectEvents(projectId: $project, after: $cursor)`},
	"ProjectGap":      {`subscription projectEvents(projectId: $project, after: $forged)`},

	"ProjectPaused": {`mutation claimProjectItems(input: {projectId: $paused}) . problem`},
	"TooManyClaims": {`mutation claimProjectItems(input: {projectId: $full}) . problem`},
	"LeaseLost": {
		`mutation finishProjectItem(input: {itemId: $taken, token: "none", categoryId: $category, subcategoryId: $subcategory}) . problem`,
		`mutation finishProjectItems(input: {finishes: [{itemId: $taken, token: "none", categoryId: $category}]}) . outcomes . problem`,
		`mutation extendClaim(input: {itemId: $taken, token: "none"}) . problem`,
		`mutation skipProjectItem(input: {itemId: $taken, token: "none", reason: TO_OTHERS}) . problem`,
		`mutation releaseProjectItem(input: {itemId: $taken, token: $token}) . problem`,
	},
	"ProjectItemRemoved": {
		`mutation finishProjectItem(input: {itemId: $removedItem, token: "none", categoryId: $category, subcategoryId: $subcategory}) . problem`,
		`mutation extendClaim(input: {itemId: $removedItem, token: "none"}) . problem`,
	},
	"AlreadyFinished": {
		`mutation finishProjectItem(input: {itemId: $reviewedItem, token: $used, categoryId: $category, subcategoryId: $subcategory}) . problem`,
		`mutation finishProjectItems(input: {finishes: [{itemId: $reviewedItem, token: $used, categoryId: $category, subcategoryId: $subcategory}]}) . outcomes . problem`,
	},
	"OwnEffort":           {`mutation reviewEffort(input: {effortId: $mine, verdict: CORRECT}) . problem`},
	"EffortConflict":      {`mutation reviewEffort(input: {effortId: $hers, verdict: CORRECT, expectedVersion: 9}) . problem`},
	"EffortUndone":        {`mutation undoFinish(input: {effortId: $undone}) . problem`},
	"EffortReviewed":      {`mutation undoFinish(input: {effortId: $reviewed}) . problem`},
	"UndoTooLate":         {`mutation undoFinish(input: {effortId: $late}) . problem`},
	"ProjectItemConflict": {`mutation undoFinish(input: {effortId: $gone}) . problem`},

	"Score":    {`query score(id: $score)`, `query node(id: $past)`},
	"Snapshot": {`query score(id: $score) . snapshots`},
	"Item":     {`query nodes(ids: [$file])`, `query node(id: $spareFile)`, `query node(id: $withdrawnFile)`},
	"ItemTag":  {`query itemTags(beginsWith: $word, authorId: $owner, first: 4) . nodes`},
	"ItemSet":  {`query itemSets(sets: [{ownerId: $owner, name: "walk"}])`},
	"ScoreConflict": {
		`mutation updateScore(input: {scoreId: $score, title: $fresh, expectedVersion: 99}) . problem`,
		`mutation deleteScore(input: {scoreId: $score, expectedVersion: 99}) . problem`,
		`mutation restoreSnapshot(input: {snapshotId: $snapshot, expectedVersion: 99}) . problem`,
	},
	"UnknownItem": {
		`mutation updateScore(input: {scoreId: $score, pages: [{insert: {at: 0, pages: [{itemId: $ghostFile}]}}]}) . problem`,
		`mutation createScore(input: {title: $fresh, pages: [{itemId: $ghostFile}]}) . problem`,
	},
	"SnapshotNameTaken": {
		`mutation createSnapshot(input: {scoreId: $score, name: "secret snapshot"}) . problem`,
	},
	"TooManySnapshots": {`mutation createSnapshot(input: {scoreId: $fullScore, name: $fresh}) . problem`},
	"QuotaReached":     {`mutation requestUpload(input: {name: $fresh, type: "text/plain", size: 209715201}) . problem`},
	"NotUploaded":      {`mutation completeUpload(input: {itemId: $parts}) . problem`},
	"UploadRefused":    {`mutation completeUpload(input: {itemId: $lie}) . problem`},
	"ItemInUse":        {`mutation deleteItem(input: {itemId: $file}) . problem`},

	"RebuildUnderWay": {`mutation rebuildProjectQueue(input: {projectId: $paused}) . problem`},
}

// shownTypes are those with ids, of which the matrix shows each way.
var shownTypes = []string{
	"User", "Note", "Version", "Tag", "DeletedNote", "NoteShareEnded", "Scope", "Entity", "Project", "Team", "Category", "Subcategory",
	"ProjectItem", "ProjectItemEffort", "ProjectImport", "ProjectExport", "ProjectRemoval", "ProjectInvitation", "Score", "Snapshot", "Item", "Archive",
}

// ofSome are fields that have a value for some of the subjects and none for others.
var ofSome = []string{
	"ProjectItem.category", "ProjectItem.subcategory", "ProjectItem.claim", "ProjectItem.returnedTo", "ProjectItemEffort.undoneAt", "ProjectItemEffort.review",
	"ProjectImport.endedAt", "Score.snapshot", "Item.score", "ProjectItem.item", "ProjectItem.url", "ProjectItem.metadata",
	"Project.queueRebuild", "ProjectRemoval.undoUntil", "Item.withdrawnAt", "Team.deletedAt", "ProjectInvitation.revokedAt", "ProjectChange.subject", "ProjectChange.member", "ChangedField.before", "ChangedField.after",
}

// unseen are mutations that change nothing which a snapshot shows, or nothing for some who may send them.
var unseen = []string{"acceptProjectInvitation", "blockUser", "claimReviews", "dropScore", "endShares", "heartbeat", "openSharedNote", "removeItemTags", "signUploadPart", "unblockUser"}

// someSum is the SHA-256 of something.
const someSum = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

// manyTags are as many as one request may add, and more than the note has room for.
var manyTags = func() string {
	var all []string
	for i := range 40 {
		all = append(all, `"t`+strings.Repeat("i", i)+`"`)
	}
	return strings.Join(all, ", ")
}()

// subjectsOf are the objects whose fields the matrix is about, by the names of their ids. Ways that lead to other objects
// of these types ("another") count for nothing.
var subjectsOf = map[string][]string{
	"User":        {"owner"},
	"Note":        {"note", "deleted"},
	"Version":     {"version"},
	"Tag":         {"tag"},
	"DeletedNote": {"note", "deleted"},

	"NoteShareEnded": {"note", "deleted"},

	"Scope":             {"scope"},
	"Entity":            {"entity", "other"},
	"Project":           {"project"},
	"Team":              {"reviewers", "managers", "taggies"},
	"Category":          {"category"},
	"Subcategory":       {"subcategory"},
	"ProjectItem":       {"item", "open", "held", "taken", "returned", "mineItem", "undoneItem", "reviewedItem", "lateItem", "goneItem", "scanItem"},
	"ProjectItemEffort": {"effort", "mine", "undone", "reviewed", "late", "gone", "hers"},
	"ProjectImport":     {"import", "imported", "scans"},
	"ProjectExport":     {"export"},
	"ProjectRemoval":    {"removal"},
	"ProjectInvitation": {"invitation"},
	"Score":             {"score", "past"},
	"Snapshot":          {"snapshot"},
	"Item":              {"file", "page", "spareFile", "lentFile", "withdrawnFile"},
	"Archive":           {"archive"},
}
