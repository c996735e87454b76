package filetagtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
	"github.com/taggie/taggie/internal/viewer"
)

func accessDecides(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "Suite", 2)
	w.Put(w.Ada, items[0], "seen", "!secret")
	music := w.Show(score.Private, items...)
	nothing := func() {
		t.Helper()
		assert.Empty(t, w.Found(w.Bob, "se", ""))
		assert.Empty(t, w.Found(w.Bob, "s", w.Ada))
		assert.Empty(t, w.Counted(w.Bob, "se", ""))
		assert.False(t, w.Tagged(w.Bob, "Suite", ""))
		assert.False(t, w.Tagged(w.Bob, "Suite", w.Ada))
		assert.Equal(t, []string{"secret", "seen"}, w.Found(w.Ada, "se", w.Ada))
	}
	nothing()
	w.Access(music, score.Public)
	assert.Equal(t, []string{"seen"}, w.Found(w.Bob, "se", ""))
	assert.Equal(t, map[string]int{"seen": 1}, w.Counted(w.Bob, "se", ""))
	assert.True(t, w.Tagged(w.Bob, "Suite", ""))
	assert.True(t, w.Tagged(w.Bob, "Suite", w.Ada))
	found := w.Search(w.Bob, "se", "")[0]
	read, errs := w.Files.ItemsByID(w.As(w.Bob), []score.ItemRequest{found.Item})
	require.NoError(t, errs[0])
	assert.Equal(t, items[0], read[0].ItemRef, "what is found can be read")
	w.Access(music, score.Limited)
	nothing()
	assert.Equal(t, []string{"seen"}, w.On(w.Bob, items[0], music), "who has the id of the score sees the public tag")
	_, err := w.Rules.PutTags(w.As(w.Bob), filetag.PutTags{Item: items[0], Tags: typed("x")})
	assert.True(t, fault.Is(err, fault.NotFound), "and puts none")
	w.Access(music, score.Public)
	w.Access(music, score.Private)
	nothing()
}

func pageComesAndGoes(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 2)
	music := w.Show(score.Public, items[0])
	for _, item := range items {
		w.Put(w.Ada, item, "page")
	}
	assert.Len(t, w.Found(w.Bob, "page", ""), 1)
	_, err := w.Music.Update(w.As(w.Ada), score.Update{Score: music.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: scoretest.Pages(items[1])}}}})
	require.NoError(t, err)
	assert.Len(t, w.Found(w.Bob, "page", ""), 2)
	_, err = w.Music.Update(w.As(w.Ada), score.Update{Score: music.Ref, Pages: []score.PagesChange{{Remove: &score.Range{At: 1, Count: 1}}}})
	require.NoError(t, err)
	assert.Equal(t, items[1], w.Search(w.Bob, "page", "")[0].Item.ItemRef)
	assert.Equal(t, map[string]int{"page": 1}, w.Counted(w.Bob, "page", ""))
	_, err = w.Music.CreateSnapshot(w.As(w.Ada), score.CreateSnapshot{Score: music.Ref, Name: "n"})
	require.NoError(t, err)
	_, err = w.Music.Update(w.As(w.Ada), score.Update{Score: music.Ref, Pages: []score.PagesChange{{Remove: &score.Range{At: 0, Count: 1}}}})
	require.NoError(t, err)
	assert.Empty(t, w.Found(w.Bob, "page", ""), "a page of a snapshot is not shown to everybody")
	require.NoError(t, w.Music.Delete(w.As(w.Ada), score.Delete{Score: music.Ref}))
	assert.Len(t, w.Found(w.Ada, "page", w.Ada), 2)
}

func shownByAnother(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	one, two := w.Show(score.Public, item), w.Show(score.Public, item)
	w.Put(w.Ada, item, "shown")
	w.Put(w.Bob, item, "shown", "!seen")
	assert.Len(t, w.Found(w.Bob, "shown", ""), 2)
	for _, gone := range []score.Score{one, two} {
		assert.Len(t, w.Found(w.Bob, "shown", ""), 2)
		assert.Equal(t, map[string]int{"shown": 2}, w.Counted(w.Bob, "sh", ""))
		require.NoError(t, w.Music.Delete(w.As(w.Ada), score.Delete{Score: gone.Ref}))
	}
	assert.Empty(t, w.Found(w.Bob, "shown", ""))
	assert.Empty(t, w.Found(w.Bob, "s", w.Bob), "he may not read it any more")
	assert.False(t, w.Tagged(w.Bob, "Suite", w.Bob))
	w.Show(score.Public, item)
	assert.Equal(t, []string{"seen", "shown"}, w.Found(w.Bob, "s", w.Bob), "and now he may again")
	assert.True(t, w.Tagged(w.Bob, "Suite", w.Bob))
}

