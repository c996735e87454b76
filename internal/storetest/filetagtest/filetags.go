// Package filetagtest holds a store of tags on items to its contract.
//
// It knows filetag.Store and what the rules rely on. It must not know how things are kept. Start reading at [Suite].
package filetagtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

// Suite is the contract of a store of tags on items, with the rules above it.
func Suite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"tags are replaced":             replacedTags,
		"tags of many authors":          tagsOfAuthors,
		"spellings":                     searchedSpellings,
		"pages of a search":             searchedPages,
		"distinct items":                searchedItems,
		"an author's tags":              searchedAuthors,
		"access decides":                accessDecides,
		"a page comes and goes":         pageComesAndGoes,
		"all tags are replaced at once": replacedAll,
		"bad input changes nothing":     refusedTags,
		"tags are put once per key":     tagsOncePerKey,
		"an item is deleted":            deletedItem,
		"others' tags outlive nothing":  othersTags,
		"a page that was uploaded":      taggedUpload,
		"nothing to change":             unchangedTags,
		"what was told is done":         toldOnce,
		"many scores use the item":      usedByMany,
		"all that an author has put":    eachPut,
	})
	Together(t, open)
}

// Together tests what [Suite] does at the same time: nothing else sees a transaction that is shown row by row. The tags of several items, or of
// several authors of one, follow their scores at the same time, too.
func Together(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"many items at once":           tagsOfManyItems,
		"sets are tagged":              taggedSets,
		"the owner takes tags off":     removedByOwner,
		"values with counts":           countedValues,
		"another score shows the item": shownByAnother,
		"many write at the same time":  writtenTogether,
		"shards are raised":            raisedShards,
	})
}

func replacedTags(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	assert.Empty(t, w.On(w.Ada, item))
	w.Put(w.Ada, item, "Straße", "!secret", "Straße", "c#", " two words ")
	assert.Equal(t, []string{"c#", "secret", "Straße", "two words"}, w.On(w.Ada, item), "as typed, ordered as compared")
	w.Put(w.Ada, item, "STRASSE", "new", "secret")
	assert.Equal(t, []string{"new", "secret", "STRASSE"}, w.On(w.Ada, item))
	found := w.Search(w.Ada, "s", w.Ada)
	assert.Equal(t, []string{"secret", "STRASSE"}, values(found))
	assert.True(t, found[0].Public)
	assert.Equal(t, "Suite", found[0].SetName)
	assert.Equal(t, item, found[0].Item.ItemRef)

	left, err := w.Rules.RemoveTags(w.As(w.Ada), filetag.RemoveTags{Item: item, Tags: []string{"Secret", "unknown"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"new", "STRASSE"}, values(left.Tags))
	w.Put(w.Ada, item)
	assert.Empty(t, w.On(w.Ada, item))
	assert.Empty(t, w.Found(w.Ada, "s", w.Ada))
}

func tagsOfAuthors(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "", 1)[0]
	music := w.Show(score.Public, item)
	authors := []viewer.UserID{w.Ada, w.Bob}
	for range 30 {
		authors = append(authors, viewer.UserID(uuid.NewString()))
	}
	slices.Sort(authors)
	var want []string
	for i, author := range authors {
		w.Put(author, item, fmt.Sprintf("%02d b", i), fmt.Sprintf("!%02d c", i), fmt.Sprintf("%02d a", i))
		want = append(want, fmt.Sprintf("%02d a", i), fmt.Sprintf("%02d b", i))
		if author == w.Ada {
			want = append(want, fmt.Sprintf("%02d c", i))
		}
	}
	assert.Equal(t, want, w.On(w.Ada, item))
	assert.Len(t, w.On(w.Bob, item, music), len(want), "the private tag of another one")
	for _, limit := range []int{1, 3, 7, 100} {
		for _, backward := range []bool{false, true} {
			assert.Equal(t, want, w.paged(t, limit, backward, func(pages page.Window) (page.Slice[filetag.ItemTag], error) {
				lists, errs := w.Rules.ListTags(w.As(w.Ada), []filetag.TagsRequest{{Item: score.AnItem(item), Window: pages}})
				return lists[0], errs[0]
			}))
		}
	}
	lists, errs := w.Rules.ListTags(w.As(w.Ada), []filetag.TagsRequest{
		{Item: score.AnItem(item), Author: authors[3], Window: page.Window{Limit: 1}},
		{Item: score.AnItem(item), Author: authors[3], Window: page.Window{Limit: 5, From: string(authors[3]) + " 03 a", Probe: true}},
	})
	require.NoError(t, errs[0])
	assert.Equal(t, []string{"03 a"}, values(lists[0].Items))
	assert.True(t, lists[0].More)
	assert.Equal(t, "03 b", lists[1].Items[0].Value)
	assert.True(t, lists[1].Other)
	assert.False(t, lists[1].More)
	_, errs = w.Rules.ListTags(w.As(w.Bob), []filetag.TagsRequest{{Item: score.AnItem(item), Window: page.Window{Limit: 1}}})
	assert.True(t, fault.Is(errs[0], fault.NotFound), "who was not shown the item: %v", errs[0])
}

