package projects_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

// Things of which every attribute is there.
var fullProject = project.Project{
	ID: dynamotest.AUUID, Name: "Birds", Description: "of the garden", Keywords: []string{"night", "day"}, Paused: true, QueueSize: 50, Lease: 90, Reviews: project.Reviews{Unreviewed: 80, NewcomerDays: 7}, Version: 3,
	Deletion: project.Deletion{State: project.Deleted, By: "u2", At: dynamotest.FullTime, UndoUntil: dynamotest.FullTime.Add(time.Hour)}, CreatedBy: "u1",
	CreatedAt: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime.Add(time.Second),
}

var fullMember = project.Member{Project: dynamotest.AUUID, User: "u1", Team: "t1", Type: project.Reviewer, AddedAt: dynamotest.FullTime}

var fullGuidelines = project.Guidelines{Project: dynamotest.AUUID, Text: "# Owls", Version: 3, UpdatedAt: dynamotest.FullTime, UpdatedBy: "u1"}

var fullInvitation = project.Invitation{
	InvitationID: project.InvitationID{Project: dynamotest.AUUID, Created: dynamotest.FullTime.UnixMilli(), ID: "i1"}, Team: "t1", Type: project.Taggie, Hash: "h", CreatedBy: "u1",
	ExpiresAt: dynamotest.FullTime.Add(time.Hour), Uses: 3, Used: 2, RevokedAt: dynamotest.FullTime.Add(time.Second),
}

var fullChange = project.Change{
	Project: dynamotest.AUUID, ID: "h1", At: dynamotest.FullTime, Type: project.TeamRenamed, By: "u1", Name: "Day", Member: "u2", Fields: []project.ChangedField{{Name: "name", Old: "Day", New: "Night"}},
}

var fullTeam = project.Team{TeamID: project.TeamID{Project: dynamotest.AUUID, ID: "t1"}, Name: "Reviewers", Type: project.Reviewer, CreatedAt: dynamotest.FullTime, DeletedAt: dynamotest.FullTime.Add(time.Second), Into: "t2"}

var fullLabel = project.Label{
	LabelID: project.LabelID{Project: dynamotest.AUUID, Kind: project.Category, ID: "l1"}, Name: "owl", RetiredAt: dynamotest.FullTime, Into: "l2", MergedAt: dynamotest.FullTime,
}

var fullList = projects.ShortList{
	ID: projects.ListID(dynamotest.AUUID, projects.TeamList), Version: 3, Created: dynamotest.FullTime, Updated: dynamotest.FullTime.Add(time.Second),
	Entries: []projects.Listed{{ID: "t1", Name: "Reviewers", Type: project.Reviewer, CreatedAt: dynamotest.FullTime, RetiredAt: dynamotest.FullTime}},
}

var fullItem = project.Item{
	ItemID: project.ItemID{Project: dynamotest.AUUID, ID: "i1"}, ExternalID: "e", Name: "n", Type: "image/png", URL: "https://example.org", Metadata: map[string]any{"a": "b"},
	Status: project.Claimed, Seq: "s", Category: "c", Subcategory: "d", Keywords: []string{"k"}, Efforts: 2, EffortsMade: 5, LastEffort: "l",
	LastTransition: project.TransitionRef{ID: "d", At: dynamotest.FullTime},
	Claim:          project.Claim{User: "u", Token: "t", Since: dynamotest.FullTime, Until: dynamotest.FullTime, Lease: 90, Unreviewed: true}, ReturnedTo: "r", Was: project.New, Removal: "m", Version: 3, CreatedAt: dynamotest.FullTime,
	UpdatedAt: dynamotest.FullTime.Add(time.Second), Import: "x", Line: 4, Original: project.OriginalID{Owner: dynamotest.AUUID, Score: dynamotest.AUUID, ID: dynamotest.AUUID},
}

var fullEffort = project.Effort{
	EffortID: project.EffortID{Project: dynamotest.AUUID, ID: "e1"}, Item: "i1", User: "u1", Team: "t1", Category: "c", Subcategory: "d", Keywords: []string{"k"}, FinishedAt: dynamotest.FullTime,
	Review:   project.Review{Verdict: project.Incorrect, Comment: "a cat", By: "u2", At: dynamotest.FullTime.Add(time.Second)},
	UndoneAt: dynamotest.FullTime.Add(2 * time.Second), RemovedAt: dynamotest.FullTime.Add(4 * time.Second), UpdatedAt: dynamotest.FullTime.Add(3 * time.Second), Changes: 2, ToReview: true,
}

var fullImport = project.Import{
	TransferID: project.TransferID{Project: dynamotest.AUUID, ID: "i1"}, Source: project.FromItems, Score: "s", Items: []project.OriginalID{fullItem.Original}, Listed: 2,
	Format: project.CSV, Bytes: 1_000, State: project.Failed, CreatedBy: "u1", CreatedAt: dynamotest.FullTime, EndedAt: dynamotest.FullTime.Add(time.Second), Message: "too late", Version: 3,
	Progress: project.Progress{Read: 500, Lines: 6, Imported: 3, Duplicates: 2, Mistakes: 1, Faults: []project.LineFault{{Line: 4, Message: "no name"}}},
}

var fullExport = project.Export{
	TransferID: project.TransferID{Project: dynamotest.AUUID, ID: "e1"}, Format: project.CSV, Status: project.Claimed, State: project.Failed, CreatedBy: "u1", CreatedAt: dynamotest.FullTime,
	EndedAt: dynamotest.FullTime.Add(time.Second), Message: "too late", Items: 7, Bytes: 1_000, Version: 3,
}

