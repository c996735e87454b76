package notes

import (
	"context"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
)

// changed is a row of LSI1.
type changed struct {
	key dynamo.Key
	at  string // LSI1SK
}

func decodeChanged(item dynamo.Item, c *changed) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "PK":
			c.key.PK, err = v.Str()
		case "SK":
			c.key.SK, err = v.Str()
		case "LSI1SK":
			c.at, err = v.Str()
		}
		return err
	})
}

// changeAt is a change with its position.
type changeAt struct {
	note.Change
	at string
}

// ListChanges lists what changed for a user: notes and tombstones by the time of their last change, then what others share, by note. Positions
// are sort keys: those of LSI1 begin with a digit and come before those of shares.
//
// Index: LSI1, consistent. Key: PK = USER#<user> AND LSI1SK BETWEEN <since> AND its end; then the rows by key. Index: primary. Key:
// PK = USER#<user> AND SK BETWEEN SHARED# AND SHARED_ENDED$; then NOTE#<id>/LOCATOR of each share; then the notes that changed by key,
// and USER#<owner>/TOMBSTONE#<id> of those that are gone.
// Cost: 1 Query and ⌈n/100⌉ BatchGetItem. On the last page of those, and on all that follow, 1 Query per 501 shares, ⌈n/100⌉ BatchGetItem for
// the locators, and as many for what changed; a page looks at 2,000 shares, or a few more.
func (db Store) ListChanges(ctx context.Context, user note.UserID, since time.Time, w page.Window) (page.Slice[note.Change], error) {
	changes := page.Slice[note.Change]{Other: w.From != ""}
	if shared, _ := keys.ReceivedRange(); w.From < shared {
		own, err := db.ownChanges(ctx, user, since, w)
		if err != nil {
			return changes, err
		}
		add(&changes, own.Items)
		if own.More {
			changes.More = true
			return changes, nil
		}
		w.From = ""
	}
	w.Limit -= len(changes.Items)
	received, until, err := db.receivedChanges(ctx, user, since, w)
	if err != nil {
		return changes, err
	}
	add(&changes, received)
	changes.More, changes.Until = until != "", until
	return changes, nil
}

func add(to *page.Slice[note.Change], changes []changeAt) {
	for _, c := range changes {
		to.Items, to.Positions = append(to.Items, c.Change), append(to.Positions, c.at)
	}
}

// ownChanges lists notes and tombstones of a user. LSI1 is a local index because those can be read consistently: a client that synchronises
// must not miss what an index shows later. A row that changes between the two reads is left out; it comes again further back in the list.
func (db Store) ownChanges(ctx context.Context, owner note.UserID, since time.Time, w page.Window) (page.Slice[changeAt], error) {
	low, high := keys.ChangedRange(since)
	if w.From != "" {
		low = w.From + "\x00" // positions are unique, so what follows one is what is greater
	}
	l := dynamo.Listing[changed]{
		Span:   dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.LSI1, PK: keys.UserPK(string(owner)), Low: low, High: high},
		Decode: decodeChanged,
	}
	w.From = ""
	return dynamo.Filtered(ctx, db.DB, l, w, db.readChanges, func(c changeAt) string { return c.at })
}

func (db Store) readChanges(ctx context.Context, rows []changed) ([]changeAt, error) {
	notes := make([]note.Note, len(rows))
	deleted := make([]note.Deleted, len(rows))
	wants := make([]dynamo.Want, len(rows))
	for i, row := range rows {
		wants[i] = dynamo.Want{Table: dynamo.NotesTable, Key: row.key, Decode: func(item dynamo.Item) error { return decodeNote(item, &notes[i], &deleted[i]) }}
	}
	var kept []changeAt
	for i, err := range db.BatchGet(ctx, wants) {
		c := changeAt{at: rows[i].at}
		switch {
		case err == dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
			continue
		case err != nil:
			return nil, err // a page with a hole would be a change that the client never learns of
		case deleted[i].DeletedAt.IsZero():
			notes[i].Permission = note.Owner
			c.Note = &notes[i]
		case !db.Now().Before(deleted[i].UndoUntil()):
			continue
		default:
			c.Deleted = &deleted[i]
		}
		kept = append(kept, c)
	}
	return kept, nil
}
