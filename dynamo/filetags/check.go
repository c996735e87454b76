package filetags

import (
	"errors"
	"slices"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/filetag"
)

// Kinds are the kinds of rows of tags on items.
func Kinds() []dynamo.RowKind {
	return []dynamo.RowKind{
		{Name: "the tags of an author on an item", Table: dynamo.TagsTable, Is: dynamo.KeyBegins(keys.FileIDPrefix, ""), Needs: needsOfSet, Mend: dynamo.Remake},
		{Name: "what others see of the tags on an item", Table: dynamo.TagsTable, Is: dynamo.KeyBegins(keys.PublicFileID(""), ""), Needs: needsOfPublic, Mend: dynamo.Restore},
		{Name: "a tag by which a file is found in a project", Table: dynamo.TagsTable, Is: dynamo.KeyBegins(keys.ProjectFilePrefix, ""), Needs: needsOfPlaced, Mend: dynamo.Restore},
		{Name: "a tag that is searched", Table: dynamo.TagsTable, Needs: needsOfFound, Mend: dynamo.Restore, Is: func(k dynamo.Key) bool {
			return !strings.HasPrefix(k.PK, "~") && !strings.HasPrefix(k.PK, keys.FileIDPrefix)
		}},
	}
}

func needsOfSet(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var s filetag.Set
	if err := decodeTagSet(item, &s); err != nil || s.Version == "" {
		return nil, err
	}
	var needs []dynamo.Need
	for key := range fileTagRows(s.Key, s.Index) {
		what := "a row by which a tag is searched"
		if strings.HasPrefix(key.PK, keys.PublicFileID("")) {
			what = "what others see of it"
		}
		needs = append(needs, dynamo.Need{What: what, Table: dynamo.TagsTable, Key: key})
	}
	return needs, nil
}

func needsOfPublic(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var s filetag.Set
	err := decodeTagSet(item, &s)
	return theSet(s.Key), err
}

// needsOfFound is the set that has the tag. A row of the source document does not tell whose the item is, and has none.
func needsOfFound(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var f foundTag
	if err := decodeTagRow(item, &f); err != nil || f.Item.Owner == "" {
		return nil, err
	}
	return theSet(f.Key), nil
}

// rebuildTags makes the tags right by which files are found in projects that use them.
const rebuildTags dynamo.Mend = "run `taggie rebuild --tags`"

// needsOfPlaced is the set that has the tag where everybody sees it who may read the item, and that the project uses the item.
func needsOfPlaced(key dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var f foundTag
	if err := decodeTagRow(item, &f); err != nil {
		return nil, err
	}
	in, author, ok := keys.ProjectOfTag(key.SK)
	if !ok || author != string(f.Author) {
		return nil, errors.New("the key is not that of a tag in a project")
	}
	return []dynamo.Need{
		{What: "the tag among those of the author", Table: dynamo.TagsTable, Key: tagSetKey(f.Key), Mend: rebuildTags, Holds: func(row dynamo.Item) bool {
			var s filetag.Set
			return decodeTagSet(row, &s) == nil && slices.Contains(s.Found(), f.Value)
		}},
		{What: "that the project uses the item", Table: dynamo.ScoresTable, Key: uses.Key(f.Item, in)},
	}, nil
}

func theSet(k filetag.Key) []dynamo.Need {
	return []dynamo.Need{{What: "the tags of the author", Table: dynamo.TagsTable, Key: tagSetKey(k)}}
}