// paged reads a list page by page and returns all values in the order of the list.
func (w *World) paged(t *testing.T, limit int, backward bool, read func(page.Window) (page.Slice[filetag.ItemTag], error)) []string {
	t.Helper()
	all := []string{}
	window := page.Window{Limit: limit, Backward: backward, Probe: true}
	for {
		s, err := read(window)
		require.NoError(t, err)
		assert.Equal(t, window.From != "", s.Other, "something is before a page that is not the first")
		if backward {
			all = append(values(s.Items), all...)
		} else {
			all = append(all, values(s.Items)...)
		}
		if !s.More {
			return all
		}
		switch {
		case s.Until != "":
			window.From = s.Until
		case backward:
			window.From = s.Positions[0]
		default:
			window.From = s.Positions[len(s.Positions)-1]
		}
		if s.Until == "" {
			require.Len(t, s.Items, limit, "a full page")
		}
	}
}

func tagsOfManyItems(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 120)
	requests := make([]filetag.TagsRequest, len(items))
	for i, item := range items {
		requests[i] = filetag.TagsRequest{Item: score.AnItem(item), Author: w.Ada, Window: page.Window{Limit: 20}}
	}
	for _, err := range storetest.Attempts(len(items), func(i int) error {
		_, err := w.Rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: items[i], Tags: typed(fmt.Sprint("tag ", i))})
		return err
	}) {
		require.NoError(t, err)
	}
	for _, author := range []viewer.UserID{w.Ada, ""} {
		for i := range requests {
			requests[i].Author = author
		}
		lists, errs := w.Rules.ListTags(w.As(w.Ada), requests)
		for i := range requests {
			require.NoError(t, errs[i])
			require.Equal(t, []string{fmt.Sprint("tag ", i)}, values(lists[i].Items))
		}
	}
}

func searchedSpellings(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "", 1)[0]
	w.Show(score.Public, item)
	w.Put(w.Ada, item, "🎼", "🎼🎹", "日本語", "日本", "テスト", "Straße", "work", "workout", "w", "c#", "c%", "a b", "ab")
	for begin, want := range map[string][]string{
		"🎼": {"🎼", "🎼🎹"}, "🎼🎹": {"🎼🎹"}, "日": {"日本", "日本語"}, "日本語": {"日本語"}, "ﾃ": {"テスト"}, "ﾃｽ": {"テスト"}, "ＳＴＲ": {"Straße"},
		"strass": {"Straße"}, "W": {"w", "work", "workout"}, "wo": {"work", "workout"}, "worko": {"workout"}, "c#": {"c#"}, "c": {"c#", "c%"}, "a ": {"a b", "ab"}, "a b": {"a b"}, "x": {}, "🎹": {},
	} {
		assert.Equal(t, want, w.Found(w.Bob, begin, ""), "%q", begin)
		assert.Equal(t, want, w.Found(w.Ada, begin, w.Ada), "%q", begin)
		counts := map[string]int{}
		for _, v := range want {
			counts[v] = 1
		}
		assert.Equal(t, counts, w.Counted(w.Bob, begin, ""), "%q", begin)
	}
}

