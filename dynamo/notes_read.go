package dynamo

import (
	"context"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
)

// Notes keeps notes, versions, tags on notes, shares and tombstones.
type Notes struct{ *DB }

// Store returns the parts of the domain's store, all of them Notes.
func (db Notes) Store() note.Store {
	return note.Store{Reader: db, Lists: db, Writer: db, Shares: db, Cleaner: db, Store: db}
}

// lookups bounds how often a note that moves while it is read is looked for: once, and three times more with the locator
// read again.
const lookups = 4

const noSuchNote = "there is no such note"

// NotesByID reads notes through their locators. A note that is not where its locator said, because its deadline was
// changed in between, is looked for again, and Unavailable if it moves faster than that. Whether the note is shared with
// the reader is read beside the locator, so that nothing more is read of a note that is hidden: it costs what one costs
// that does not exist.
//
// Index: primary. Key: NOTE#<id>/LOCATOR and USER#<reader>/SHARED#<id>; then USER#<owner>/NOTE#<deadline>#<id>.
// Cost: ⌈2n/100⌉ BatchGetItem for locators and shares, and ⌈n/100⌉ for the notes.
func (db Notes) NotesByID(ctx context.Context, reader note.UserID, ids []note.ID) ([]note.Note, []error) {
	found := make([]located, len(ids))
	for i, id := range ids {
		found[i] = located{reader: reader, note: note.Note{ID: id}}
	}
	db.locate(ctx, found)
	notes, errs := make([]note.Note, len(ids)), make([]error, len(ids))
	failed := false
	for i := range found {
		notes[i], errs[i] = found[i].note, found[i].err
		failed = failed || errs[i] != nil
	}
	if !failed {
		return notes, nil
	}
	return notes, errs
}

// located is a note on its way from id to row.
type located struct {
	reader note.UserID
	note   note.Note // ID is set; Owner, Deadline and then the rest follow
	shared note.Permission
	known  bool // shared is right: no share row has to be read
	err    error
}

// permission of the reader, once the owner is known.
func (l *located) permission() note.Permission {
	if l.note.Owner == l.reader {
		return note.Owner
	}
	return l.shared
}

// locate fills in the notes, in two batches when nothing moves. Of a note that is hidden from the reader it fills in what
// the locator says.
func (db Notes) locate(ctx context.Context, found []located) {
	left := make([]*located, len(found))
	for i := range found {
		left[i] = &found[i]
	}
	for try := 0; len(left) > 0; try++ {
		if try == lookups {
			for _, l := range left {
				l.err = fault.New(fault.Unavailable, "the note is being moved; ask again")
			}
			return
		}
		if try > 1 {
			db.pause(ctx, try) // the rows of a transaction become visible one by one, within milliseconds
		}
		left = db.readNotes(ctx, db.readLocators(ctx, left))
	}
}

// readLocators fills in owner, deadline and permission, and returns the notes that the reader may read.
func (db Notes) readLocators(ctx context.Context, asked []*located) []*located {
	wants := make([]want, 0, 2*len(asked))
	for _, l := range asked {
		l.note = note.Note{ID: l.note.ID}
		wants = append(wants, want{notesTable, locatorKey(l.note.ID), func(item []byte) error { return decodeNote(item, &l.note, nil) }})
	}
	var unknown []*located
	for _, l := range asked {
		if !l.known {
			l.shared = note.None
			unknown = append(unknown, l)
			wants = append(wants, want{notesTable, shareKey(l.reader, l.note.ID), func(item []byte) error {
				var s note.Share
				err := decodeShare(item, &s)
				l.shared = s.Permission
				return err
			}})
		}
	}
	errs := db.batchGet(ctx, wants)
	unread := map[*located]error{}
	for i, l := range unknown {
		if err := errs[len(asked)+i]; err != nil && err != errMissing { //nolint:errorlint // batchGet returns it bare
			unread[l] = err
		}
	}
	return keep(asked, errs[:len(asked)], func(l *located, err error) bool {
		l.note.Permission = l.permission()
		switch l.err = err; {
		case err == errMissing: //nolint:errorlint // batchGet returns it bare
			l.err = fault.New(fault.NotFound, noSuchNote)
		case err == nil && l.note.Permission != note.Owner:
			l.err = unread[l] // an owner needs no share
		}
		return l.err == nil && l.note.Permission != note.None
	})
}

// readNotes reads the rows to which the locators point. It returns those that have moved.
func (db Notes) readNotes(ctx context.Context, asked []*located) []*located {
	wants := make([]want, len(asked))
	for i, l := range asked {
		wants[i] = want{notesTable, noteKey(l.note), func(item []byte) error { return decodeNote(item, &l.note, nil) }}
	}
	return keep(asked, db.batchGet(ctx, wants), func(l *located, err error) bool {
		if err == errMissing { //nolint:errorlint // batchGet returns it bare
			return true // look at the locator again: the note has moved or is gone
		}
		l.err = err
		return false
	})
}

// keep returns the elements for which f returns true; f gets each element with its error.
func keep(of []*located, errs []error, f func(*located, error) bool) []*located {
	var kept []*located
	for i, l := range of {
		if f(l, errs[i]) {
			kept = append(kept, l)
		}
	}
	return kept
}

// VersionsByID reads versions.
//
// Index: primary. Key: PK = NOTE_HISTORY#<note_id> AND SK = VER#<version>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Notes) VersionsByID(ctx context.Context, ids []note.VersionID) ([]note.Version, []error) {
	versions := make([]note.Version, len(ids))
	wants := make([]want, len(ids))
	for i, id := range ids {
		wants[i] = want{notesTable, versionKey(id), func(item []byte) error { return decodeVersion(item, &versions[i]) }}
	}
	return versions, missing(db.batchGet(ctx, wants), "there is no such version")
}

// FindDeleted reads the tombstone of a note.
//
// Index: primary. Key: PK = USER#<owner> AND SK = TOMBSTONE#<note_id>. Cost: 1 GetItem.
func (db Notes) FindDeleted(ctx context.Context, owner note.UserID, id note.ID) (note.Note, note.Deleted, error) {
	var n note.Note
	var d note.Deleted
	found, err := db.get(ctx, notesTable, tombstoneKey(owner, id), func(item []byte) error { return decodeNote(item, &n, &d) })
	if err == nil && (!found || !db.now().Before(d.UndoUntil())) {
		err = fault.New(fault.NotFound, noSuchNote)
	}
	return n, d, err
}
