package dynamo

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/note"
)

// What is declared once is written, read and seen by light reads: a note that is selected without its content lacks nothing else.
func TestDeclaredAttributesAreWrittenReadAndProjected(t *testing.T) {
	type painted struct{ color, picture string }
	layout := layoutOf(
		ofText("color", func(p *painted) *string { return &p.color }),
		big(ofText("picture", func(p *painted) *string { return &p.picture })),
		indexKey("GSI1PK", func(p *painted) string { return "BY#" + p.color }),
	)
	row := layout.row(&painted{"red", "a large one"})
	assert.Equal(t, []string{"GSI1PK", "color", "picture"}, slices.Sorted(maps.Keys(row)))
	var whole, light painted
	require.NoError(t, layout.decode(rowJSON(row), &whole))
	assert.Equal(t, painted{"red", "a large one"}, whole)
	require.NoError(t, layout.decode(seenThrough(lightest(noteRows.light(), layout.light()), row), &light))
	assert.Equal(t, painted{color: "red"}, light)
}

func TestLightNotesLackNothingButTheirContent(t *testing.T) {
	n, v, s := fullNote, fullVersion, fullShare
	n.Foreign, n.Permission = true, note.Owner // which no row has
	full(t, n)
	n.Permission = note.None
	full(t, v)
	full(t, s)
	var aNote note.Note
	require.NoError(t, decodeNote(seenThrough(withoutContent, noteRow(n)), &aNote, nil))
	n.Content = ""
	assert.Equal(t, n, aNote)
	var aVersion note.Version
	require.NoError(t, decodeVersion(seenThrough(withoutContent, versionRow(n.Owner, v)), &aVersion))
	v.Content = ""
	assert.Equal(t, v, aVersion)
	var aShare note.Share
	require.NoError(t, decodeShare(seenThrough(withoutContent, shareRow(s)), &aShare))
	assert.Equal(t, s, aShare)
	var deleted note.Deleted
	require.NoError(t, decodeNote(seenThrough(withoutContent, tombstoneRow(n, fullDeleted)), &note.Note{}, &deleted))
	assert.Equal(t, fullDeleted, deleted)
}
