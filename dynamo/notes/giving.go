package notes

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
)

// unchangedError says that a share is there as it was to be, and since when.
type unchangedError struct{ since time.Time }

func (*unchangedError) Error() string { return "the note is shared like this already" }

// PutShare puts the share of a user, whatever it was before but for its first version. One that says the same stays as it is: nobody is told, and its
// time is returned.
//
// Index: primary. Key: USER#<user>/SHARED#<note_id>, on condition that it says something else, and USER#<user>/SHARED_ENDED#<note_id>;
// USER#<user>/GIVEN#<owner>, on condition of its count unless it is opened; on condition that NOTE#<id>/LOCATOR is the owner's, and of the time that was
// read if versions are hidden, that USER#<user>/PROFILE exists and is not deleted, and that USER#<user>/BLOCKED#<owner> does not; the event in the outbox.
//
// Cost: 1 TransactWriteItems of 7 rows. Where the share stays as it is and an idempotency key is given, 1 more. Where the locator is missing, 1 Query of
// GSI2, and for a note that another program put 2 TransactWriteItems more. Where the locator does not say what the note says, 1 more with a condition on
// the row of the note. Where the count is too high, 1 or 2 TransactWriteItems more, 1 Query per started megabyte of the user's shares, and for those
// without an owner what NotesByID costs.
func (db Store) PutShare(ctx context.Context, of note.Note, s note.Share, once idempotency.Key) (note.Share, error) {
	g := giving{db: db, of: of, share: s, once: once.With(s.Result()...)}
	err := g.give(ctx)
	if fault.Is(err, fault.NotFound) {
		if adopted, failed := db.adopt(ctx, s.Owner, s.Note); failed != nil {
			err = failed
		} else if adopted {
			err = g.give(ctx)
		}
	}
	if _, conflict := errors.AsType[*note.VersionConflict](err); conflict {
		// Another program, which keeps no locators, may have changed the note before: then its row says that it is as it was read.
		g.byRow = true
		err = g.give(ctx)
	}
	if unchanged, is := errors.AsType[*unchangedError](err); is {
		s.SharedAt = unchanged.since
		err = db.Transact(ctx, nil, once.With(s.Result()...))
	}
	return s, err
}

// giving is a share that is put.
type giving struct {
	db    Store
	of    note.Note // as it was read
	share note.Share
	once  idempotency.Key
	full  error                // why there can be no other share; nil before that is known
	high  types.AttributeValue // the count of what the user was given, where it is too high
	byRow bool                 // the row of the note says that the note is as it was read, not its locator
}

// give puts the share. Where no other share can be, one that there is gets what else it is to say.
func (g *giving) give(ctx context.Context) error {
	put := func() error {
		return g.db.Spend(allowedShares, string(g.share.Owner), 1, func() error { return g.transact(ctx) })
	}
	err := put()
	if errors.Is(err, note.ErrUnopened) {
		if err = g.recount(ctx); err == nil {
			err = put()
		}
	}
	if fault.Is(err, fault.Exhausted) {
		g.full = err
		err = g.transact(ctx)
	}
	return err
}

func (g *giving) transact(ctx context.Context) error {
	unknown := &note.UnknownUser{}
	actions := []dynamo.Action{
		{Table: dynamo.NotesTable, Key: endedShareKey(g.share.User, g.share.Note), Remove: true},
		g.owned(),
		users.There(g.share.User, unknown),
		users.NotBlocked(g.share.Owner, g.share.User, unknown),
		g.put(), // behind these: what they say comes first
	}
	if g.byRow {
		row := dynamo.Action{Table: dynamo.NotesTable, Key: noteKey(g.of), Failed: func(dynamo.Attrs) error { return &note.VersionConflict{} }}
		actions = append(actions, row.IfVersion(g.of.Version, "version"))
	}
	if g.full == nil {
		actions = append(actions, g.counted())
	}
	return g.db.change(ctx, note.Giving(g.share), actions, g.once)
}

// owned is the condition that the note is the owner's, and as it was read if versions are hidden: those that are hidden are from before that.
func (g *giving) owned() dynamo.Action {
	a := dynamo.Action{Table: dynamo.NotesTable, Key: locatorKey(g.share.Note), Condition: "user_id = :owner", Values: dynamo.Attrs{":owner": dynamo.Str(string(g.share.Owner))},
		Failed: func(row dynamo.Attrs) error {
			var at note.Note
			err := decodeNote(dynamo.ItemOf(row), &at, nil)
			switch {
			case err != nil:
				return err
			case at.Owner != g.share.Owner:
				return fault.New(fault.NotFound, noSuchNote)
			}
			return &note.VersionConflict{}
		}}
	if g.share.FirstVersion > 0 && !g.byRow {
		a.Condition += " AND (updated_at = :read OR attribute_not_exists(updated_at))"
		a.Values[":read"] = dynamo.Str(keys.Instant(g.of.UpdatedAt))
	}
	return a
}

// put is the share, on condition that it says something else.
func (g *giving) put() dynamo.Action {
	a := dynamo.Action{Table: dynamo.NotesTable, Key: shareKey(g.share.User, g.share.Note), Names: dynamo.Reserved("permission"),
		Values: dynamo.Attrs{":owner": dynamo.Str(string(g.share.Owner)), ":permission": dynamo.Str(permissions[g.share.Permission])},
		Failed: func(row dynamo.Attrs) error {
			if row == nil {
				return g.full
			}
			var had note.Share
			if err := decodeShare(dynamo.ItemOf(row), &had); err != nil {
				return err
			}
			return &unchangedError{had.SharedAt}
		},
	}
	same := "owner_id = :owner AND #permission = :permission AND attribute_exists(shared_at)"
	if g.share.FirstVersion > 0 {
		a = a.Setting(shareRow(g.share), firstVersion)
	} else {
		a = a.Setting(shareRow(g.share))
		same += " AND (attribute_not_exists(#set_first_version) OR #set_first_version = :set_first_version)"
	}
	if a.Condition = "NOT (" + same + ")"; g.full != nil {
		a.Condition = "attribute_exists(PK) AND " + a.Condition
	}
	return a
}

// counted counts the share, on condition that there are not too many or that the user has opened one.
func (g *giving) counted() dynamo.Action {
	return dynamo.Action{
		Table: dynamo.NotesTable, Key: givenKey(g.share.User, g.share.Owner), Update: "ADD shares :one", Condition: "attribute_exists(opened_at) OR attribute_not_exists(shares) OR shares < :most",
		Values: dynamo.Attrs{":one": dynamo.Number(1), ":most": dynamo.Number(note.MaxUnopened)},
		Failed: func(row dynamo.Attrs) error { g.high = row["shares"]; return note.ErrUnopened },
	}
}

// recount counts again what the user was given by the owner: the count grows with each share, also when it only gets another permission, and does not
// shrink. [note.ErrUnopened] if there is no room.
func (g *giving) recount(ctx context.Context) error {
	shares, err := g.db.ListSharesBy(ctx, g.share.User, g.share.Owner, note.MaxUnopened)
	if err != nil {
		return err
	}
	if len(shares) == note.MaxUnopened {
		return note.ErrUnopened
	}
	return dynamo.UnlessMoved(g.db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.NotesTable, Key: givenKey(g.share.User, g.share.Owner), Update: "SET shares = :now", Condition: "shares = :high",
		Values: dynamo.Attrs{":now": dynamo.Number(int64(len(shares))), ":high": g.high}, Failed: dynamo.Moved,
	}}, idempotency.Key{}))
}
