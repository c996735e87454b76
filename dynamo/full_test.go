package dynamo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
)

const aUUID = "a5a3cceb-de61-43e4-849c-deafbf750bd7"

// Things of which every attribute is there.
var (
	fullTime = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	fullUser = user.User{ID: aUUID, Name: "Ada", Email: "ada@example.org", Version: 3, CreatedAt: fullTime, UpdatedAt: fullTime.Add(time.Second)}
	fullNote = note.Note{
		ID: "n1", Owner: "u1", Title: "title", Content: "content", Deadline: fullTime, Version: 3, Snapshot: 2,
		Tags: []tag.Tag{{Author: "u1", Word: tag.Word{Value: "Work", Key: "work"}}}, CreatedAt: fullTime, UpdatedAt: fullTime,
	}
	fullDeleted = note.Deleted{ID: "n1", DeletedAt: fullTime}
	fullVersion = note.Version{VersionID: note.VersionID{Note: "n1", Number: 2}, Title: "title", Content: "content", Tags: fullNote.Tags, Deadline: fullTime, UpdatedAt: fullTime}
	fullShare   = note.Share{Note: "n1", Owner: "u1", User: "u2", Permission: note.Edit, SharedAt: fullTime}
	fullCleanup = note.Cleanup{Note: "n1", Owner: "u1", DeletedAt: fullTime, Due: fullTime.Add(time.Hour), Last: true}
	fullProject = project.Project{
		ID: aUUID, Name: "Birds", Description: "of the garden", Keywords: []string{"night", "day"}, Paused: true, QueueSize: 50, Version: 3,
		CreatedAt: fullTime, UpdatedAt: fullTime.Add(time.Second),
	}
	fullMember = project.Member{Project: aUUID, User: "u1", Team: "t1", Type: project.Reviewer, AddedAt: fullTime}
	fullTeam   = project.Team{TeamID: project.TeamID{Project: aUUID, ID: "t1"}, Name: "Reviewers", Type: project.Reviewer, CreatedAt: fullTime}
	fullLabel  = project.Label{LabelID: project.LabelID{Project: aUUID, Kind: project.Category, ID: "l1"}, Name: "owl"}
	fullList   = shortList{
		id: listID(aUUID, teamList), version: 3, created: fullTime, updated: fullTime.Add(time.Second),
		entries: []listed{{ID: "t1", Name: "Reviewers", Type: project.Reviewer, CreatedAt: fullTime}},
	}
	fullItem = project.Item{
		ItemID: project.ItemID{Project: aUUID, ID: "i1"}, ExternalID: "e", Name: "n", Type: "image/png", URL: "https://example.org", Metadata: map[string]any{"a": "b"},
		Status: project.Claimed, Seq: "s", Category: "c", Subcategory: "d", Keywords: []string{"k"}, Efforts: 2, EffortsMade: 5, LastEffort: "l",
		LastTransition: project.TransitionRef{ID: "d", At: fullTime},
		Claim:          project.Claim{User: "u", Token: "t", Since: fullTime, Until: fullTime}, ReturnedTo: "r", Version: 3, CreatedAt: fullTime,
		UpdatedAt: fullTime.Add(time.Second), Import: "x", Line: 4, Original: project.OriginalID{Owner: aUUID, Score: aUUID, ID: aUUID},
	}
	fullEffort = project.Effort{
		EffortID: project.EffortID{Project: aUUID, ID: "e1"}, Item: "i1", User: "u1", Team: "t1", Category: "c", Subcategory: "d", Keywords: []string{"k"}, FinishedAt: fullTime,
		Review:   project.Review{Verdict: project.Incorrect, Comment: "a cat", By: "u2", At: fullTime.Add(time.Second)},
		UndoneAt: fullTime.Add(2 * time.Second), UpdatedAt: fullTime.Add(3 * time.Second),
	}
	fullImport = project.Import{
		TransferID: project.TransferID{Project: aUUID, ID: "i1"}, Source: project.FromItems, Score: "s", Items: []project.OriginalID{fullItem.Original}, Listed: 2,
		Format: project.CSV, Bytes: 1_000, State: project.Failed, CreatedBy: "u1", CreatedAt: fullTime, EndedAt: fullTime.Add(time.Second), Message: "too late", Version: 3,
		Progress: project.Progress{Read: 500, Lines: 6, Imported: 3, Duplicates: 2, Mistakes: 1, Faults: []project.LineFault{{Line: 4, Message: "no name"}}},
	}
	fullExport = project.Export{
		TransferID: project.TransferID{Project: aUUID, ID: "e1"}, Format: project.CSV, Status: project.Claimed, State: project.Failed, CreatedBy: "u1", CreatedAt: fullTime,
		EndedAt: fullTime.Add(time.Second), Message: "too late", Items: 7, Bytes: 1_000, Version: 3,
	}
	fullRelation = entity.Relation{
		Subject: entity.ID{Scope: "s", Type: "Song", ID: "1"}, Predicate: "by", Index: 3, Object: entity.ID{Scope: "s", Type: "Band", ID: "2"},
	}
	fullScopeMember = entity.Member{Scope: "s", User: "u1", Role: entity.WriterRole, AddedAt: fullTime}
	fullScope       = entity.Scope{
		ID: "s", Name: "Songs", Version: 3, CreatedAt: fullTime, UpdatedAt: fullTime.Add(time.Second),
		Indexes: []entity.Index{{Name: "n", Type: "Song", Path: []string{"a", "b"}, Kind: "TEXT", DeclaredAt: fullTime, Ready: true, RemovedAt: fullTime.Add(time.Second), Done: 4, Pass: 2, At: "p"}},
	}
	fullDeletion = deletion{id: "d1", entity: fullRelation.Subject, key: entityKey(fullRelation.Subject), at: fullTime}
	fullScore    = score.Score{
		Ref: score.Ref{Owner: aUUID, ID: documentScore}, Title: "Suite", Access: score.Limited, DescriptionHash: "h",
		Pages:     []score.Page{{Item: documentItem, ItemScore: documentScore, Object: "o", Label: "1"}, {Item: documentItem, ItemScore: aUUID, Object: "o", Label: "2"}},
		PageCount: 2, Annotations: []string{"a", "b"}, AnnotationCount: 2, Hash: "x", Version: 3, Snapshots: 4, CreatedAt: fullTime, UpdatedAt: fullTime.Add(time.Second),
	}
	fullSnapshot  = score.Snapshot{SnapshotID: score.SnapshotID{Score: fullScore.Ref, ID: aUUID}, Name: "first", CreatedAt: fullTime, UpdatedAt: fullTime.Add(time.Second)}
	fullScoreItem = score.Item{
		ItemRef: score.ItemRef{Owner: aUUID, Score: documentScore, ID: documentItem}, Name: "a.png", SetName: "Suite", Type: "image/png", Size: 10, Total: 15, SHA256: "h", Object: "o",
		Width: 600, Height: 800, Thumbnail: score.Thumbnail{Object: "t", Type: "image/jpeg", Size: 5, Width: 60, Height: 80}, Refs: 2, CreatedAt: fullTime, Signed: fullTime.Add(time.Hour),
	}
	fullUpload = score.Upload{
		ItemRef: fullScoreItem.ItemRef, Name: "a.png", SetName: "Suite", Type: "image/png", Size: 10, SHA256: "h", PartSize: 5, Multipart: "m", State: score.UploadOpen,
		CreatedAt: fullTime, ExpiresAt: fullTime.Add(time.Hour), Signed: fullTime.Add(time.Minute), Claim: 10,
	}
	fullIndex  = filetag.Index{Tags: []filetag.Tag{{Word: tag.Word{Key: "work", Value: "Work"}, Public: true}}, SetName: "Suite", Via: documentScore, Shards: 4}
	fullTagSet = filetag.Set{
		Key: filetag.Key{Item: fullScoreItem.ItemRef, Author: aUUID}, Index: fullIndex, Counted: &filetag.Index{Tags: fullIndex.Tags, SetName: "Other", Via: documentScore, Shards: 2},
		Version: "v",
	}
	fullLayout = filetag.Layout{Shards: 4, Before: 2, Writing: true, Since: fullTime, Position: "p", Version: "v"}
)

