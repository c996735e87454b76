package projects

import (
	"context"
	"errors"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// place is where an item is found by its name: two attributes of its row. It is empty for one that is removed.
type place struct{ letter, order string }

func placeOf(i project.Item) place {
	folded := project.FoldItemName(i.Name)
	letter := keys.ItemNamesPK(string(i.Project), folded)
	if i.Status.Hidden() || letter == "" {
		return place{}
	}
	return place{letter, keys.ItemNameSK(folded, i.ID)}
}

// readPlace returns the place that a row has.
func readPlace(item dynamo.Item) place {
	return place{dynamo.TextOf(item, dynamo.ItemsByName.PK), dynamo.TextOf(item, dynamo.ItemsByName.SK)}
}

// IsPlace reports whether an attribute is a part of the place by name, which changes with the item.
func IsPlace(attribute string) bool {
	return attribute == dynamo.ItemsByName.PK || attribute == dynamo.ItemsByName.SK
}

// itemsLooked is how many items are looked at for a page.
const itemsLooked = 2_000

// FindItems lists the items of a project whose folded names begin with a folded text, and of them those of a status, "" for all. The index may be late, and
// a server of an earlier version leaves places as they are: an item counts if it has this place when it is read. Where few of the items have the status, a
// page is short after 2,000 of them.
//
// Index: items_by_name, eventually consistent. Key: _name_letter = <project>:<character> AND begins_with(_name_order, <prefix>). Index: primary. Key:
// _id = <item> AND _scope_type_key = <project>:ProjectItem~<shard> of each. Cost: 1 Query and ⌈(n+1)/100⌉ BatchGetItem for a page of n; with a status up to 7
// Queries and 22 BatchGetItem.
func (db Store) FindItems(ctx context.Context, id project.ID, begin string, status project.Status, w page.Window) (page.Slice[project.Item], error) {
	of := dynamo.ItemsByName
	l := dynamo.Listing[string]{Span: dynamo.Span{Table: dynamo.EntitiesMaster, Index: of, PK: keys.ItemNamesPK(string(id), begin)}, Looked: itemsLooked} // of places
	l.Span.Low, l.Span.High = keys.ItemNamesRange(begin)
	l.Decode = func(item dynamo.Item, order *string) error {
		*order = dynamo.TextOf(item, of.SK)
		return nil
	}
	l.Position = func(order string) string { return order }
	l.Start = func(order string) dynamo.Attrs {
		item, _ := keys.ItemNameOf(order) // a cursor has what was read
		start := dynamo.EntitiesMaster.Key(entities.ShardedKey(ItemID(project.ItemID{Project: id, ID: item})))
		start[of.PK], start[of.SK] = dynamo.Str(l.Span.PK), dynamo.Str(order)
		return start
	}
	return dynamo.Filtered(ctx, db.DB, l, w, func(ctx context.Context, places []string) ([]project.Item, error) {
		items, wants := make([]project.Item, len(places)), make([]dynamo.Want, len(places))
		for n, order := range places {
			item, err := keys.ItemNameOf(order)
			if err != nil {
				return nil, err
			}
			wants[n] = WantItem(project.ItemID{Project: id, ID: item}, &items[n])
		}
		var found []project.Item
		for n, err := range db.BatchGet(ctx, wants) {
			i := items[n]
			switch {
			case err == dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
			case err != nil:
				return nil, err
			case (status == "" || i.Status == status) && placeOf(i).order == places[n] && strings.HasPrefix(project.FoldItemName(i.Name), begin):
				found = append(found, i)
			}
		}
		return found, nil
	}, func(i project.Item) string { return placeOf(i).order })
}

// Indexing is what came of giving items the places where they are found.
type Indexing struct {
	Items   int // of all projects, with those that are removed
	Indexed int // those that had no place, or a wrong one
	Unread  dynamo.Unread
}

// IndexItems gives the items of all projects the places where they are found by their names, and takes them from items that are removed. It can be run
// again, beside servers, and leaves alone what is right: one that was ended goes on where the first wrong item is. A server of an earlier version leaves places as
// they are: run it when all servers are updated.
//
// Index: primary. Key: all rows, eventually consistent; _id = <item> AND _scope_type_key = <project>:ProjectItem~<shard> on condition of its version. Cost: 1
// Scan per megabyte of the table, with a pause after each page; 1 BatchGetItem and 1 TransactWriteItems of 1 row for each item that lacks its place, concurrently
// within the bound.
func (db Store) IndexItems(ctx context.Context) (done Indexing, err error) {
	t, of := dynamo.EntitiesMaster, dynamo.ItemsByName
	names := []string{t.PK, t.SK, "_scope", "_type", "name", "status", of.PK, of.SK}
	err = dynamo.WalkAll(ctx, db.DB, t, names, &done.Unread, func(key dynamo.Key, item dynamo.Item, lacking *project.ItemID) (bool, error) {
		if !IsItem(key) || dynamo.TextOf(item, "_type") != ItemType {
			return false, nil
		}
		var i project.Item
		if err := DecodeItem(item, &i); err != nil {
			return false, err
		}
		done.Items++
		*lacking = i.ItemID
		return readPlace(item) != placeOf(i), nil
	}, func(lacking []project.ItemID) error {
		err := errors.Join(db.Each(len(lacking), func(n int) error { return db.indexItem(ctx, lacking[n]) })...)
		if err == nil {
			done.Indexed += len(lacking)
		}
		return err
	})
	return done, err
}

// indexItem gives an item its place; one that is gone needs none.
func (db Store) indexItem(ctx context.Context, id project.ItemID) error {
	return db.UntilSettled(ctx, func() error {
		var i project.Item
		switch err := db.BatchGet(ctx, []dynamo.Want{WantItem(id, &i)})[0]; {
		case err == dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
			return nil
		case err != nil:
			return err
		}
		of, p := dynamo.ItemsByName, placeOf(i)
		a := dynamo.Action{
			Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(ItemID(id)), Update: "REMOVE #letter, #order", Condition: "#meta.#version = :before",
			Names:  map[string]string{"#letter": of.PK, "#order": of.SK, "#meta": "_meta", "#version": "version"},
			Values: dynamo.Attrs{":before": dynamo.Number(int64(i.Version))}, Failed: stale,
		}
		if p != (place{}) {
			a.Update = "SET #letter = :letter, #order = :order"
			a.Values[":letter"], a.Values[":order"] = dynamo.Str(p.letter), dynamo.Str(p.order)
		}
		return db.Transact(ctx, []dynamo.Action{a}, idempotency.Key{})
	})
}
