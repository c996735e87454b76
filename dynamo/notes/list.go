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

// ListNotes lists an owner's notes by deadline, those without one last.
//
// Index: primary. Key: PK = USER#<owner> AND SK BETWEEN NOTE#<after>$ AND NOTE#<before>, closed at both ends so that
// profile, tags, shares and tombstones are not in it. Cost: 1 Query.
func (db Store) ListNotes(ctx context.Context, owner note.UserID, due note.Due, w page.Window) (page.Slice[note.Note], error) {
	low, high := keys.NoteRange(due.After, due.Before)
	return dynamo.Listing[note.Note]{
		Span: dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(owner)), Low: low, High: high},
		Decode: func(item dynamo.Item, n *note.Note) error {
			n.Permission = note.Owner
			return decodeNote(item, n, nil)
		},
		Position: func(n note.Note) string { return keys.NoteSK(n.Deadline, string(n.ID)) },
	}.Read(ctx, db.DB, w)
}

// tagged is a row that says that a note carries a tag.
type tagged struct {
	at   dynamo.Key
	key  string // of the tag
	tag  string // as typed
	note note.ID
	// foreign rows were put by another program, which need not keep how the tag was typed.
	foreign bool
}

func decodeTagged(item dynamo.Item, t *tagged) error {
	err := taggedRows.Decode(item, t)
	t.key = keys.Part(t.at.SK, 1)
	if t.note == "" {
		t.note = note.ID(keys.Part(t.at.SK, 3))
	}
	if t.tag == "" {
		t.tag, t.foreign = t.key, true
	}
	return err
}

func (l *located) found(id note.ID) note.Found { return note.Found{ID: id, Note: l.note, Err: l.err} }

func carries(n note.Note, key string) bool {
	for _, t := range n.Tags {
		if t.Key == key {
			return true
		}
	}
	return false
}

// tagRows is how many rows one Query of ListTags reads: a tag that is on more notes is left behind by a jump.
const tagRows = 200

// ListTags lists the distinct tags of an owner's notes. Behind each run of rows it jumps to the next tag instead of
// reading every row of a tag that is on many notes. A tag is shown as FindTag shows it: as typed on the note with the
// smallest id.
//
// Index: primary. Key: PK = USER#<owner> AND SK BETWEEN TAG#<prefix> AND its end. Cost: 1 Query per 200 rows, at most one
// per tag on the page and one more; backward, one of one row more per tag that was jumped over.
func (db Store) ListTags(ctx context.Context, owner note.UserID, prefix string, w page.Window) (page.Slice[tag.Tag], error) {
	low, high := dynamo.Prefixed(keys.TagPrefix(prefix))
	s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(owner)), Low: low, High: high, Backward: w.Backward, Limit: tagRows}
	if w.From != "" {
		jump(&s, w.From)
	}
	var tags []tag.Tag
	var jumped []int // tags of which the first row was not read
	for len(tags) <= w.Limit {
		read := 0
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var row tagged
			if err := decodeTagged(item, &row); err != nil {
				return false, err
			}
			read++
			switch n := len(tags); {
			case n == 0 || tags[n-1].Key != row.key:
				tags = append(tags, tag.Tag{Author: owner, Word: tag.Word{Value: row.tag, Key: row.key}})
			case w.Backward:
				tags[n-1].Value = row.tag
			}
			return len(tags) <= w.Limit, nil
		})
		if err != nil {
			return page.Slice[tag.Tag]{}, err
		}
		if next == nil || read == 0 || len(tags) > w.Limit {
			break
		}
		jump(&s, tags[len(tags)-1].Key)
		if w.Backward {
			jumped = append(jumped, len(tags)-1)
		}
	}
	if err := db.spell(ctx, tags, jumped); err != nil {
		return page.Slice[tag.Tag]{}, err
	}
	slice := page.Fill(w, tags, func(t tag.Tag) string { return t.Key })
	slice.Other = w.From != ""
	if w.From == "" || !w.Probe {
		return slice, nil
	}
	low, high = dynamo.Prefixed(keys.TagPrefix(prefix))
	fromLow, fromHigh := keys.TagRange(w.From)
	other := dynamo.Span{Table: dynamo.NotesTable, PK: s.PK, Low: low, High: min(high, fromHigh), Limit: 1}
	if w.Backward {
		other.Low, other.High = max(low, fromLow), high
	}
	slice.Other = false
	_, err := db.Query(ctx, other, func(dynamo.Item) (bool, error) {
		slice.Other = true
		return false, nil
	})
	return slice, err
}

// spell sets the values of some of the tags to what FindTag finds; one that is on no note any more stays as it was read.
func (db Store) spell(ctx context.Context, tags []tag.Tag, some []int) error {
	ids := make([]tag.ID, len(some))
	for i, at := range some {
		ids[i] = tag.ID{Author: tags[at].Author, Key: tags[at].Key}
	}
	found, errs := db.FindTags(ctx, ids)
	for i, err := range errs {
		switch {
		case err == nil:
			tags[some[i]] = found[i]
		case !fault.Is(err, fault.NotFound):
			return err
		}
	}
	return nil
}

// jump moves the near end of the span behind (backward: before) all rows of the tag.
func jump(s *dynamo.Span, key string) {
	low, high := keys.TagRange(key)
	if s.Backward {
		s.High = low
	} else {
		s.Low = high
	}
}

// FindTag reads how a tag was typed on one of the notes that carry it.
//
// Index: primary. Key: PK = USER#<author> AND begins_with(SK, TAG#<tag>#NOTE#). Cost: 1 Query of one row.
func (db Store) FindTag(ctx context.Context, id tag.ID) (tag.Tag, error) {
	low, high := dynamo.Prefixed(keys.TagNotesPrefix(id.Key))
	s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(id.Author)), Low: low, High: high, Limit: 1}
	var row tagged
	_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) { return false, decodeTagged(item, &row) })
	if err == nil && row.key == "" {
		err = fault.New(fault.NotFound, "there is no such tag")
	}
	return tag.Tag{Author: id.Author, Word: tag.Word{Value: row.tag, Key: row.key}}, err
}
