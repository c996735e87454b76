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

// indexAtOnce is how many users without entries are kept until they get theirs.
const indexAtOnce = 100

// IndexUsers gives entries to all users that have none, and returns how many users there are, and how many of them got entries. Users who change
// meanwhile get theirs from the change. It can be run again, beside servers.
//
// Index: primary. Key: all rows, eventually consistent; USER#<id>/PROFILE on condition of its version and EMAIL#<email>/UNIQUE_EMAILS.
// Cost: 1 Scan per megabyte of the table, with a pause after each page; 1 TransactWriteItems of 2 rows for each user without entries.
func (db Store) IndexUsers(ctx context.Context) (all, indexed int, err error) {
	var without []user.User
	names := append(profileRows.Light(), dynamo.NotesTable.SK, dynamo.GSI2.SK)
	err = db.ScanAll(ctx, dynamo.NotesTable, names, func(item dynamo.Item) error {
		key, err := dynamo.KeyOf(item, dynamo.NotesTable)
		if err != nil || key.SK != keys.ProfileSK {
			return err
		}
		var u user.User
		if err := decodeUser(item, &u); err != nil {
			return err
		}
		if all++; u.Email != "" && dynamo.TextOf(item, dynamo.GSI2.SK) != byName(u) {
			without = append(without, u)
		}
		if len(without) < indexAtOnce {
			return nil
		}
		n, err := db.index(ctx, without)
		indexed, without = indexed+n, without[:0]
		return err
	})
	if err != nil {
		return all, indexed, err
	}
	n, err := db.index(ctx, without)
	return all, indexed + n, err
}

// index gives entries to users, and returns how many got some: those who changed meanwhile did not.
func (db Store) index(ctx context.Context, users []user.User) (indexed int, err error) {
	changed := errors.New("the user has changed since")
	for _, u := range users {
		profile := dynamo.Action{Table: dynamo.NotesTable, Key: ProfileKey(u.ID), Update: "SET GSI2PK = :users, GSI2SK = :found",
			Values: dynamo.Attrs{":users": dynamo.Str(keys.UsersPK), ":found": dynamo.Str(byName(u))},
			Failed: func(dynamo.Attrs) error { return changed }}
		err := db.Transact(ctx, []dynamo.Action{profile.IfVersion(u.Version, "version"), makeFound(u)}, idempotency.Key{})
		switch {
		case err == nil:
			indexed++
		case !errors.Is(err, changed):
			return indexed, err
		}
	}
	return indexed, nil
}
