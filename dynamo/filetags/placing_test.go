package filetags_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

// placing sees what is placed.
type placing struct {
	filetag.Store
	mu      sync.Mutex
	now     map[score.ItemID]int
	most    int
	expires time.Time // when the last one had to be done
	looked  int       // at how many tags searches looked
}

func (p *placing) Place(ctx context.Context, set filetag.Set, in project.ID, placed []string) error {
	p.mu.Lock()
	p.now[set.Item.ID]++
	p.most = max(p.most, p.now[set.Item.ID])
	p.expires, _ = ctx.Deadline()
	p.mu.Unlock()
	defer func() { p.mu.Lock(); p.now[set.Item.ID]--; p.mu.Unlock() }()
	return p.Store.Place(ctx, set, in, placed)
}

func (p *placing) Search(ctx context.Context, q filetag.Query, w page.Window, keep func(context.Context, []filetag.Entry) ([]filetag.ItemTag, error)) (page.Slice[filetag.ItemTag], error) {
	return p.Store.Search(ctx, q, w, func(ctx context.Context, entries []filetag.Entry) ([]filetag.ItemTag, error) {
		p.looked += len(entries)
		return keep(ctx, entries)
	})
}

func openPlacingWorld(t testing.TB) (*projectWorld, *placing) {
	seen := &placing{now: map[score.ItemID]int{}}
	return openProjectWorld(t, func(s filetag.Store) filetag.Store { seen.Store = s; return seen }), seen
}

// A change of tags waits for few projects, and for half of its time at most. The others follow.
func TestTagsOnFilesOfManyProjectsArePlacedLater(t *testing.T) {
	t.Parallel()
	w, seen := openPlacingWorld(t)
	file := w.file()
	w.imports(file)
	w.works()
	used := func(by int) {
		for range by {
			use := uses.By{Project: project.ID(uuid.NewString())}
			require.NoError(t, w.db.Transact(t.Context(), use.Take(file, false), idempotency.Key{}))
		}
	}
	used(9)
	begun := time.Now()
	require.NoError(t, w.put(w.Ada, file, "few")) // who has ten minutes
	assert.Equal(t, []string{"few"}, w.placed())
	assert.Less(t, seen.expires.Sub(begun), 6*time.Minute)
	used(1)
	require.NoError(t, w.put(w.Ada, file, "many"))
	assert.Equal(t, []string{"few"}, w.placed())
	w.works()
	assert.Equal(t, []string{"many"}, w.placed())
}

// The transactions of one file have the same rows as conditions: at once they would conflict.
func TestTheTagsOfAFileArePlacedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w, seen := openPlacingWorld(t)
	file := w.file()
	w.imports(file)
	w.works()
	const authors = 12
	store := filetags.Store{DB: w.db}
	want := []string{}
	for i := range authors {
		value := fmt.Sprintf("of-%02d", i)
		want = append(want, value)
		key := filetag.Key{Item: file, Author: viewer.UserID(uuid.NewString())}
		_, err := store.PutSet(t.Context(), filetag.Set{Key: key}, filetag.Set{Key: key, Version: uuid.NewString(), Index: filetag.Index{Tags: []filetag.Tag{{Word: tag.Word{Value: value, Key: value}, Public: true}}}},
			filetag.Proof{Item: true, Imported: true}, idempotency.Key{})
		require.NoError(t, err)
	}
	require.NoError(t, w.follow(file))
	assert.Equal(t, want, w.placed())
	assert.Equal(t, 1, seen.most)
}

// A search gives up soon where the project shows none of the files that it finds: each costs reads.
func TestASearchInAProjectLooksAtFewHiddenFiles(t *testing.T) {
	t.Parallel()
	w, seen := openPlacingWorld(t)
	files := make([]score.ItemRef, 40)
	for i := range files {
		files[i] = w.file()
		require.NoError(t, w.put(w.Ada, files[i], "hidden"))
	}
	items := w.imports(files...)
	w.works()
	for _, i := range items {
		w.status(i, project.Removed)
	}
	p, errs := w.shows.ListByID(w.as(w.bob), []project.ID{w.Project.ID})
	require.Nil(t, errs)
	found, err := w.rules.SearchProject(w.as(w.bob), p[0], "h", page.Window{Limit: 3})
	require.NoError(t, err)
	assert.Empty(t, found.Items)
	assert.True(t, found.More)
	assert.Equal(t, 5*(3+1), seen.looked)
}
