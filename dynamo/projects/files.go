package projects

import (
	"context"
	"errors"
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
	var some []use
	flush := func() error {
		followed := make([]bool, len(some))
		err := errors.Join(db.Each(len(some), func(i int) (err error) {
			followed[i], err = db.followFile(ctx, some[i].in, some[i].file)
			return err
		})...)
		for _, is := range followed {
			if is {
				done.Followed++
			}
		}
		some = some[:0]
		return err
	}
	err = db.ScanAll(ctx, dynamo.EntitiesMaster, []string{dynamo.EntitiesMaster.PK, dynamo.EntitiesMaster.SK, "original"}, func(item dynamo.Item) error {
		original := dynamo.TextOf(item, "original")
		key, err := dynamo.KeyOf(item, dynamo.EntitiesMaster)
		if err != nil || original == "" {
			return err
		}
		id, err := parseOriginal(original)
		in := keys.Split(key.SK)[0]
		if err != nil || project.ItemIDOf(project.ID(in), id.ExternalID()).ID != key.PK {
			return nil //nolint:nilerr // it is no item of a project: entities of users have attributes as they like
		}
		done.Files++
		if some = append(some, use{in, score.RefOf(id)}); len(some) < dynamo.MaxBatchGet {
			return nil
		}
		return flush()
	})
	if err != nil {
		return done, err
	}
	return done, flush()
}

// followFile marks a file as imported, with the task that follows its tags; false when it is marked, or gone.
func (db Store) followFile(ctx context.Context, in string, file score.ItemRef) (followed bool, err error) {
	err = db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.ScoresTable, Key: uses.ItemKey(file), Update: "SET " + uses.ImportedAttribute + " = :one",
		Condition: "attribute_exists(o) AND attribute_not_exists(" + uses.ImportedAttribute + ")", Values: dynamo.Attrs{":one": dynamo.Number(1)}, Failed: dynamo.Moved,
	}, dynamo.TaskAction(score.FollowingUses(fmt.Sprintf("%s-%s", in, file.ID), db.Now(), file))}, idempotency.Key{})
	return err == nil, dynamo.UnlessMoved(err)
}
