package labelling

import (
	"context"
	"errors"
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/project"
)

// ItemWithEfforts reads an item and its efforts, in the order in which they were made. A transaction tells that item and efforts
// are of one moment, and the item how many there are: the query may miss one that was made a moment ago. Of an item that is being purged some may
// be gone already, so it is returned without them.
//
// Index: primary. Key: _subject_key = <project>:ProjectItem:<item> AND begins_with(_predicate_key, effort:);
// <item>/<project>:ProjectItem~<shard> and <effort>/<project>:ProjectItemEffort~<shard>. Cost: 1 Query and 1 TransactGetItems, one more
// per 99 efforts; more when the item changes meanwhile.
func (db Store) ItemWithEfforts(ctx context.Context, id project.ItemID) (project.Item, []project.Effort, error) {
	var item project.Item
	var efforts []project.Effort
	err := db.UntilSettled(ctx, func() error {
		ids, err := db.effortsOfItem(ctx, id)
		if err != nil {
			return err
		}
		item, efforts = project.Item{}, make([]project.Effort, len(ids))
		const atOnce = dynamo.MaxActions - 1 // with the item
		for from := 0; from == 0 || from < len(ids); from += atOnce {
			var now project.Item
			wants := []dynamo.Want{projects.WantItem(id, &now)}
			for n := from; n < min(from+atOnce, len(ids)); n++ {
				wants = append(wants, projects.WantEffort(ids[n], &efforts[n]))
			}
			errs := db.TransactGet(ctx, wants)
			switch missing := slices.Index(errs, dynamo.ErrMissing); {
			case missing == 0:
				return dynamo.ErrMissing
			case errs[0] == nil && now.Status == project.Purged:
				item, efforts = now, nil
				return nil
			case missing > 0:
				return projects.ErrStale // a row that points to it was seen before it was made
			case errors.Join(errs...) != nil:
				return errors.Join(errs...)
			case now.EffortsMade != len(ids) || from > 0 && now.Version != item.Version:
				return projects.ErrStale
			}
			item = now
		}
		return nil
	})
	if err != nil {
		return project.Item{}, nil, dynamo.Missing([]error{err}, projects.NoSuchItem)[0]
	}
	return item, efforts, nil
}

// ItemsWithEfforts reads items, each with all of its efforts as both are at one moment; NotFound for those that do not exist. Most
// items have one effort at most, of which the item tells: those are read many at a time, the others each as in [Store.ItemWithEfforts].
//
// Index: primary. Key: <item>/<project>:ProjectItem~<shard> and <effort>/<project>:ProjectItemEffort~<shard>.
// Cost: ⌈n/100⌉ BatchGetItem, ⌈m/50⌉ TransactGetItems for m items of one effort, and 1 Query and 1 TransactGetItems for each that has more.
func (db Store) ItemsWithEfforts(ctx context.Context, ids []project.ItemID) ([]project.Item, [][]project.Effort, []error) {
	items, bytes, wants := make([]project.Item, len(ids)), make([]int, len(ids)), make([]dynamo.Want, len(ids))
	for n, id := range ids {
		wants[n] = wantSized(id, &items[n], &bytes[n])
	}
	errs := dynamo.Missing(db.BatchGet(ctx, wants), projects.NoSuchItem)
	if errs == nil {
		errs = make([]error, len(ids))
	}
	efforts := make([][]project.Effort, len(ids))
	var pairs, others []int
	for n, i := range items {
		switch {
		case errs[n] != nil || i.EffortsMade == 0 || i.Status == project.Purged:
		case i.EffortsMade == 1 && i.LastEffort != "":
			pairs = append(pairs, n)
		default:
			others = append(others, n)
		}
	}
	for len(pairs) > 0 {
		n, size := 0, 0
		for n < len(pairs) && n < dynamo.MaxActions/2 {
			size += bytes[pairs[n]] + maxEffort
			if n > 0 && size > projects.MaxTransaction {
				break
			}
			n++
		}
		others = append(others, db.withTheirEffort(ctx, pairs[:n], items, efforts, errs)...)
		pairs = pairs[n:]
	}
	failed := db.Each(len(others), func(at int) (err error) {
		n := others[at]
		items[n], efforts[n], err = db.ItemWithEfforts(ctx, ids[n])
		return err
	})
	for at, n := range others {
		errs[n] = failed[at]
	}
	return items, efforts, errs
}

// maxEffort is more than the row of an effort has, in bytes: 20 keywords of 64 characters, and a comment of 2,000.
const maxEffort = 20_000

// withTheirEffort reads those of the items again that are given by their places, together with the one effort of each. It returns the
// places of items that have become others meanwhile.
func (db Store) withTheirEffort(ctx context.Context, places []int, items []project.Item, efforts [][]project.Effort, errs []error) (moved []int) {
	now, wants := make([]project.Item, len(places)), make([]dynamo.Want, 0, 2*len(places))
	effort := make([]project.Effort, len(places))
	for at, n := range places {
		last := project.EffortID{Project: items[n].Project, ID: items[n].LastEffort}
		wants = append(wants, projects.WantItem(items[n].ItemID, &now[at]), projects.WantEffort(last, &effort[at]))
	}
	read := db.TransactGet(ctx, wants)
	for at, n := range places {
		err := errors.Join(read[2*at], read[2*at+1])
		switch {
		case errors.Is(err, dynamo.ErrMissing) || err == nil && (now[at].Status == project.Purged || now[at].EffortsMade != 1 || now[at].LastEffort != items[n].LastEffort):
			moved = append(moved, n)
		case err != nil:
			errs[n] = err
		default:
			items[n], efforts[n] = now[at], effort[at:at+1:at+1]
		}
	}
	return moved
}

// wantSized wants an item, and how many bytes its row was answered with, which is more than it has.
func wantSized(id project.ItemID, into *project.Item, bytes *int) dynamo.Want {
	return dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(projects.ItemID(id)), Decode: func(item dynamo.Item) error {
		*bytes = item.Size()
		return projects.DecodeItem(item, into)
	}}
}

// effortsOfItem lists the ids of the efforts of an item in the order in which they were made.
func (db Store) effortsOfItem(ctx context.Context, id project.ItemID) ([]project.EffortID, error) {
	var ids []project.EffortID
	_, err := db.Query(ctx, projects.LinksOf(projects.ItemID(id), "effort"), func(item dynamo.Item) (bool, error) {
		var r entities.RelationRecord
		err := entities.DecodeRelation(item, &r, nil)
		ids = append(ids, project.EffortID{Project: id.Project, ID: r.Object.ID})
		return true, err
	})
	return ids, err
}
