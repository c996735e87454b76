package dynamo

import (
	"context"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// decodeUse reads the row of a use: "by" says what the user is, "sc" whose snapshot it is. The item's key is completed by who knows it.
func decodeUse(item []byte, u *score.Use) error {
	key, err := keyOf(item, scoresTable)
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
	return attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "by":
			err = readText(v, &u.Kind)
		case "sc":
			u.Score, err = idOf[score.ID](v)
		default:
			err = v.skip()
		}
		return err
	})
}

// ListUsesOf lists what uses each item, by id.
//
// Index: primary. Key: o = si:<owner> AND begins_with(s, <item>). Cost: 1 Query per item, concurrently within the bound.
func (db ScoreItems) ListUsesOf(ctx context.Context, requests []score.UsesRequest) ([]page.Slice[score.Use], []error) {
	lists := make([]page.Slice[score.Use], len(requests))
	errs := db.each(len(requests), func(i int) error {
		r := requests[i]
		s := span{table: scoresTable, pk: keys.ItemUsesPK(string(r.Item.Owner))}
		s.low, s.high = prefixed(keys.ItemUsesPrefix(string(r.Item.ID)))
		var err error
		lists[i], err = listing[score.Use]{
			span: s,
			decode: func(item []byte, u *score.Use) error {
				err := decodeUse(item, u)
				u.Item = r.Item
				return err
			},
			position: func(u score.Use) string { return u.By },
			sortKey:  func(p string) string { return keys.ItemUseSK(string(r.Item.ID), p) },
		}.read(ctx, db.DB, r.Window)
		return err
	})
	return lists, errs
}
