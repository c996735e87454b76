package dynamo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

// Things of which every attribute is there.
var (
	fullTime = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	fullNote = note.Note{
		ID: "n1", Owner: "u1", Title: "title", Content: "content", Deadline: fullTime, Version: 3, Snapshot: 2,
		Tags: []tag.Tag{{Author: "u1", Word: tag.Word{Value: "Work", Key: "work"}}}, CreatedAt: fullTime, UpdatedAt: fullTime,
	}
	fullDeleted = note.Deleted{ID: "n1", DeletedAt: fullTime}
	fullVersion = note.Version{VersionID: note.VersionID{Note: "n1", Number: 2}, Title: "title", Content: "content", Tags: fullNote.Tags, Deadline: fullTime, UpdatedAt: fullTime}
	fullShare   = note.Share{Note: "n1", Owner: "u1", User: "u2", Permission: note.Edit, SharedAt: fullTime}
)

// A view without content must lack the content and nothing else: an attribute that is missing from the projection would
// be lost silently.
func TestWithoutContentLacksContentOnly(t *testing.T) {
	listed := map[string]bool{}
	for _, attribute := range withoutContent.names {
		listed[attribute] = true
	}
	for _, row := range []attrs{
		noteRow(fullNote), tombstoneRow(fullNote, fullDeleted), versionRow("u1", fullVersion), shareRow(fullShare),
		tagRow(fullNote.Owner, fullNote.ID, fullNote.Tags[0]), locatorRow(fullNote),
	} {
		for attribute := range row {
			switch attribute {
			case "content", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "LSI1SK": // not read by primary key
			default:
				assert.True(t, listed[attribute], "%s is not in the projection", attribute)
			}
		}
	}
	require.False(t, listed["content"])
}
