package notes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/internal/note"
)

// A view without content must lack the content and nothing else: an attribute that is missing from the projection would
// be lost silently.
func TestWithoutContentLacksContentOnly(t *testing.T) {
	listed := map[string]bool{}
	for _, attribute := range notes.WithoutContent.Names {
		listed[attribute] = true
	}
	for _, row := range []dynamo.Attrs{
		notes.NoteRow(fullNote), notes.TombstoneRow(fullNote, fullDeleted), notes.VersionRow("u1", fullVersion), notes.ShareRow(fullShare),
		notes.TagRow(fullNote.Owner, fullNote.ID, fullNote.Tags[0]), notes.LocatorRow(fullNote), notes.EndedRow(fullShare, dynamotest.FullTime),
	} {
		for attribute := range row {
			switch attribute {
			case "content", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "LSI1SK", "expires_at": // not read by primary key
			default:
				assert.True(t, listed[attribute], "%s is not in the projection", attribute)
			}
		}
	}
	require.False(t, listed["content"])
}

func TestLightNotesLackNothingButTheirContent(t *testing.T) {
	n, v, s := fullNote, fullVersion, fullShare
	n.Foreign, n.Permission, n.FirstVersion = true, note.View, 7 // which no row has
	dynamotest.Full(t, n)
	n.Permission, n.FirstVersion = note.None, 0
	dynamotest.Full(t, v)
	dynamotest.Full(t, s)
	var aNote note.Note
	require.NoError(t, notes.DecodeNote(dynamotest.SeenThrough(notes.WithoutContent, notes.NoteRow(n)), &aNote, nil))
	n.Content = ""
	assert.Equal(t, n, aNote)
	var aVersion note.Version
	require.NoError(t, notes.DecodeVersion(dynamotest.SeenThrough(notes.WithoutContent, notes.VersionRow(n.Owner, v)), &aVersion))
	v.Content = ""
	assert.Equal(t, v, aVersion)
	var aShare note.Share
	require.NoError(t, notes.DecodeShare(dynamotest.SeenThrough(notes.WithoutContent, notes.ShareRow(s)), &aShare))
	assert.Equal(t, s, aShare)
	var deleted note.Deleted
	require.NoError(t, notes.DecodeNote(dynamotest.SeenThrough(notes.WithoutContent, notes.TombstoneRow(n, fullDeleted)), &note.Note{}, &deleted))
	assert.Equal(t, fullDeleted, deleted)
}

// What is read in part lacks nothing that its decoder reads.
func TestPartsOfSharesAndLocatorsAreAllThatIsRead(t *testing.T) {
	assert.Equal(t, fullShare, dynamotest.SeenDecoded(t, notes.ShareParts, notes.ShareRow(fullShare), notes.DecodeShare))
	share := dynamotest.SeenDecoded(t, notes.LocatorParts, notes.ShareRow(fullShare), notes.DecodeShare)
	assert.Equal(t, []any{fullShare.Permission, fullShare.FirstVersion}, []any{share.Permission, share.FirstVersion})

	read := func(item dynamo.Item, n *note.Note) error { return notes.DecodeNote(item, n, nil) }
	locator := notes.LocatorRow(fullNote)
	assert.Equal(t, dynamotest.Decoded(t, locator, read), dynamotest.SeenDecoded(t, notes.LocatorParts, locator, read))
}