var fullRemoval = project.Removal{
	TransferID: project.TransferID{Project: dynamotest.AUUID, ID: "r1"}, Items: []string{"i1", "i2"}, Import: "x", Status: project.New, Purge: true, State: project.Undoable,
	CreatedBy: "u1", Team: "t1", CreatedAt: dynamotest.FullTime, EndedAt: dynamotest.FullTime.Add(time.Second), UndoUntil: dynamotest.FullTime.Add(time.Hour), Removed: 2, Left: 1, Version: 3,
}

// What a row was written of is what is read from it, whatever it has.
func TestRowsOfProjectsAreReadAsTheyWereWritten(t *testing.T) {
	assert.Equal(t, fullProject, dynamotest.Decoded(t, projects.ProjectRow(fullProject), projects.DecodeProject))
	dynamotest.Full(t, fullMember)
	assert.Equal(t, fullMember, dynamotest.Decoded(t, projects.ProjectMemberRow(fullMember), projects.DecodeProjectMember))
	dynamotest.Full(t, fullGuidelines)
	assert.Equal(t, fullGuidelines, dynamotest.Decoded(t, projects.GuidelinesRow(fullGuidelines), projects.DecodeGuidelines))
	dynamotest.Full(t, fullInvitation)
	dynamotest.Full(t, fullInvitation.InvitationID)
	assert.Equal(t, fullInvitation, dynamotest.Decoded(t, projects.InvitationRow(fullInvitation), projects.DecodeInvitation))
	dynamotest.Full(t, fullChange)
	assert.Equal(t, fullChange, dynamotest.Decoded(t, projects.ChangeRow(fullChange), projects.DecodeChange))
	dynamotest.Full(t, fullTeam)
	assert.Equal(t, fullTeam, dynamotest.Decoded(t, projects.TeamRow(fullTeam, 1, dynamotest.FullTime), projects.DecodeTeam))
	dynamotest.Full(t, fullLabel)
	assert.Equal(t, fullLabel, dynamotest.Decoded(t, projects.LabelRow(fullLabel, fullList), projects.DecodeLabel))
	assert.Equal(t, fullList, dynamotest.Decoded(t, fullList.Row(), projects.DecodeShortList))
	dynamotest.Full(t, fullItem)
	item, err := projects.ItemRow(fullItem)
	require.NoError(t, err)
	item[projects.EffortsMade] = dynamo.Number(5) // moves count them
	assert.Equal(t, fullItem, dynamotest.Decoded(t, item, projects.DecodeItem))
	dynamotest.Full(t, fullEffort)
	assert.Equal(t, fullEffort, dynamotest.Decoded(t, projects.EffortRow(fullEffort), projects.DecodeEffort))
	dynamotest.Full(t, fullImport)
	dynamotest.Full(t, fullImport.Progress)
	assert.Equal(t, fullImport, dynamotest.Decoded(t, projects.ImportRow(fullImport), projects.DecodeImport))
	dynamotest.Full(t, fullExport)
	dynamotest.Full(t, fullRemoval)
	assert.Equal(t, fullRemoval, dynamotest.Decoded(t, projects.RemovalRow(fullRemoval), projects.DecodeRemoval))
	assert.Equal(t, fullExport, dynamotest.Decoded(t, projects.ExportRow(fullExport), projects.DecodeExport))
}

// BenchmarkDecodeProjects reads one row of each kind that is read in large numbers.
func BenchmarkDecodeProjects(b *testing.B) {
	item, err := projects.ItemRow(fullItem)
	require.NoError(b, err)
	dynamotest.Decoding(b, "Project", projects.ProjectRow(fullProject), projects.DecodeProject)
	dynamotest.Decoding(b, "ProjectMember", projects.ProjectMemberRow(fullMember), projects.DecodeProjectMember)
	dynamotest.Decoding(b, "Item", item, projects.DecodeItem)
	dynamotest.Decoding(b, "Effort", projects.EffortRow(fullEffort), projects.DecodeEffort)
}

// An update writes every attribute that a project has of its own.
func TestAnUpdateOfAProjectWritesAllOfIt(t *testing.T) {
	t.Parallel()
	whole := fullProject
	whole.Member = fullMember
	dynamotest.Full(t, whole)
	dynamotest.Full(t, whole.Deletion)
	clock := storetest.NewClock()
	w := projecttest.NewWorld(t, openProjects(t, clock.Now), clock)
	before := w.Project
	full := fullProject
	full.ID, full.CreatedAt, full.UpdatedAt, full.Version = before.ID, before.CreatedAt, clock.Now(), before.Version+1
	for _, step := range [][2]project.Project{{before, full}, {full, {ID: before.ID, Name: "bare", CreatedAt: before.CreatedAt, UpdatedAt: clock.Now(), Version: full.Version + 1}}} {
		after := step[1]
		require.NoError(t, w.Projects.UpdateProject(t.Context(), step[0], after, idempotency.Key{}))
		found, errs := w.Projects.ProjectsByID(t.Context(), "", []project.ID{before.ID})
		require.Nil(t, errs)
		found[0].Member, after.Member = project.Member{}, project.Member{}
		if len(found[0].Keywords) == 0 {
			found[0].Keywords = nil
		}
		assert.Equal(t, after, found[0])
	}
}
