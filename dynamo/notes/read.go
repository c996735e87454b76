// Package notes keeps notes, their versions, tags, shares and tombstones in the notes table.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [Store].
package notes

import (
	"context"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
)

// Store keeps notes, versions, tags on notes, shares and tombstones, and the events that say what happened to them until those were told.
type Store struct {
	*dynamo.DB
	Tell func(event.Event) // is called, and must not wait, when something has happened; nil where that is found in the outbox later
}

// Store returns the parts of the domain's store, all of them Notes.
func (db Store) Store() note.Store {
	return note.Store{Reader: db, Lists: db, Writer: db, Shares: db, Cleaner: db, Store: db}
}

const noSuchNote = "there is no such note"

// NotesByID reads notes through their locators. A note that is not where its locator said, because its deadline was
// changed in between, is looked for again, and Unavailable if it moves faster than that. Whether the note is shared with
// the reader is read beside the locator, so that nothing more is read of a note that is hidden: it costs what one costs
// that does not exist. A note that another program put has no locator and is found as the document finds it; one that is hidden is
// looked for in the same way, for the same cost.
//
// Index: primary. Key: NOTE#<id>/LOCATOR and USER#<reader>/SHARED#<id>; then USER#<owner>/NOTE#<deadline>#<id>.
// Index: GSI2, eventually consistent. Key: GSI2PK = NOTE#<id> AND begins_with(GSI2SK, USER#), of a note without a locator.
// Cost: ⌈2n/100⌉ BatchGetItem for locators and shares, and ⌈n/100⌉ for the notes; 1 Query for each that is not found, or hidden.
func (db Store) NotesByID(ctx context.Context, reader note.UserID, ids []note.ID) ([]note.Note, []error) {
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
	share  note.Share
	known  bool // share is right: its row has not to be read
	sought bool // it was looked for in GSI2, or is not to be: what led to it is Taggie's, and so is the note
	err    error
}

// permission of the reader, once the owner is known.
func (l *located) permission() note.Permission {
	if l.note.Owner == l.reader {
		return note.Owner
	}
	return l.share.Permission
}

// locate fills in the notes, in two batches when nothing moves. Of a note that is hidden from the reader it fills in what
// the locator says.
func (db Store) locate(ctx context.Context, found []located) {
	left := make([]*located, len(found))
	for i := range found {
		left[i] = &found[i]
	}
	db.chase(ctx, left)
}

// chase is [Store.locate] of notes that are known already not to be where their locators said, or of which nothing is known.
func (db Store) chase(ctx context.Context, left []*located) {
	for try := 0; len(left) > 0; try++ {
		if try == dynamo.Lookups {
			for _, l := range left {
				l.err = fault.New(fault.Unavailable, "the note is being moved; ask again")
			}
			return
		}
		if try > 1 {
			db.Pause(ctx, try) // the rows of a transaction become visible one by one, within milliseconds
		}
		left = db.readNotes(ctx, db.readLocators(ctx, left))
	}
}

// locatorParts is what is read of locators, and of the shares that are read with them.
var locatorParts = dynamo.ProjectionOf(dynamo.NotesTable.PK, dynamo.NotesTable.SK, "user_id", "deadline", "updated_at", "permission", firstVersion)

// readLocators fills in owner, deadline and permission, and returns the notes that the reader may read.
func (db Store) readLocators(ctx context.Context, asked []*located) []*located {
	wants := make([]dynamo.Want, 0, 2*len(asked))
	for _, l := range asked {
		l.note = note.Note{ID: l.note.ID}
		wants = append(wants, dynamo.Want{Table: dynamo.NotesTable, Key: locatorKey(l.note.ID), Decode: func(item dynamo.Item) error { return decodeNote(item, &l.note, nil) }})
	}
	var unknown []*located
	for _, l := range asked {
		if !l.known {
			l.share = note.Share{}
			unknown = append(unknown, l)
			wants = append(wants, dynamo.Want{Table: dynamo.NotesTable, Key: shareKey(l.reader, l.note.ID), Decode: func(item dynamo.Item) error {
				return decodeShare(item, &l.share)
			}})
		}
	}
	errs := db.Projecting(dynamo.Projections{*db.Table(dynamo.NotesTable): locatorParts}).BatchGet(ctx, wants)
	unread := map[*located]error{}
	for i, l := range unknown {
		if err := errs[len(asked)+i]; err != nil && err != dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			unread[l] = err
		}
	}
	db.seek(ctx, asked, errs[:len(asked)])
	return keep(asked, errs[:len(asked)], func(l *located, err error) bool {
		l.note.Permission = l.permission()
		if l.note.Permission != note.Owner {
			l.note.FirstVersion = l.share.FirstVersion
		}
		switch l.err = err; {
		case err == dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
			l.err = fault.New(fault.NotFound, noSuchNote)
		case err == nil && l.note.Permission != note.Owner:
			l.err = unread[l] // an owner needs no share
		}
		return l.err == nil && l.note.Permission != note.None
	})
}

