package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// ScoreItems keeps the items of scores and libraries, and uploads, in the table scores.
type ScoreItems struct{ *DB }

var _ score.ItemStore = ScoreItems{}

// ItemsByID reads items.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>. Cost: ⌈n/100⌉ BatchGetItem.
func (db ScoreItems) ItemsByID(ctx context.Context, refs []score.ItemRef) ([]score.Item, []error) {
	items, wants := make([]score.Item, len(refs)), make([]want, len(refs))
	for i, ref := range refs {
		wants[i] = want{scoresTable, itemKey(ref), func(item []byte) error { return decodeScoreItem(item, &items[i]) }}
	}
	return items, missing(db.batchGet(ctx, wants), "there is no such item")
}

// ListItemsOf lists the items of each score or library, or of an owner, by id.
//
// Index: primary. Key: o = it:<owner> AND begins_with(s, <score>); o = it:<owner> for all of an owner, around the
// uploads, which lie between them. Cost: 1 Query per list, concurrently within the bound; of all of an owner one more of up to 500 rows
// where the page reaches the uploads.
func (db ScoreItems) ListItemsOf(ctx context.Context, requests []score.ItemsRequest) ([]page.Slice[score.Item], []error) {
	lists := make([]page.Slice[score.Item], len(requests))
	errs := db.each(len(requests), func(i int) (err error) {
		of := requests[i].Of
		l := listing[score.Item]{
			span: span{table: scoresTable, pk: keys.ItemsPK(string(of.Owner))}, decode: decodeScoreItem,
			position: func(i score.Item) string { return string(i.ID) }, sortKey: func(p string) string { return keys.ItemSK(string(of.ID), p) },
		}
		if of.ID == "" {
			lists[i], err = db.allItems(ctx, l.span, requests[i].Window)
			return err
		}
		l.span.low, l.span.high = prefixed(keys.ItemsPrefix(string(of.ID)))
		lists[i], err = l.read(ctx, db.DB, requests[i].Window)
		return err
	})
	return lists, errs
}

// allItems lists the items of an owner, by score and id.
func (db ScoreItems) allItems(ctx context.Context, s span, w page.Window) (page.Slice[score.Item], error) {
	l := listing[score.Item]{
		span: s,
		decode: func(item []byte, i *score.Item) error {
			key, err := keyOf(item, scoresTable)
			if err != nil || key.SK == keys.CountsSK || strings.HasPrefix(key.SK, keys.UploadPrefix) {
				return err
			}
			return decodeScoreItem(item, i)
		},
		beyond: func(next attrs, backward bool) attrs {
			switch key := text(next[scoresTable.sk]); {
			case !strings.HasPrefix(key, keys.UploadPrefix):
				return next
			case backward:
				return scoresTable.key(rowKey{s.pk, keys.UploadPrefix})
			}
			_, last := prefixed(keys.UploadPrefix)
			return scoresTable.key(rowKey{s.pk, last})
		},
		sortKey: func(p string) string {
			of, id, _ := strings.Cut(p, "/")
			return keys.ItemSK(of, id)
		},
	}
	return filtered(ctx, db.DB, l, w, func(_ context.Context, rows []score.Item) ([]score.Item, error) {
		return slices.DeleteFunc(rows, func(i score.Item) bool { return i.ID == "" }), nil
	}, func(i score.Item) string { return string(i.Score) + "/" + string(i.ID) })
}

// Usages reads how much the items of owners take up; nothing for one who never had any.
//
// Index: primary. Key: o = it:<owner> AND s = summary. Cost: ⌈n/100⌉ BatchGetItem.
func (db ScoreItems) Usages(ctx context.Context, owners []score.UserID) ([]score.Usage, []error) {
	usages, wants := make([]score.Usage, len(owners)), make([]want, len(owners))
	for i, owner := range owners {
		wants[i] = want{scoresTable, usageKey(owner), func(item []byte) error { return decodeUsage(item, &usages[i]) }}
	}
	errs := db.batchGet(ctx, wants)
	for i, err := range errs {
		if err == errMissing { //nolint:errorlint // batchGet returns it bare
			errs[i] = nil
		}
	}
	return usages, errs
}

