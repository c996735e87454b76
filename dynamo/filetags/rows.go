package filetags

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
)

func tagSetKey(k filetag.Key) dynamo.Key {
	return dynamo.Key{PK: keys.FileID(string(k.Item.ID)), SK: string(k.Author)}
}

// The values of who may see a tag.
const (
	publicTag  = "public"
	privateTag = "private"
)

// indexAttributes are what tags are searched by. Of each tag there are three texts in a row: the key, the value as typed, and who may see it.
func indexAttributes[T any](of func(*T) *filetag.Index) []dynamo.RowAttribute[T] {
	return []dynamo.RowAttribute[T]{
		dynamo.Optional(dynamo.OfText("setName", func(t *T) *string { return &of(t).SetName })),
		dynamo.Optional(dynamo.OfText("via", func(t *T) *score.ID { return &of(t).Via })),
		dynamo.OfWhole("shards", func(t *T) *int { return &of(t).Shards }),
		{
			Name: "tags",
			Write: func(t *T) types.AttributeValue {
				tags := of(t).Tags
				all := make([]string, 0, 3*len(tags))
				for _, t := range tags {
					seen := privateTag
					if t.Public {
						seen = publicTag
					}
					all = append(all, t.Key, t.Value, seen)
				}
				return dynamo.Texts(all)
			},
			Read: func(t *T, v dynamo.Value) error {
				all, err := dynamo.ReadTexts(v)
				if err == nil && len(all)%3 != 0 {
					err = fmt.Errorf("a set has %d texts, not three for each tag", len(all))
				}
				for i := 0; err == nil && i < len(all); i += 3 {
					of(t).Tags = append(of(t).Tags, filetag.Tag{Word: tag.Word{Key: all[i], Value: all[i+1]}, Public: all[i+2] == publicTag})
				}
				return err
			},
		},
	}
}

var indexRows = dynamo.LayoutOf(indexAttributes(func(x *filetag.Index) *filetag.Index { return x })...)

// setRows are the attributes of a set besides its key: of the one that holds, and of the one that was counted last.
var setRows = dynamo.LayoutOf(append(indexAttributes(func(s *filetag.Set) *filetag.Index { return &s.Index }),
	dynamo.OfText("authorUserId", func(s *filetag.Set) *filetag.UserID { return &s.Author }),
	dynamo.IndexKey(dynamo.TagsByAuthor.PK, func(s *filetag.Set) string { return string(s.Author) }),
	dynamo.OfText("fileUniqueId", func(s *filetag.Set) *score.ItemID { return &s.Item.ID }),
	dynamo.OfText("owner", func(s *filetag.Set) *score.UserID { return &s.Item.Owner }),
	dynamo.OfText("score", func(s *filetag.Set) *score.ID { return &s.Item.Score }),
	dynamo.OfText("version", func(s *filetag.Set) *string { return &s.Version }),
	dynamo.RowAttribute[filetag.Set]{
		Name: "counted",
		Write: func(s *filetag.Set) types.AttributeValue {
			if s.Counted == nil {
				return nil
			}
			return &types.AttributeValueMemberM{Value: indexRows.Row(s.Counted)}
		},
		Read: func(s *filetag.Set, v dynamo.Value) error {
			s.Counted = &filetag.Index{}
			return v.Object(func(name []byte, v dynamo.Value) error { return indexRows.Read(s.Counted, name, v) })
		},
	},
)...)

// tagSetRow is the row of a set.
func tagSetRow(s filetag.Set) dynamo.Attrs {
	row := dynamo.TagsTable.Key(tagSetKey(s.Key))
	setRows.Write(&s, row)
	return row
}

func decodeTagSet(item dynamo.Item, s *filetag.Set) error { return setRows.Decode(item, s) }

// publicSetRow is the row of what others may see of a set, false where that is nothing. Those who list the tags of all authors
// read these, and so neither pay for private ones nor learn of them.
func publicSetRow(k filetag.Key, x filetag.Index) (dynamo.Attrs, bool) {
	x.Tags = slices.DeleteFunc(slices.Clone(x.Tags), func(t filetag.Tag) bool { return !t.Public })
	row := tagSetRow(filetag.Set{Key: k, Index: filetag.Index{Tags: x.Tags, SetName: x.SetName}})
	row[dynamo.TagsTable.PK] = dynamo.Str(keys.PublicFileID(string(k.Item.ID)))
	for _, name := range []string{"version", "shards", dynamo.TagsByAuthor.PK} {
		delete(row, name)
	}
	return row, len(x.Tags) > 0
}