func searchedPages(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 25)
	w.Show(score.Public, items...)
	var want []string
	for i, item := range items {
		w.Put(w.Ada, item, "same", fmt.Sprintf("sole %02d", i), "!sure", "other")
		want = append(want, fmt.Sprintf("sole %02d", i))
	}
	want = append(slices.Repeat([]string{"same"}, len(items)), want...)
	for _, limit := range []int{1, 7, 24, 25, 50, 100} {
		for _, backward := range []bool{false, true} {
			if limit == 1 && backward {
				continue
			}
			seen := map[string]bool{}
			assert.Equal(t, want, w.paged(t, limit, backward, func(pages page.Window) (page.Slice[filetag.ItemTag], error) {
				s, err := w.Rules.Search(w.As(w.Bob), filetag.Search{Begin: "s"}, pages)
				for _, at := range s.Positions {
					assert.False(t, seen[at], "%q comes twice", at)
					seen[at] = true
				}
				return s, err
			}), "pages of %d, backward %v", limit, backward)
		}
	}
	assert.Len(t, w.Found(w.Ada, "sure", w.Ada), 25)
	assert.Empty(t, w.Found(w.Bob, "sure", w.Ada))
	// Where next to nothing counts, a page is short and says where to go on.
	s, err := w.Rules.Search(w.As(w.Bob), filetag.Search{Begin: "s", Author: w.Ada}, page.Window{Limit: 60})
	require.NoError(t, err)
	assert.Equal(t, want, values(s.Items))
	assert.False(t, s.More)
}

func searchedItems(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 12)
	w.Show(score.Public, items...)
	for i, item := range items {
		w.Put(w.Ada, item, "bach", "baroque", fmt.Sprintf("b%02d", i))
		w.Put(w.Bob, item, "bach", fmt.Sprintf("b%02d", i), "!b")
	}
	for _, search := range []filetag.Search{{Begin: "b"}, {Begin: "b", Author: w.Ada}, {Begin: "ba"}, {Begin: "baro"}} {
		for i, limit := range []int{1, 5, 12, 20, 1, 5, 20} {
			seen := map[score.ItemRef]bool{}
			all := w.paged(t, limit, i > 3, func(pages page.Window) (page.Slice[filetag.ItemTag], error) {
				s, err := w.Rules.SearchItems(w.As(w.Ada), search, pages)
				for _, one := range s.Items {
					assert.False(t, seen[one.Item.ItemRef], "an item comes twice")
					seen[one.Item.ItemRef] = true
				}
				return s, err
			})
			assert.Len(t, all, 12, "%+v", search)
		}
	}
}

func countedValues(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 6)
	shown := w.Show(score.Public, items[:4]...)
	for i, item := range items {
		w.Put(w.Ada, item, "common", fmt.Sprint("c", i), "!closed")
	}
	w.Put(w.Bob, items[0], "COMMON")
	assert.Equal(t, map[string]int{"COMMON": 5, "c0": 1, "c1": 1, "c2": 1, "c3": 1}, w.Counted(w.Bob, "c", ""))
	assert.Equal(t, map[string]int{"common": 6, "c0": 1, "c1": 1, "c2": 1, "c3": 1, "c4": 1, "c5": 1, "closed": 6}, w.Counted(w.Ada, "c", w.Ada))
	assert.Equal(t, map[string]int{"common": 4, "c0": 1, "c1": 1, "c2": 1, "c3": 1}, w.Counted(w.Bob, "c", w.Ada))
	w.Put(w.Ada, items[1])
	w.Put(w.Ada, items[2], "!common")
	assert.Equal(t, map[string]int{"COMMON": 3, "c0": 1, "c3": 1}, w.Counted(w.Bob, "c", ""))
	w.Access(shown, score.Limited)
	assert.Empty(t, w.Counted(w.Bob, "c", ""))
	assert.Empty(t, w.Counted(w.Bob, "c", w.Ada))
	assert.Empty(t, w.Counted(w.Bob, "c", w.Bob), "on an item that the author may not read")
	few, err := w.Rules.Values(w.As(w.Ada), filetag.Search{Begin: "c", Author: w.Ada}, 2)
	require.NoError(t, err)
	assert.Len(t, few, 2)
	for _, limit := range []int{0, filetag.MaxValues + 1} {
		_, err = w.Rules.Values(w.As(w.Ada), filetag.Search{Begin: "c"}, limit)
		assert.True(t, fault.Is(err, fault.Invalid))
	}
}

