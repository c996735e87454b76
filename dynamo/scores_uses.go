package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// refsAttribute counts, on the row of an item, the rows that say that something uses the item. Both change in one transaction,
// so that an item without uses is one of which no row si:<owner>/<item>… exists.
const refsAttribute = "refs"

// usedBy is who uses items: a score, a snapshot of it, or a project.
type usedBy struct {
	score    score.Ref
	snapshot string     // "" for the score itself
	project  project.ID // "" for a score or snapshot
	// version is that of the score from which on it uses the items. Rows of a higher one are somebody's who prepares it.
	version int
}

func (by usedBy) id() string {
	switch {
	case by.project != "":
		return string(by.project)
	case by.snapshot != "":
		return by.snapshot
	}
	return string(by.score.ID)
}

// errUse says that the row of a use was not as expected: whether it is there; or that the item is not, which it is about; or
// that the item's uses are to be counted first.
type errUse struct {
	item      score.ItemRef
	there     bool
	noItem    bool
	uncounted bool
}

func (errUse) Error() string { return "an item is used otherwise than expected" }

// counting is an action that changes how many uses an item has, or removes it, on condition that this is known. The row of another
// program does not tell: see [DB.countUses].
func counting(item score.ItemRef, a action, noItem error) action {
	a.table, a.key = scoresTable, itemKey(item)
	if a.condition == "" {
		a.condition = "attribute_exists(#refs)"
	}
	a.names = reserved(refsAttribute)
	failed := a.failed
	a.failed = func(row attrs) error {
		switch {
		case row == nil:
			return noItem
		case row[refsAttribute] == nil:
			return errUse{item: item, uncounted: true}
		}
		return failed(row) // never without a condition of its own
	}
	return a
}

// countUses counts what uses an item whose row does not tell. Whoever begins or ends to use an item needs the count on its row: so
// what is counted here is so when it is written, or somebody else has written it.
//
// Cost: 1 Query, one more per started megabyte of keys, and 1 TransactWriteItems of 1 row.
func (db *DB) countUses(ctx context.Context, item score.ItemRef) error {
	uses := 0
	s := usesOf(item).span
	s.keys = true
	if _, err := db.query(ctx, s, func([]byte) (bool, error) { uses++; return true, nil }); err != nil {
		return err
	}
	err := db.transact(ctx, []action{{table: scoresTable, key: itemKey(item), update: "SET #refs = :uses", condition: "attribute_exists(o) AND attribute_not_exists(#refs)",
		names: reserved(refsAttribute), values: attrs{":uses": number(int64(uses))}, failed: moved}}, idempotency.Key{})
	return unlessMoved(err)
}

// take makes an item used: by a new row, or by the row that is there already, because somebody prepared it or has not removed
// it yet.
func (by usedBy) take(item score.ItemRef, there bool) []action {
	key := itemUseKey(item, by.id())
	version := number(int64(by.version))
	unknown := func(attrs) error { return &score.UnknownItem{Item: item} }
	if there { // the row does not know whose the item is: who asks for it may have made that up
		return []action{
			{table: scoresTable, key: itemKey(item), condition: "attribute_exists(o)", failed: unknown},
			{table: scoresTable, key: key, update: "SET g = :g", condition: "attribute_exists(o) AND (attribute_not_exists(g) OR g <= :g)", values: attrs{":g": version},
				failed: func(row attrs) error {
					if row == nil {
						return errUse{item: item}
					}
					return errMoved // somebody prepares a version that follows
				}}}
	}
	row := scoresTable.key(key)
	row["by"], row["g"] = str(string(score.UsedByScore)), version
	switch {
	case by.project != "":
		row["by"] = str(string(score.UsedByProject))
	case by.snapshot != "":
		row["by"], row["sc"] = str(string(score.UsedBySnapshot)), str(keys.EncodeUUID(string(by.score.ID)))
	}
	return []action{
		{table: scoresTable, item: row, condition: "attribute_not_exists(o)", failed: func(attrs) error { return errUse{item: item, there: true} }},
		counting(item, action{update: "SET #refs = #refs + :one", values: attrs{":one": number(1)}}, &score.UnknownItem{Item: item}),
	}
}

// drop makes an item used no more, unless somebody prepares to use it further. Of an item that is not there only the row of the
// use is removed.
func (by usedBy) drop(item score.ItemRef, noItem bool) []action {
	use := action{table: scoresTable, key: itemUseKey(item, by.id()), remove: true, condition: "attribute_exists(o) AND (attribute_not_exists(g) OR g <= :g)",
		values: attrs{":g": number(int64(by.version))}, failed: func(attrs) error { return errUse{item: item} }}
	if noItem {
		return []action{use}
	}
	return []action{use,
		counting(item, action{update: "SET #refs = #refs - :one", values: attrs{":one": number(1)}}, errUse{item: item, noItem: true}),
	}
}

