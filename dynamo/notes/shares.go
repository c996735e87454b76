package notes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
)

// OpenShare writes when a user opened a share, which stays as it was first said, and that the user has opened something of the owner.
//
// Index: primary. Key: USER#<user>/SHARED#<note_id>, on condition that it is there and was not opened, and USER#<user>/GIVEN#<owner>. Cost: 1
// TransactWriteItems of 2 rows; where it was opened before and an idempotency key is given, 1 more.
func (db Store) OpenShare(ctx context.Context, s note.Share, once idempotency.Key) (time.Time, error) {
	result := func(at time.Time) idempotency.Key { return once.With(at.Format(time.RFC3339Nano)) }
	err := db.Transact(ctx, []dynamo.Action{
		{Table: dynamo.NotesTable, Key: shareKey(s.User, s.Note), Update: "SET opened_at = :at", Signed: true, Condition: "attribute_exists(PK) AND attribute_not_exists(opened_at)",
			Names: map[string]string{}, Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(s.OpenedAt))},
			Failed: func(row dynamo.Attrs) error {
				if row == nil {
					return fault.New(fault.NotFound, noSuchNote)
				}
				var had note.Share
				if err := decodeShare(dynamo.ItemOf(row), &had); err != nil {
					return err
				}
				return &unchangedError{had.OpenedAt}
			}},
		{Table: dynamo.NotesTable, Key: givenKey(s.User, s.Owner), Update: "SET opened_at = if_not_exists(opened_at, :at)",
			Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(s.OpenedAt))}},
	}, result(s.OpenedAt))
	if unchanged, is := errors.AsType[*unchangedError](err); is {
		return unchanged.since, db.Transact(ctx, nil, result(unchanged.since))
	}
	return s.OpenedAt, err
}

// errNotShared says that there is no share to end.
var errNotShared = errors.New("the note is not shared with the user")

// DeleteShare removes the share of a user, if there is one, and leaves a row that says when it ended.
//
// Index: primary. Key: USER#<user>/SHARED#<note_id> on condition that it is there, and USER#<user>/SHARED_ENDED#<note_id>; the event in the
// outbox. Cost: 1 TransactWriteItems of 3 rows; where there is no share and an idempotency key is given, 1 more.
func (db Store) DeleteShare(ctx context.Context, s note.Share, by note.UserID, at time.Time, once idempotency.Key) error {
	err := db.change(ctx, note.Ending(s, by, at), []dynamo.Action{
		{Table: dynamo.NotesTable, Key: shareKey(s.User, s.Note), Remove: true, Condition: "attribute_exists(PK)",
			Failed: func(dynamo.Attrs) error { return errNotShared }},
		{Table: dynamo.NotesTable, Item: endedRow(s, at)},
	}, once)
	if errors.Is(err, errNotShared) { // nothing ends, and nobody is told, but perhaps there is a key to record
		err = db.Transact(ctx, nil, once)
	}
	return err
}

// shareParts is what is read of shares: everything but the keys of indexes.
var shareParts = dynamo.Lightest(shareRows.Light())

// onlyShares is the DB for reads of shares alone. GSI2 has little else.
func (db Store) onlyShares() *dynamo.DB {
	return db.Projecting(dynamo.Projections{*db.Table(dynamo.NotesTable): shareParts, *db.IndexName(dynamo.GSI1): shareParts})
}

// ListSharesBy lists shares that a user was given by an owner, by note id, up to limit.
//
// Index: primary. Key: PK = USER#<user> AND begins_with(SK, SHARED#); of rows without an owner the notes, as in NotesByID.
// Cost: 1 Query, one more per started megabyte of the user's shares.
func (db Store) ListSharesBy(ctx context.Context, user, owner note.UserID, limit int) ([]note.Share, error) {
	return db.receivedShares(ctx, user, func(by note.UserID) bool { return by == owner }, limit)
}

// ListReceived lists shares that a user was given, by note id, up to limit.
//
// Index: primary. Key: PK = USER#<user> AND begins_with(SK, SHARED#); of rows without an owner the notes, as in NotesByID.
// Cost: 1 Query, one more per started megabyte of the user's shares.
func (db Store) ListReceived(ctx context.Context, user note.UserID, limit int) ([]note.Share, error) {
	return db.receivedShares(ctx, user, func(note.UserID) bool { return true }, limit)
}