// PutSetName changes the set of an item.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>; the tasks. Cost: 1 TransactWriteItems of 1 row and the tasks, 1
// BatchGetItem.
func (db ScoreItems) PutSetName(ctx context.Context, ref score.ItemRef, name string, follow []task.Task, once idempotency.Key) (score.Item, error) {
	a := action{table: scoresTable, key: itemKey(ref), update: "REMOVE set_name", condition: "attribute_exists(s)", failed: goneItem}
	if name != "" {
		a.update, a.values = "SET set_name = :name", attrs{":name": str(name)}
	}
	if err := db.transact(ctx, append([]action{a}, tasks(follow)...), once); err != nil {
		return score.Item{}, err
	}
	items, errs := db.ItemsByID(ctx, []score.ItemRef{ref})
	if errs != nil && errs[0] != nil {
		return score.Item{}, errs[0]
	}
	return items[0], nil
}

func goneItem(attrs) error { return fault.New(fault.NotFound, "there is no such item") }

// PutQuota sets the quota of an owner.
//
// Index: primary. Key: o = it:<owner> AND s = summary. Cost: 1 TransactWriteItems of 1 row.
func (db ScoreItems) PutQuota(ctx context.Context, owner score.UserID, quota int64, once idempotency.Key) error {
	return db.transact(ctx, []action{{
		table: scoresTable, key: usageKey(owner), update: "SET #quota = :quota", names: reserved("quota"), values: attrs{":quota": number(quota)},
	}}, once)
}

// DeleteItem removes an item on condition that nothing uses it: each use counts in the item's row, in the transaction in which it
// is put. A row without a count is another program's: nobody knows what uses its item. The closed upload tells, for a while, what is to be removed from the storage, and that this was done.
//
// Index: primary. Key: o = it:<owner> AND s = <score><item>, s = summary and s = upload:<score><item>. Cost: 1
// TransactWriteItems of 3 rows and the tasks.
func (db ScoreItems) DeleteItem(ctx context.Context, i score.Item, closed score.Upload, follow []task.Task, once idempotency.Key) error {
	actions := append([]action{
		counting(i.ItemRef, action{
			remove: true, condition: "#refs = :none", values: attrs{":none": number(0)},
			failed: func(row attrs) error {
				used := &score.ItemInUse{}
				if err := decodeScoreItem(rowJSON(row), &used.Item); err != nil {
					return err
				}
				return used
			},
		}, goneItem(nil)),
		{table: scoresTable, item: uploadRow(closed), condition: "attribute_not_exists(s) OR #state = :done", failed: goneItem,
			names: reserved("state"), values: attrs{":done": str(string(score.UploadDone))}},
		countedItems(i.Owner, itemCounts{size: -i.Total, claimed: closed.Claim - i.Total, items: -1}),
	}, tasks(follow)...)
	err := db.transact(ctx, actions, once)
	if use, ok := errors.AsType[errUse](err); ok {
		if err := db.countUses(ctx, use.item); err != nil {
			return err
		}
		err = db.transact(ctx, actions, once)
	}
	return err
}

// itemCounts is what changes in the counts of an owner's items.
type itemCounts struct {
	size, claimed int64 // bytes of items; the same, and those that may still be put
	uploads, kept int   // that may still be completed; the same, and those that have ended and are not forgotten
	items         int   // and the uploads that may become items
}

// countedItems adds to what an owner's items take up.
func countedItems(owner score.UserID, c itemCounts) action {
	return action{
		table: scoresTable, key: usageKey(owner),
		// The row of another program does not tell what is claimed: what the items have.
		update: "SET #claimed = if_not_exists(#claimed, if_not_exists(#size, :zero)) + :claimed ADD #size :size, #uploads :uploads, #kept :kept, #items :items",
		names:  map[string]string{"#size": "size", "#claimed": "claimed", "#uploads": "uploads", "#kept": "kept", "#items": "items"},
		values: attrs{
			":zero": number(0), ":size": number(c.size), ":claimed": number(c.claimed), ":uploads": number(int64(c.uploads)),
			":kept": number(int64(c.kept)), ":items": number(int64(c.items)),
		},
	}
}
