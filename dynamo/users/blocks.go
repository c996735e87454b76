package users

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
)

// blocked is the attribute of a profile that counts whom the user has blocked.
const blocked = "blocked"

// blockRow is a row of a user whom another one has blocked.
type blockRow struct {
	*user.Block
	by user.ID
}

// blockRows are the attributes of these rows.
var blockRows = dynamo.LayoutOf(
	dynamo.IndexKey("PK", func(b *blockRow) string { return keys.UserPK(string(b.by)) }),
	dynamo.IndexKey("SK", func(b *blockRow) string { return keys.BlockedSK(string(b.User)) }),
	dynamo.OfText("user_id", func(b *blockRow) *user.ID { return &b.User }),
	dynamo.OfInstant("blocked_at", func(b *blockRow) *time.Time { return &b.At }),
)

func decodeBlock(item dynamo.Item, b *user.Block) error {
	r := blockRows.Take()
	defer blockRows.Give(r)
	r.Block = b
	return blockRows.Decode(item, r)
}

func blockKey(by, blocked user.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(by)), SK: keys.BlockedSK(string(blocked))}
}

// NotBlocked is the condition that a user has not blocked the one who shares something with them, or takes them into something.
func NotBlocked(by, user user.ID, refused error) dynamo.Action {
	return dynamo.Action{Table: dynamo.NotesTable, Key: blockKey(user, by), Condition: "attribute_not_exists(PK)", Failed: func(dynamo.Attrs) error { return refused }}
}

// errNoChange says that somebody is blocked already, or is not.
var errNoChange = errors.New("this is so already")

// BlockUser puts that a user has blocked another one, unless that is so already.
//
// Index: primary. Key: USER#<by>/BLOCKED#<user> on condition that there is none; USER#<by>/PROFILE on condition of its count; USER#<user>/PROFILE on
// condition that it exists and is not deleted. Cost: 1 TransactWriteItems of 3 rows; where the user is blocked already and an idempotency key is given, 1 more.
func (db Store) BlockUser(ctx context.Context, by user.ID, b user.Block, once idempotency.Key) error {
	none := fault.New(fault.NotFound, "there is no such user")
	err := db.Transact(ctx, []dynamo.Action{
		{Table: dynamo.NotesTable, Item: blockRows.Row(&blockRow{&b, by}), Condition: "attribute_not_exists(PK)", Failed: func(dynamo.Attrs) error { return errNoChange }},
		There(b.User, none),
		CreatesOne(by, blocked, user.MaxBlocked, none, fault.New(fault.Exhausted, "a user blocks at most %d users: unblock some first", user.MaxBlocked)),
	}, once)
	return db.unchanged(ctx, err, once)
}

// UnblockUser removes that a user has blocked another one, if that is so.
//
// Index: primary. Key: USER#<by>/BLOCKED#<user> on condition that it is there; USER#<by>/PROFILE, where it is counted.
// Cost: 1 TransactWriteItems of 2 rows; where the user is not blocked and an idempotency key is given, 1 more.
func (db Store) UnblockUser(ctx context.Context, by, unblocked user.ID, once idempotency.Key) error {
	err := db.Transact(ctx, []dynamo.Action{
		{Table: dynamo.NotesTable, Key: blockKey(by, unblocked), Remove: true, Condition: "attribute_exists(PK)", Failed: func(dynamo.Attrs) error { return errNoChange }},
		CreatedOneLess(by, errNoChange, blocked),
	}, once)
	return db.unchanged(ctx, err, once)
}

// unchanged records the idempotency key of a change that was so already.
func (db Store) unchanged(ctx context.Context, err error, once idempotency.Key) error {
	if errors.Is(err, errNoChange) {
		return db.Transact(ctx, nil, once)
	}
	return err
}

// HasBlocked reports whether a user has blocked another one.
//
// Index: primary. Key: PK = USER#<by> AND SK = BLOCKED#<blocked>. Cost: 1 GetItem.
func (db Store) HasBlocked(ctx context.Context, by, blocked user.ID) (bool, error) {
	return db.Get(ctx, dynamo.NotesTable, blockKey(by, blocked), func(dynamo.Item) error { return nil })
}

// ListBlocked lists whom a user has blocked, by user id.
//
// Index: primary. Key: PK = USER#<user> AND begins_with(SK, BLOCKED#). Cost: 1 Query.
func (db Store) ListBlocked(ctx context.Context, by user.ID, w page.Window) (page.Slice[user.Block], error) {
	low, high := dynamo.Prefixed(keys.BlockedPrefix)
	return dynamo.Listing[user.Block]{
		Span:     dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(by)), Low: low, High: high},
		Decode:   decodeBlock,
		Position: func(b user.Block) string { return string(b.User) },
		SortKey:  keys.BlockedSK,
	}.Read(ctx, db.DB, w)
}
