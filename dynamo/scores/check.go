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
	kind := func(mend dynamo.Mend, name, partition, sort string, needs func(dynamo.Key, dynamo.Item) ([]dynamo.Need, error)) dynamo.RowKind {
		return dynamo.RowKind{Name: name, Table: dynamo.ScoresTable, Is: dynamo.KeyBegins(partition, sort), Needs: needs, Mend: mend}
	}
	items := kind(dynamo.Remake, "an item", keys.ItemsPrefixOfAll, "", needsOfItem)
	items.Is = func(k dynamo.Key) bool {
		return strings.HasPrefix(k.PK, keys.ItemsPrefixOfAll) && len(k.SK) == 2*keys.IDWidth
	}
	return []dynamo.RowKind{
		kind(dynamo.Remake, "a score", keys.ScoresPrefixOfAll, keys.ScorePrefix, needsOfScore),
		kind(dynamo.Restore, "a score among the public ones", keys.ScoresPrefixOfAll, keys.PublicScorePrefix, needsOfPublicScore),
		kind(dynamo.Restore, "a score that a user keeps", keys.ScoresPrefixOfAll, keys.KeptPrefix, needsOfKept),
		kind(dynamo.Restore, "the place of a score that a user keeps", keys.ScoresPrefixOfAll, keys.KeptAtPrefix, needsOfKeptAt),
		kind(dynamo.Remake, "a snapshot", keys.ScoresPrefixOfAll, keys.SnapshotPrefix, needsOfSnapshot),
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

// rebuildScores puts public scores where they are found by their titles.
const rebuildScores dynamo.Mend = "run `taggie rebuild --scores`"

// needsOfPublicScore is the score, and that this has its place where it is found by its title. That of another program need not have one.
func needsOfPublicScore(key dynamo.Key, _ dynamo.Item) ([]dynamo.Need, error) {
	ref, _, err := refOf(key, keys.PublicScorePrefix, 0)
	its := dynamo.Need{What: "its score", Table: dynamo.ScoresTable, Key: ScoreKey(ref)}
	found := its
	found.Mend = rebuildScores
	found.What, found.Holds = "the place of its title in scores_by_title", func(row dynamo.Item) bool {
		var s score.Score
		if decodeScore(row, &s) != nil || s.Access != score.Public || s.Version == dynamo.FirstVersion && dynamo.TextOf(row, "_attempt") == "" {
			return true // it is looked at by itself
		}
		return placeOf(&s) == place{dynamo.TextOf(row, dynamo.ScoresByTitle.PK), dynamo.TextOf(row, dynamo.ScoresByTitle.SK)}
	}
	return []dynamo.Need{its, found}, err
}

// needsOfKept is the place in the list of a score that is kept. The score itself may be gone.
func needsOfKept(key dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var r keptRow
	ids, err := keys.SplitIDs(key.SK, keys.KeptPrefix, 2)
	if err == nil {
		err = keptRows.Decode(item, &r)
	}
	if err != nil {
		return nil, err
	}
	return []dynamo.Need{{What: "its place in the list", Table: dynamo.ScoresTable, Key: dynamo.Key{PK: key.PK, SK: keys.KeptAtSK(r.kept.At, ids[0], ids[1])}}}, nil
}

// needsOfKeptAt is the row of the score that has the place in the list.
func needsOfKeptAt(key dynamo.Key, _ dynamo.Item) ([]dynamo.Need, error) {
	at, owner, id, err := keys.KeptOf(key.SK)
	if err != nil {
		return nil, err
	}
	return []dynamo.Need{{What: "that the score is kept since then", Table: dynamo.ScoresTable, Key: dynamo.Key{PK: key.PK, SK: keys.KeptSK(owner, id)}, Holds: func(kept dynamo.Item) bool {
		return dynamo.TextOf(kept, "kept_at") == keys.Instant(at)
	}}}, nil
}

func needsOfSnapshot(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var s score.Snapshot
	if err := decodeSnapshot(item, &s); err != nil {
		return nil, err
	}
	needs := []dynamo.Need{{What: "its score", Table: dynamo.ScoresTable, Key: ScoreKey(s.Score)}}
	if s.Version > 0 { // it is not another program's
		needs = append(needs, dynamo.Need{What: "the row of its name", Table: dynamo.ScoresTable, Key: snapshotNameKey(s.Score, s.Name)},
			dynamo.Need{What: "its content", Object: score.SnapshotKey(s.SnapshotID), Mend: dynamo.Return})
	}
	return needs, nil
}

func needsOfItem(_ dynamo.Key, row dynamo.Item) ([]dynamo.Need, error) {
	var i score.Item
	if err := decodeScoreItem(row, &i); err != nil || i.Object == "" {
		return nil, err
	}
	needs := []dynamo.Need{{What: "its file", Object: i.Object, Size: i.Size, Mend: dynamo.Return}}
	if t := i.Thumbnail; t.Object != "" {
		needs = append(needs, dynamo.Need{What: "its thumbnail", Object: t.Object, Size: t.Size, Mend: dynamo.Return})
	}
	return needs, nil
}

// ObjectsOf returns the keys under which something of an owner may be kept: files and thumbnails of items, and those of uploads that are not
// forgotten. A row that cannot be read is taken at its key.
//
// Index: primary. Key: o = it:<owner>. Cost: 1 Query per started megabyte, each with a deadline of its own.
func (db Items) ObjectsOf(ctx context.Context, owner score.UserID) (map[string]bool, error) {
	all := map[string]bool{}
	s := dynamo.Span{Table: dynamo.ScoresTable, PK: keys.ItemsPK(string(owner)), Single: true}
	for {
		next, err := db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
			var i score.Item
			ref, err := itemRefOf(row, keys.UploadPrefix)
			if err != nil {
				_ = decodeScoreItem(row, &i)
				ref = i.ItemRef
			}
			for _, object := range append(ref.Objects(), i.Object, i.Thumbnail.Object) {
				all[object] = true
			}
			return true, nil
		})
		if err != nil || next == nil {
			return all, err
		}
		s.Start = next
	}
}

// OwnerOf returns whose item or upload an object is of, by its key; false when it is that of none.
func OwnerOf(object string) (score.UserID, bool) {
	ref, is := score.ItemOf(object)
	return ref.Owner, is && keys.IsUUID(string(ref.Owner)) && keys.IsUUID(string(ref.ID))
}

// NeedOfSnapshot is the snapshot whose content an object is, or that it is being taken or removed; false when it is that of none.
func NeedOfSnapshot(object string) (dynamo.Need, bool) {
	id, is := score.SnapshotOf(object)
	is = is && keys.IsUUID(string(id.Score.Owner)) && keys.IsUUID(string(id.Score.ID)) && keys.IsUUID(id.ID)
	return dynamo.Need{What: "its snapshot", Table: dynamo.ScoresTable, Key: snapshotKey(id), Or: intentKey(id.Score, id.ID)}, is
}
