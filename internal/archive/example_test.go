package archive_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/taggie/taggie/internal/archive"
)

func ExampleWrite() {
	a := archive.Archive{ID: archive.ID{User: "ada", ID: "1"}, CreatedAt: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}
	type note struct{ Title string }
	c := archive.Contents{
		Parts: []archive.Part{{Name: "notes.jsonl", Holds: "your notes", Lines: func(_ context.Context, _ archive.UserID, emit archive.Emit) error {
			return emit(note{"Groceries"})
		}}},
		Files: func(context.Context, archive.UserID, func(archive.File) error) error { return nil },
	}
	var file bytes.Buffer
	written, err := archive.Write(context.Background(), &file, a, c, nil, nil)
	fmt.Println(written.Entries, err)
	z, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range z.File {
		fmt.Println(f.Name)
	}
	// Output:
	// 1 <nil>
	// README.txt
	// notes.jsonl
}
