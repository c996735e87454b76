package filetags_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/filetagtest"
)

// tagStage is an item that everybody may read, with tags, on which something is done.
type tagStage struct {
	*filetagtest.World
	item  score.ItemRef
	music score.Score
}

func newTagStage(t testing.TB) (tagStage, *faultinject.Injector) {
	w, _, inj := openTagWorld(t)
	s := tagStage{World: w, item: w.NewItems(w.Ada, "Suite", 1)[0]}
	s.music = w.Show(score.Public, s.item)
	w.Put(w.Ada, s.item, tagsNamed("a", filetag.MaxTags)...)
	w.Put(w.Bob, s.item, "his")
	return s, inj
}

func tagsNamed(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%02d", prefix, i)
	}
	return all
}

// shows spells everything that readers see.
func (s tagStage) shows() string {
	found := []string{}
	for _, begin := range []string{"a", "b", "h"} {
		found = append(found, s.Found(s.Bob, begin, "")...)
	}
	on := s.On(s.Ada, s.item) // by author: whose id is the greater one is chance
	slices.Sort(on)
	return fmt.Sprint(on, found, s.Found(s.Ada, "a", s.Ada), s.Found(s.Ada, "b", s.Ada))
}

// tagDeeds is what is killed at each of its calls.
var tagDeeds = map[string]func(tagStage) error{
	"replace all": func(s tagStage) error {
		_, err := s.Rules.PutTags(s.As(s.Ada), filetag.PutTags{Item: s.item, Tags: public(tagsNamed("b", filetag.MaxTags))})
		return err
	},
	"replace some": func(s tagStage) error {
		_, err := s.Rules.PutTags(s.As(s.Ada), filetag.PutTags{Item: s.item, Tags: public(append(tagsNamed("a", 18), "b"))})
		return err
	},
	"remove all": func(s tagStage) error {
		_, err := s.Rules.PutTags(s.As(s.Ada), filetag.PutTags{Item: s.item})
		return err
	},
	"hide": func(s tagStage) error {
		access := score.Private
		_, err := s.Music.Update(s.As(s.Ada), score.Update{Score: s.music.Ref, Access: &access})
		return err
	},
	"put into another set": func(s tagStage) error {
		_, err := s.Files.PutSetName(s.As(s.Ada), score.PutSetName{Item: s.item, SetName: "Partita"})
		return err
	},
}

func public(values []string) []filetag.NewTag {
	tags := make([]filetag.NewTag, len(values))
	for i, v := range values {
		tags[i] = filetag.NewTag{Value: v, Public: true}
	}
	return tags
}

// A server dies before each write of what it does, and before the answer to the last one. Readers see the old tags or the new ones at once,
// and the same when the tasks are done; then all rows are right.
func TestFileTagsKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	for name, do := range tagDeeds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, inj := newTagStage(t)
			before := s.shows()
			inj.Recorder().Reset()
			require.NoError(t, do(s))
			writes := inj.Recorder().Count(faultinject.Writes)
			after := s.shows()
			s.Settled()
			require.Equal(t, after, s.shows())
			for n := range writes + 1 {
				s, inj := newTagStage(t)
				dead := inj.KillAfter(n, faultinject.Writes)
				answer := inj.ResetAfter(faultinject.Nth(writes), faultinject.Writes)
				err := do(s)
				dead.Stop()
				answer.Stop()
				now := s.shows()
				if err == nil {
					require.Equal(t, after, now, "dead after %d of %d writes", n, writes)
				} else {
					require.Contains(t, []string{before, after}, now, "dead after %d of %d writes", n, writes)
				}
				s.Settled()
				require.Equal(t, now, s.shows(), "dead after %d of %d writes", n, writes)
				if t.Failed() {
					t.Fatalf("dead after %d of %d writes", n, writes)
				}
			}
		})
	}
}

