package project

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
)

// OriginalID says where an item of a user is, in the user's library or at a score: items of projects are made of such.
type OriginalID struct {
	Owner UserID
	Score string // the nil UUID for the library
	ID    string
}

// ExternalID returns what the item of a project is called that is made of this one: the same always, so that it is in a project
// once, however often it is imported.
func (id OriginalID) ExternalID() string { return "item:" + id.ID }

// Original is an item of a user, as far as it is imported.
type Original struct {
	OriginalID
	Name string // "" when there is no such item any more
	Type string
}

// Originals finds the items of users. All of it may fail with Unavailable besides the faults that are named.
type Originals interface {
	// OriginalsByID returns the item or the error of each, in the order of ids. NotFound for one that does not exist, or is not
	// the viewer's.
	OriginalsByID(ctx context.Context, ids []OriginalID) ([]Original, []error)
	// OwnScore returns nil for a score of the viewer, and NotFound for every other one.
	OwnScore(ctx context.Context, owner UserID, score string) error
	// ListOriginals hands on what an import is to bring, as [Import.Source] says: of items that are named one for each, in their
	// order, also of those that do not exist any more, and otherwise by id. It asks nobody who may see them.
	ListOriginals(ctx context.Context, i Import, each func(Original) error) error
}

// UnknownOriginal is the outcome of an import of an item that does not exist, or is somebody else's.
type UnknownOriginal struct{ ID OriginalID }

// Error says so.
func (*UnknownOriginal) Error() string { return "there is no such item" }

// Source says where an import has its items from.
type Source string

// The sources.
const (
	FromFile    Source = "FILE"    // that a client uploads
	FromItems   Source = "ITEMS"   // items of who created it, by their ids
	FromLibrary Source = "LIBRARY" // all items of the library of who created it
	FromScore   Source = "SCORE"   // all items that were uploaded to a score of who created it
)

// originals reports whether what is imported are items of a user. They are listed in a file first, which is read like one that a
// client uploaded: so what is imported, and from which line, stays the same whatever happens to the items and to who runs the import.
func (s Source) originals() bool { return s == FromItems || s == FromLibrary || s == FromScore }

// ShownOriginal returns of what the item was made, to who was shown the item; false for one of a file.
func (i Item) ShownOriginal() (OriginalID, bool) {
	return i.Original, i.Original.ID != "" && i.as != ""
}

// listOfOriginals is the format of the files in which items of users are listed. Clients cannot ask for it.
const listOfOriginals Format = "ORIGINALS"

// originalLine is a line of such a file. Whose the items are the import says.
type originalLine struct {
	ID    string `json:"id"`
	Score string `json:"score"`
	Name  string `json:"name,omitempty"`
	Type  string `json:"type,omitempty"`
}

// list writes the file of what the import is to bring. Names and types that are longer than those of items of projects are cut.
func (im Importer) list(ctx context.Context, i Import) (bytes int64, err error) {
	if im.Originals == nil {
		return 0, errors.New("nobody finds the items of users")
	}
	return im.Files.Upload(ctx, i.fileKey(), "application/x-ndjson", func(w io.Writer) error {
		lines := json.NewEncoder(w)
		return im.Originals.ListOriginals(ctx, i, func(o Original) error {
			return lines.Encode(originalLine{ID: o.ID, Score: o.Score, Name: cut(o.Name, MaxItemNameRunes), Type: cut(o.Type, MaxItemTypeRunes)})
		})
	})
}

// list lists the items of a user that are to be imported. Who lists them again, because the server was lost before this was stored,
// begins anew: nothing was imported yet.
func (r *importRun) list(ctx context.Context) error {
	listed := r.stored
	listed.Listed = r.stored.Version // which this run stored, and no other one
	bytes, err := r.Importer.list(ctx, listed)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "the items could not be listed")
	}
	r.stored.Listed, r.stored.Bytes, r.stored.Items = listed.Listed, bytes, nil
	return r.save(ctx, Running, "")
}

// cut returns as much of a text as has the given number of characters.
func cut(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes])
}

// parseOriginal returns what a line of such a file says.
func parseOriginal(text []byte) (record, error) {
	var l originalLine
	if err := json.Unmarshal(text, &l); err != nil {
		return record{}, err
	}
	if l.Name == "" {
		return record{}, errNoOriginal
	}
	id := OriginalID{Score: l.Score, ID: l.ID}
	return record{Imported: Imported{ExternalID: id.ExternalID(), Name: l.Name, Type: l.Type, Original: id}}, nil
}

var errNoOriginal = errors.New("is of an item that does not exist any more")