// fileTagRows are the document's rows of the tags: one for the author, and one for everybody where everybody may see the tag, which is
// found by its file, too. Nobody takes a tag from them: they lead to the set. With them is the row of what others may see of the set.
func fileTagRows(k filetag.Key, x filetag.Index) map[dynamo.Key]dynamo.Attrs {
	rows := map[dynamo.Key]dynamo.Attrs{}
	if row, is := publicSetRow(k, x); is {
		rows[dynamo.Key{PK: keys.PublicFileID(string(k.Item.ID)), SK: string(k.Author)}] = row
	}
	if !(filetag.Set{Key: k}).Searched(x) {
		return rows
	}
	of := keys.TagShard(string(k.Author), string(k.Item.ID), x.Shards)
	put := func(t filetag.Tag, author filetag.UserID, queryID, letterID, fileID string) {
		key := dynamo.Key{PK: keys.TagID(string(k.Author), string(k.Item.ID)), SK: keys.ValueHash(t.Key, string(author))}
		row := dynamo.TagsTable.Key(key)
		foundRows.Write(&foundTag{
			Entry: filetag.Entry{Key: k, Via: x.Via, Value: t.Key}, Order: keys.ValueOrder(t.Key, string(k.Item.ID), string(k.Author)),
			setName: x.SetName, queryID: queryID, letterID: letterID, fileID: fileID,
		}, row)
		rows[key] = row
	}
	for _, t := range x.Tags {
		if !x.Everybody(t) {
			put(t, k.Author, keys.OwnQueryID(t.Key, string(k.Author)), keys.OwnLetterID(t.Key, string(k.Author)), "")
			continue
		}
		put(t, k.Author, keys.QueryID(t.Key, string(k.Author)), keys.LetterID(t.Key, string(k.Author)), "")
		put(t, "", keys.PublicQueryID(t.Key, of, x.Shards), keys.PublicLetterID(t.Key, of, x.Shards), string(k.Item.ID))
	}
	return rows
}

// foundTag is what a search finds, and by what it is found.
type foundTag struct {
	filetag.Entry
	Order                              string
	setName, queryID, letterID, fileID string
}

// foundRows are the attributes of a row that a search finds, besides its key.
var foundRows = dynamo.LayoutOf(
	dynamo.IndexKey("queryId", func(f *foundTag) string { return f.queryID }),
	dynamo.IndexKey("letterId", func(f *foundTag) string { return f.letterID }),
	dynamo.IndexKey("fileId", func(f *foundTag) string { return f.fileID }),
	dynamo.IndexKey("setName", func(f *foundTag) string { return f.setName }),
	dynamo.Optional(dynamo.OfText("valueOrder", func(f *foundTag) *string { return &f.Order })),
	dynamo.Optional(dynamo.OfText("authorUserId", func(f *foundTag) *filetag.UserID { return &f.Author })),
	dynamo.Optional(dynamo.OfText("fileUniqueId", func(f *foundTag) *score.ItemID { return &f.Item.ID })),
	dynamo.Optional(dynamo.OfText("value", func(f *foundTag) *string { return &f.Value })),
	dynamo.Optional(dynamo.OfText("owner", func(f *foundTag) *score.UserID { return &f.Item.Owner })),
	dynamo.Optional(dynamo.OfText("score", func(f *foundTag) *score.ID { return &f.Item.Score })),
	dynamo.Optional(dynamo.OfText("via", func(f *foundTag) *score.ID { return &f.Via })),
)

// decodeTagRow reads what a row of a search leads to, and its place in the order.
func decodeTagRow(item dynamo.Item, f *foundTag) error { return foundRows.Decode(item, f) }

// tagTally is a row that counts.
type tagTally struct {
	filetag.Tally
	value string // as it was typed last, of a row that counts a value
}

