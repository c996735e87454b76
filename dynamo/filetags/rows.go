package filetags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/tag"
)

func tagSetKey(k filetag.Key) dynamo.Key {
	return dynamo.Key{PK: keys.FileID(string(k.Item.ID)), SK: string(k.Author)}
}

// tagSetRow is the row of a set: the one that holds. Of each tag it has three texts in a row: the key, the value as typed, and who may
// see it.
func tagSetRow(s filetag.Set) dynamo.Attrs {
	row := tagIndexAttributes(s.Index)
	for name, v := range dynamo.TagsTable.Key(tagSetKey(s.Key)) {
		row[name] = v
	}
	row["authorUserId"], row["fileUniqueId"] = dynamo.Str(string(s.Author)), dynamo.Str(string(s.Item.ID))
	row["owner"], row["score"], row["version"] = dynamo.Str(string(s.Item.Owner)), dynamo.Str(string(s.Item.Score)), dynamo.Str(s.Version)
	if s.Counted != nil {
		row["counted"] = &types.AttributeValueMemberM{Value: tagIndexAttributes(*s.Counted)}
	}
	return row
}

// The values of who may see a tag.
const (
	publicTag  = "public"
	privateTag = "private"
)

func tagIndexAttributes(x filetag.Index) dynamo.Attrs {
	all := make([]string, 0, 3*len(x.Tags))
	for _, t := range x.Tags {
		seen := privateTag
		if t.Public {
			seen = publicTag
		}
		all = append(all, t.Key, t.Value, seen)
	}
	m := dynamo.NonEmpty(map[string]string{"setName": x.SetName, "via": string(x.Via)})
	m["tags"], m["shards"] = dynamo.Texts(all), dynamo.Number(int64(x.Shards))
	return m
}

func readTagIndex(name string, v dynamo.Value, x *filetag.Index) (err error) {
	switch name {
	case "setName":
		x.SetName, err = v.Str()
	case "via":
		err = dynamo.ReadText(v, &x.Via)
	case "shards":
		x.Shards, err = v.Int()
	case "tags":
		var all []string
		if all, err = dynamo.ReadTexts(v); err == nil && len(all)%3 != 0 {
			err = fmt.Errorf("a set has %d texts, not three for each tag", len(all))
		}
		for i := 0; err == nil && i < len(all); i += 3 {
			x.Tags = append(x.Tags, filetag.Tag{Word: tag.Word{Key: all[i], Value: all[i+1]}, Public: all[i+2] == publicTag})
		}
	default:
		err = v.Skip()
	}
	return err
}

func decodeTagSet(item []byte, s *filetag.Set) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "authorUserId":
			err = dynamo.ReadText(v, &s.Author)
		case "fileUniqueId":
			err = dynamo.ReadText(v, &s.Item.ID)
		case "owner":
			err = dynamo.ReadText(v, &s.Item.Owner)
		case "score":
			err = dynamo.ReadText(v, &s.Item.Score)
		case "version":
			s.Version, err = v.Str()
		case "counted":
			s.Counted = &filetag.Index{}
			err = v.Object(func(name []byte, v dynamo.Value) error { return readTagIndex(string(name), v, s.Counted) })
		default:
			err = readTagIndex(string(name), v, &s.Index)
		}
		return err
	})
}

