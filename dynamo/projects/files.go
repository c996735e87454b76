package projects

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// FilesFollowed is what came of following the tags of files from before.
type FilesFollowed struct {
	Files    int // of users, of which items of projects are made
	Followed int // of them, which are still there: they are found by their tags now
	Unread   dynamo.Unread
}

// FollowFiles marks the files of all projects as imported, and then has place make the tags right by which each is found in its project: servers of an
// earlier version do neither. It can be run again, beside servers. What a server of an earlier version imports or tags later is missing: run it when all
// servers are updated.
//
// Index: primary. Key: all rows, eventually consistent; o = it:<owner> AND s = <score><item>. Cost: 1 Scan per megabyte of the table, with a pause after
// each page; 1 TransactWriteItems of 1 row for each file, and what place costs, concurrently within the bound.
func (db Store) FollowFiles(ctx context.Context, place func(context.Context, score.ItemRef, project.ID) error) (done FilesFollowed, err error) {
	type use struct {
		in   project.ID
		file score.ItemRef
	}
	names := []string{dynamo.EntitiesMaster.PK, dynamo.EntitiesMaster.SK, "original"}
	err = dynamo.WalkAll(ctx, db.DB, dynamo.EntitiesMaster, names, &done.Unread, func(key dynamo.Key, item dynamo.Item, u *use) (bool, error) {
		id, err := parseOriginal(dynamo.TextOf(item, "original"))
		in := project.ID(keys.Split(key.SK)[0])
		if err != nil || project.ItemIDOf(in, id.ExternalID()).ID != key.PK {
			return false, nil //nolint:nilerr // it is no item of a project: entities of users have attributes as they like
		}
		done.Files++
		*u = use{in, score.RefOf(id)}
		return true, nil
	}, func(some []use) error {
		followed := make([]bool, len(some))
		for i, err := range db.Each(len(some), func(i int) (err error) {
			if followed[i], err = db.markImported(ctx, some[i].file); followed[i] {
				err = place(ctx, some[i].file, some[i].in)
			}
			return err
		}) {
			if err == nil && followed[i] {
				done.Followed++
			} else if err = done.Unread.Note(ctx, dynamo.ScoresTable, uses.ItemKey(some[i].file), err); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// markImported has a file tell that projects use it, so that whoever changes its tags looks for these; false when it is gone.
func (db Store) markImported(ctx context.Context, file score.ItemRef) (there bool, err error) {
	err = db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.ScoresTable, Key: uses.ItemKey(file), Update: "SET " + uses.ImportedAttribute + " = :one",
		Condition: "attribute_exists(o)", Values: dynamo.Attrs{":one": dynamo.Number(1)}, Failed: dynamo.Moved,
	}}, idempotency.Key{})
	return err == nil, dynamo.UnlessMoved(err)
}