func taggedSets(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "Suite", 2)
	his := w.NewItems(w.Bob, "Suite", 1)[0]
	w.Show(score.Public, items[0])
	tagged := func(user, author score.UserID) bool { return w.Tagged(user, "Suite", author) }
	assert.False(t, tagged(w.Ada, ""))
	w.Put(w.Bob, his, "his")
	assert.False(t, tagged(w.Bob, ""), "names of sets are their owners'")
	w.Put(w.Ada, items[0], "!closed")
	assert.True(t, tagged(w.Ada, ""))
	assert.True(t, tagged(w.Ada, w.Ada))
	assert.False(t, tagged(w.Bob, ""))
	assert.False(t, tagged(w.Bob, w.Ada))
	w.Put(w.Bob, items[0], "open")
	assert.True(t, tagged(w.Ada, w.Bob))
	assert.True(t, tagged(w.Bob, ""))
	assert.True(t, w.Tagged("", "Suite", ""))
	_, err := w.Files.PutSetName(w.As(w.Ada), score.PutSetName{Item: items[0], SetName: "Partita"})
	require.NoError(t, err)
	assert.False(t, tagged(w.Ada, ""), "the item is in another set")
	assert.True(t, w.Tagged(w.Bob, "Partita", ""))
	assert.Equal(t, "Partita", w.Search(w.Bob, "op", "")[0].SetName)
	w.Put(w.Bob, items[0])
	assert.False(t, w.Tagged(w.Bob, "Partita", ""))
	assert.True(t, w.Tagged(w.Ada, "Partita", w.Ada))
}

// Each of the tags is replaced, all of them public: more than one transaction has room for with the counts.
func replacedAll(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	w.Show(score.Public, item)
	sets := [2][]string{}
	for i := range filetag.MaxTags {
		sets[0], sets[1] = append(sets[0], fmt.Sprintf("a%02d", i)), append(sets[1], fmt.Sprintf("b%02d", i))
	}
	for round := range 3 {
		w.Put(w.Ada, item, sets[round%2]...)
		assert.Equal(t, sets[round%2], w.On(w.Ada, item))
		assert.Equal(t, sets[round%2], append(w.Found(w.Bob, "a", ""), w.Found(w.Bob, "b", "")...))
		assert.Len(t, w.Counted(w.Bob, sets[round%2][0][:1], ""), filetag.MaxTags)
		assert.Empty(t, w.Counted(w.Bob, sets[(round+1)%2][0][:1], ""))
		if w.Check != nil {
			w.Check(t)
		}
	}
	w.Put(w.Ada, item)
	assert.Empty(t, w.Counted(w.Ada, "a", w.Ada))
}

func writtenTogether(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "Suite", 3)
	music := w.Show(score.Public, items...)
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			author := []score.UserID{w.Ada, w.Bob}[i%2]
			for range 3 {
				_, err := w.Rules.PutTags(w.As(author), filetag.PutTags{Item: items[i%3], Tags: typed("common", fmt.Sprint("tag ", i), "!closed")})
				if err != nil {
					assert.True(t, fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound), "%v", err)
				}
			}
		})
	}
	group.Go(func() {
		for _, access := range []score.Access{score.Private, score.Public, score.Limited, score.Public} {
			_, err := w.Music.Update(w.As(w.Ada), score.Update{Score: music.Ref, Access: &access})
			assert.NoError(t, err)
		}
	})
	group.Wait()
	w.Settled()
	for _, item := range items {
		on := w.On(w.Ada, item)
		assert.NotEmpty(t, on)
	}
	assert.LessOrEqual(t, w.Counted(w.Bob, "common", "")["common"], 6)
	assert.Equal(t, len(w.Found(w.Bob, "common", "")), w.Counted(w.Bob, "common", "")["common"])
}