// publicSetRow is the row of what others may see of a set, false where that is nothing. Those who list the tags of all authors
// read these, and so neither pay for private ones nor learn of them.
func publicSetRow(k filetag.Key, x filetag.Index) (dynamo.Attrs, bool) {
	x.Tags = slices.DeleteFunc(slices.Clone(x.Tags), func(t filetag.Tag) bool { return !t.Public })
	row := tagSetRow(filetag.Set{Key: k, Index: filetag.Index{Tags: x.Tags, SetName: x.SetName}})
	row[dynamo.TagsTable.PK] = dynamo.Str(keys.PublicFileID(string(k.Item.ID)))
	delete(row, "version")
	delete(row, "shards")
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
	put := func(t filetag.Tag, author filetag.UserID, queryID, letterID string) dynamo.Attrs {
		key := dynamo.Key{PK: keys.TagID(string(k.Author), string(k.Item.ID)), SK: keys.ValueHash(t.Key, string(author))}
		row := dynamo.NonEmpty(map[string]string{
			dynamo.TagsTable.PK: key.PK, dynamo.TagsTable.SK: key.SK, "queryId": queryID, "letterId": letterID,
			"valueOrder":   keys.ValueOrder(t.Key, string(k.Item.ID), string(k.Author)),
			"authorUserId": string(k.Author), "fileUniqueId": string(k.Item.ID), "value": t.Key, "setName": x.SetName,
			"owner": string(k.Item.Owner), "score": string(k.Item.Score), "via": string(x.Via),
		})
		rows[key] = row
		return row
	}
	for _, t := range x.Tags {
		if !x.Everybody(t) {
			put(t, k.Author, keys.OwnQueryID(t.Key, string(k.Author)), keys.OwnLetterID(t.Key, string(k.Author)))
			continue
		}
		put(t, k.Author, keys.QueryID(t.Key, string(k.Author)), keys.LetterID(t.Key, string(k.Author)))
		put(t, "", keys.PublicQueryID(t.Key, of, x.Shards), keys.PublicLetterID(t.Key, of, x.Shards))["fileId"] = dynamo.Str(string(k.Item.ID))
	}
	return rows
}

// decodeTagRow reads what a row of a search leads to, and its place in the order.
func decodeTagRow(item []byte, e *foundTag) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "authorUserId":
			err = dynamo.ReadText(v, &e.Author)
		case "fileUniqueId":
			err = dynamo.ReadText(v, &e.Item.ID)
		case "owner":
			err = dynamo.ReadText(v, &e.Item.Owner)
		case "score":
			err = dynamo.ReadText(v, &e.Item.Score)
		case "via":
			err = dynamo.ReadText(v, &e.Via)
		case "value":
			e.Value, err = v.Str()
		case "valueOrder":
			e.Order, err = v.Str()
		default:
			err = v.Skip()
		}
		return err
	})
}

// foundTag is what a search finds.
type foundTag struct {
	filetag.Entry
	Order string
}

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

func decodeTally(item []byte, t *tagTally) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "tags":
			t.Tags, err = v.Int()
		case "public":
			t.Public, err = v.Int()
		case "typed":
			t.value, err = v.Str()
		default:
			err = v.Skip()
		}
		return err
	})
}

func decodeLayout(item []byte, l *filetag.Layout) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "shards":
			l.Shards, err = v.Int()
		case "before":
			l.Before, err = v.Int()
		case "writing":
			l.Writing = true
			err = v.Skip()
		case "since":
			l.Since, err = v.Instant()
		case "position":
			l.Position, err = v.Str()
		case "version":
			l.Version, err = v.Str()
		default:
			err = v.Skip()
		}
		return err
	})
}

func layoutRow(l filetag.Layout) dynamo.Attrs {
	row := dynamo.NonEmpty(map[string]string{"since": keys.Instant(l.Since), "position": l.Position, "version": l.Version})
	for name, v := range dynamo.TagsTable.Key(layoutKey) {
		row[name] = v
	}
	row["shards"], row["before"] = dynamo.Number(int64(l.Shards)), dynamo.Number(int64(l.Before))
	if l.Writing {
		row["writing"] = dynamo.Number(1)
	}
	return row
}

var layoutKey = dynamo.Key{PK: keys.TagLayoutID, SK: keys.Everybody}

// scanStart reads a position of [Store.ScanSets]. Keys of the table have no tab in their first part.
func scanStart(position string) dynamo.Key {
	pk, sk, _ := strings.Cut(position, "\t")
	return dynamo.Key{PK: pk, SK: sk}
}
