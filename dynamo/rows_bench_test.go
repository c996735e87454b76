package dynamo

import (
	"testing"

	"github.com/taggie/taggie/internal/note"
)

func BenchmarkDecodeNote(b *testing.B) {
	row := rowJSON(noteRow(fullNote))
	n := new(note.Note) // as in a page, which is made at once
	b.ReportAllocs()
	for b.Loop() {
		*n = note.Note{}
		if err := decodeNote(row, n, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeShare(b *testing.B) {
	row := rowJSON(shareRow(fullShare))
	s := new(note.Share)
	b.ReportAllocs()
	for b.Loop() {
		*s = note.Share{}
		if err := decodeShare(row, s); err != nil {
			b.Fatal(err)
		}
	}
}
