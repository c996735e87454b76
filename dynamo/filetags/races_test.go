package filetags_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/filetagtest"
	"github.com/taggie/taggie/internal/viewer"
)

// between does something before the first set is put, and something after each.
type between struct {
	filetag.Store
	before, after func()
}

func (b *between) PutSet(ctx context.Context, before, after filetag.Set, proof filetag.Proof, once idempotency.Key) (filetag.Set, error) {
	if do := b.before; do != nil {
		b.before = nil
		do()
	}
	s, err := b.Store.PutSet(ctx, before, after, proof, once)
	if b.after != nil {
		b.after()
	}
	return s, err
}

// rules returns the rules of a server above the store.
func (b *between) rules(w *filetagtest.World) *filetag.Service {
	return filetag.NewService(filetag.Options{
		Store: b, Items: score.NewItems(score.ItemsOptions{Store: w.Items, Scores: w.Scores, Now: w.Clock.Now, NewID: uuid.NewString}), Scores: w.Music,
		Kept: filetag.Kept{Items: w.Items, Scores: w.Scores}, Now: w.Clock.Now, NewID: uuid.NewString,
	})
}

// The score becomes public while the first tag on its page is written, and the server is lost as soon as that is done.
func TestAFirstTagWhileTheScoreIsShownAndTheServerIsLost(t *testing.T) {
	t.Parallel()
	w, db, _ := openTagWorld(t)
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	music := w.Show(score.Private, item)
	ctx, lost := context.WithCancel(w.As(w.Ada))
	server := (&between{filetags.Store{DB: db}, func() { w.Access(music, score.Public) }, lost}).rules(w)
	_, err := server.PutTags(ctx, filetag.PutTags{Item: item, Tags: public([]string{"first"})})
	if err == nil {
		assert.Empty(t, w.Found(w.Bob, "first", ""), "nobody has looked again yet")
	}
	w.Settled()
	assert.Equal(t, []string{"first"}, w.Found(w.Bob, "first", ""))
	assert.True(t, w.Tagged(w.Bob, "Suite", ""))
}

// A score is hidden, and public again before its tags are: whoever comes last looks again.
func TestHiddenAndShownAgain(t *testing.T) {
	t.Parallel()
	w, db, _ := openTagWorld(t)
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	music := w.Show(score.Public, item)
	w.Put(w.Ada, item, "seen")
	slow := (&between{filetags.Store{DB: db}, func() { w.Access(music, score.Public) }, nil}).rules(w)
	private := score.Private
	_, err := w.Music.Telling(slow).Update(w.As(w.Ada), score.Update{Score: music.Ref, Access: &private})
	require.NoError(t, err)
	assert.Equal(t, []string{"seen"}, w.Found(w.Bob, "seen", ""))
	assert.True(t, w.Tagged(w.Bob, "Suite", ""))
	w.Settled()
}

// What many others have put on an item for themselves costs those who list its tags nothing.
func TestPrivateSetsCostOthersNothing(t *testing.T) {
	t.Parallel()
	w, _, inj := openTagWorld(t)
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	music := w.Show(score.Public, item)
	w.Put(w.Ada, item, "hers")
	ask := func() (map[string]int, []string) {
		scores, errs := w.Music.ListByID(w.As(w.Bob), []score.Ref{music.Ref})
		require.NoError(t, noneOf(errs))
		inj.Recorder().Reset()
		lists, errs := w.Rules.ListTags(w.As(w.Bob), []filetag.TagsRequest{{Item: scores[0].Item(scores[0].Pages[0]), Window: page.Window{Limit: 1}}})
		require.NoError(t, errs[0])
		assert.False(t, lists[0].More)
		var shown []string
		for _, one := range lists[0].Items {
			shown = append(shown, one.Value)
		}
		return inj.Recorder().Operations(), shown
	}
	calls, shown := ask()
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, calls)
	for range 20 {
		w.Put(viewer.UserID(uuid.NewString()), item, "!secret")
	}
	after, still := ask()
	assert.Equal(t, calls, after)
	assert.Equal(t, shown, still)
}

// A page of items from the end costs no read for the rows that are left out because of an earlier tag of the same author.
func TestCallsOfTaggedItemsWithManyTags(t *testing.T) {
	t.Parallel()
	w, _, inj := openTagWorld(t)
	items := w.NewItems(w.Ada, "", 30)
	w.Show(score.Public, items...)
	for i, item := range items {
		w.Put(w.Ada, item, tagsNamed(fmt.Sprintf("s%02d", i%3), 8)...)
	}
	inj.Recorder().Reset()
	s, err := w.Rules.SearchItems(w.As(w.Bob), filetag.Search{Begin: "s"}, page.Window{Limit: 4, Backward: true})
	require.NoError(t, err)
	assert.True(t, s.More)
	assert.LessOrEqual(t, inj.Recorder().Operations()["Query"], 5+5*5, "of each round one, and one for each of the few rows that are looked at")
	seen := map[score.ItemRef]bool{}
	for window := (page.Window{Limit: 4, Backward: true}); ; {
		s, err := w.Rules.SearchItems(w.As(w.Bob), filetag.Search{Begin: "s"}, window)
		require.NoError(t, err)
		for _, one := range s.Items {
			assert.False(t, seen[one.Item.ItemRef])
			seen[one.Item.ItemRef] = true
		}
		if !s.More {
			break
		}
		if window.From = s.Until; s.Until == "" {
			window.From = s.Positions[0]
		}
	}
	assert.Len(t, seen, 30)
}

// Where very many rows do not count a page is short, and says where to go on.
func TestShortPagesOfSearches(t *testing.T) {
	t.Parallel()
	w, _, inj := openTagWorld(t)
	items := w.NewItems(w.Ada, "", 63)
	w.Show(score.Public, items...)
	for i, item := range items {
		w.Put(w.Ada, item, tagsNamed(fmt.Sprintf("s%02d", i), filetag.MaxTags)...)
	}
	lag := inj.LagIndexes()
	for _, item := range items[:62] {
		w.Put(w.Ada, item)
	}
	first, err := w.Rules.Search(w.As(w.Bob), filetag.Search{Begin: "s"}, page.Window{Limit: 1})
	require.NoError(t, err)
	assert.Empty(t, first.Items)
	assert.True(t, first.More)
	require.NotEmpty(t, first.Until)
	next, err := w.Rules.Search(w.As(w.Bob), filetag.Search{Begin: "s"}, page.Window{Limit: 1, From: first.Until})
	require.NoError(t, err)
	require.Len(t, next.Items, 1)
	assert.Equal(t, items[62], next.Items[0].Item.ItemRef)
	require.NoError(t, lag.Settle(t.Context()))
}