// decoded reads a row with what reads rows of its kind.
func decoded[T any](t *testing.T, row attrs, decode func(item []byte, into *T) error) (of T) {
	t.Helper()
	require.NoError(t, decode(rowJSON(row), &of))
	return of
}

// What a row was written of is what is read from it, whatever it has.
func TestRowsAreReadAsTheyWereWritten(t *testing.T) {
	full(t, fullUser)
	assert.Equal(t, fullUser, decoded(t, profileRow(fullUser), decodeUser))
	full(t, fullCleanup)
	assert.Equal(t, fullCleanup, decoded(t, cleanupRow(fullCleanup), decodeCleanup))
	assert.Equal(t, fullProject, decoded(t, projectRow(fullProject), decodeProject))
	full(t, fullMember)
	assert.Equal(t, fullMember, decoded(t, projectMemberRow(fullMember), decodeProjectMember))
	full(t, fullTeam)
	assert.Equal(t, fullTeam, decoded(t, teamRow(fullTeam, 1, fullTime), decodeTeam))
	full(t, fullLabel)
	assert.Equal(t, fullLabel, decoded(t, labelRow(fullLabel, fullList), decodeLabel))
	assert.Equal(t, fullList, decoded(t, fullList.row(), decodeShortList))
	full(t, fullItem)
	item, err := itemRow(fullItem)
	require.NoError(t, err)
	item[effortsMade] = number(5) // moves count them
	assert.Equal(t, fullItem, decoded(t, item, decodeItem))
	full(t, fullEffort)
	assert.Equal(t, fullEffort, decoded(t, effortRow(fullEffort), decodeEffort))
	full(t, fullImport)
	full(t, fullImport.Progress)
	assert.Equal(t, fullImport, decoded(t, importRow(fullImport), decodeImport))
	full(t, fullExport)
	assert.Equal(t, fullExport, decoded(t, exportRow(fullExport), decodeExport))
	full(t, fullScopeMember)
	assert.Equal(t, fullScopeMember, decoded(t, scopeMemberRow(fullScopeMember), decodeScopeMember))
	full(t, fullScope.Indexes[0])
	assert.Equal(t, fullScope, decoded(t, scopeRow(fullScope), decodeScope))
	assert.Equal(t, relationRecord{Relation: fullRelation, Key: relationKey(fullRelation), Created: fullTime},
		decoded(t, relationRow(fullRelation, fullTime, nil), func(row []byte, r *relationRecord) error { return decodeRelation(row, r, nil) }))
	assert.Equal(t, entryRecord{ID: fullRelation.Subject, IndexEntry: entity.IndexEntry{Name: "n", Key: "k", Attributes: map[string]any{"a": "b"}}},
		decoded(t, indexRow(fullRelation.Subject, "n", "k", attrs{"a": str("b")}), decodeEntry))
	assert.Equal(t, fullDeletion, decoded(t, fullDeletion.order().item, func(row []byte, d *deletion) error { d.id = "d1"; return d.decode(row) }))
	full(t, fullScore)
	assert.Equal(t, fullScore, decoded(t, scoreRow(fullScore), decodeScore))
	full(t, fullSnapshot)
	assert.Equal(t, fullSnapshot, decoded(t, snapshotRow(fullSnapshot), decodeSnapshot))
	full(t, fullScoreItem)
	assert.Equal(t, fullScoreItem, decoded(t, scoreItemRow(fullScoreItem), decodeScoreItem))
	full(t, fullUpload)
	assert.Equal(t, fullUpload, decoded(t, uploadRow(fullUpload), decodeUpload))
	full(t, fullTagSet)
	full(t, fullIndex)
	assert.Equal(t, fullTagSet, decoded(t, tagSetRow(fullTagSet), decodeTagSet))
	for key, row := range fileTagRows(fullTagSet.Key, fullIndex) {
		if row["valueOrder"] == nil {
			continue // of the set
		}
		found := foundTag{Entry: filetag.Entry{Key: fullTagSet.Key, Via: fullIndex.Via, Value: "work"}, order: text(row["valueOrder"])}
		assert.Equal(t, found, decoded(t, row, decodeTagRow), key)
	}
	full(t, fullLayout)
	assert.Equal(t, fullLayout, decoded(t, layoutRow(fullLayout), decodeLayout))
}