// receivedShares lists shares of a user whose owners are wanted. The row of another program does not tell whose the note is: the note does, unless it
// is deleted. Such rows come last.
func (db Store) receivedShares(ctx context.Context, user note.UserID, wanted func(owner note.UserID) bool, limit int) ([]note.Share, error) {
	low, high := dynamo.Prefixed(keys.SharedPrefix)
	var found, unknown []note.Share
	_, err := db.onlyShares().Query(ctx, dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(user)), Low: low, High: high}, func(item dynamo.Item) (bool, error) {
		var s note.Share
		err := decodeShare(item, &s)
		s.User = user
		switch {
		case s.Owner == "":
			unknown = append(unknown, s)
		case wanted(s.Owner):
			found = append(found, s)
		}
		return len(found) < limit, err
	})
	if err != nil || len(unknown) == 0 || len(found) == limit {
		return found, err
	}
	of := make([]located, len(unknown))
	for i, s := range unknown {
		of[i] = located{reader: user, note: note.Note{ID: s.Note}, share: s, known: true}
	}
	db.locate(ctx, of)
	for i, s := range unknown {
		switch f := of[i].found(s.Note); {
		case f.Err != nil && !fault.Is(f.Err, fault.NotFound):
			return nil, f.Err
		case f.Err == nil && wanted(f.Note.Owner) && len(found) < limit:
			s.Owner = f.Note.Owner
			found = append(found, s)
		}
	}
	return found, nil
}

// ListSharedNotes lists the notes that are shared with a user, by note id, with as many as there are. Shares of deleted
// notes are left out and the page stays full. The rows in the user's own partition are the permission to read the notes.
//
// Index: primary. Key: PK = USER#<user> AND begins_with(SK, SHARED#); then the notes as in NotesByID.
// Cost: 1 Query and 2 × ⌈n/100⌉ BatchGetItem; where shares are left out, further Queries of 100, 200, 400, 500 … rows.
func (db Store) ListSharedNotes(ctx context.Context, user note.UserID, w page.Window) (page.Slice[note.SharedNote], error) {
	low, high := dynamo.Prefixed(keys.SharedPrefix)
	l := dynamo.Listing[note.Share]{
		Span:    dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(user)), Low: low, High: high},
		Decode:  decodeShare,
		SortKey: keys.SharedSK,
	}
	return dynamo.Filtered(ctx, db.onlyShares(), l, w, func(ctx context.Context, shares []note.Share) ([]note.SharedNote, error) {
		found := make([]located, len(shares))
		for i, s := range shares {
			found[i] = located{reader: user, note: note.Note{ID: s.Note}, share: s, known: true, sought: s.Owner != ""}
		}
		db.locate(ctx, found)
		var kept []note.SharedNote
		for i := range found {
			if f := found[i].found(shares[i].Note); !fault.Is(f.Err, fault.NotFound) {
				if shares[i].Owner == "" {
					shares[i].Owner = f.Note.Owner
				}
				kept = append(kept, note.SharedNote{Share: shares[i], Found: f})
			}
		}
		return kept, nil
	}, func(s note.SharedNote) string { return string(s.Share.Note) })
}

// ownerRows is how many shares of one owner are read at once for the access lists of many notes: above, a Query per note
// reads less.
const ownerRows = 2000

// AccessLists reads the users of many notes. Two or more notes of one owner are read together through the owner's shares;
// what 2,000 rows do not cover, and single notes, are read note by note, concurrently within the bound.
//
// Index: GSI1, eventually consistent. Key: GSI1PK = OWNER#<owner> AND GSI1SK BETWEEN NOTE#<first># AND NOTE#<last>$.
// Index: GSI2, eventually consistent. Key: GSI2PK = NOTE#<note_id> AND begins_with(GSI2SK, SHARED#).
// Cost: 1 Query per owner, and 1 per note that this does not cover.
func (db Store) AccessLists(ctx context.Context, requests []note.AccessRequest) ([]page.Slice[note.Share], []error) {
	lists, errs := make([]page.Slice[note.Share], len(requests)), make([]error, len(requests))
	byOwner := map[note.UserID][]int{}
	var foreign []int
	for i, r := range requests {
		if r.Foreign { // its shares may have no keys in GSI1
			foreign = append(foreign, i)
		} else {
			byOwner[r.Owner] = append(byOwner[r.Owner], i)
		}
	}
	// Owners and notes are two waves, so that the bound holds over all of them.
	owners := slices.Collect(maps.Keys(byOwner))
	left := make([][]int, len(owners))
	failed := db.Each(len(owners), func(n int) error {
		indexes := byOwner[owners[n]]
		if len(indexes) == 1 {
			left[n] = indexes
			return nil
		}
		left[n] = db.ownerAccess(ctx, owners[n], requests, indexes, lists)
		return nil
	})
	for n, err := range failed {
		for _, i := range byOwner[owners[n]] {
			errs[i] = err
		}
	}
	single := slices.Concat(append(left, foreign)...)
	for n, err := range db.Each(len(single), func(n int) (err error) {
		lists[single[n]], err = db.noteAccess(ctx, requests[single[n]])
		return err
	}) {
		errs[single[n]] = err
	}
	return lists, dynamo.Missing(errs, noSuchNote)
}