// Shards are raised twice while somebody searches all the time, and somebody else writes with a server that has not heard of it.
func raisedShards(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 30)
	w.Show(score.Public, items...)
	want := []string{}
	for i, item := range items {
		w.Put(w.Ada, item, fmt.Sprintf("same %02d", i))
		want = append(want, fmt.Sprintf("same %02d", i))
	}
	late := w.Server()
	_, err := late.PutTags(w.As(w.Ada), filetag.PutTags{Item: items[0], Tags: typed(want[0])})
	require.NoError(t, err)
	for _, shards := range []int{4, 16} {
		l, err := w.Rules.Raise(t.Context(), shards)
		require.NoError(t, err)
		assert.Equal(t, shards, l.Shards)
		again, err := w.Server().Raise(t.Context(), 64)
		require.NoError(t, err)
		assert.Equal(t, l, again, "one after the other")
		ctx, done := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			for ctx.Err() == nil {
				assert.Equal(t, want, w.Found(w.Bob, "same", ""))
			}
		})
		for step := range 4 {
			_, err := late.PutTags(w.As(w.Ada), filetag.PutTags{Item: items[step], Tags: typed(want[step], fmt.Sprint("new", shards, step))})
			require.NoError(t, err)
			w.Clock.Advance(filetag.Settle)
			w.Work()
		}
		done()
		group.Wait()
		now, err := w.Tags.FindLayout(t.Context())
		require.NoError(t, err)
		assert.True(t, now.Settled())
		assert.Equal(t, shards, now.Shards)
		for _, limit := range []int{1, 7, 100} {
			assert.Equal(t, want, w.paged(t, limit, limit == 7, func(pages page.Window) (page.Slice[filetag.ItemTag], error) {
				return w.Rules.Search(w.As(w.Bob), filetag.Search{Begin: "same"}, pages)
			}))
		}
		assert.Len(t, w.Counted(w.Bob, "same", ""), 30)
		assert.Len(t, w.Found(w.Bob, fmt.Sprint("new", shards), ""), 4)
		if w.Check != nil {
			w.Check(t)
		}
	}
	l, err := w.Rules.Raise(t.Context(), 2)
	require.NoError(t, err)
	assert.Equal(t, 16, l.Shards, "there are never fewer")
}

func deletedItem(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	w.Put(w.Ada, item, "gone", "!closed")
	require.NoError(t, w.Files.Delete(w.As(w.Ada), score.DeleteItem{Item: item}))
	assert.Empty(t, w.Found(w.Ada, "gone", w.Ada))
	assert.Empty(t, w.Counted(w.Ada, "gone", w.Ada))
	assert.False(t, w.Tagged(w.Ada, "Suite", w.Ada))
	_, err := w.Rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: item, Tags: typed("x")})
	assert.True(t, fault.Is(err, fault.NotFound))
}

// What others have put on an item stays when nobody else may read it, for its owner to see and for them to take off, and goes with the
// item.
func othersTags(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	music := w.Show(score.Public, item)
	w.Put(w.Bob, item, "his", "!hidden")
	require.NoError(t, w.Music.Delete(w.As(w.Ada), score.Delete{Score: music.Ref}))
	assert.Equal(t, []string{"his"}, w.On(w.Ada, item))
	assert.False(t, w.Tagged(w.Ada, "Suite", w.Bob))
	_, err := w.Rules.PutTags(w.As(w.Bob), filetag.PutTags{Item: item, Tags: typed("his", "more")})
	assert.True(t, fault.Is(err, fault.NotFound), "he may not read it any more")
	left, err := w.Rules.RemoveTags(w.As(w.Bob), filetag.RemoveTags{Item: item, Tags: []string{"his"}})
	require.NoError(t, err)
	assert.False(t, left.Readable)
	assert.Equal(t, []string{"hidden"}, values(left.Tags), "his own he always sees")
	assert.Empty(t, w.On(w.Ada, item))
	sets, errs := w.Tags.ListSets(t.Context(), []filetag.SetsRequest{{Item: item}})
	require.Nil(t, errs)
	assert.Len(t, sets[0][0].Tags, 1, "what he did not take off")
	require.NoError(t, w.Files.Delete(w.As(w.Ada), score.DeleteItem{Item: item}))
	sets, errs = w.Tags.ListSets(t.Context(), []filetag.SetsRequest{{Item: item}})
	require.Nil(t, errs)
	assert.Empty(t, sets[0])
}