func searchedAuthors(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 3)
	w.Show(score.Public, items[0])
	w.Put(w.Ada, items[0], "open", "!own")
	w.Put(w.Ada, items[1], "only hers", "!own")
	w.Put(w.Bob, items[0], "other", "!off")
	assert.Equal(t, []string{"only hers", "open", "own", "own"}, w.Found(w.Ada, "o", w.Ada))
	assert.Equal(t, []string{"open"}, w.Found(w.Bob, "o", w.Ada))
	assert.Equal(t, []string{"off", "other"}, w.Found(w.Bob, "o", w.Bob))
	assert.Equal(t, []string{"other"}, w.Found(w.Ada, "o", w.Bob))
	assert.Equal(t, []string{"open", "other"}, w.Found("", "o", ""), "nobody in particular")
	word := w.Search(w.Bob, "op", "")[0].Word()
	for user, want := range map[viewer.UserID]int{w.Ada: 1, w.Bob: 1} {
		on, err := w.Rules.ListWithTag(w.As(user), filetag.WithTag{Tag: word.ID(), Window: page.Window{Limit: 10}})
		require.NoError(t, err)
		assert.Len(t, on.Items, want)
	}
	own := w.Search(w.Ada, "own", w.Ada)[0].Word().ID()
	found, err := w.Rules.FindWord(w.As(w.Ada), own)
	require.NoError(t, err)
	assert.Equal(t, "own", found.Value)
	_, err = w.Rules.FindWord(w.As(w.Bob), own)
	assert.True(t, fault.Is(err, fault.NotFound))
}

func refusedTags(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 1)
	his := w.NewItems(w.Bob, "", 1)[0]
	item := items[0]
	w.Put(w.Ada, item, "kept", "!closed")
	many := make([]string, filetag.MaxTags+1)
	for i := range many {
		many[i] = fmt.Sprint("tag ", i)
	}
	for name, bad := range map[string]struct {
		item  score.ItemRef
		tags  []string
		kind  fault.Kind
		field string
	}{
		"empty":          {item, []string{"x", ""}, fault.Invalid, "input.tags.1.value"},
		"white space":    {item, []string{" \t"}, fault.Invalid, "input.tags.0.value"},
		"300 characters": {item, []string{strings.Repeat("x", 300)}, fault.Invalid, "input.tags.0.value"},
		"control":        {item, []string{"a\x00b"}, fault.Invalid, "input.tags.0.value"},
		"too many":       {item, many, fault.Invalid, "input.tags"},
		"unknown item":   {score.ItemRef{Owner: w.Ada, Score: score.Library, ID: score.ItemID(uuid.NewString())}, []string{"x"}, fault.NotFound, ""},
		"foreign item":   {his, []string{"x"}, fault.NotFound, ""},
		"another key":    {score.ItemRef{Owner: w.Bob, Score: score.Library, ID: item.ID}, []string{"x"}, fault.NotFound, ""},
	} {
		_, err := w.Rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: bad.item, Tags: typed(bad.tags...)})
		assert.True(t, fault.Is(err, bad.kind), "%s: %v", name, err)
		if bad.field != "" {
			assert.ErrorContains(t, err, bad.field, name)
		}
	}
	_, err := w.Rules.PutTags(w.As(""), filetag.PutTags{Item: item})
	assert.True(t, fault.Is(err, fault.Unauthenticated))
	assert.Equal(t, []string{"closed", "kept"}, w.On(w.Ada, item), "nothing has changed")
	assert.Empty(t, w.On(w.Bob, his))
	for _, begin := range []string{"", " ", "a\x00", strings.Repeat("x", 300)} {
		_, err := filetag.Begin("beginsWith", begin)
		assert.True(t, fault.Is(err, fault.Invalid), "%q", begin)
	}
	w.Put(w.Ada, item, many[:filetag.MaxTags]...)
	assert.Len(t, w.On(w.Ada, item), filetag.MaxTags)
}

func tagsOncePerKey(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "", 1)[0]
	in := filetag.PutTags{Item: item, Tags: typed("first"), IdempotencyKey: storetest.Ptr("key")}
	_, err := w.Rules.PutTags(w.As(w.Ada), in)
	require.NoError(t, err)
	w.Put(w.Ada, item, "second")
	again, err := w.Rules.PutTags(w.As(w.Ada), in)
	require.NoError(t, err)
	assert.Equal(t, []string{"second"}, values(again.Tags), "no second effect")
	in.Tags = typed("third")
	_, err = w.Rules.PutTags(w.As(w.Ada), in)
	assert.True(t, fault.Is(err, fault.Conflict), "%v", err)
	// A key is remembered although there was nothing to do.
	same := filetag.PutTags{Item: item, Tags: typed("second"), IdempotencyKey: storetest.Ptr("other")}
	_, err = w.Rules.PutTags(w.As(w.Ada), same)
	require.NoError(t, err)
	w.Put(w.Ada, item, "fourth")
	again, err = w.Rules.PutTags(w.As(w.Ada), same)
	require.NoError(t, err)
	assert.Equal(t, []string{"fourth"}, values(again.Tags))
}
