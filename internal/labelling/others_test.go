package labelling_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// faster has others change every item and the project before each of the next changes; always when n is negative.
func (s *truth) faster(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = func(what string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if what != "MoveItem" && what != "UpdateProject" || n == 0 {
			return nil
		}
		n--
		for id, item := range s.items {
			item.Version++
			item.UpdatedAt = item.UpdatedAt.Add(time.Millisecond)
			s.items[id] = item
		}
		for id, p := range s.projects {
			p.Version++
			s.projects[id] = p
		}
		return nil
	}
}

// Whoever changes an item or a project says nothing of its version: that others are faster is not told, unless it goes on until there
// is no time any more.
func TestOthersMayBeFasterManyTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20, queue.Options{})
	held := func() labelling.Held {
		item := w.claim(ada, 1)[0]
		return labelling.Held{Item: item.ItemID, Token: item.Claim.Token}
	}
	extended, released, finished := held(), held(), w.claim(ada, 1)[0]
	reviewed, undone := w.finish(w.claim(ada, 1)[0]), w.finish(w.claim(ada, 1)[0])
	for name, op := range map[string]func(ctx context.Context) error{
		"pause": func(ctx context.Context) error {
			_, err := w.service.Pause(ctx, labelling.Managed{Project: w.project})
			return err
		},
		"resume": func(ctx context.Context) error {
			_, err := w.service.Resume(ctx, labelling.Managed{Project: w.project})
			return err
		},
		"extend":  func(ctx context.Context) error { _, err := w.service.Extend(ctx, extended); return err },
		"release": func(ctx context.Context) error { _, err := w.service.Release(ctx, released); return err },
		"finish":  func(ctx context.Context) error { _, err := w.service.Finish(ctx, w.finishing(finished)); return err },
		"review": func(ctx context.Context) error {
			_, err := w.service.Review(ctx, labelling.Reviewing{Effort: reviewed.Effort.EffortID, Verdict: project.Correct})
			return err
		},
		"undo": func(ctx context.Context) error {
			_, err := w.service.Undo(ctx, labelling.Undoing{Effort: undone.Effort.EffortID})
			return err
		},
		"claim": func(ctx context.Context) error {
			items, err := w.service.Claim(ctx, labelling.ClaimItems{Project: w.project, Count: 1})
			if err == nil && len(items) != 1 {
				return fmt.Errorf("%d items", len(items))
			}
			return err
		},
	} {
		by := ada
		switch name {
		case "size", "pause", "resume":
			by = boss
		case "review":
			by = rev
		}
		if name == "claim" {
			_, err := w.service.Resume(w.as(boss), labelling.Managed{Project: w.project})
			require.NoError(t, err)
		} else {
			w.truth.faster(-1)
			ctx, cancel := context.WithTimeout(w.as(by), 100*time.Millisecond)
			err := op(ctx)
			cancel()
			assert.True(t, fault.Is(err, fault.Unavailable), "%s, which others never let through: %v", name, err)
		}
		w.truth.faster(9)
		require.NoError(t, op(w.as(by)), name)
		w.truth.faster(0)
	}
}

func TestTwentyManagersPauseOneProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, queue.Options{})
	w.truth.mu.Lock()
	w.truth.before = func(what string) error {
		if what == "UpdateProject" {
			time.Sleep(2 * time.Millisecond) // as long as DynamoDB takes
		}
		return nil
	}
	w.truth.mu.Unlock()
	version := w.shown(boss).Version
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			set := w.service.Pause
			if n%2 == 1 {
				set = w.service.Resume
			}
			for range 19 {
				_, err := set(w.as(boss), labelling.Managed{Project: w.project})
				if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	group.Wait()
	assert.Greater(t, w.shown(boss).Version, version)
}