// taking makes items used, those of which there says so by the rows that are there. others are actions of the same transaction,
// which come first.
//
// Cost: 1 TransactWriteItems; one more for each row that is otherwise than expected.
func (db Scores) taking(ctx context.Context, by usedBy, items []score.ItemRef, others []action, once idempotency.Key) error {
	return db.exchanging(ctx, by, items, nil, others, once)
}

// exchanging makes items used as taking does, and those that are released used no more. Of these the ones that are not used stay
// as they are.
func (db Scores) exchanging(ctx context.Context, by usedBy, items, released []score.ItemRef, others []action, once idempotency.Key) error {
	there, unused, noItem := map[score.ItemRef]bool{}, map[score.ItemRef]bool{}, map[score.ItemRef]bool{}
	for idle := 0; ; idle++ {
		actions := slices.Clone(others)
		for _, item := range released {
			if !unused[item] {
				actions = append(actions, by.drop(item, noItem[item])...)
			}
		}
		for _, item := range items {
			actions = append(actions, by.take(item, there[item])...)
		}
		err := db.transact(ctx, actions, once)
		use, ok := errors.AsType[errUse](err)
		switch {
		case !ok:
			return err
		case use.uncounted:
			if err := db.countUses(ctx, use.item); err != nil {
				return err
			}
		case use.noItem:
			noItem[use.item] = true
		case slices.Contains(released, use.item):
			unused[use.item] = true
		default:
			there[use.item] = use.there
		}
		if expected := 2*len(items) + 3*len(released); idle > expected && !db.pause(ctx, idle-expected) {
			return errMoved
		}
	}
}

// dropping makes items used no more. Those that are not used, or that somebody prepares to use further, stay as they are.
//
// Cost: ⌈n/100⌉ BatchGetItem and 1 TransactWriteItems per 45 items.
func (db Scores) dropping(ctx context.Context, by usedBy, items []score.ItemRef) error {
	used := make([]bool, len(items))
	wants := make([]want, len(items))
	for i, item := range items {
		wants[i] = want{scoresTable, itemUseKey(item, by.id()), func(row []byte) error {
			used[i] = true
			return attributes(row, func(name []byte, v value) error {
				if string(name) != "g" {
					return v.skip()
				}
				g, err := v.int()
				used[i] = g <= by.version
				return err
			})
		}}
	}
	for _, err := range db.DB.projecting(nil).batchGet(ctx, wants) {
		if err != nil && err != errMissing { //nolint:errorlint // batchGet returns it bare
			return err
		}
	}
	var left []score.ItemRef
	for i, item := range items {
		if used[i] {
			left = append(left, item)
		}
	}
	noItem := map[score.ItemRef]bool{}
	for chunk := range slices.Chunk(left, max(db.prepared/2, 1)) {
		for {
			var actions []action
			for _, item := range chunk {
				actions = append(actions, by.drop(item, noItem[item])...)
			}
			err := db.transact(ctx, actions, idempotency.Key{})
			use, ok := errors.AsType[errUse](err)
			if !ok && err != nil {
				return err
			}
			if !ok {
				break
			}
			if use.uncounted {
				if err := db.countUses(ctx, use.item); err != nil {
					return err
				}
				continue
			}
			if use.noItem {
				noItem[use.item] = true
				continue
			}
			chunk = slices.DeleteFunc(slices.Clone(chunk), func(item score.ItemRef) bool { return item == use.item })
		}
	}
	return nil
}

// errText says that a text is to be used by a version that follows.
type errText struct{ id score.TextID }

func (errText) Error() string { return "a text is being used again" }

// removing removes texts that no version up to the given one uses, unless somebody prepares to use them.
//
// Cost: 1 TransactWriteItems per 90 texts.
func (db Scores) removing(ctx context.Context, texts []score.TextID, version int) error {
	for chunk := range slices.Chunk(texts, db.prepared) {
		for {
			var actions []action
			for _, id := range chunk {
				actions = append(actions, action{table: scoresTable, key: textKey(id), remove: true, condition: "attribute_not_exists(o) OR attribute_not_exists(g) OR g <= :g",
					values: attrs{":g": number(int64(version))}, failed: func(attrs) error { return errText{id} }})
			}
			err := db.transact(ctx, actions, idempotency.Key{})
			used, ok := errors.AsType[errText](err)
			if !ok && err != nil {
				return err
			}
			if !ok {
				break
			}
			chunk = slices.DeleteFunc(slices.Clone(chunk), func(id score.TextID) bool { return id == used.id })
		}
	}
	return nil
}

// itemKeys spells items as the sort keys of their rows.
func itemKeys(items []score.ItemRef) types.AttributeValue {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = itemKey(item).SK
	}
	return texts(all)
}

// readItemKeys reads what itemKeys wrote.
func readItemKeys(v value, owner score.UserID) ([]score.ItemRef, error) {
	var items []score.ItemRef
	err := v.list(func(s string) error {
		ids, err := keys.SplitIDs(s, "", 2)
		if err == nil {
			items = append(items, score.ItemRef{Owner: owner, Score: score.ID(ids[0]), ID: score.ItemID(ids[1])})
		}
		return err
	})
	return items, err
}
