package scores

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
)

// taking makes items used, those of which there says so by the rows that are there. others are actions of the same transaction,
// which come first.
//
// Cost: 1 TransactWriteItems; one more for each row that is otherwise than expected.
func (db Store) taking(ctx context.Context, by uses.By, items []score.ItemRef, others []dynamo.Action, once idempotency.Key) error {
	return db.exchanging(ctx, by, items, nil, others, once)
}

// exchanging makes items used as taking does, and those that are released not used any more. Of these the ones that are not used stay
// as they are.
func (db Store) exchanging(ctx context.Context, by uses.By, items, released []score.ItemRef, others []dynamo.Action, once idempotency.Key) error {
	there, unused, noItem := map[score.ItemRef]bool{}, map[score.ItemRef]bool{}, map[score.ItemRef]bool{}
	for idle := 0; ; idle++ {
		actions := slices.Clone(others)
		for _, item := range released {
			if !unused[item] {
				actions = append(actions, by.Drop(item, noItem[item])...)
			}
		}
		for _, item := range items {
			actions = append(actions, by.Take(item, there[item])...)
		}
		err := db.Transact(ctx, actions, once)
		use, ok := errors.AsType[uses.UnexpectedError](err)
		switch {
		case !ok:
			return err
		case use.Uncounted:
			if err := uses.Count(ctx, db.DB, use.Item); err != nil {
				return err
			}
		case use.NoItem:
			noItem[use.Item] = true
		case slices.Contains(released, use.Item):
			unused[use.Item] = true
		default:
			there[use.Item] = use.There
		}
		if expected := 2*len(items) + 3*len(released); idle > expected && !db.Pause(ctx, idle-expected) {
			return dynamo.ErrMoved
		}
	}
}

// dropping makes items not used any more. Those that are not used, or that somebody prepares to use further, stay as they are.
//
// Cost: ⌈n/100⌉ BatchGetItem and 1 TransactWriteItems per 45 items.
func (db Store) dropping(ctx context.Context, by uses.By, items []score.ItemRef) error {
	used := make([]bool, len(items))
	wants := make([]dynamo.Want, len(items))
	for i, item := range items {
		wants[i] = dynamo.Want{Table: dynamo.ScoresTable, Key: uses.Key(item, by.ID()), Decode: func(row dynamo.Item) error {
			used[i] = true
			return dynamo.Attributes(row, func(name []byte, v dynamo.Value) error {
				if string(name) != "g" {
					return nil
				}
				g, err := v.Int()
				used[i] = g <= by.Version
				return err
			})
		}}
	}
	for _, err := range db.DB.Projecting(nil).BatchGet(ctx, wants) {
		if err != nil && err != dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
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
	for chunk := range slices.Chunk(left, max(db.Prepared/2, 1)) {
		for {
			var actions []dynamo.Action
			for _, item := range chunk {
				actions = append(actions, by.Drop(item, noItem[item])...)
			}
			err := db.Transact(ctx, actions, idempotency.Key{})
			use, ok := errors.AsType[uses.UnexpectedError](err)
			if !ok && err != nil {
				return err
			}
			if !ok {
				break
			}
			if use.Uncounted {
				if err := uses.Count(ctx, db.DB, use.Item); err != nil {
					return err
				}
				continue
			}
			if use.NoItem {
				noItem[use.Item] = true
				continue
			}
			chunk = slices.DeleteFunc(slices.Clone(chunk), func(item score.ItemRef) bool { return item == use.Item })
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
func (db Store) removing(ctx context.Context, texts []score.TextID, version int) error {
	for chunk := range slices.Chunk(texts, db.Prepared) {
		for {
			var actions []dynamo.Action
			for _, id := range chunk {
				actions = append(actions, dynamo.Action{Table: dynamo.ScoresTable, Key: textKey(id), Remove: true, Condition: "attribute_not_exists(o) OR attribute_not_exists(g) OR g <= :g",
					Values: dynamo.Attrs{":g": dynamo.Number(int64(version))}, Failed: func(dynamo.Attrs) error { return errText{id} }})
			}
			err := db.Transact(ctx, actions, idempotency.Key{})
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
		all[i] = uses.ItemKey(item).SK
	}
	return dynamo.Texts(all)
}

// readItemKeys reads what itemKeys wrote.
func readItemKeys(v dynamo.Value, owner score.UserID) ([]score.ItemRef, error) {
	var items []score.ItemRef
	err := v.List(func(s string) error {
		ids, err := keys.SplitIDs(s, "", 2)
		if err == nil {
			items = append(items, score.ItemRef{Owner: owner, Score: score.ID(ids[0]), ID: score.ItemID(ids[1])})
		}
		return err
	})
	return items, err
}
