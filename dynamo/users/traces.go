package users

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/user"
)

// PseudonymOf returns under which id a project keeps what a user did who is being erased. It is chosen at random when it is asked for the first time, and
// is the same for as long as the user's rows are there. Then nothing tells any more whose it was. NotFound for who is not being erased and has none: a server that
// is late leaves nothing behind.
//
// Index: primary. Key: PK = USER#<user> AND SK = PSEUDONYM#<project>, on condition that there is none; USER#<user>/PROFILE on condition that the user is being
// erased. Cost: 1 GetItem; the first time 1 TransactWriteItems of 2 rows besides.
func (db Store) PseudonymOf(ctx context.Context, id user.ID, project string) (user.ID, error) {
	key := dynamo.Key{PK: keys.UserPK(string(id)), SK: keys.PseudonymSK(project)}
	for {
		var kept string
		there, err := db.Get(ctx, dynamo.NotesTable, key, func(item dynamo.Item) error {
			kept = dynamo.TextOf(item, "pseudonym")
			return nil
		})
		if err != nil || there {
			return user.ID(kept), err
		}
		row := dynamo.NotesTable.Key(key)
		row["pseudonym"] = dynamo.Str(string(user.Pseudonym(uuid.New())))
		err = db.Transact(ctx, []dynamo.Action{
			erasing(id, fault.New(fault.NotFound, noSuchUser)),
			{Table: dynamo.NotesTable, Item: row, Condition: "attribute_not_exists(PK)", Failed: dynamo.Moved},
		}, idempotency.Key{})
		if dynamo.UnlessMoved(err) != nil {
			return "", err
		}
	}
}

// EraseBlock removes that somebody has blocked a user, and counts one less; the key is of the row that says so.
//
// Index: primary. Key: USER#<by>/BLOCKED#<user> on condition that it is there; USER#<by>/PROFILE, where it is counted.
// Cost: 1 TransactWriteItems of 2 rows; 1 more of 1 row where nothing is counted.
func (db Store) EraseBlock(ctx context.Context, key dynamo.Key) error {
	gone := dynamo.Action{Table: dynamo.NotesTable, Key: key, Remove: true, Condition: "attribute_exists(PK)", Failed: func(dynamo.Attrs) error { return dynamo.ErrDone }}
	err := db.Transact(ctx, []dynamo.Action{gone, CreatedOneLess(user.ID(keys.Part(key.PK, 1)), dynamo.ErrMissing, blocked)}, idempotency.Key{})
	if errors.Is(err, dynamo.ErrMissing) {
		err = db.Transact(ctx, []dynamo.Action{gone}, idempotency.Key{})
	}
	if errors.Is(err, dynamo.ErrDone) {
		return nil
	}
	return err
}
