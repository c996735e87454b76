package dynamo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/note"
)

// BenchmarkDecode reads one row of each kind that is read in large numbers.
func BenchmarkDecode(b *testing.B) {
	item, err := itemRow(fullItem)
	require.NoError(b, err)
	decoding(b, "Note", noteRow(fullNote), func(row []byte, n *note.Note) error { return decodeNote(row, n, nil) })
	decoding(b, "Share", shareRow(fullShare), decodeShare)
	decoding(b, "User", profileRow(fullUser), decodeUser)
	decoding(b, "Project", projectRow(fullProject), decodeProject)
	decoding(b, "ProjectMember", projectMemberRow(fullMember), decodeProjectMember)
	decoding(b, "Item", item, decodeItem)
	decoding(b, "Effort", effortRow(fullEffort), decodeEffort)
	decoding(b, "Relation", relationRow(effortOf(itemID(fullItem.ItemID), fullEffort), fullTime, nil), func(row []byte, r *relationRecord) error { return decodeRelation(row, r, nil) })
	decoding(b, "Entity", entityRow(entityKey(itemID(fullItem.ItemID)), header{ID: itemID(fullItem.ItemID), Version: 3, Created: fullTime, Updated: fullTime, Index: map[string][]string{"n": {"k"}}},
		attrs{"name": str("name"), "color": str("red")}), decodeEntity)
	decoding(b, "Entry", indexRow(fullRelation.Subject, "name", "key", attrs{"name": str("name")}), decodeEntry)
	decoding(b, "Score", scoreRow(fullScore), decodeScore)
	decoding(b, "Snapshot", snapshotRow(fullSnapshot), decodeSnapshot)
	decoding(b, "ScoreItem", scoreItemRow(fullScoreItem), decodeScoreItem)
	decoding(b, "TagSet", tagSetRow(fullTagSet), decodeTagSet)
	for _, row := range fileTagRows(fullTagSet.Key, fullTagSet.Index) {
		if row["valueOrder"] != nil {
			decoding(b, "Tag", row, decodeTagRow)
			break
		}
	}
}

func decoding[T any](b *testing.B, name string, row attrs, decode func(item []byte, into *T) error) {
	b.Run(name, func(b *testing.B) {
		raw, into := rowJSON(row), new(T) // as in a page, which is made at once
		b.ReportAllocs()
		for b.Loop() {
			var nothing T
			*into = nothing
			if err := decode(raw, into); err != nil {
				b.Fatal(err)
			}
		}
	})
}
