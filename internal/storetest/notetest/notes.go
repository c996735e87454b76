// Package notetest holds a store of notes, their versions, tags and shares to its contract.
//
// It knows note.Store and what the rules rely on. It must not know how things are kept. Start reading at [Suite].
package notetest

import (
	"testing"

	"github.com/taggie/taggie/internal/storetest"
)

// Suite tests the contract of note.Store, and the rules of note.Service that depend on it.
func Suite(t *testing.T, open storetest.Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *storetest.World){
		"DueAfterReturnsNotesOnly":               testDueAfterReturnsNotesOnly,
		"DueBoundsAreExclusive":                  testDueBoundsAreExclusive,
		"NotesWithoutADeadlineComeLast":          testNotesWithoutADeadlineComeLast,
		"PagingBothDirections":                   testPagingBothDirections,
		"WindowsStayInTheirPartition":            testWindowsStayInTheirPartition,
		"TagWorkDoesNotReturnWorkout":            testTagWorkDoesNotReturnWorkout,
		"TagsMayHoldAnyCharacter":                testTagsMayHoldAnyCharacter,
		"TagsAreComparedFoldedAndShownAsTyped":   testTagsAreComparedFolded,
		"TagsByPrefix":                           testTagsByPrefix,
		"TagRowsFollowTheSpellingOfNotes":        testTagRowsFollowTheSpellingOfNotes,
		"LosingATagLeavesTheList":                testLosingATagLeavesTheList,
		"VersionsSortNumerically":                testVersionsSortNumerically,
		"RestoreKeepsDeadlineAndShares":          testRestoreKeepsDeadlineAndShares,
		"VersionsNameTheAuthorOfTheirTags":       testVersionsNameTheAuthor,
		"ConflictReturnsTheCurrentNote":          testConflictReturnsTheCurrentNote,
		"ConcurrentUpdatesLoseNothing":           testConcurrentUpdatesLoseNothing,
		"OnlyOneOfTheSameMillisecondWins":        testOnlyOneOfTheSameMillisecondWins,
		"ChangingTheDeadlineMovesOneNote":        testChangingTheDeadline,
		"SharedNotesBeyond100":                   testSharedNotesBeyond100,
		"SharesByAnOwner":                        testSharesByAnOwner,
		"SharesHideVersionsFromBefore":           testSharesHideVersionsFromBefore,
		"SharesThatNobodyOpened":                 testSharesThatNobodyOpened,
		"SharesBesideAWriter":                    testSharesBesideAWriter,
		"BlockedUsersShareNothing":               testBlockedUsersShareNothing,
		"SharingIsIdempotent":                    testSharingIsIdempotent,
		"SharingChecksNoteAndUser":               testSharingChecksNoteAndUser,
		"PermissionIsTheShareRow":                testPermissionIsTheShareRow,
		"AccessListsPageLikeOneAnother":          testAccessListsPageLikeOneAnother,
		"DeleteLeavesNoDanglingRowInLists":       testDeleteLeavesNoDanglingRow,
		"DeletedNotesDoNotCountBesideAPage":      testDeletedNotesDoNotCountBesideAPage,
		"UndeleteRestoresTagsVersionsShares":     testUndeleteRestores,
		"UndoEndsAfter30Days":                    testUndoEndsAfter30Days,
		"CleanUpRunsAgain":                       testCleanUpRunsAgain,
		"CleanUpsAreListedOnAndOn":               testCleanUpsAreListedOnAndOn,
		"CleanUpLeavesUndeletedNotesAlone":       testCleanUpLeavesUndeletedNotesAlone,
		"ChangedSinceReturnsDeletions":           testChangedSinceReturnsDeletions,
		"ChangedSincePagesInOrder":               testChangedSincePagesInOrder,
		"ChangedSinceMissesNothing":              testChangedSinceMissesNothing,
		"SharedChangesAreTold":                   testSharedChangesAreTold,
		"EndsOfSharesAreToldFor30Days":           testEndsOfSharesAreTold,
		"SharedChangesComeInPages":               testSharedChangesComeInPages,
		"TwoDevicesAgreeWithTheStore":            testTwoDevices,
		"WhoWroteIsKept":                         testWhoWrote,
		"IdempotencyKeyRecordedWithEffect":       testIdempotencyKeyRecordedWithEffect,
		"IdempotencyKeyOfAnotherInputIsRefused":  testIdempotencyKeyOfAnotherInput,
		"IdempotencyExpires":                     testIdempotencyExpires,
		"IdempotencyKeyOfAFailureIsNotRecorded":  testIdempotencyKeyOfAFailure,
		"IdempotencyKeyOfANoOpIsRecorded":        testIdempotencyKeyOfANoOp,
		"IdempotencyOfOneViewerIsNotAnothers":    testIdempotencyOfOneViewer,
		"EveryMutationHappensOncePerKey":         testEveryMutationHappensOncePerKey,
		"MissingNoteIsNotFoundAlone":             testMissingNoteIsNotFoundAlone,
		"IDsThatNoRowCanHaveAreNotFoundAlone":    testImpossibleIDs,
		"TooLargeForAnItemIsTold":                testTooLargeForAnItem,
		"FortyTagsReplacedByFortyInOneRestore":   testFortyTagsReplaced,
		"RevokedEditorCannotWriteNorLearnAThing": testRevokedEditor,
	})
}
