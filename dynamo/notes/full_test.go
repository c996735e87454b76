package notes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

// Things of which every attribute is there.
var fullNote = note.Note{
	ID: "n1", Owner: "u1", Title: "title", Content: "content", Deadline: dynamotest.FullTime, Version: 3, Snapshot: 2,
	Tags: []tag.Tag{{Author: "u1", Word: tag.Word{Value: "Work", Key: "work"}}}, CreatedAt: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime, UpdatedBy: "u2", Author: "u3",
}

var fullDeleted = note.Deleted{ID: "n1", DeletedAt: dynamotest.FullTime}

var fullVersion = note.Version{VersionID: note.VersionID{Note: "n1", Number: 2}, Title: "title", Content: "content", Tags: fullNote.Tags, Deadline: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime, Author: "u3"}

var fullShare = note.Share{Note: "n1", Owner: "u1", User: "u2", Permission: note.Edit, FirstVersion: 2, SharedAt: dynamotest.FullTime, OpenedAt: dynamotest.FullTime}

var fullCleanup = note.Cleanup{Note: "n1", Owner: "u1", DeletedAt: dynamotest.FullTime, Due: dynamotest.FullTime.Add(time.Hour), Last: true}

// What a row was written of is what is read from it, whatever it has.
func TestRowsOfNotesAreReadAsTheyWereWritten(t *testing.T) {
	dynamotest.Full(t, fullCleanup)
	assert.Equal(t, fullCleanup, dynamotest.Decoded(t, notes.CleanupRow(fullCleanup), notes.DecodeCleanup))
}

// BenchmarkDecodeNotes reads one row of each kind that is read in large numbers.
func BenchmarkDecodeNotes(b *testing.B) {
	dynamotest.Decoding(b, "Note", notes.NoteRow(fullNote), func(row dynamo.Item, n *note.Note) error { return notes.DecodeNote(row, n, nil) })
	dynamotest.Decoding(b, "Share", notes.ShareRow(fullShare), notes.DecodeShare)
}
