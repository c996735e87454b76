package scores

import (
	"context"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/score"
)

// Kinds are the kinds of rows of scores, and of items. A row as the source document has it need not have those that Taggie keeps beside its own.
func Kinds() []dynamo.RowKind {
	kind := func(name, partition, sort string, needs func(dynamo.Key, dynamo.Item) ([]dynamo.Need, error)) dynamo.RowKind {
		return dynamo.RowKind{Name: name, Table: dynamo.ScoresTable, Is: dynamo.KeyBegins(partition, sort), Needs: needs}
	}
	items := kind("an item", keys.ItemsPrefixOfAll, "", needsOfItem)
	items.Is = func(k dynamo.Key) bool {
		return strings.HasPrefix(k.PK, keys.ItemsPrefixOfAll) && len(k.SK) == 2*keys.IDWidth
	}
	return []dynamo.RowKind{
		kind("a score", keys.ScoresPrefixOfAll, keys.ScorePrefix, needsOfScore),
		kind("a score among the public ones", keys.ScoresPrefixOfAll, keys.PublicScorePrefix, needsScore(keys.PublicScorePrefix)),
		kind("a snapshot", keys.ScoresPrefixOfAll, keys.SnapshotPrefix, needsOfSnapshot),
		items,
	}
}

func needsOfScore(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var s score.Score
	if err := decodeScore(item, &s); err != nil || s.Version == dynamo.FirstVersion && dynamo.TextOf(item, "_attempt") == "" {
		return nil, err
	}
	var needs []dynamo.Need
	need := func(what string, key dynamo.Key) {
		needs = append(needs, dynamo.Need{What: what, Table: dynamo.ScoresTable, Key: key})
	}
	for _, id := range s.Texts() {
		need("a text of it", textKey(id))
	}
	for _, i := range s.Items() {
		need("the item of a page", uses.ItemKey(i))
		need("that the item of a page is used", uses.Key(i, string(s.ID)))
	}
	if s.Access == score.Public {
		need("its place among the public ones", publicScoreKey(s.Ref))
	}
	return needs, nil
}

// needsScore is the score that a key names behind the prefix.
func needsScore(prefix string) func(dynamo.Key, dynamo.Item) ([]dynamo.Need, error) {
	return func(key dynamo.Key, _ dynamo.Item) ([]dynamo.Need, error) {
		ref, _, err := refOf(key, prefix, 0)
		return []dynamo.Need{{What: "its score", Table: dynamo.ScoresTable, Key: ScoreKey(ref)}}, err
	}
}

func needsOfSnapshot(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var s score.Snapshot
	if err := decodeSnapshot(item, &s); err != nil {
		return nil, err
	}
	return []dynamo.Need{{What: "its score", Table: dynamo.ScoresTable, Key: ScoreKey(s.Score)}}, nil
}

func needsOfItem(_ dynamo.Key, row dynamo.Item) ([]dynamo.Need, error) {
	var i score.Item
	if err := decodeScoreItem(row, &i); err != nil || i.Object == "" {
		return nil, err
	}
	needs := []dynamo.Need{{What: "its file", Object: i.Object, Size: i.Size}}
	if t := i.Thumbnail; t.Object != "" {
		needs = append(needs, dynamo.Need{What: "its thumbnail", Object: t.Object, Size: t.Size})
	}
	return needs, nil
}

// ObjectsOf returns the keys under which something of an owner may be kept: files and thumbnails of items, and those of uploads that are not forgotten.
//
// Index: primary. Key: o = it:<owner>. Cost: 1 Query, one more per started megabyte.
func (db Items) ObjectsOf(ctx context.Context, owner score.UserID) (map[string]bool, error) {
	all := map[string]bool{}
	_, err := db.Query(ctx, dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ItemsPK(string(owner))}, func(row dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(row, dynamo.ScoresTable)
		if err != nil {
			return false, err
		}
		var i score.Item
		var u score.Upload
		switch {
		case strings.HasPrefix(key.SK, keys.UploadPrefix):
			if err = decodeUpload(row, &u); err == nil {
				for _, object := range u.Objects() {
					all[object] = true
				}
			}
		case len(key.SK) == 2*keys.IDWidth:
			if err = decodeScoreItem(row, &i); err == nil {
				for _, object := range append(i.Objects(), i.Object, i.Thumbnail.Object) {
					all[object] = true
				}
			}
		}
		return true, err
	})
	return all, err
}
