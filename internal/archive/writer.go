package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// Part is a kind of things in an archive: a file of JSON Lines.
type Part struct {
	Name  string // of the file, such as "notes.jsonl"
	Holds string // what is in it, for the README
	// Lines emits each line, as the user may see what is in it. The context carries the user as the viewer.
	Lines func(ctx context.Context, user UserID, emit Emit) error
}

// Emit writes a line.
type Emit func(line any) error

// Contents are what is in an archive.
type Contents struct {
	Parts []Part
	// Files shows the files whose bytes come behind the lines. The context carries the user as the viewer.
	Files func(ctx context.Context, user UserID, each func(File) error) error
}

// File is the bytes of something that is told in a line.
type File struct {
	Key  string // where the bytes are kept; "" when nobody knows
	Path string // in the archive; no other file has it
}

// Written is what is in an archive.
type Written struct {
	Entries  int     // lines and files
	Faults   []Fault // the first of what could not be read
	Mistakes int     // how much could not be read
}

// Write writes an archive: the README, the lines of each part, then the files. Progress is told how many lines and files were written so far; its
// error ends it. A file that is gone, or has no key, is a fault of what was written. Memory: a part of a file, and what the parts keep.
func Write(ctx context.Context, to io.Writer, a Archive, c Contents, files Files, progress func(entries int) error) (Written, error) {
	w := &writer{zip: zip.NewWriter(to), at: a.CreatedAt, files: files, progress: progress}
	if err := w.text("README.txt", readme(a, c.Parts)); err != nil {
		return w.Written, fmt.Errorf("write an archive: %w", err)
	}
	for _, p := range c.Parts {
		if err := w.part(ctx, a.User, p); err != nil {
			return w.Written, fmt.Errorf("write %s of an archive: %w", p.Name, err)
		}
	}
	if err := c.Files(ctx, a.User, func(f File) error { return w.file(ctx, f) }); err != nil {
		return w.Written, fmt.Errorf("write the files of an archive: %w", err)
	}
	return w.Written, w.zip.Close()
}

// writer writes one archive.
type writer struct {
	Written
	zip      *zip.Writer
	at       time.Time
	files    Files
	progress func(int) error
}

func (w *writer) create(name string, method uint16) (io.Writer, error) {
	return w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: w.at})
}

func (w *writer) text(name, text string) error {
	to, err := w.create(name, zip.Deflate)
	if err == nil {
		_, err = io.WriteString(to, text)
	}
	return err
}

// part writes the lines of a part.
func (w *writer) part(ctx context.Context, user UserID, p Part) error {
	to, err := w.create(p.Name, zip.Deflate)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(to)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	if err := p.Lines(ctx, user, func(line any) error {
		if err := encoder.Encode(line); err != nil {
			return err
		}
		return w.wrote()
	}); err != nil {
		return err
	}
	return buffered.Flush()
}

// file writes the bytes of a file as they are: most are compressed already.
func (w *writer) file(ctx context.Context, f File) error {
	if f.Key == "" {
		w.fault(Fault{Path: f.Path, Message: "nothing says where the file is"})
		return nil
	}
	from, err := w.files.Open(ctx, f.Key, 0)
	if fault.Is(err, fault.NotFound) {
		w.fault(Fault{Path: f.Path, Message: "the file does not exist"})
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := w.create(f.Path, zip.Store)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return w.wrote()
}

// fault counts something that could not be read, and lists it while there is room.
func (w *writer) fault(f Fault) {
	w.Mistakes++
	if len(w.Faults) < MaxFaults {
		w.Faults = append(w.Faults, f)
	}
}

func (w *writer) wrote() error {
	w.Entries++
	if w.progress == nil {
		return nil
	}
	return w.progress(w.Entries)
}

// readme says what is in an archive.
func readme(a Archive, parts []Part) string {
	var b strings.Builder
	fmt.Fprintf(&b, "This is an archive of everything that is yours in Taggie, written from %s on.\n\n", a.CreatedAt.UTC().Format(time.RFC3339))
	b.WriteString("Each file below has one JSON object on each line, in UTF-8. Ids are those of the API, and times are in UTC.\n\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Holds)
	}
	b.WriteString("\nThe folder files has the bytes of your items; the field file of items.jsonl has its path. Files that were being uploaded are left out.\n")
	b.WriteString("What was changed while the archive was written may be in it as it was before or after the change, and what was made moments before may be missing.\n")
	b.WriteString("A note whose deadline was changed meanwhile may be missing, or be in it twice.\n\n")
	b.WriteString("Not in it are:\n")
	b.WriteString("- what you have finished in projects that you are no longer a member of\n")
	b.WriteString("- the other members of your scopes\n")
	b.WriteString("- deleted scopes and projects, also while they can be brought back\n")
	return b.String()
}
