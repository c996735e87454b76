package projects

import (
	"context"
	"fmt"

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
	Followed int // of them, whose rows did not say that they were imported
	Unread   dynamo.Unread
}

// FollowFiles has servers follow the tags of files that were imported by a version of Taggie that did not. It can be run again, beside servers. What a
// server of an earlier version imports is missing: run it when all servers are updated.
//
// Index: primary. Key: all rows, eventually consistent; o = it:<owner> AND s = <score><item> on condition that it does not say that it was imported, and a
// task. Cost: 1 Scan per megabyte of the table, with a pause after each page; 1 TransactWriteItems of 2 rows for each file, concurrently within the bound.
func (db Store) FollowFiles(ctx context.Context) (done FilesFollowed, err error) {
	type use struct {
		in   string
		file score.ItemRef
	}
	names := []string{dynamo.EntitiesMaster.PK, dynamo.EntitiesMaster.SK, "original"}
	err = dynamo.WalkAll(ctx, db.DB, dynamo.EntitiesMaster, names, &done.Unread, func(key dynamo.Key, item dynamo.Item, u *use) (bool, error) {
		id, err := parseOriginal(dynamo.TextOf(item, "original"))
		in := keys.Split(key.SK)[0]
		if err != nil || project.ItemIDOf(project.ID(in), id.ExternalID()).ID != key.PK {
			return false, nil //nolint:nilerr // it is no item of a project: entities of users have attributes as they like
		}
		done.Files++
		*u = use{in, score.RefOf(id)}
		return true, nil
	}, func(some []use) error {
		followed := make([]bool, len(some))
		for i, err := range db.Each(len(some), func(i int) (err error) {
			followed[i], err = db.followFile(ctx, some[i].in, some[i].file)
			return err
		}) {
			if followed[i] {
				done.Followed++
			} else if err = done.Unread.Note(ctx, dynamo.ScoresTable, uses.ItemKey(some[i].file), err); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// followFile marks a file as imported, with the task that follows its tags; false when it is marked, or gone.
func (db Store) followFile(ctx context.Context, in string, file score.ItemRef) (followed bool, err error) {
	err = db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.ScoresTable, Key: uses.ItemKey(file), Update: "SET " + uses.ImportedAttribute + " = :one",
		Condition: "attribute_exists(o) AND attribute_not_exists(" + uses.ImportedAttribute + ")", Values: dynamo.Attrs{":one": dynamo.Number(1)}, Failed: dynamo.Moved,
	}, dynamo.TaskAction(score.FollowingUses(fmt.Sprintf("%s-%s", in, file.ID), db.Now(), file))}, idempotency.Key{})
	return err == nil, dynamo.UnlessMoved(err)
}
