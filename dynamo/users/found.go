package users

import (
	"context"
	"errors"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
)

// byEmail and byName are the sort keys of the entries of a user.
func byEmail(u user.User) string {
	return keys.FoundSK(user.FoldEmail(u.Email), keys.ByEmail, string(u.ID))
}

func byName(u user.User) string {
	return keys.FoundSK(user.FoldName(u.Name), keys.ByName, string(u.ID))
}

// ListUsers lists users in the order of what finds them. Each user has two entries in the indexes: the lock of the address, which is in both, and the
// profile. An entry counts if it is the first one that finds its user: an index may still have an outdated one.
//
// Index: GSI1, eventually consistent; with a prefix GSI2. Key: GSI1PK = USERS; GSI2PK = USERS AND begins_with(GSI2SK, <prefix>).
// Cost: 1 Query and ⌈n/100⌉ BatchGetItem for the n users; more of both where an index lags behind.
func (db Store) ListUsers(ctx context.Context, prefix string, w page.Window) (page.Slice[user.User], error) {
	index := dynamo.GSI1
	l := dynamo.Listing[string]{Span: dynamo.Span{Table: dynamo.NotesTable, PK: keys.UsersPK}} // of the sort keys of entries
	if prefix != "" {
		index = dynamo.GSI2
		l.Span.Low, l.Span.High = dynamo.Prefixed(keys.FoundText(prefix))
		l.RowsOfOne = 2
	}
	l.Span.Index = index
	l.Decode = func(item dynamo.Item, entry *string) error {
		*entry = dynamo.TextOf(item, index.SK)
		return nil
	}
	l.Start = func(entry string) dynamo.Attrs {
		_, pk, sk := keys.FoundRow(entry)
		start := dynamo.NotesTable.Key(dynamo.Key{PK: pk, SK: sk})
		start[index.PK], start[index.SK] = dynamo.Str(keys.UsersPK), dynamo.Str(entry)
		return start
	}
	foundBy := func(u user.User) (entry string) {
		if strings.HasPrefix(user.FoldEmail(u.Email), prefix) {
			entry = byEmail(u)
		}
		if prefix != "" && strings.HasPrefix(user.FoldName(u.Name), prefix) && (entry == "" || byName(u) < entry) {
			entry = byName(u)
		}
		return entry
	}
	return dynamo.Filtered(ctx, db.DB, l, w, func(ctx context.Context, entries []string) ([]user.User, error) {
		ids := make([]user.ID, len(entries))
		for i, e := range entries {
			id, _, _ := keys.FoundRow(e)
			ids[i] = user.ID(id)
		}
		users, errs := db.UsersByID(ctx, ids)
		found := users[:0]
		for i, u := range users {
			if errs != nil && errs[i] != nil {
				if fault.Is(errs[i], fault.NotFound) {
					continue
				}
				return nil, errs[i]
			}
			if foundBy(u) == entries[i] {
				found = append(found, u)
			}
		}
		return found, nil
	}, foundBy)
}

// errWithoutEntries says that a user has no entries: an earlier version of Taggie, or another program, put the rows.
var errWithoutEntries = errors.New("the user has no entries")

// makeFound is the put of the lock of an address that a user has already, with its entries. The lock of another program need not tell whose
// it is.
func makeFound(u user.User) dynamo.Action {
	lock := lockEmail(u)
	lock.Condition += " OR attribute_not_exists(user_id)"
	return lock
}

// Indexing is what came of giving entries to users.
type Indexing struct {
	Users   int       // that there are
	Indexed int       // of them, who had no entries
	Taken   []user.ID // who got none, because the lock of their address is another user's
	Unread  dynamo.Unread
}

// IndexUsers gives entries to all users that lack one. It can be run again, beside servers. Users who cannot be read stay as they are. A server of an
// earlier version can change an address without making an entry: run it when all servers are updated.
//
// Index: primary. Key: all rows, eventually consistent; EMAIL#<email>/UNIQUE_EMAILS of each user; USER#<id>/PROFILE on condition of its version.
// Cost: 1 Scan per megabyte of the table, with a pause after each page; ⌈n/100⌉ BatchGetItem; 1 BatchGetItem and 1 TransactWriteItems of 2 rows for each
// user without entries.
func (db Store) IndexUsers(ctx context.Context) (done Indexing, err error) {
	names := append(profileRows.Light(), dynamo.NotesTable.SK, dynamo.GSI2.SK)
	err = dynamo.WalkAll(ctx, db.DB, dynamo.NotesTable, names, &done.Unread, func(key dynamo.Key, item dynamo.Item, l *listed) (bool, error) {
		if key.SK != keys.ProfileSK {
			return false, nil
		}
		l.byName = dynamo.TextOf(item, dynamo.GSI2.SK)
		if err := decodeUser(item, &l.user); err != nil {
			return false, err
		}
		done.Users++
		return l.user.Email != "", nil
	}, func(some []listed) error { return db.index(ctx, some, &done) })
	return done, err
}

// listed is a user with the entries that the rows have.
type listed struct {
	user            user.User
	byName, byEmail string
}

// index gives entries to those of the users that lack one.
func (db Store) index(ctx context.Context, users []listed, done *Indexing) error {
	wants := make([]dynamo.Want, len(users))
	for i := range users {
		l := &users[i]
		wants[i] = dynamo.Want{Table: dynamo.NotesTable, Key: emailKey(user.FoldEmail(l.user.Email)), Decode: func(item dynamo.Item) error {
			l.byEmail = dynamo.TextOf(item, dynamo.GSI1.SK)
			return nil
		}}
	}
	errs := db.BatchGet(ctx, wants)
	for i, l := range users {
		if err := errs[i]; err != nil && !errors.Is(err, dynamo.ErrMissing) {
			if err = done.Unread.Note(ctx, dynamo.NotesTable, wants[i].Key, err); err != nil {
				return err
			}
			continue
		}
		if l.byName == byName(l.user) && l.byEmail == byEmail(l.user) {
			continue
		}
		switch err := db.indexOne(ctx, l.user.ID); {
		case err == nil:
			done.Indexed++
		case errors.Is(err, user.ErrEmailTaken):
			done.Taken = append(done.Taken, l.user.ID)
		case !fault.Is(err, fault.NotFound): // it was erased meanwhile
			if err = done.Unread.Note(ctx, dynamo.NotesTable, ProfileKey(l.user.ID), err); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexTries is how often a user may change while the entries are made.
const indexTries = 5

func (db Store) indexOne(ctx context.Context, id user.ID) error {
	changed := errors.New("the user has changed since")
	for tries := 1; ; tries++ {
		found, errs := db.UsersByID(ctx, []user.ID{id})
		if errs != nil && errs[0] != nil {
			return errs[0]
		}
		u := found[0]
		profile := dynamo.Action{Table: dynamo.NotesTable, Key: ProfileKey(u.ID), Update: "SET GSI2PK = :users, GSI2SK = :found",
			Values: dynamo.Attrs{":users": dynamo.Str(keys.UsersPK), ":found": dynamo.Str(byName(u))},
			Failed: func(dynamo.Attrs) error { return changed }}
		err := db.Transact(ctx, []dynamo.Action{profile.IfVersion(u.Version, "version"), makeFound(u)}, idempotency.Key{})
		if !errors.Is(err, changed) || tries == indexTries {
			return err
		}
	}
}