// decodeAccess reads a share for an access list, which tells neither from which version on it shows them nor whether it was opened: one of the indexes
// has neither.
func decodeAccess(item dynamo.Item, s *note.Share) error {
	err := decodeShare(item, s)
	s.FirstVersion, s.OpenedAt = 0, time.Time{}
	return err
}

// ownerAccess fills in the access lists that one read of the owner's shares covers and returns the requests left over.
func (db Store) ownerAccess(ctx context.Context, owner note.UserID, requests []note.AccessRequest, indexes []int, into []page.Slice[note.Share]) (left []int) {
	ids := make([]string, len(indexes))
	for n, i := range indexes {
		ids[n] = string(requests[i].Note)
	}
	low, high := keys.OwnerShareRange(slices.Min(ids), slices.Max(ids))
	s := dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI1, PK: keys.OwnerPK(string(owner)), Low: low, High: high, Limit: ownerRows}
	all := make([]note.Share, 0, 2*len(indexes))
	next, err := db.onlyShares().Query(ctx, s, func(item dynamo.Item) (bool, error) {
		all = append(all, note.Share{})
		return true, decodeAccess(item, &all[len(all)-1])
	})
	if err != nil {
		return indexes // each note gets its own chance, and its own error
	}
	shares := make(map[note.ID][]note.Share, len(indexes))
	var last note.ID
	for from := 0; from < len(all); { // those of a note stand together
		to := from + 1
		for last = all[from].Note; to < len(all) && all[to].Note == last; to++ {
		}
		if before := shares[last]; before != nil { // unless another program has written the rows
			shares[last] = append(before, all[from:to]...)
		} else {
			shares[last] = all[from:to:to]
		}
		from = to
	}
	for _, i := range indexes {
		if next != nil && requests[i].Note >= last {
			left = append(left, i)
			continue
		}
		into[i] = window(shares[requests[i].Note], requests[i].Window)
	}
	return left
}

// window cuts a page out of the whole access list of a note, which is ordered by user id.
func window(all []note.Share, w page.Window) page.Slice[note.Share] {
	position := func(s note.Share) string { return string(s.User) }
	at, found := slices.BinarySearchFunc(all, w.From, func(s note.Share, from string) int {
		switch p := position(s); {
		case p < from:
			return -1
		case p > from:
			return 1
		}
		return 0
	})
	var other bool
	switch {
	case w.From == "":
	case w.Backward:
		other = at < len(all)
		all = all[:at]
	default:
		if found {
			at++
		}
		other = at > 0
		all = all[at:]
	}
	if w.Backward {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	slice := page.Fill(w, all[:min(len(all), w.Limit+1)], position)
	slice.Other = other
	return slice
}

func (db Store) noteAccess(ctx context.Context, r note.AccessRequest) (page.Slice[note.Share], error) {
	low, high := dynamo.Prefixed(keys.SharedPrefix)
	id := string(r.Note)
	return dynamo.Listing[note.Share]{
		Span:     dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI2, PK: keys.NotePK(id), Low: low, High: high},
		Decode:   decodeAccess,
		Position: func(s note.Share) string { return string(s.User) },
		SortKey:  keys.NoteSharedSK,
		Start: func(user string) dynamo.Attrs {
			start := dynamo.NotesTable.Key(shareKey(note.UserID(user), r.Note))
			start["GSI2PK"], start["GSI2SK"] = dynamo.Str(keys.NotePK(id)), dynamo.Str(keys.NoteSharedSK(user))
			return start
		},
	}.Read(ctx, db.DB, r.Window)
}
