package notes

import (
	"context"
	"slices"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
)

// VersionsByID reads versions. Those that are not there under our spelling of their numbers are looked for under the document's.
//
// Index: primary. Key: PK = NOTE_HISTORY#<note_id> AND SK = VER#<version>. Cost: ⌈n/100⌉ BatchGetItem, and as many for those that are
// not found.
func (db Store) VersionsByID(ctx context.Context, ids []note.VersionID) ([]note.Version, []error) {
	versions := make([]note.Version, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.NotesTable, Key: versionKey(id), Decode: func(item dynamo.Item) error { return decodeVersion(item, &versions[i]) }}
	}
	errs := db.BatchGet(ctx, wants)
	var plain []dynamo.Want
	var at []int
	for i, err := range errs {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			key := dynamo.Key{PK: keys.NoteHistoryPK(string(ids[i].Note)), SK: keys.PlainVersionSK(ids[i].Number)}
			plain, at = append(plain, dynamo.Want{Table: dynamo.NotesTable, Key: key, Decode: wants[i].Decode}), append(at, i)
		}
	}
	for n, err := range db.BatchGet(ctx, plain) {
		errs[at[n]] = err
	}
	return versions, dynamo.Missing(errs, "there is no such version")
}

// historyRow is a version, and whether its key spells its number as the document does.
type historyRow struct {
	note.Version
	plain bool
}

// ListVersions lists the versions of a note from the first number on, the newest first. Numbers that another program spelled without padding do not sort as
// numbers do: then all keys are read, and the versions of the page by key.
//
// Index: primary. Key: PK = NOTE_HISTORY#<note_id> AND SK BETWEEN VER#<first> AND VER$, descending. Cost: 1 Query, and 1 of one row where the
// page is the last one; with versions of another program 1 Query of all keys more and 1 or 2 BatchGetItem.
func (db Store) ListVersions(ctx context.Context, id note.ID, first int, w page.Window) (page.Slice[note.Version], error) {
	if strings.HasSuffix(w.From, byNumber) {
		return db.listPlainVersions(ctx, id, first, w)
	}
	if first > 0 && w.From != "" && w.From < keys.VersionSK(first) { // the list goes less far back than it did when the position was given
		if !w.Backward {
			return page.Slice[note.Version]{Other: true}, nil
		}
		w.From = ""
	}
	s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.NoteHistoryPK(string(id))}
	if w.Backward && w.From == "" { // it begins where none of them is
		s.Low, s.High = keys.PlainVersionRange()
		s.Limit, s.Keys = 1, true
		plain := false
		if _, err := db.Query(ctx, s, func(dynamo.Item) (bool, error) { plain = true; return false, nil }); err != nil {
			return page.Slice[note.Version]{}, err
		}
		if plain {
			return db.listPlainVersions(ctx, id, first, w)
		}
		s.Limit, s.Keys = 0, false
	}
	s.Low, s.High = dynamo.Prefixed(keys.VersionPrefix)
	if first > 0 {
		s.Low = keys.VersionSK(first)
	}
	slice, err := dynamo.Listing[historyRow]{
		Span:       s,
		Descending: true,
		Decode: func(item dynamo.Item, r *historyRow) error {
			key, err := dynamo.KeyOf(item, dynamo.NotesTable)
			if err == nil {
				err = decodeVersion(item, &r.Version)
			}
			r.plain = key.SK != keys.VersionSK(r.Number)
			return err
		},
		Position: func(r historyRow) string { return keys.VersionSK(r.Number) },
	}.Read(ctx, db.DB, w)
	if err != nil {
		return page.Slice[note.Version]{}, err
	}
	if slices.ContainsFunc(slice.Items, func(r historyRow) bool { return r.plain }) {
		return db.listPlainVersions(ctx, id, first, w)
	}
	versions := page.Slice[note.Version]{Positions: slice.Positions, More: slice.More, Other: slice.Other}
	for _, r := range slice.Items {
		versions.Items = append(versions.Items, r.Version)
	}
	return versions, nil
}

// byNumber ends positions in a list that has versions of another program.
const byNumber = "+"

func (db Store) listPlainVersions(ctx context.Context, id note.ID, first int, w page.Window) (page.Slice[note.Version], error) {
	s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.NoteHistoryPK(string(id)), Keys: true}
	s.Low, s.High = dynamo.Prefixed(keys.VersionPrefix)
	var numbers []int
	_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var v note.Version
		err := decodeVersion(item, &v)
		if v.Number >= first {
			numbers = append(numbers, v.Number)
		}
		return true, err
	})
	if err != nil {
		return page.Slice[note.Version]{}, err
	}
	slices.Sort(numbers)
	if !w.Backward {
		slices.Reverse(numbers)
	}
	numbers = slices.Compact(numbers)
	other := false
	if w.From != "" {
		from, err := keys.VersionOf(strings.TrimSuffix(w.From, byNumber))
		if err != nil {
			return page.Slice[note.Version]{}, fault.Wrap(fault.Internal, err, "a position of our own cannot be read")
		}
		at := slices.IndexFunc(numbers, func(n int) bool { return n != from && (n < from) != w.Backward })
		if at < 0 {
			at = len(numbers)
		}
		other, numbers = at > 0, numbers[at:]
	}
	ids := make([]note.VersionID, min(len(numbers), w.Limit+1))
	for i := range ids {
		ids[i] = note.VersionID{Note: id, Number: numbers[i]}
	}
	versions, errs := db.VersionsByID(ctx, ids)
	var there []note.Version
	for i, v := range versions {
		switch {
		case errs == nil || errs[i] == nil:
			there = append(there, v)
		case !fault.Is(errs[i], fault.NotFound): // removed meanwhile
			return page.Slice[note.Version]{}, errs[i]
		}
	}
	slice := page.Fill(w, there, func(v note.Version) string { return keys.VersionSK(v.Number) + byNumber })
	slice.Other = other
	return slice, nil
}