// tagTallies is what a set adds to the rows that count: for the set of the item and for each value, for the author and for everybody.
func tagTallies(k filetag.Key, x filetag.Index) map[dynamo.Key]tagTally {
	all := map[dynamo.Key]tagTally{}
	if !(filetag.Set{Key: k}).Searched(x) {
		return all
	}
	add := func(key dynamo.Key, by filetag.Tally, value string) {
		t := all[key]
		t.Tags, t.Public, t.value = t.Tags+by.Tags, t.Public+by.Public, value
		all[key] = t
	}
	of := keys.TagShard(string(k.Author), string(k.Item.ID), x.Shards)
	set := filetag.SetRef{Owner: k.Item.Owner, Name: x.SetName}
	for _, t := range x.Tags {
		one, values := filetag.Tally{Tags: 1}, []string{keys.OwnTagValuesID(t.Key, string(k.Author))}
		if x.Everybody(t) {
			one.Public, values = 1, []string{keys.TagValuesID(t.Key, string(k.Author)), keys.PublicTagValuesID(t.Key, of, x.Shards)}
		}
		for _, partition := range values {
			add(dynamo.Key{PK: partition, SK: t.Key}, filetag.Tally{Tags: 1}, t.Value)
		}
		if x.SetName == "" {
			continue
		}
		add(tallyKey(filetag.TallyKey{Set: set, Author: k.Author}), one, "")
		if one.Public > 0 {
			add(tallyKey(filetag.TallyKey{Set: set}), filetag.Tally{Tags: 1}, "")
		}
	}
	return all
}

func tallyKey(k filetag.TallyKey) dynamo.Key {
	key := dynamo.Key{PK: keys.TagSetID(string(k.Set.Owner), k.Set.Name), SK: keys.Everybody}
	if k.Author != "" {
		key.SK = string(k.Author)
	}
	return key
}

// countsTags is the action that changes a row that counts.
func countsTags(key dynamo.Key, by tagTally) dynamo.Action {
	a := dynamo.Action{
		Table: dynamo.TagsTable, Key: key, Update: "ADD #tags :tags, #public :public", Names: map[string]string{"#tags": "tags", "#public": "public"},
		Values: dynamo.Attrs{":tags": dynamo.Number(int64(by.Tags)), ":public": dynamo.Number(int64(by.Public))},
	}
	if by.value != "" && by.Tags > 0 {
		a.Update += " SET #typed = :typed"
		a.Names["#typed"], a.Values[":typed"] = "typed", dynamo.Str(by.value)
	}
	return a
}

// tallyRows are the attributes of a row that counts. Only updates write them.
var tallyRows = dynamo.LayoutOf(
	dynamo.OfWhole("tags", func(t *tagTally) *int { return &t.Tags }),
	dynamo.OfWhole("public", func(t *tagTally) *int { return &t.Public }),
	dynamo.OfText("typed", func(t *tagTally) *string { return &t.value }),
)

func decodeTally(item dynamo.Item, t *tagTally) error { return tallyRows.Decode(item, t) }

// layoutRows are the attributes of how tags are spread over shards.
var layoutRows = dynamo.LayoutOf(
	dynamo.OfWhole("shards", func(l *filetag.Layout) *int { return &l.Shards }),
	dynamo.OfWhole("before", func(l *filetag.Layout) *int { return &l.Before }),
	dynamo.RowAttribute[filetag.Layout]{
		Name:  "writing",
		Write: func(l *filetag.Layout) types.AttributeValue { return dynamo.OneWhen(l.Writing) },
		Read:  func(l *filetag.Layout, _ dynamo.Value) error { l.Writing = true; return nil },
	},
	dynamo.Optional(dynamo.OfInstant("since", func(l *filetag.Layout) *time.Time { return &l.Since })),
	dynamo.Optional(dynamo.OfText("position", func(l *filetag.Layout) *string { return &l.Position })),
	dynamo.Optional(dynamo.OfText("version", func(l *filetag.Layout) *string { return &l.Version })),
)

func decodeLayout(item dynamo.Item, l *filetag.Layout) error { return layoutRows.Decode(item, l) }

func layoutRow(l filetag.Layout) dynamo.Attrs {
	row := dynamo.TagsTable.Key(layoutKey)
	layoutRows.Write(&l, row)
	return row
}

var layoutKey = dynamo.Key{PK: keys.TagLayoutID, SK: keys.Everybody}

// scanStart reads a position of [Store.ScanSets]. Keys of the table have no tab in their first part.
func scanStart(position string) dynamo.Key {
	pk, sk, _ := strings.Cut(position, "\t")
	return dynamo.Key{PK: pk, SK: sk}
}