// Tags are replaced while twenty read, and every transaction is shown row by row: nobody sees a mixture, or none.
func TestReadingFileTagsWhileTheyAreReplaced(t *testing.T) {
	t.Parallel()
	s, inj := newTagStage(t)
	sets := [][]string{tagsNamed("ta", filetag.MaxTags), tagsNamed("tb", filetag.MaxTags)}
	s.Put(s.Ada, s.item, sets[0]...)
	read := make(chan struct{}, 1) // between two rows somebody reads
	inj.RowByRow(func(ctx context.Context, _, _ int) {
		select {
		case <-read:
		case <-ctx.Done():
		}
	})
	ctx, done := context.WithTimeout(s.As(s.Ada), 5*time.Minute)
	defer done()
	var group sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for range 20 {
		group.Go(func() {
			for ctx.Err() == nil {
				lists, errs := s.Rules.ListTags(ctx, []filetag.TagsRequest{
					{Item: score.AnItem(s.item), Author: s.Ada, Window: dynamotest.WholeList}, {Item: score.AnItem(s.item), Window: dynamotest.WholeList},
				})
				found, err := s.Rules.Search(ctx, filetag.Search{Begin: "t", Author: s.Ada}, dynamotest.WholeList)
				other, err2 := s.Rules.Search(ctx, filetag.Search{Begin: "t"}, dynamotest.WholeList)
				if ctx.Err() != nil || !assert.NoError(t, err) || !assert.NoError(t, err2) || !assert.NoError(t, errs[0]) || !assert.NoError(t, errs[1]) {
					return
				}
				for i, list := range lists {
					var all []string
					for _, one := range list.Items {
						if one.Author == s.Ada {
							all = append(all, one.Value)
						}
					}
					if !assert.True(t, slices.Equal(all, sets[0]) || slices.Equal(all, sets[1]), "list %d shows %v", i, all) {
						return
					}
					mu.Lock()
					seen[all[0]]++
					mu.Unlock()
				}
				for _, list := range []page.Slice[filetag.ItemTag]{found, other} {
					// Rows by which tags are found come and go one by one, but which of them count one set decides.
					for _, one := range list.Items {
						if !assert.Equal(t, list.Items[0].Value[:2], one.Value[:2], "a mixture was found") {
							return
						}
					}
				}
				select { // a read for each row, which others write meanwhile
				case read <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
	}
	for round := range 3 {
		_, err := s.Rules.PutTags(ctx, filetag.PutTags{Item: s.item, Tags: public(sets[(round+1)%2])})
		require.NoError(t, err)
	}
	done()
	group.Wait()
	inj.Clear()
	mu.Lock()
	defer mu.Unlock()
	assert.Len(t, seen, 2, "both sets were seen: %v", seen)
	s.Settled()
}

// The indexes lag. What was taken away, or is on an item that is shown no more, is not found; what is new may be missing.
func TestLaggingIndexesOfFileTags(t *testing.T) {
	t.Parallel()
	s, inj := newTagStage(t)
	lag := inj.LagIndexes()
	s.Put(s.Ada, s.item, "a00", "b00")
	assert.Equal(t, []string{"a00"}, s.Found(s.Bob, "a", ""))
	assert.Empty(t, s.Found(s.Bob, "b", ""), "not yet")
	s.Access(s.music, score.Limited)
	assert.Empty(t, s.Found(s.Bob, "a", ""))
	assert.Empty(t, s.Found(s.Bob, "h", s.Bob))
	assert.Equal(t, []string{"a00"}, s.Found(s.Ada, "a", s.Ada))
	require.NoError(t, lag.Settle(t.Context()))
	assert.Equal(t, []string{"b00"}, s.Found(s.Ada, "b", s.Ada))
}

// A score is shown while the first tag on one of its pages is being written: the tag is found as soon as both are acknowledged.
func TestAFirstTagWhileTheScoreIsShown(t *testing.T) {
	t.Parallel()
	w, db, inj := openTagWorld(t)
	item := w.NewItems(w.Ada, "Suite", 1)[0]
	music := w.Show(score.Private, item)
	gate := inj.Hold(faultinject.First(1), faultinject.Operation("TransactWriteItems"), faultinject.Table(*db.Table(dynamo.TagsTable)))
	var group sync.WaitGroup
	group.Go(func() { w.Put(w.Ada, item, "first", "!own") })
	require.NoError(t, gate.Wait(t.Context(), 1))
	w.Access(music, score.Public)
	gate.Open()
	group.Wait()
	assert.Equal(t, []string{"first"}, w.Found(w.Bob, "f", ""))
	assert.Equal(t, map[string]int{"first": 1}, w.Counted(w.Bob, "f", ""))
	w.Settled()
}

// A page whose tags cannot be hidden does not keep the others from being hidden; the task hides it.
func TestHidingGoesOnPastWhatFails(t *testing.T) {
	t.Parallel()
	w, db, inj := openTagWorld(t)
	items := w.NewItems(w.Ada, "Suite", 12)
	music := w.Show(score.Public, items...)
	for _, item := range items {
		w.Put(w.Ada, item, "page")
		w.Put(w.Bob, item, "his")
	}
	refused := inj.Fail(400, "ValidationException", faultinject.Nth(3), faultinject.Operation("TransactWriteItems"), faultinject.Table(*db.Table(dynamo.TagsTable)))
	w.Access(music, score.Private)
	require.Equal(t, 1, refused.Hits())
	refused.Stop()
	assert.Equal(t, 1, w.Counted(w.Bob, "p", "")["page"]+w.Counted(w.Bob, "h", "")["his"], "of 24")
	w.Settled()
	assert.Empty(t, w.Counted(w.Bob, "p", ""))
	assert.Empty(t, w.Counted(w.Bob, "h", ""))
}
