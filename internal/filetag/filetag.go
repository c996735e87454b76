// Package filetag says what is true about tags on items: which words an author
// has put on a file, who may see them, and how they are found.
//
// It knows the limits, when everybody may search a tag, how pages of a search
// are checked, and the store it needs. Of scores it knows what decides who may
// read an item. It must not know engines or GraphQL; tags of notes are another
// thing, which has only the word in common (internal/tag). Start reading at
// [Set], then [Service] and [Store].
package filetag

import (
	"slices"
	"strconv"
	"strings"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

// UserID identifies a user.
type UserID = viewer.UserID

// MaxTags is how many tags an author may put on one item. Replacing all of them by as many others changes up to 80 rows, and a
// transaction has 100 actions.
const MaxTags = 20

// MaxTagsOfAuthor is how many tags an author may put on all items together; they are counted in the background, to within 10 %.
const MaxTagsOfAuthor = 500_000

// MaxSets is how many sets may be asked about at once.
const MaxSets = 100

// MaxValues is how many values are suggested at most.
const MaxValues = 100

// Tag is a word that an author has put on an item.
type Tag struct {
	tag.Word
	Public bool // everybody who may read the item may see it; otherwise the author alone
}

// Key says which set of tags is meant: those of an author on an item.
type Key struct {
	Item   score.ItemRef
	Author UserID
}

// Set is all that an author has put on an item. It is kept as one row, which therefore is never seen half changed; the rows by which
// tags are searched and counted follow from it.
type Set struct {
	Key
	Index
	// Counted is what the counts know of the set, where that is another state: of a change that was too large for one transaction.
	Counted *Index
	Version string // another one after each change; "" for a set without tags, which is not kept
}

// Index is what decides about the rows by which the tags of a set are searched and counted.
type Index struct {
	Tags    []Tag    // ordered by key
	SetName string   // of the item
	Via     score.ID // a public score that has the item as a page, which is why everybody may read it; "" for none
	Shards  int      // over which the rows for everybody are spread
}

// Searched reports whether the author may read the item without a project, and so finds the tags by [Service.Search].
func (s Set) Searched(x Index) bool {
	return len(x.Tags) > 0 && (x.Via != "" || s.Author == s.Item.Owner)
}

// Everybody reports whether everybody finds the tag.
func (x Index) Everybody(t Tag) bool { return t.Public && x.Via != "" }

// Found are the keys of the tags by which others find the item in projects.
func (x Index) Found() (keys []string) {
	for _, t := range x.Tags {
		if t.Public {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// same reports whether the rows of both are the same.
func (x Index) same(other Index) bool {
	return x.SetName == other.SetName && x.Via == other.Via && x.Shards == other.Shards && slices.Equal(x.Tags, other.Tags)
}

// find returns the tag with this key among those that are ordered by key.
func find(tags []Tag, key string) (Tag, bool) {
	i, found := slices.BinarySearchFunc(tags, key, func(t Tag, key string) int { return strings.Compare(t.Key, key) })
	if !found {
		return Tag{}, false
	}
	return tags[i], true
}

// ItemTag is a tag that the viewer was shown, with what it is on.
type ItemTag struct {
	Item    score.ItemRequest // with the proof that the viewer may read the item
	Author  UserID
	SetName string // of the item
	Tag
}

// Word returns the tag as the word of its author.
func (t ItemTag) Word() tag.Tag { return tag.Tag{Author: t.Author, Word: t.Tag.Word} }

// ValueCount is a value that is used, and how often.
type ValueCount struct {
	Value string // as somebody typed it
	Key   string
	Count int
}

// SetRef says which set of items is meant: names of sets are their owners'.
type SetRef struct {
	Owner UserID
	Name  string
}

// NewTag is a tag as it is typed.
type NewTag struct {
	Value  string
	Public bool
}

// parse checks the tags of an input; of equal ones the first counts.
func parse(field string, tags []NewTag) ([]Tag, error) {
	if len(tags) > MaxTags {
		return nil, fault.Invalidf(field, "an author puts at most %d tags on an item: leave some out, or take some off first", MaxTags)
	}
	var all []Tag
	for i, t := range tags {
		word, err := tag.Parse(field+"."+strconv.Itoa(i)+".value", t.Value)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(other Tag) bool { return other.Key == word.Key }) {
			all = append(all, Tag{Word: word, Public: t.Public})
		}
	}
	slices.SortFunc(all, func(a, b Tag) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// Begin returns what tags are searched by: the beginning in the form in which tags are compared. It returns an Invalid fault that names
// the field when nothing is left of it.
func Begin(field, beginsWith string) (string, error) {
	if strings.TrimSpace(beginsWith) == "" {
		return "", fault.Invalidf(field, "a search needs 1 character or more besides white space")
	}
	word, err := tag.Parse(field, beginsWith)
	return word.Key, err
}

func noItem() error { return fault.New(fault.NotFound, "there is no such item") }
