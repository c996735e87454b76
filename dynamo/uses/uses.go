// Package uses keeps which scores, snapshots and projects use an item, and on its row how many do.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may do what. Start reading at [By].
package uses

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// RefsAttribute counts, on the row of an item, the rows that say that something uses the item. Both change in one transaction,
// so that an item without uses is one of which no row si:<owner>/<item>… exists.
const RefsAttribute = "refs"

// WithdrawnAttribute tells, on the row of an item, since when its owner has withdrawn it: no project begins to use it.
const WithdrawnAttribute = "withdrawn"

// ImportedAttribute tells, on the row of an item, that a project uses it or has done so. It stays: who changes tags on an item that lacks it need not
// look for projects.
const ImportedAttribute = "imported"

// By is who uses items: a score, a snapshot of it, or a project.
type By struct {
	Score    score.Ref
	Snapshot string     // "" for the score itself
	Project  project.ID // "" for a score or snapshot
	// Version is that of the score from which on it uses the items. Rows of a higher one are somebody's who prepares it.
	Version int
}

// ID is by what the row of the use names it.
func (by By) ID() string {
	switch {
	case by.Project != "":
		return string(by.Project)
	case by.Snapshot != "":
		return by.Snapshot
	}
	return string(by.Score.ID)
}

// UnexpectedError says that the row of a use was not as expected: whether it is there; or that the item is not, which it is about; or
// that the item's uses are to be counted first.
type UnexpectedError struct {
	Item      score.ItemRef
	There     bool
	NoItem    bool
	Uncounted bool
}

func (UnexpectedError) Error() string { return "an item is used otherwise than expected" }

// Counting is an action that changes how many uses an item has, or removes it, on condition that this is known. The row of another
// program does not tell: see [Count].
func Counting(item score.ItemRef, a dynamo.Action, noItem error) dynamo.Action {
	a.Table, a.Key = dynamo.ScoresTable, ItemKey(item)
	if a.Condition == "" {
		a.Condition = "attribute_exists(#refs)"
	}
	a.Names = dynamo.Reserved(RefsAttribute)
	failed := a.Failed
	a.Failed = func(row dynamo.Attrs) error {
		switch {
		case row == nil:
			return noItem
		case row[RefsAttribute] == nil:
			return UnexpectedError{Item: item, Uncounted: true}
		}
		return failed(row) // never without a condition of its own
	}
	return a
}

// Count counts what uses an item whose row does not tell. Whoever begins or ends to use an item needs the count on its row: so
// what is counted here is so when it is written, or somebody else has written it.
//
// Cost: 1 Query, one more per started megabyte of keys, and 1 TransactWriteItems of 1 row.
func Count(ctx context.Context, db *dynamo.DB, item score.ItemRef) error {
	uses := 0
	s := Of(item).Span
	s.Keys = true
	if _, err := db.Query(ctx, s, func(dynamo.Item) (bool, error) { uses++; return true, nil }); err != nil {
		return err
	}
	err := db.Transact(ctx, []dynamo.Action{{Table: dynamo.ScoresTable, Key: ItemKey(item), Update: "SET #refs = :uses", Condition: "attribute_exists(o) AND attribute_not_exists(#refs)",
		Names: dynamo.Reserved(RefsAttribute), Values: dynamo.Attrs{":uses": dynamo.Number(int64(uses))}, Failed: dynamo.Moved}}, idempotency.Key{})
	return dynamo.UnlessMoved(err)
}

// rows are the attributes of a use besides its key, and the version from which on it holds.
var rows = dynamo.LayoutOf(
	dynamo.OfText("by", func(u *score.Use) *score.UseKind { return &u.Kind }),
	dynamo.Optional(dynamo.OfID("sc", func(u *score.Use) *score.ID { return &u.Score })),
)