// seek looks for notes without a locator, once, and does the same for those that are hidden, of which it learns nothing.
func (db Store) seek(ctx context.Context, asked []*located, errs []error) {
	var sought []int
	for i, l := range asked {
		gone := errs[i] == dynamo.ErrMissing //nolint:errorlint // BatchGet returns it bare
		if !l.sought && (gone || errs[i] == nil && l.permission() == note.None) {
			l.sought, sought = true, append(sought, i)
		}
	}
	for n, err := range db.Each(len(sought), func(n int) error {
		i := sought[n]
		found, there, err := db.noteByIndex(ctx, asked[i].note.ID)
		if errs[i] == nil {
			return nil
		}
		if err == nil && !there {
			err = dynamo.ErrMissing
		}
		asked[i].note.Owner, asked[i].note.Deadline = found.Owner, found.Deadline
		return err
	}) {
		errs[sought[n]] = err
	}
}

// noteByIndex finds whose a note is and when it is due as the document does, by the keys that the note itself has in GSI2.
func (db Store) noteByIndex(ctx context.Context, id note.ID) (found note.Note, there bool, err error) {
	s := dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI2, PK: keys.NotePK(string(id)), Limit: 1, Keys: true}
	s.Low, s.High = dynamo.Prefixed(keys.NoteOfUserPrefix)
	found.ID = id
	_, err = db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(item, dynamo.NotesTable)
		if err == nil && strings.HasPrefix(key.SK, keys.NotePrefix) {
			there = true
			err = fillNote(&found, key)
		}
		return false, err
	})
	return found, there, err
}

// adopt puts the locator of a note that another program put. It reports whether there is such a note of the owner.
//
// Cost: 1 Query, and 1 TransactWriteItems of 2 rows.
func (db Store) adopt(ctx context.Context, owner note.UserID, id note.ID) (bool, error) {
	found, there, err := db.noteByIndex(ctx, id)
	if err != nil || !there || found.Owner != owner {
		return false, err
	}
	err = db.Transact(ctx, []dynamo.Action{
		{Table: dynamo.NotesTable, Key: noteKey(found), Condition: "attribute_exists(PK)", Failed: dynamo.Moved},
		{Table: dynamo.NotesTable, Item: locatorRow(found), Condition: "attribute_not_exists(PK)", Failed: dynamo.Moved},
	}, idempotency.Key{})
	return true, dynamo.UnlessMoved(err)
}

// readNotes reads the rows to which the locators point. It returns those that have moved.
func (db Store) readNotes(ctx context.Context, asked []*located) []*located {
	wants := make([]dynamo.Want, len(asked))
	for i, l := range asked {
		wants[i] = dynamo.Want{Table: dynamo.NotesTable, Key: noteKey(l.note), Decode: func(item dynamo.Item) error { return decodeNote(item, &l.note, nil) }}
	}
	return keep(asked, db.BatchGet(ctx, wants), func(l *located, err error) bool {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
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

// FindDeleted reads the tombstone of a note.
//
// Index: primary. Key: PK = USER#<owner> AND SK = TOMBSTONE#<note_id>. Cost: 1 GetItem.
func (db Store) FindDeleted(ctx context.Context, owner note.UserID, id note.ID) (note.Note, note.Deleted, error) {
	var n note.Note
	var d note.Deleted
	found, err := db.Get(ctx, dynamo.NotesTable, tombstoneKey(owner, id), func(item dynamo.Item) error { return decodeNote(item, &n, &d) })
	if err == nil && (!found || !db.Now().Before(d.UndoUntil())) {
		err = fault.New(fault.NotFound, noSuchNote)
	}
	return n, d, err
}

// withoutContent leaves out the one attribute that may be large, of all rows of the notes table.
var withoutContent = dynamo.Lightest(noteRows.Light(), versionRows.Light(), shareRows.Light(), taggedRows.Light())

// WithoutContent returns the store for reads that do not need the content of notes and versions: it may have 350 KB each.
// What it returns must not be written back.
func (db Store) WithoutContent() Store {
	return Store{DB: db.Projecting(dynamo.Projections{*db.Table(dynamo.NotesTable): withoutContent}), Tell: db.Tell}
}
