package scores

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// Items keeps the items of scores and libraries, and uploads, in the table scores.
type Items struct{ *dynamo.DB }

var _ score.ItemStore = Items{}

// ItemsByID reads items.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Items) ItemsByID(ctx context.Context, refs []score.ItemRef) ([]score.Item, []error) {
	items, wants := make([]score.Item, len(refs)), make([]dynamo.Want, len(refs))
	for i, ref := range refs {
		wants[i] = dynamo.Want{Table: dynamo.ScoresTable, Key: uses.ItemKey(ref), Decode: func(item dynamo.Item) error { return decodeScoreItem(item, &items[i]) }}
	}
	return items, dynamo.Missing(db.BatchGet(ctx, wants), "there is no such item")
}

// ListItemsOf lists the items of each score or library, or of an owner, by id.
//
// Index: primary. Key: o = it:<owner> AND begins_with(s, <score>); o = it:<owner> for all of an owner, around the
// uploads, which lie between them. Cost: 1 Query per list, concurrently within the bound; of all of an owner one more of up to 500 rows
// where the page reaches the uploads.
func (db Items) ListItemsOf(ctx context.Context, requests []score.ItemsRequest) ([]page.Slice[score.Item], []error) {
	lists := make([]page.Slice[score.Item], len(requests))
	errs := db.Each(len(requests), func(i int) (err error) {
		of := requests[i].Of
		l := dynamo.Listing[score.Item]{
			Span: dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ItemsPK(string(of.Owner))}, Decode: decodeScoreItem,
			Position: func(i score.Item) string { return string(i.ID) }, SortKey: func(p string) string { return keys.ItemSK(string(of.ID), p) },
		}
		if of.ID == "" {
			lists[i], err = db.allItems(ctx, l.Span, requests[i].Window)
			return err
		}
		l.Span.Low, l.Span.High = dynamo.Prefixed(keys.ItemsPrefix(string(of.ID)))
		lists[i], err = l.Read(ctx, db.DB, requests[i].Window)
		return err
	})
	return lists, errs
}

// allItems lists the items of an owner, by score and id.
func (db Items) allItems(ctx context.Context, s dynamo.Span, w page.Window) (page.Slice[score.Item], error) {
	l := dynamo.Listing[score.Item]{
		Span: s,
		Decode: func(item dynamo.Item, i *score.Item) error {
			key, err := dynamo.KeyOf(item, dynamo.ScoresTable)
			if err != nil || key.SK == keys.CountsSK || strings.HasPrefix(key.SK, keys.UploadPrefix) {
				return err
			}
			return decodeScoreItem(item, i)
		},
		Beyond: func(next dynamo.Attrs, backward bool) dynamo.Attrs {
			switch key := dynamo.Text(next[dynamo.ScoresTable.SK]); {
			case !strings.HasPrefix(key, keys.UploadPrefix):
				return next
			case backward:
				return dynamo.ScoresTable.Key(dynamo.Key{PK: s.PK, SK: keys.UploadPrefix})
			}
			_, last := dynamo.Prefixed(keys.UploadPrefix)
			return dynamo.ScoresTable.Key(dynamo.Key{PK: s.PK, SK: last})
		},
		SortKey: func(p string) string {
			of, id, _ := strings.Cut(p, "/")
			return keys.ItemSK(of, id)
		},
	}
	return dynamo.Filtered(ctx, db.DB, l, w, func(_ context.Context, rows []score.Item) ([]score.Item, error) {
		return slices.DeleteFunc(rows, func(i score.Item) bool { return i.ID == "" }), nil
	}, func(i score.Item) string { return string(i.Score) + "/" + string(i.ID) })
}

// Usages reads how much the items of owners take up; nothing for one who never had any.
//
// Index: primary. Key: o = it:<owner> AND s = summary. Cost: ⌈n/100⌉ BatchGetItem.
func (db Items) Usages(ctx context.Context, owners []score.UserID) ([]score.Usage, []error) {
	usages, wants := make([]score.Usage, len(owners)), make([]dynamo.Want, len(owners))
	for i, owner := range owners {
		wants[i] = dynamo.Want{Table: dynamo.ScoresTable, Key: usageKey(owner), Decode: func(item dynamo.Item) error { return decodeUsage(item, &usages[i]) }}
	}
	errs := db.BatchGet(ctx, wants)
	for i, err := range errs {
		if err == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = nil
		}
	}
	return usages, errs
}

// RenameItem changes the name of an item.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>. Cost: 1 TransactWriteItems of 1 row, 1 BatchGetItem.
func (db Items) RenameItem(ctx context.Context, ref score.ItemRef, name string, once idempotency.Key) (score.Item, error) {
	return db.updateItem(ctx, ref, dynamo.Action{Update: "SET org_name = :name", Values: dynamo.Attrs{":name": dynamo.Str(name)}}, nil, once)
}

// PutSetName changes the set of an item.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>; the tasks. Cost: 1 TransactWriteItems of 1 row and the tasks, 1
// BatchGetItem.
func (db Items) PutSetName(ctx context.Context, ref score.ItemRef, name string, follow []task.Task, once idempotency.Key) (score.Item, error) {
	a := dynamo.Action{Update: "REMOVE set_name"}
	if name != "" {
		a.Update, a.Values = "SET set_name = :name", dynamo.Attrs{":name": dynamo.Str(name)}
	}
	return db.updateItem(ctx, ref, a, follow, once)
}

