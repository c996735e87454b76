package labelling_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
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

func TestAnEmptyRedisIsNoticed(t *testing.T) {
	w := newWorld(t, 5, queue.Options{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, w.rebuild.Run(ctx)) })
	defer running.Wait()
	defer stop()
	for name, notice := range map[string]func(){
		"by the job": func() { assert.NoError(t, w.populate.Run(t.Context())) },
		"by a user": func() {
			_, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
			assert.ErrorIs(t, err, labelling.ErrNotReady)
		},
		"by a reader": func() {
			_, err := w.service.State(w.as(ada), w.shown(ada))
			assert.ErrorIs(t, err, labelling.ErrNotReady)
		},
	} {
		w.flush()
		notice()
		assert.Eventually(t, func() bool {
			_, err := w.queue.State(t.Context(), w.project)
			return err == nil
		}, 5*time.Second, time.Millisecond, name)
	}
}

// begins writes down of which projects a rebuild was begun.
type begins struct {
	labelling.Coordinator
	mu sync.Mutex
	of []project.ID
}

func (b *begins) Begin(ctx context.Context, p project.ID, token string, always bool) (bool, error) {
	b.mu.Lock()
	b.of = append(b.of, p)
	b.mu.Unlock()
	return b.Coordinator.Begin(ctx, p, token, always)
}

// What is told late of a project that is erased must not leave anything in Redis.
func TestNoQueueIsMadeOfWhatIsErased(t *testing.T) {
	w := newWorld(t, 5, queue.Options{})
	for _, state := range []project.DeletionState{"gone", project.Deleting, project.Deleted, project.Reinstating, project.Erasing} {
		t.Run(string(state), func(t *testing.T) {
			id := project.ID("project " + state)
			lasts := state != "gone" && state != project.Erasing
			if state != "gone" {
				w.truth.projects[id] = project.Project{ID: id, Version: 1, Deletion: project.Deletion{State: state}}
			}
			for _, always := range []bool{false, true} {
				seen := &begins{Coordinator: w.queue}
				w.options.Coordinator = seen
				w.serve()
				_, err := w.rebuild.Rebuild(t.Context(), id, always)
				assert.Equal(t, !lasts, fault.Is(err, fault.NotFound), "%v", err)
				assert.Equal(t, lasts, len(seen.of) == 1)
			}
			body, err := json.Marshal(labelling.Transition{Project: id, Item: "item", Version: 2})
			require.NoError(t, err)
			w.flush()
			err = w.consumer.Handle(t.Context(), labelling.Message{Body: body})
			if lasts {
				require.ErrorIs(t, err, labelling.ErrNotReady, "it is followed later")
				return
			}
			require.NoError(t, err, "nobody will follow it")
			assert.Empty(t, w.keys(id))
		})
	}
}

// A project may be erased while its queue is being made.
func TestARebuildGivesWayToAnErasure(t *testing.T) {
	w := newWorld(t, 5, queue.Options{})
	w.flush()
	w.truth.setBefore(func(what string) error {
		if what == "ListTeams" {
			w.truth.mu.Lock()
			defer w.truth.mu.Unlock()
			p := w.truth.projects[w.project]
			p.Deletion.State = project.Erasing
			w.truth.projects[w.project] = p
		}
		return nil
	})
	_, err := w.rebuild.Rebuild(t.Context(), w.project, false)
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	assert.Empty(t, w.keys(w.project))
}

// keys are those of a project in Redis.
func (w *world) keys(p project.ID) []string {
	w.t.Helper()
	all, err := w.client.Keys(w.t.Context(), "*"+string(p)+"*").Result()
	require.NoError(w.t, err)
	return all
}

func TestAProjectThatIsCreatedIsReadyAtOnce(t *testing.T) {
	w := newWorld(t, 0, queue.Options{})
	w.flush()
	w.service.Created(t.Context(), w.shown(boss))
	w.exact()
	assert.Equal(t, 0, w.truth.calls["ScanItems"]-labelling.Shards, "nothing was scanned for it")
}

func TestRebuildsGiveWayToOneAnother(t *testing.T) {
	w := newWorld(t, 30, queue.Options{})
	w.flush()
	results := make([]error, 8)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { _, results[i] = w.rebuild.Rebuild(t.Context(), w.project, false) })
	}
	all.Wait()
	ok := 0
	for _, err := range results {
		if err == nil {
			ok++
		} else {
			require.ErrorIs(t, err, labelling.ErrRebuilding)
		}
	}
	assert.Positive(t, ok)
	w.exact()

	broken := true
	w.truth.setBefore(func(what string) error {
		if broken && what == "ListTeams" {
			broken = false
			return errLost
		}
		return nil
	})
	_, err := w.rebuild.Rebuild(t.Context(), w.project, true)
	require.ErrorIs(t, err, errLost)
	_, err = w.queue.State(t.Context(), w.project)
	require.ErrorIs(t, err, labelling.ErrNotReady)
	_, err = w.rebuild.Rebuild(t.Context(), w.project, false)
	require.NoError(t, err)
	w.exact()
}

