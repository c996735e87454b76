package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// The sizes between which searches of tags are compared, and what they are made of.
const (
	fewTags      = 2_000
	tagsOnItem   = 10
	pagesOfScore = 20
	tagWords     = 3_000
	tagSearches  = 1_000 // of each size
	tagFillers   = 8

	spreadAttempts = 20
)

// compareTags measures the same search as one types, of ten results, over few and over many tags in alternation, with one shard and with
// sixteen. Each size has an engine of its own; the shards are raised in the background task, as in a server.
func compareTags(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "taggie-bench-tags-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out := os.Stdout
	_, _ = fmt.Fprintf(out, "\nTags: a search of 10 results, %d of each, one at a time\n%10s %8s %10s %10s %10s %8s\n", tagSearches, "tags", "shards", "p50 ms", "p99 ms", "found", "calls")
	var worlds []*tagWorld
	for _, tags := range []int{fewTags, o.tags} {
		engine, err := imports{options: o, dir: dir}.startEngine(ctx, nil)
		if err != nil {
			return err
		}
		defer engine.stop()
		w := newTagWorld(engine, tags)
		if err := w.fill(ctx, out); err != nil {
			return fmt.Errorf("put %d tags: %w", tags, err)
		}
		worlds = append(worlds, w)
	}
	for _, shards := range []int{1, 16} {
		for _, w := range worlds {
			if err := w.raise(ctx, shards, out); err != nil {
				return fmt.Errorf("raise shards to %d: %w", shards, err)
			}
		}
		if err := measureTags(ctx, worlds, shards, out); err != nil {
			return err
		}
	}
	return nil
}

// tagWorld is an engine with tags on the pages of public scores.
type tagWorld struct {
	engine *importEngine
	tags   int
	rules  *filetag.Service
	owner  viewer.UserID
	random *rand.Rand
	words  []string

	mu    sync.Mutex
	ahead time.Duration // of the clock
}

func newTagWorld(engine *importEngine, tags int) *tagWorld {
	w := &tagWorld{engine: engine, tags: tags, owner: viewer.UserID(uuid.NewString()), random: rand.New(rand.NewPCG(1, 2))}
	items, scores := scores.Items{DB: engine.db}, scores.Store{DB: engine.db}
	w.rules = filetag.NewService(filetag.Options{
		Store: filetags.Store{DB: engine.db}, Items: score.NewItems(score.ItemsOptions{Store: items, Scores: scores, Now: w.now, NewID: uuid.NewString}),
		Scores: score.NewService(score.Options{Store: scores, Now: w.now, NewID: uuid.NewString}), Kept: filetag.Kept{Items: items, Scores: scores}, Now: w.now, NewID: uuid.NewString,
	})
	for range tagWords {
		word := make([]byte, 4+w.random.IntN(6))
		for i := range word {
			word[i] = "aeiounrstl"[w.random.IntN(10)]
		}
		w.words = append(w.words, string(word))
	}
	return w
}

func (w *tagWorld) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *tagWorld) advance(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += by
}

func (w *tagWorld) as(id viewer.UserID) func(context.Context) context.Context {
	return func(ctx context.Context) context.Context {
		return viewer.With(ctx, viewer.Viewer{Identity: viewer.Identity{Issuer: "bench", Subject: string(id)}, UserID: id})
	}
}

