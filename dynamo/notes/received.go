package notes

import (
	"context"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
)

// How many rows of what is shared with a user are read at once, of which most are expected not to have changed, and after how many a page ends,
// even if it is short: each hundred takes a batch.
const (
	receivedRows = page.Max + 1
	receivedMost = 2000
)

// received is a note that was shared with a user, on its way from the share to what changed.
type received struct {
	located
	changeAt
	share   note.Share
	endedAt time.Time // zero while it is shared
	unsure  bool      // whether it changed tells only the note
}

func decodeReceived(item dynamo.Item, r *received) error {
	key, endedAt, err := readShare(item, &r.share)
	r.at, r.endedAt = key.SK, endedAt
	return err
}

// receivedChanges returns what changed of what others share with a user, by sort key, as many as the window wants, and where to go on; ""
// when that was all. The shares themselves, and their ends, are rows of the user. Whether a note changed is in its locator, a row of
// one unit however long the note is. What changes after it was read here has a time that the next run asks for.
func (db Store) receivedChanges(ctx context.Context, user note.UserID, since time.Time, w page.Window) (kept []changeAt, until string, err error) {
	low, high := keys.ReceivedRange()
	if w.From != "" {
		low = w.From + "\x00"
	}
	l := dynamo.Listing[received]{Decode: decodeReceived}
	s := dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(user)), Low: low, High: high, Limit: receivedRows}
	if since.IsZero() { // all of them have changed
		s.Limit = w.Limit + 1
	}
	for round, read := 0, 0; ; round++ {
		rows, next, err := l.Rows(ctx, db.DB, s)
		if err != nil {
			return nil, "", err
		}
		changed, err := db.changedSince(ctx, user, since, rows)
		if err != nil {
			return nil, "", err
		}
		for len(changed) > 0 && len(kept) < w.Limit {
			some := changed[:min(len(changed), w.Limit-len(kept))]
			found, err := db.readReceived(ctx, since, some)
			if err != nil {
				return nil, "", err
			}
			kept, until, changed = append(kept, found...), some[len(some)-1].at, changed[len(some):]
		}
		if len(changed) > 0 {
			if until == "" { // the page was full before
				until = low
			}
			return kept, until, nil
		}
		if next == nil {
			return kept, "", nil
		}
		until = rows[len(rows)-1].at
		if read += len(rows); read >= receivedMost {
			return kept, until, nil
		}
		s.Start, s.Limit = next, receivedRows
		if since.IsZero() {
			s.Limit = dynamo.Further(round, w.Limit+1-len(kept))
		}
	}
}

// changedSince returns the rows that changed, or may have: of notes that are there, what their locators say.
func (db Store) changedSince(ctx context.Context, user note.UserID, since time.Time, rows []received) ([]*received, error) {
	var shares []*located
	for i := range rows {
		if r := &rows[i]; strings.HasPrefix(r.at, keys.SharedPrefix) {
			r.located = located{reader: user, note: note.Note{ID: r.share.Note}, share: r.share, known: true, sought: r.share.Owner != ""}
			shares = append(shares, &r.located)
		}
	}
	db.readLocators(ctx, shares)
	if err := db.readGone(ctx, rows); err != nil {
		return nil, err
	}
	var changed []*received
	for i := range rows {
		r := &rows[i]
		at := r.endedAt
		switch {
		case !at.IsZero():
			r.Ended = &note.EndedShare{Note: r.share.Note, EndedAt: at}
		case r.Deleted != nil:
			at = r.Deleted.DeletedAt
		case fault.Is(r.err, fault.NotFound) || r.note.Permission == note.None || r.note.Permission == note.Owner:
			continue // nothing is left of it; or it is none of others, and was listed before
		case r.err != nil:
			return nil, r.err // a page with a hole would be a change that the client never learns of
		default:
			if at = r.note.UpdatedAt; at.Before(r.share.SharedAt) {
				at = r.share.SharedAt
			}
			r.unsure = r.note.UpdatedAt.IsZero()
		}
		if !at.Before(since) || r.unsure {
			changed = append(changed, r)
		}
	}
	return changed, nil
}

// readGone reads when those notes were deleted that are not where they were shared. One that is brought back at this moment comes with
// the next run.
func (db Store) readGone(ctx context.Context, rows []received) error {
	var wants []dynamo.Want
	for i := range rows {
		r := &rows[i]
		if !fault.Is(r.err, fault.NotFound) || r.share.Owner == "" {
			continue
		}
		deleted := &note.Deleted{}
		wants = append(wants, dynamo.Want{Table: dynamo.NotesTable, Key: tombstoneKey(r.share.Owner, r.share.Note), Decode: func(item dynamo.Item) error {
			err := decodeNote(item, &note.Note{}, deleted)
			if db.Now().Before(deleted.UndoUntil()) {
				r.Deleted = deleted
			}
			return err
		}})
	}
	for _, err := range db.WithoutContent().BatchGet(ctx, wants) {
		if err != nil && err != dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			return err
		}
	}
	return nil
}

// readReceived reads the notes among the rows, and leaves out those that are gone at this moment, and those that did not change.
func (db Store) readReceived(ctx context.Context, since time.Time, rows []*received) ([]changeAt, error) {
	var asked []*located
	for _, r := range rows {
		if r.Ended == nil && r.Deleted == nil {
			asked = append(asked, &r.located)
		}
	}
	db.chase(ctx, db.readNotes(ctx, asked))
	var kept []changeAt
	for _, r := range rows {
		if r.Ended == nil && r.Deleted == nil {
			switch {
			case fault.Is(r.err, fault.NotFound):
				continue
			case r.err != nil:
				return nil, r.err
			case r.unsure && r.note.UpdatedAt.Before(since) && r.share.SharedAt.Before(since):
				continue
			}
			r.Note = &r.note
		}
		kept = append(kept, r.changeAt)
	}
	return kept, nil
}
