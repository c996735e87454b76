package users

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

// A deleted user keeps all rows. The profile says that the user was deleted and is in another list; the lock of the address says so, too, and is in no
// list; the row REVOKED says it to who signs in.

const noSuchUser = "there is no such user"

// There is the condition that there is a user, who is not deleted.
func There(id user.ID, failed error) dynamo.Action {
	return dynamo.Action{Table: dynamo.NotesTable, Key: ProfileKey(id), Condition: "attribute_exists(PK) AND attribute_not_exists(deletion)",
		Failed: func(dynamo.Attrs) error { return failed }}
}

// DeletedByID reads the profiles of deleted users.
//
// Index: primary. Key: PK = USER#<user_id> AND SK = PROFILE. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) DeletedByID(ctx context.Context, ids []user.ID) ([]user.DeletedUser, []error) {
	users, errs := db.profiles(ctx, ids, func(d domain.Deletion) bool { return d.State != "" })
	deleted := make([]user.DeletedUser, len(users))
	for i, u := range users {
		deleted[i].User = u
	}
	return deleted, dynamo.Missing(errs, "there is no such deleted user")
}

// ListDeleted lists deleted users in the order of the ends of their 30 days.
//
// Index: GSI2, eventually consistent. Key: GSI2PK = DELETED_USERS. Cost: 1 Query and ⌈n/100⌉ BatchGetItem for the n users; more of both where the index
// lags behind.
func (db Store) ListDeleted(ctx context.Context, w page.Window) (page.Slice[user.DeletedUser], error) {
	l := dynamo.Listing[string]{Span: dynamo.Span{Table: dynamo.NotesTable, Index: dynamo.GSI2, PK: keys.DeletedUsersPK}} // of the sort keys of entries
	l.Decode = func(item dynamo.Item, entry *string) error {
		*entry = dynamo.TextOf(item, dynamo.GSI2.SK)
		return nil
	}
	l.Start = func(entry string) dynamo.Attrs {
		start := dynamo.NotesTable.Key(ProfileKey(user.ID(keys.DeletedUser(entry))))
		start[dynamo.GSI2.PK], start[dynamo.GSI2.SK] = dynamo.Str(keys.DeletedUsersPK), dynamo.Str(entry)
		return start
	}
	return dynamo.Filtered(ctx, db.DB, l, w, func(ctx context.Context, entries []string) ([]user.DeletedUser, error) {
		ids := make([]user.ID, len(entries))
		for i, e := range entries {
			ids[i] = user.ID(keys.DeletedUser(e))
		}
		deleted, errs := db.DeletedByID(ctx, ids)
		found := deleted[:0]
		for i, d := range deleted {
			if errs != nil && errs[i] != nil {
				if fault.Is(errs[i], fault.NotFound) {
					continue
				}
				return nil, errs[i]
			}
			if deletedSK(d.User) == entries[i] { // otherwise the entry is outdated
				found = append(found, d)
			}
		}
		return found, nil
	}, func(d user.DeletedUser) string { return deletedSK(d.User) })
}

func deletedSK(u user.User) string { return keys.DeletedUserSK(u.Deletion.UndoUntil, string(u.ID)) }

// PutDeletion changes the deletion of a user, and with it what the rows of the user are found by. Of two revocations, the later one counts.
//
// Index: primary. Key: USER#<id>/PROFILE on condition of its version; USER#<id>/REVOKED on condition that it is as it was read; EMAIL#<email>/UNIQUE_EMAILS, unless
// it is another user's; where the deletion begins REVOCATIONS#<day>/<instant>#<id>; the tasks. Cost: 1 BatchGetItem and 1 TransactWriteItems of 3 or 4 rows and
// the tasks; one more of a row less where the lock of the address is another user's; both again when the user is revoked meanwhile.
func (db Store) PutDeletion(ctx context.Context, before, after user.User, follow []task.Task, once idempotency.Key) error {
	ctx, cancel := dynamo.Within(ctx)
	defer cancel()
	for idle := 0; ; idle++ {
		err := db.putDeletion(ctx, before, after, follow, once)
		if !errors.Is(err, dynamo.ErrMoved) || !db.Pause(ctx, idle) {
			return err
		}
	}
}

func (db Store) putDeletion(ctx context.Context, before, after user.User, follow []task.Task, once idempotency.Key) error {
	accesses, errs := db.AccessByID(ctx, []user.ID{after.ID})
	if errs != nil {
		return errs[0]
	}
	was := accesses[0].Revoked
	revoked, began := was, before.Deletion.State == "" && after.Deletion.State != ""
	if began && after.Deletion.At.After(was) {
		revoked = after.Deletion.At
	}
	access := dynamo.Action{Table: dynamo.NotesTable, Item: accessRow(after, revoked), Condition: "attribute_not_exists(revoked_at)", Failed: dynamo.Moved}
	if !was.IsZero() {
		access.Condition, access.Values = "revoked_at = :was", dynamo.Attrs{":was": dynamo.Str(keys.Instant(was))}
	}
	actions := []dynamo.Action{changeDeletion(before, after), access}
	if began {
		actions = append(actions, dynamo.Action{Table: dynamo.NotesTable, Item: newsRow(after.ID, revoked)})
	}
	actions = append(actions, dynamo.TaskActions(follow)...)
	lock := lockEmail(after)
	if after.Deletion.State == "" {
		lock = makeFound(after)
	}
	err := db.Transact(ctx, append(actions, lock), once)
	if errors.Is(err, user.ErrEmailTaken) { // by rows of another program
		err = db.Transact(ctx, actions, once)
	}
	return err
}

// changeDeletion is the change of a profile, on condition that it is as before.
func changeDeletion(before, after user.User) dynamo.Action {
	profile := changeProfile(before, after)
	if after.Deletion.State == "" {
		profile.Update = "REMOVE deletion, deleted_by, deleted_at, undo_until " + profile.Update // what is signed goes on at the end
	}
	return profile
}

// accessRow says which tokens of a user count.
func accessRow(u user.User, revoked time.Time) dynamo.Attrs {
	row := dynamo.NotesTable.Key(revokedKey(u.ID))
	row["revoked_at"] = dynamo.Str(keys.Instant(revoked))
	if u.Deletion.State != "" {
		row["deletion"], row["undo_until"] = dynamo.Str(string(u.Deletion.State)), dynamo.Str(keys.Instant(u.Deletion.UndoUntil))
	}
	return row
}

// newsRow tells servers that a user was revoked.
func newsRow(id user.ID, at time.Time) dynamo.Attrs {
	news := dynamo.NotesTable.Key(newsKey(id, at))
	news["user_id"], news["revoked_at"] = dynamo.Str(string(id)), dynamo.Str(keys.Instant(at))
	news["expires_at"] = dynamo.Number(at.Add(revocationsKept).Unix())
	return news
}

func newsKey(id user.ID, at time.Time) dynamo.Key {
	return dynamo.Key{PK: keys.RevocationsPK(at), SK: keys.RevocationSK(at, string(id))}
}