// fill makes items, public scores of which they are pages, and tags on them.
func (w *tagWorld) fill(ctx context.Context, out io.Writer) error {
	began := time.Now()
	ctx = w.as(w.owner)(ctx)
	scores := score.NewService(score.Options{Store: scores.Store{DB: w.engine.db}, Now: w.now, NewID: uuid.NewString})
	var group errgroup.Group
	group.SetLimit(tagFillers)
	for range w.tags / tagsOnItem / pagesOfScore {
		group.Go(func() error {
			in := score.Create{Title: "t", Access: score.Public}
			for range pagesOfScore {
				ref, err := w.item(ctx)
				if err != nil {
					return err
				}
				in.Pages = append(in.Pages, score.NewPage{Item: ref, Object: "page.png", Label: "1"})
			}
			if _, err := scores.Create(ctx, in); err != nil {
				return err
			}
			for _, p := range in.Pages {
				if _, err := w.rules.PutTags(ctx, filetag.PutTags{Item: p.Item, Tags: w.some(tagsOnItem)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	_, _ = fmt.Fprintf(out, "%10d tags were put in %.0f s\n", w.tags, time.Since(began).Seconds())
	return err
}

// item makes an item without bytes.
func (w *tagWorld) item(ctx context.Context) (score.ItemRef, error) {
	ref := score.ItemRef{Owner: w.owner, Score: score.Library, ID: score.ItemID(uuid.NewString())}
	store, at := scores.Items{DB: w.engine.db}, w.now()
	u := score.Upload{ItemRef: ref, Name: "n", Type: "text/plain", Size: 1, State: score.UploadOpen, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	i := score.Item{ItemRef: ref, Name: "n", Type: u.Type, Size: 1, Total: 1, Object: "o", CreatedAt: at}
	return ref, errors.Join(store.OpenUpload(ctx, u, 1<<40, nil, idempotency.Key{}), store.CompleteUpload(ctx, u, i, 1<<40, idempotency.Key{}))
}

func (w *tagWorld) word() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.words[w.random.IntN(len(w.words))]
}

// some returns n different tags.
func (w *tagWorld) some(n int) []filetag.NewTag {
	seen := map[string]bool{}
	var tags []filetag.NewTag
	for len(tags) < n {
		if v := w.word(); !seen[v] {
			seen[v], tags = true, append(tags, filetag.NewTag{Value: v, Public: true})
		}
	}
	return tags
}

// raise spreads the tags over so many shards, as the task does; a clock that is advanced takes the place of waiting.
func (w *tagWorld) raise(ctx context.Context, shards int, out io.Writer) error {
	l, err := w.rules.Raise(ctx, shards)
	if err != nil || l.Settled() {
		return err
	}
	began := time.Now()
	for due, failed := w.now(), 0; !due.IsZero() || err != nil; {
		w.advance(filetag.Settle)
		if due, err = w.rules.Spread(ctx, task.Task{}); err != nil { // a task goes on from where it was, after a while
			if failed++; failed == spreadAttempts {
				return err
			}
		}
	}
	_, _ = fmt.Fprintf(out, "%10d tags were spread over %d shards in %.0f s\n", w.tags, shards, time.Since(began).Seconds())
	return nil
}

// measureTags searches in all worlds in turn.
func measureTags(ctx context.Context, worlds []*tagWorld, shards int, out io.Writer) error {
	took, found := make([][]time.Duration, len(worlds)), make([]int, len(worlds))
	reader := viewer.UserID(uuid.NewString())
	for _, w := range worlds {
		w.engine.calls.reset()
	}
	for range tagSearches {
		word := worlds[0].word()
		for i, w := range worlds {
			began := time.Now()
			s, err := w.rules.Search(w.as(reader)(ctx), filetag.Search{Begin: word[:2]}, page.Window{Limit: 10})
			if err != nil {
				return err
			}
			took[i], found[i] = append(took[i], time.Since(began)), found[i]+len(s.Items)
		}
	}
	for i, w := range worlds {
		calls := int64(0)
		for _, n := range w.engine.calls.all() {
			calls += n
		}
		slices.Sort(took[i])
		_, _ = fmt.Fprintf(out, "%10d %8d %10.2f %10.2f %10.1f %8.1f\n", w.tags, shards, percentile(took[i], 50), percentile(took[i], 99),
			float64(found[i])/tagSearches, float64(calls)/tagSearches)
	}
	for _, p := range []int{50, 99} {
		_, _ = fmt.Fprintf(out, "%10s p%d of %d tags is %.2f times that of %d\n", "", p, worlds[1].tags, percentile(took[1], p)/percentile(took[0], p), worlds[0].tags)
	}
	return nil
}
