package notes

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
)

// byTag is one list of notes by tag on its way.
type byTag struct {
	request note.TagRequest
	list    dynamo.Listing[tagged]
	span    dynamo.Span
	rows    []tagged
	rounds  int // of reading
	kept    []note.Found
	done    bool
	err     error
}

// ListNotesByTags lists the notes of each author that carry each tag, by id. The tag's separator is part of the prefix, so
// that "work" does not find "workout". Notes that lose the tag at this moment are left out, and pages stay full. The rows
// of all lists are read concurrently within the bound, their notes together.
//
// Index: primary. Key: PK = USER#<author> AND begins_with(SK, TAG#<tag>#NOTE#), per list; then the notes as in NotesByID.
// Cost: 1 Query per list, and 2 × ⌈n/100⌉ BatchGetItem for the notes of all lists together.
func (db Store) ListNotesByTags(ctx context.Context, requests []note.TagRequest) ([]page.Slice[note.Found], []error) {
	lists := make([]*byTag, len(requests))
	for i, r := range requests {
		low, high := dynamo.Prefixed(keys.TagNotesPrefix(r.Tag.Key))
		l := dynamo.Listing[tagged]{
			Span:    dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(r.Tag.Author)), Low: low, High: high},
			Decode:  decodeTagged,
			SortKey: func(p string) string { return keys.TagSK(r.Tag.Key, p) },
		}
		lists[i] = &byTag{request: r, list: l, span: l.In(r.Window)}
	}
	slices := make([]page.Slice[note.Found], len(requests))
	for left := lists; len(left) > 0; left = unfinished(left) {
		for i, err := range db.Each(len(left), func(i int) error { return left[i].read(ctx, db.DB) }) {
			left[i].err = err
		}
		db.resolve(ctx, left)
	}
	errs := db.Each(len(lists), func(i int) (err error) {
		l := lists[i]
		if l.err != nil {
			return l.err
		}
		slices[i] = page.Fill(l.request.Window, l.kept, func(f note.Found) string { return string(f.ID) })
		slices[i].Other, err = l.list.Other(ctx, db.DB, l.request.Window, func(ctx context.Context, rows []tagged) (bool, error) {
			probe := byTag{request: l.request, rows: rows}
			db.resolve(ctx, []*byTag{&probe})
			return len(probe.kept) > 0, nil
		})
		return err
	})
	return slices, errs
}

// ListNotesByTag lists the notes of one tag; see [Store.ListNotesByTags].
//
// Index: primary. Key: PK = USER#<author> AND begins_with(SK, TAG#<tag>#NOTE#); then the notes as in NotesByID.
// Cost: 1 Query and 2 × ⌈n/100⌉ BatchGetItem.
func (db Store) ListNotesByTag(ctx context.Context, id tag.ID, w page.Window) (page.Slice[note.Found], error) {
	slices, errs := db.ListNotesByTags(ctx, []note.TagRequest{{Tag: id, Window: w}})
	return slices[0], errs[0]
}

func unfinished(lists []*byTag) []*byTag {
	var left []*byTag
	for _, l := range lists {
		if !l.done && l.err == nil {
			left = append(left, l)
		}
	}
	return left
}

// read reads the next rows of the list.
func (l *byTag) read(ctx context.Context, db *dynamo.DB) error {
	rows, next, err := l.list.Rows(ctx, db, l.span)
	l.rows, l.done = rows, next == nil
	l.span.Start, l.span.Limit = next, dynamo.Further(l.rounds, 1)
	l.rounds++
	return err
}

// resolve reads the notes of all rows that the lists have just read, and keeps those that carry the tag.
func (db Store) resolve(ctx context.Context, lists []*byTag) {
	var found []located
	for _, l := range lists {
		for _, row := range l.rows {
			// The rows of tags are in the partition of the notes' owner, so there is no share to look for.
			found = append(found, located{reader: l.request.Tag.Author, note: note.Note{ID: row.note}, known: true, sought: !row.foreign})
		}
	}
	db.locate(ctx, found)
	for _, l := range lists {
		for _, row := range l.rows {
			f := found[0].found(row.note)
			found = found[1:]
			if f.Err == nil && carries(f.Note, l.request.Tag.Key) || f.Err != nil && !fault.Is(f.Err, fault.NotFound) {
				l.kept = append(l.kept, f)
			}
		}
		l.done = l.done || len(l.kept) > l.request.Window.Limit
	}
}

// ListVersionsOf lists the versions of each note, the newest first, concurrently within the bound.
//
// Index: primary. Key: PK = NOTE_HISTORY#<note_id> AND begins_with(SK, VER#), descending, per note. Cost: 1 Query per note.
func (db Store) ListVersionsOf(ctx context.Context, requests []note.VersionsRequest) ([]page.Slice[note.Version], []error) {
	slices := make([]page.Slice[note.Version], len(requests))
	return slices, db.Each(len(requests), func(i int) (err error) {
		slices[i], err = db.ListVersions(ctx, requests[i].Note, requests[i].First, requests[i].Window)
		return err
	})
}