// The owner of an item takes off what others have put on it for everybody to see, and nobody else does.
func removedByOwner(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "", 1)[0]
	music := w.Show(score.Public, item)
	w.Put(w.Bob, item, "his", "other", "!hidden")
	w.Put(w.Ada, item, "hers")
	remove := func(user, author viewer.UserID, tags ...string) (filetag.Tagged, error) {
		return w.Rules.RemoveTags(w.As(user), filetag.RemoveTags{Item: item, Author: author, Tags: tags})
	}
	left, err := remove(w.Ada, w.Bob, "HIS", "hidden", "hers")
	require.NoError(t, err)
	assert.Equal(t, []string{"other"}, values(left.Tags))
	assert.ElementsMatch(t, []string{"hers", "hidden", "other"}, w.On(w.Bob, item, music))
	assert.Empty(t, w.Counted("", "hi", ""))
	_, err = remove(w.Bob, w.Ada, "hers")
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	forged := item // ids are not signed: who claims the item for his own has no item
	forged.Owner = w.Bob
	for _, author := range []viewer.UserID{w.Ada, w.Bob} {
		_, err = w.Rules.RemoveTags(w.As(w.Bob), filetag.RemoveTags{Item: forged, Author: author, Tags: []string{"hers", "other"}})
		assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
		_, err = w.Rules.RemoveTags(w.As(w.Bob), filetag.RemoveTags{Item: forged, Author: author, Tags: []string{"none"}})
		assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	}
	_, err = w.Rules.PutTags(w.As(w.Bob), filetag.PutTags{Item: forged, Tags: typed("new")})
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = remove("", w.Bob, "other")
	assert.True(t, fault.Is(err, fault.Unauthenticated), "%v", err)
	w.Access(music, score.Private)
	left, err = remove(w.Ada, w.Bob, "other")
	require.NoError(t, err)
	assert.Empty(t, left.Tags)
	assert.Equal(t, []string{"hers"}, w.On(w.Ada, item))
}

// Who is not the owner does not know to which score an item was uploaded, and tags it all the same.
func taggedUpload(t *testing.T, w *World) {
	music := w.Show(score.Public)
	item := score.ItemRef{Owner: w.Ada, Score: music.ID, ID: score.ItemID(uuid.NewString())}
	require.NoError(t, w.PutItem(t.Context(), item, "Suite"))
	music, err := w.Music.Update(w.As(w.Ada), score.Update{Score: music.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: scoretest.Pages(item)}}}})
	require.NoError(t, err)
	told := item
	told.Score = score.Library
	_, err = w.Rules.PutTags(w.As(w.Ada), filetag.PutTags{Item: told, Tags: typed("x")})
	assert.True(t, fault.Is(err, fault.NotFound), "the owner knows where it is")
	for range 2 { // the first time there is no set, the second there is
		now, err := w.Rules.PutTags(w.As(w.Bob), filetag.PutTags{Item: told, Tags: typed("his", "!hidden")})
		require.NoError(t, err)
		assert.True(t, now.Readable)
		assert.Equal(t, item, now.Item.ItemRef)
	}
	assert.Equal(t, []string{"his"}, w.Found("", "hi", ""))
	assert.Equal(t, []string{"his"}, w.On(w.Ada, item))
	w.Put(w.Ada, item, "hers")
	assert.ElementsMatch(t, []string{"hers", "hidden", "his"}, w.On(w.Bob, item, music))
	left, err := w.Rules.RemoveTags(w.As(w.Bob), filetag.RemoveTags{Item: told, Tags: []string{"his", "hidden"}})
	require.NoError(t, err)
	assert.True(t, left.Readable)
	assert.Empty(t, left.Tags)
}

// A change that changes nothing tells as much as one that does, and as one that is repeated.
func unchangedTags(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "", 1)[0]
	w.Show(score.Public, item)
	for _, in := range []filetag.RemoveTags{{Item: item, Tags: []string{"none"}}, {Item: item, Tags: []string{"none"}, IdempotencyKey: storetest.Ptr("key")}} {
		for range 2 {
			now, err := w.Rules.RemoveTags(w.As(w.Bob), in)
			require.NoError(t, err)
			assert.True(t, now.Readable)
			assert.Equal(t, item, now.Item.ItemRef)
		}
	}
	_, err := w.Rules.RemoveTags(w.As(w.Bob), filetag.RemoveTags{Item: item})
	assert.True(t, fault.Is(err, fault.Invalid))
}

// What was told is not told again by a task.
func toldOnce(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, "", 3)
	music := w.Show(score.Public, items...)
	w.Put(w.Ada, items[0], "shown")
	w.Access(music, score.Private)
	due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now().Add(24*time.Hour), 10)
	require.NoError(t, err)
	for _, left := range due {
		assert.NotEqual(t, score.SettleIntent, left.Kind, "%+v", left)
	}
}

// An item is shown by a score after many others that do not show it.
func usedByMany(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, "", 1)[0]
	for range 25 {
		w.Show(score.Private, item)
	}
	var shown []score.Score
	for range 3 {
		shown = append(shown, w.Show(score.Public, item))
	}
	w.Put(w.Bob, item, "his")
	for _, s := range shown {
		assert.Len(t, w.Found("", "his", ""), 1)
		w.Access(s, score.Limited)
	}
	assert.Empty(t, w.Found("", "his", ""))
}