// Take makes an item used: by a new row, or by the row that is there already, because somebody prepared it or has not removed
// it yet.
func (by By) Take(item score.ItemRef, there bool) []dynamo.Action {
	key := Key(item, by.ID())
	version := dynamo.Number(int64(by.Version))
	unknown := func(dynamo.Attrs) error { return &score.UnknownItem{Item: item} }
	if there { // the row does not know whose the item is: who asks for it may have made that up
		return []dynamo.Action{
			{Table: dynamo.ScoresTable, Key: ItemKey(item), Condition: "attribute_exists(o)", Failed: unknown},
			{Table: dynamo.ScoresTable, Key: key, Update: "SET g = :g", Condition: "attribute_exists(o) AND (attribute_not_exists(g) OR g <= :g)", Values: dynamo.Attrs{":g": version},
				Failed: func(row dynamo.Attrs) error {
					if row == nil {
						return UnexpectedError{Item: item}
					}
					return dynamo.ErrMoved // somebody prepares a version that follows
				}}}
	}
	more := dynamo.Action{Update: "SET #refs = #refs + :one", Values: dynamo.Attrs{":one": dynamo.Number(1)}}
	if by.Project != "" {
		more.Update += ", " + ImportedAttribute + " = :one"
		more.Condition, more.Failed = "attribute_exists(#refs) AND attribute_not_exists("+WithdrawnAttribute+")", unknown
	}
	row := dynamo.ScoresTable.Key(key)
	use := score.Use{Kind: score.UsedByScore}
	switch {
	case by.Project != "":
		use.Kind = score.UsedByProject
	case by.Snapshot != "":
		use.Kind, use.Score = score.UsedBySnapshot, by.Score.ID
	}
	rows.Write(&use, row)
	row["g"] = version
	return []dynamo.Action{
		{Table: dynamo.ScoresTable, Item: row, Condition: "attribute_not_exists(o)", Failed: func(dynamo.Attrs) error { return UnexpectedError{Item: item, There: true} }},
		Counting(item, more, &score.UnknownItem{Item: item}),
	}
}

// Drop makes an item not used any more, unless somebody prepares to use it further. Of an item that is not there only the row of the
// use is removed.
func (by By) Drop(item score.ItemRef, noItem bool) []dynamo.Action {
	use := dynamo.Action{Table: dynamo.ScoresTable, Key: Key(item, by.ID()), Remove: true, Condition: "attribute_exists(o) AND (attribute_not_exists(g) OR g <= :g)",
		Values: dynamo.Attrs{":g": dynamo.Number(int64(by.Version))}, Failed: func(dynamo.Attrs) error { return UnexpectedError{Item: item} }}
	if noItem {
		return []dynamo.Action{use}
	}
	return []dynamo.Action{use,
		Counting(item, dynamo.Action{Update: "SET #refs = #refs - :one", Values: dynamo.Attrs{":one": dynamo.Number(1)}}, UnexpectedError{Item: item, NoItem: true}),
	}
}

// Decode reads the row of a use: "by" says what the user is, "sc" whose snapshot it is. The item's key is completed by who knows it.
func Decode(item dynamo.Item, u *score.Use) error {
	key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
	if err != nil {
		return err
	}
	owner, err := keys.SplitIDs(key.PK, "si:", 1)
	if err != nil {
		return err
	}
	ids, err := keys.SplitIDs(key.SK, "", 2)
	if err != nil {
		return err
	}
	u.Item.Owner, u.Item.ID, u.By = score.UserID(owner[0]), score.ItemID(ids[0]), ids[1]
	u.Kind = score.UsedByScore // rows of the source document have nothing but keys
	return rows.Decode(item, u)
}

// Of lists what uses an item.
func Of(item score.ItemRef) dynamo.Listing[score.Use] {
	s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ItemUsesPK(string(item.Owner))}
	s.Low, s.High = dynamo.Prefixed(keys.ItemUsesPrefix(string(item.ID)))
	return dynamo.Listing[score.Use]{
		Span: s,
		Decode: func(row dynamo.Item, u *score.Use) error {
			err := Decode(row, u)
			u.Item = item
			return err
		},
		Position: func(u score.Use) string { return u.By },
		SortKey:  func(p string) string { return keys.ItemUseSK(string(item.ID), p) },
	}
}

// ItemKey is the key of the row of an item.
func ItemKey(item score.ItemRef) dynamo.Key {
	return dynamo.Key{PK: keys.ItemsPK(string(item.Owner)), SK: keys.ItemSK(string(item.Score), string(item.ID))}
}

// Key is the key of the row that says that something uses an item.
func Key(item score.ItemRef, user string) dynamo.Key {
	return dynamo.Key{PK: keys.ItemUsesPK(string(item.Owner)), SK: keys.ItemUseSK(string(item.ID), user)}
}