// TestRebuildIsExact rebuilds while everything goes on that may go on then: in each pause of the scans something happens.
func TestRebuildIsExact(t *testing.T) {
	for seed := range 30 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 60, queue.Options{})
			a := newActor(w, uint64(seed))
			for range 60 {
				a.act()
			}
			if seed%2 == 0 {
				w.later(10 * time.Minute) // what happened so far is not recent
			}
			if seed%3 == 0 {
				w.flush()
			}
			if seed%5 != 0 {
				r := rand.New(rand.NewPCG(uint64(seed), 2))
				w.truth.lags(func(string) int { return r.IntN(3) })
			}
			acting := false
			n := 0
			w.truth.setBefore(func(what string) error {
				switch what {
				case "ScanItems", "ScanEfforts", "ItemWithEfforts", "ListOutbox", "ListTeams":
				default:
					return nil
				}
				w.clock.Lock() // the hook is called by several at a time
				busy := acting
				acting = true
				w.clock.Unlock()
				if busy {
					return nil
				}
				if n++; n%2 == 0 {
					a.act()
				}
				w.clock.Lock()
				acting = false
				w.clock.Unlock()
				return nil
			})
			done, err := w.rebuild.Rebuild(t.Context(), w.project, true)
			require.NoError(t, err)
			require.True(t, done)
			w.truth.setBefore(nil)
			w.truth.lags(nil)
			assert.Greater(t, n, 3, "something happened")
			for range 20 {
				a.act()
			}
			w.relayed()
			w.exact()
		})
	}
}

// TestRebuildSurvivesAnIndexThatLagsLong has one index show what another does not, longer than a rebuild waits.
func TestRebuildSurvivesAnIndexThatLagsLong(t *testing.T) {
	for name, show := range map[string]map[string]int{
		"the effort is missing":  {"items": 2, "efforts": 0},
		"the item is as it was":  {"items": 1, "efforts": 2},
		"the item is not there":  {"items": 0, "efforts": 2},
		"everything is as it is": {"items": 2, "efforts": 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 5, queue.Options{})
			item := w.claim(ada, 1)[0]
			w.truth.lags(func(what string) int { return show[what] })
			w.finish(item)
			w.deliver() // and the outbox forgets it
			w.flush()
			w.rebuilt()
			w.exact()
		})
	}
}

func TestFlushedAtAnyTime(t *testing.T) {
	for seed := range 6 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 40, queue.Options{})
			a := newActor(w, 1000+uint64(seed))
			for range 200 {
				a.act()
				switch a.rand.IntN(20) {
				case 0:
					w.flush()
				case 1:
					w.queue.mu.Lock()
					w.queue.mail = nil
					w.queue.mu.Unlock()
				case 2, 3, 4:
					a.handle()
				}
				if _, err := w.queue.State(t.Context(), w.project); err != nil && a.rand.IntN(3) == 0 {
					w.rebuilt()
				}
			}
			if _, err := w.queue.State(t.Context(), w.project); err != nil {
				w.rebuilt()
			}
			w.relayed()
			at := w.now().Add(time.Minute)
			require.NoError(t, labelling.NewReaper(w.options, w.rebuild).Reap(t.Context(), w.project, at))
			w.relayed()
			w.exact()
		})
	}
}

func TestARebuildTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 30, queue.Options{})
	ask := func(u project.UserID) *labelling.Progress {
		progress, err := w.service.Rebuilding(t.Context(), w.shown(u))
		require.NoError(t, err)
		return progress
	}
	require.Nil(t, ask(ada))
	for _, redis := range []func(){func() {}, w.flush} { // knows how many there are, or has lost all
		redis()
		told := false
		w.truth.setBefore(func(what string) error {
			if what == "ListOutbox" && !told { // all items were read
				told = true
				require.Eventually(t, func() bool { p := ask(ada); return p != nil && p.ItemsRead == 30 && p.ItemsTotal != nil }, 20*time.Second, 5*time.Millisecond)
				assert.Equal(t, new(30), ask(ada).ItemsTotal)
			}
			return nil
		})
		_, err := w.rebuild.Rebuild(t.Context(), w.project, true)
		require.NoError(t, err)
		assert.True(t, told)
		assert.Nil(t, ask(ada))
	}
	_, err := w.service.Rebuilding(t.Context(), w.shown("nobody"))
	assert.True(t, fault.Is(err, fault.NotFound), err)
}
