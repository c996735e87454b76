package filetags

import (
	"context"
	"errors"
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// ListPlaced reads the tags by which an item is found in a project, of some authors.
//
// Index: primary. Key: tagId = ~in#<file> AND valueHash BETWEEN those of the authors in the project. Cost: 1 Query, one more per started megabyte.
func (db Store) ListPlaced(ctx context.Context, r filetag.PlacedRequest) (map[filetag.UserID][]string, error) {
	s := dynamo.Span{Table: dynamo.TagsTable, PK: keys.ProjectFileID(string(r.Item))}
	s.Low, s.High = dynamo.Prefixed(keys.ProjectTagsOf(string(r.Project), string(r.Author)))
	if r.After != "" {
		s.Low = keys.ProjectTagsBehind(string(r.Project), string(r.After))
	}
	if r.Until != "" {
		_, s.High = dynamo.Prefixed(keys.ProjectTagsOf(string(r.Project), string(r.Until)))
	}
	placed := map[filetag.UserID][]string{}
	_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var f foundTag
		err := decodeTagRow(item, &f)
		placed[f.Author] = append(placed[f.Author], f.Value)
		return true, err
	})
	return placed, err
}

// errNotUsed ends what would have an item found in a project that does not use it.
var errNotUsed = errors.New("the project does not use the item")

// Place writes what differs of the tags by which an item is found in a project: those of one author, which are at most 20 before and after.
//
// Index: primary. Key: tagId = ~in#<file> AND valueHash = <project>#<author>#<hash>; as conditions tagId = #<file> AND valueHash = <author>, and with new
// tags o = it:<owner> AND s = <score><item>, and <item>/<project>:ProjectItem~<shard>. Cost: 1 TransactWriteItems of 1 row for each tag that came or
// went and 1 to 3 conditions; none when nothing differs.
func (db Store) Place(ctx context.Context, set filetag.Set, in project.ID, placed []string) error {
	var puts, removes []dynamo.Action
	wanted := set.Found()
	for _, value := range wanted {
		if !slices.Contains(placed, value) {
			puts = append(puts, dynamo.Action{Table: dynamo.TagsTable, Item: placedRow(set.Key, in, value)})
		}
	}
	for _, value := range placed {
		if !slices.Contains(wanted, value) {
			removes = append(removes, dynamo.Action{Table: dynamo.TagsTable, Key: placedKey(set.Key, in, value), Remove: true})
		}
	}
	if len(puts)+len(removes) == 0 {
		return nil
	}
	checks := []dynamo.Action{unchanged(set)}
	if len(puts) > 0 {
		checks = append(checks, usedBy(set.Item, in)...)
	}
	err := db.Transact(ctx, slices.Concat(checks, removes, puts), idempotency.Key{})
	if errors.Is(err, errNotUsed) { // who ended that removes the tags
		return nil
	}
	return err
}

// unchanged is the condition that a set is as it was read.
func unchanged(s filetag.Set) dynamo.Action {
	a := replacedSet(s, s)
	a.Item, a.Remove = nil, false
	return a
}

// usedBy are the conditions that an item is not withdrawn, and that an item of the project is made of it which is not being purged.
func usedBy(ref score.ItemRef, in project.ID) []dynamo.Action {
	failed := func(dynamo.Attrs) error { return errNotUsed }
	return []dynamo.Action{
		{Table: dynamo.ScoresTable, Key: uses.ItemKey(ref), Condition: "attribute_exists(o) AND attribute_not_exists(" + uses.WithdrawnAttribute + ")", Failed: failed},
		{
			Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(projects.ItemID(project.ItemIDOf(in, ref.Original().ExternalID()))),
			Condition: "attribute_exists(#original) AND #status <> :purged", Names: map[string]string{"#original": "original", "#status": "status"},
			Values: dynamo.Attrs{":purged": dynamo.Str(string(project.Purged))}, Failed: failed,
		},
	}
}

// Unplace removes all tags by which an item is found in projects, once it is withdrawn or gone: then none comes any more.
//
// Index: primary. Key: tagId = ~in#<file>. Cost: 1 Query per started megabyte of keys, and ⌈n/25⌉ BatchWriteItem.
func (db Store) Unplace(ctx context.Context, id score.ItemID) error {
	s := dynamo.Span{Table: dynamo.TagsTable, PK: keys.ProjectFileID(string(id)), Keys: true, Single: true}
	for {
		var found []dynamo.RowID
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(item, dynamo.TagsTable)
			found = append(found, dynamo.RowID{Table: dynamo.TagsTable, Key: key})
			return true, err
		})
		if err == nil {
			err = db.BatchDelete(ctx, found)
		}
		if err != nil || next == nil {
			return err
		}
		s.Start = next
	}
}

func placedKey(k filetag.Key, in project.ID, value string) dynamo.Key {
	return dynamo.Key{PK: keys.ProjectFileID(string(k.Item.ID)), SK: keys.ProjectTag(string(in), string(k.Author), value)}
}

// placedRow is the row of a tag by which an item is found in a project. Like every row of a search it leads to the set.
func placedRow(k filetag.Key, in project.ID, value string) dynamo.Attrs {
	row := dynamo.TagsTable.Key(placedKey(k, in, value))
	foundRows.Write(&foundTag{
		Entry: filetag.Entry{Key: k, Value: value}, Order: keys.ValueOrder(value, string(k.Item.ID), string(k.Author)), queryID: keys.ProjectTagsID(string(in)),
	}, row)
	return row
}
