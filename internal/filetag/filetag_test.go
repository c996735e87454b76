package filetag

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

func tagsOf(values ...string) []Tag {
	var all []NewTag
	for _, v := range values {
		all = append(all, NewTag{Value: v, Public: v[0] != '-'})
	}
	tags, _ := parse("input.tags", all) // of tests that mean others
	return tags
}

func TestTagsAreOrderedAndKnownByTheirKey(t *testing.T) {
	tags, err := parse("input.tags", []NewTag{{Value: "b"}, {Value: "Straße", Public: true}, {Value: "STRASSE"}, {Value: "A"}})
	require.NoError(t, err)
	require.Len(t, tags, 3)
	assert.Equal(t, []string{"A", "b", "Straße"}, []string{tags[0].Value, tags[1].Value, tags[2].Value})
	assert.True(t, tags[2].Public, "of two spellings the first counts")
	found, is := find(tags, "strasse")
	assert.True(t, is)
	assert.Equal(t, "Straße", found.Value)
	_, is = find(tags, "st")
	assert.False(t, is)
	_, err = parse("input.tags", make([]NewTag, MaxTags+1))
	assert.True(t, fault.Is(err, fault.Invalid))
}

// Who may find a tag by a search follows from who may read the item.
func TestWhoFindsATag(t *testing.T) {
	item := score.ItemRef{Owner: "ada", ID: "i"}
	public, private := Tag{Public: true}, Tag{}
	for _, test := range []struct {
		author    UserID
		via       score.ID
		tag       Tag
		everybody bool
		searched  bool
	}{
		{"ada", "", public, false, true}, {"ada", "s", public, true, true}, {"ada", "s", private, false, true},
		{"bob", "", public, false, false}, {"bob", "s", public, true, true}, {"bob", "s", private, false, true},
	} {
		x := Index{Tags: []Tag{test.tag}, Via: test.via}
		assert.Equal(t, test.everybody, x.Everybody(test.tag), "%+v", test)
		assert.Equal(t, test.searched, Set{Key: Key{item, test.author}}.Searched(x), "%+v", test)
	}
}

// What is read and what is written while shards are raised: the old layout first, so that no tag that moves is missed.
func TestLayoutsWhileShardsAreRaised(t *testing.T) {
	for _, test := range []struct {
		layout  Layout
		written int
		shown   []int
	}{
		{Layout{Shards: 4}, 4, []int{4}}, {Layout{Shards: 16, Before: 4}, 4, []int{4, 16}}, {Layout{Shards: 16, Before: 4, Writing: true}, 16, []int{4, 16}},
	} {
		assert.Equal(t, test.written, test.layout.written())
		assert.Equal(t, test.shown, test.layout.shown())
	}
}

// The pages of one author's tags.
func TestPagesOfTheTagsOfAnAuthor(t *testing.T) {
	set := Set{Key: Key{Author: "ada"}, Index: Index{Tags: tagsOf("a", "b", "c", "d", "e")}}
	for _, test := range []struct {
		window      page.Window
		want        string
		more, other bool
	}{
		{page.Window{Limit: 2}, "[a b]", true, false},
		{page.Window{Limit: 2, From: "ada b", Probe: true}, "[c d]", true, true},
		{page.Window{Limit: 9, From: "ada b"}, "[c d e]", false, true},
		{page.Window{Limit: 2, Backward: true}, "[d e]", true, false},
		{page.Window{Limit: 2, Backward: true, From: "ada c", Probe: true}, "[a b]", false, true},
	} {
		slice := TagsRequest{Window: test.window}.pageOf(shown(set, score.ItemRequest{}, "bob"))
		var got []string
		for _, one := range slice.Items {
			got = append(got, one.Value)
		}
		assert.Equal(t, test.want, fmt.Sprint(got), "%+v", test.window)
		assert.Equal(t, test.more, slice.More, "%+v", test.window)
		assert.Equal(t, test.other, slice.Other, "%+v", test.window)
	}
}
