package filetags_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
)

// What the store costs does not depend on how many tags there are, and next to nothing on how many are asked about.
func TestCallsOfFileTags(t *testing.T) {
	t.Parallel()
	w, db, inj := openTagWorld(t)
	tags, ctx := filetags.Store{DB: db}, t.Context()
	items := w.NewItems(w.Ada, "Suite", 30)
	w.Show(score.Public, items...)
	for i, item := range items {
		w.Put(w.Ada, item, "typeahead", fmt.Sprint("type ", i%10))
	}
	sets, keys, tallies := make([]filetag.SetsRequest, 5), make([]filetag.Key, 250), make([]filetag.TallyKey, 120)
	for i := range sets {
		sets[i].Item = items[i]
	}
	for i := range keys {
		keys[i] = filetag.Key{Item: score.ItemRef{Owner: w.Ada, ID: score.ItemID(uuid.NewString())}, Author: w.Ada}
	}
	for i := range tallies {
		tallies[i] = filetag.TallyKey{Set: filetag.SetRef{Owner: w.Ada, Name: fmt.Sprint(i)}}
	}
	search := func(q filetag.Query) error {
		found, err := tags.Search(ctx, q, page.Window{Limit: 10}, func(_ context.Context, entries []filetag.Entry) ([]filetag.ItemTag, error) {
			counted := make([]filetag.ItemTag, len(entries))
			for i, e := range entries {
				counted[i].Item, counted[i].Author, counted[i].Key = score.AnItem(e.Item), e.Author, e.Value
			}
			return counted, nil
		})
		assert.Len(t, found.Items, 10)
		return err
	}
	for _, test := range []struct {
		what string
		do   func() error
		want map[string]int
	}{
		{"250 sets of authors", func() error { _, errs := tags.FindSets(ctx, keys); return noneOf(errs) }, map[string]int{"BatchGetItem": 3}},
		{"the sets of 5 items", func() error { _, errs := tags.ListSets(ctx, sets); return noneOf(errs) }, map[string]int{"Query": 5}},
		{"120 sets of items", func() error { _, errs := tags.Tallies(ctx, tallies); return noneOf(errs) }, map[string]int{"BatchGetItem": 2}},
		{"a search", func() error { return search(filetag.Query{Begin: "typ", Layouts: []int{1}}) }, map[string]int{"Query": 1}},
		{"a search by one character", func() error { return search(filetag.Query{Begin: "t", Layouts: []int{1}}) }, map[string]int{"Query": 1}},
		{"a search of an author's", func() error { return search(filetag.Query{Begin: "ty", Author: w.Ada}) }, map[string]int{"Query": 1}},
		{"a search while shards are raised", func() error { return search(filetag.Query{Begin: "typ", Layouts: []int{1, 16}}) }, map[string]int{"Query": 17}},
		{"values", func() error { _, err := tags.Values(ctx, filetag.Query{Begin: "t", Layouts: []int{1}}, 10); return err }, map[string]int{"Query": 1}},
		{"values of 16 shards", func() error {
			_, err := tags.Values(ctx, filetag.Query{Begin: "t", Layouts: []int{16}}, 10)
			return err
		}, map[string]int{"Query": 16}},
		{"the layout", func() error { _, err := tags.FindLayout(ctx); return err }, map[string]int{"GetItem": 1}},
	} {
		inj.Recorder().Reset()
		require.NoError(t, test.do(), test.what)
		assert.Equal(t, test.want, inj.Recorder().Operations(), test.what)
	}
	assert.Empty(t, inj.Recorder().Violations())
}

func noneOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// What the rules cost: a typeahead one Query and two batches, a change one transaction.
func TestCallsOfTagging(t *testing.T) {
	t.Parallel()
	w, _, inj := openTagWorld(t)
	items := w.NewItems(w.Ada, "Suite", 20)
	w.Show(score.Public, items...)
	for _, item := range items {
		w.Put(w.Ada, item, "typeahead")
	}
	requests := make([]filetag.TagsRequest, len(items))
	for i, item := range items {
		requests[i] = filetag.TagsRequest{Item: score.AnItem(item), Author: w.Ada, Window: page.Window{Limit: 20}}
	}
	all := make([]filetag.TagsRequest, len(items))
	for i := range all {
		all[i] = requests[i]
		all[i].Author = ""
	}
	ten := page.Window{Limit: 10}
	for _, test := range []struct {
		what string
		do   func() error
		want map[string]int
	}{
		{"typeahead of somebody", func() error {
			s, err := w.Rules.Search(w.As(w.Bob), filetag.Search{Begin: "type"}, ten)
			assert.Len(t, s.Items, 10)
			return err
		}, map[string]int{"Query": 1, "BatchGetItem": 2}},
		{"typeahead of the owner", func() error { _, err := w.Rules.Search(w.As(w.Ada), filetag.Search{Begin: "type"}, ten); return err }, map[string]int{"Query": 1, "BatchGetItem": 2}},
		{"distinct items", func() error {
			_, err := w.Rules.SearchItems(w.As(w.Bob), filetag.Search{Begin: "type"}, ten)
			return err
		}, map[string]int{"Query": 1, "BatchGetItem": 2}},
		{"distinct items from the end", func() error {
			_, err := w.Rules.SearchItems(w.As(w.Bob), filetag.Search{Begin: "type"}, page.Window{Limit: 10, Backward: true})
			return err
		}, map[string]int{"Query": 1 + 11, "BatchGetItem": 2}},
		{"distinct items of an author", func() error {
			_, err := w.Rules.SearchItems(w.As(w.Bob), filetag.Search{Begin: "type", Author: w.Ada}, page.Window{Limit: 10, Backward: true})
			return err
		}, map[string]int{"Query": 1, "BatchGetItem": 2}},
		{"typeahead of the author", func() error {
			_, err := w.Rules.Search(w.As(w.Ada), filetag.Search{Begin: "type", Author: w.Ada}, ten)
			return err
		}, map[string]int{"Query": 2, "BatchGetItem": 2}},
		{"an author's tags on 20 items", func() error { _, errs := w.Rules.ListTags(w.As(w.Ada), requests); return noneOf(errs) }, map[string]int{"BatchGetItem": 1}},
		{"all tags on 20 items", func() error { _, errs := w.Rules.ListTags(w.As(w.Ada), all); return noneOf(errs) }, map[string]int{"Query": 20, "BatchGetItem": 1}},
		{"is a set tagged", func() error {
			_, errs := w.Rules.Tagged(w.As(w.Bob), []filetag.TallyKey{{Set: filetag.SetRef{Owner: w.Ada, Name: "Suite"}}})
			return noneOf(errs)
		}, map[string]int{"BatchGetItem": 1}},
		{"put a tag more", func() error {
			_, err := w.Rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: items[0], Tags: public([]string{"typeahead", "new"})})
			return err
		},
			map[string]int{"BatchGetItem": 3, "TransactWriteItems": 1}},
		{"put the same", func() error {
			_, err := w.Rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: items[0], Tags: public([]string{"typeahead", "new"})})
			return err
		},
			map[string]int{"BatchGetItem": 3}},
	} {
		inj.Recorder().Reset()
		require.NoError(t, test.do(), test.what)
		assert.Equal(t, test.want, inj.Recorder().Operations(), test.what)
	}
	// A difference touches no row that stays: the new tag has a row for its author and one for everybody.
	inj.Recorder().Reset()
	w.Put(w.Ada, items[0], "typeahead", "new", "newer")
	written := inj.Recorder().Calls(faultinject.Operation("TransactWriteItems"))
	require.Len(t, written, 1)
	assert.Len(t, written[0].Keys, 2+2+2, "besides the set and two rows: conditions, counts of the value, counts of the set")
}

// What others cannot see of an author's tags costs them nothing, and so tells them nothing.
func TestHiddenFileTagsCostOthersNothing(t *testing.T) {
	t.Parallel()
	w, _, inj := openTagWorld(t)
	items := w.NewItems(w.Ada, "Suite", 12)
	w.Show(score.Public, items[:6]...)
	asked := func() (calls [][]string) {
		for _, begin := range []string{"s", "se", "sec"} {
			for _, ask := range []func() error{
				func() error {
					s, err := w.Rules.Search(w.As(w.Bob), filetag.Search{Begin: begin, Author: w.Ada}, page.Window{Limit: 3})
					assert.Empty(t, s.Items)
					assert.False(t, s.More)
					return err
				},
				func() error {
					_, err := w.Rules.Values(w.As(w.Bob), filetag.Search{Begin: begin, Author: w.Ada}, 3)
					return err
				},
			} {
				inj.Recorder().Reset()
				require.NoError(t, ask())
				for _, c := range inj.Recorder().Calls() {
					calls = append(calls, []string{begin, c.Operation, fmt.Sprint(len(c.Keys))})
				}
			}
		}
		return calls
	}
	before := asked()
	for _, item := range items {
		tags := []filetag.NewTag{{Value: "secret"}, {Value: "sealed"}}
		_, err := w.Rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: item, Tags: tags})
		require.NoError(t, err)
	}
	assert.Equal(t, before, asked())
	assert.Len(t, w.Found(w.Ada, "se", w.Ada), 24)
}