// WithdrawItem notes since when an item is withdrawn, unless it is already.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>; the tasks. Cost: 1 TransactWriteItems of 1 row and the tasks, 1
// BatchGetItem.
func (db Items) WithdrawItem(ctx context.Context, ref score.ItemRef, at time.Time, follow []task.Task, once idempotency.Key) (score.Item, error) {
	const name = uses.WithdrawnAttribute
	return db.updateItem(ctx, ref, dynamo.Action{Update: "SET " + name + " = if_not_exists(" + name + ", :at)", Values: dynamo.Attrs{":at": dynamo.Str(keys.Instant(at))}}, follow, once)
}

// EndUse has a project not use an item any more.
//
// Index: primary. Key: o = si:<owner> AND s = <item><project>; o = it:<owner> AND s = <score><item>.
// Cost: 1 BatchGetItem and 1 TransactWriteItems of 2 rows.
func (db Items) EndUse(ctx context.Context, ref score.ItemRef, by project.ID) error {
	return Store{DB: db.DB}.dropping(ctx, uses.By{Project: by}, []score.ItemRef{ref})
}

// updateItem carries out an update of an item that exists, records the tasks and returns the item.
func (db Items) updateItem(ctx context.Context, ref score.ItemRef, a dynamo.Action, follow []task.Task, once idempotency.Key) (score.Item, error) {
	a.Table, a.Key, a.Condition, a.Failed = dynamo.ScoresTable, uses.ItemKey(ref), "attribute_exists(s)", goneItem
	if err := db.Transact(ctx, append([]dynamo.Action{a}, dynamo.TaskActions(follow)...), once); err != nil {
		return score.Item{}, err
	}
	items, errs := db.ItemsByID(ctx, []score.ItemRef{ref})
	if errs != nil && errs[0] != nil {
		return score.Item{}, errs[0]
	}
	return items[0], nil
}

func goneItem(dynamo.Attrs) error { return fault.New(fault.NotFound, "there is no such item") }

// PutQuota sets the quota of an owner.
//
// Index: primary. Key: o = it:<owner> AND s = summary. Cost: 1 TransactWriteItems of 1 row.
func (db Items) PutQuota(ctx context.Context, owner score.UserID, quota int64, once idempotency.Key) error {
	return db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.ScoresTable, Key: usageKey(owner), Update: "SET #quota = :quota", Names: dynamo.Reserved("quota"), Values: dynamo.Attrs{":quota": dynamo.Number(quota)},
	}}, once)
}

// DeleteItem removes an item on condition that nothing uses it: each use counts in the item's row, in the transaction in which it
// is put. A row without a count is another program's: nobody knows what uses its item. The closed upload tells, for a while, what is to be removed from the storage, and that this was done.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>, s = summary and s = upload:<score><item>. Cost: 1
// TransactWriteItems of 3 rows and the tasks.
func (db Items) DeleteItem(ctx context.Context, i score.Item, closed score.Upload, follow []task.Task, once idempotency.Key) error {
	actions := append([]dynamo.Action{
		uses.Counting(i.ItemRef, dynamo.Action{
			Remove: true, Condition: "#refs = :none", Values: dynamo.Attrs{":none": dynamo.Number(0)},
			Failed: func(row dynamo.Attrs) error {
				used := &score.ItemInUse{}
				if err := decodeScoreItem(dynamo.ItemOf(row), &used.Item); err != nil {
					return err
				}
				return used
			},
		}, goneItem(nil)),
		{Table: dynamo.ScoresTable, Item: uploadRow(closed), Condition: "attribute_not_exists(s) OR #state = :done", Failed: goneItem,
			Names: dynamo.Reserved("state"), Values: dynamo.Attrs{":done": dynamo.Str(string(score.UploadDone))}},
		countedItems(i.Owner, itemCounts{size: -i.Total, claimed: closed.Claim - i.Total, items: -1}),
	}, dynamo.TaskActions(follow)...)
	err := db.Transact(ctx, actions, once)
	if use, ok := errors.AsType[uses.UnexpectedError](err); ok {
		if err := uses.Count(ctx, db.DB, use.Item); err != nil {
			return err
		}
		err = db.Transact(ctx, actions, once)
	}
	return err
}

// itemCounts is what changes in the counts of an owner's items.
type itemCounts struct {
	size, claimed int64 // bytes of items; the same, and those that may still be put
	uploads, Kept int   // that may still be completed; the same, and those that have ended and are not forgotten
	items         int   // and the uploads that may become items
}

// countedItems adds to what an owner's items take up.
func countedItems(owner score.UserID, c itemCounts) dynamo.Action {
	return dynamo.Action{
		Table: dynamo.ScoresTable, Key: usageKey(owner),
		// The row of another program does not tell what is claimed: what the items have.
		Update: "SET #claimed = if_not_exists(#claimed, if_not_exists(#size, :zero)) + :claimed ADD #size :size, #uploads :uploads, #kept :kept, #items :items",
		Names:  map[string]string{"#size": "size", "#claimed": "claimed", "#uploads": "uploads", "#kept": "kept", "#items": "items"},
		Values: dynamo.Attrs{
			":zero": dynamo.Number(0), ":size": dynamo.Number(c.size), ":claimed": dynamo.Number(c.claimed), ":uploads": dynamo.Number(int64(c.uploads)),
			":kept": dynamo.Number(int64(c.Kept)), ":items": dynamo.Number(int64(c.items)),
		},
	}
}
