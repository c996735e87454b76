package labelling_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/viewer"
)

// TestCutOff cuts a subscriber off 200 times while events go on, on a real queue that loses everything twice.
func TestCutOff(t *testing.T) {
	onEngines(t, 1, queue.Options{}, func(t *testing.T, s *stage) {
		const cuts = 200
		random := rand.New(rand.NewPCG(1, 2))
		going, stop := context.WithCancel(t.Context())
		var noting sync.WaitGroup
		var mu sync.Mutex // between the flushes and what reads the whole history
		history := map[string][]labelling.Cursor{}
		remember := func() { // the caller has the lock, and nothing is noted
			all := []labelling.Cursor{}
			first, err := s.client.XRange(t.Context(), "taggie:project:events:{"+string(s.project)+"}", "-", "+").Result()
			require.NoError(t, err)
			epoch := s.state().Cursor.Epoch
			for _, e := range first {
				all = append(all, labelling.Cursor{Epoch: epoch, ID: e.ID})
			}
			history[epoch] = all
		}
		noting.Go(func() {
			for n := 0; going.Err() == nil; n++ {
				mu.Lock()
				_, err := s.queue.Note(t.Context(), s.project, strconv.Itoa(n), labelling.Event{Cause: labelling.Resized})
				mu.Unlock()
				if err != nil {
					assert.ErrorIs(t, err, labelling.ErrNotReady)
				}
				time.Sleep(time.Millisecond) // not faster than history is long
			}
		})
		got := &received{t: t}
		hubs := []*labelling.Hub[project.Item]{s.hub, s.server(), s.server()}
		steady := s.listen(s.as(grace), labelling.Listen{})
		noting.Go(func() {
			for range steady { //nolint:revive // it only keeps one server's ring full
			}
		})
		for n := range cuts {
			if n == 70 || n == 140 {
				mu.Lock()
				remember()
				s.flush()
				s.rebuilt()
				mu.Unlock()
			}
			ctx, cut := context.WithCancel(s.as(ada))
			c, err := hubs[random.IntN(len(hubs))].Listen(ctx, labelling.Listen{Project: s.project, After: got.after})
			require.NoError(t, err)
			for range random.IntN(12) {
				heard(got, next(t, c))
			}
			cut()
			if random.IntN(2) == 0 { // what was on its way is lost, or not
				for m := range c {
					heard(got, m)
				}
			}
		}
		stop()
		mu.Lock()
		last := s.note(labelling.Event{}).Cursor
		remember()
		mu.Unlock()
		c := s.listen(s.as(ada), labelling.Listen{After: got.after})
		for *got.after != last {
			heard(got, next(t, c))
		}
		got.check(history)
		assert.GreaterOrEqual(t, got.gaps, 2)
		s.hub.Close()
		noting.Wait()
	})
}

// received is what a client knows that is cut off and comes back.
type received struct {
	t     *testing.T
	after *labelling.Cursor
	runs  [][]labelling.Cursor // each begins with the cursor of a snapshot; events follow without a gap
	gap   bool                 // was told; a snapshot has to follow
	gaps  int
}

func heard[T any](r *received, m labelling.Told[T]) {
	r.t.Helper()
	switch {
	case m.Gap:
		r.gap = true
		r.gaps++
	case m.Snapshot != nil:
		require.True(r.t, r.gap || r.after == nil, "a snapshot comes first, or after a gap")
		r.gap = false
		r.after = &m.Snapshot.State.Cursor
		r.runs = append(r.runs, []labelling.Cursor{*r.after})
	default:
		// One who was cut off between a gap and the snapshot may find that nothing was missed.
		r.gap = false
		r.after = &m.Event.Cursor
		run := &r.runs[len(r.runs)-1]
		*run = append(*run, *r.after)
	}
}

// check compares with all that happened, epoch by epoch.
func (r *received) check(history map[string][]labelling.Cursor) {
	r.t.Helper()
	for _, run := range r.runs {
		all := history[run[0].Epoch]
		from := slices.Index(all, run[0])
		require.GreaterOrEqual(r.t, from, 0)
		require.LessOrEqual(r.t, from+len(run), len(all))
		require.Equal(r.t, all[from:from+len(run)], run, "every event once, in order, without a gap that was not told")
	}
}

// TestCutOffInAllWays does the same where it is known that nobody waits for nobody: time goes on only when all wait for it, and the
// test fails when all wait for something else.
func TestCutOffInAllWays(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testCutOff(t, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func testCutOff(t *testing.T, random *rand.Rand) {
	s := newStudio(t)
	defer s.hub.Close()
	history := map[string][]labelling.Cursor{}
	remember := func() { // under the lock of the tape
		if s.tape.epoch != "" {
			history[s.tape.epoch] = nil
			for _, e := range s.tape.events {
				history[s.tape.epoch] = append(history[s.tape.epoch], e.Cursor)
			}
		}
	}
	var world sync.WaitGroup
	going, stop := context.WithCancel(t.Context())
	chance := rand.New(rand.NewPCG(random.Uint64(), 4)) // of the store, under its lock
	s.tape.slow = func(string) {
		s.tape.mu.Lock()
		d := time.Duration(chance.IntN(3)) * time.Millisecond
		s.tape.mu.Unlock()
		time.Sleep(d)
	}
	s.tape.fails = func(what string) error {
		s.tape.mu.Lock()
		defer s.tape.mu.Unlock()
		if chance.IntN(10) == 0 {
			return errDown
		}
		return nil
	}
	acts := rand.New(rand.NewPCG(random.Uint64(), 5))
	world.Go(func() {
		for going.Err() == nil {
			time.Sleep(time.Duration(acts.IntN(5)) * time.Millisecond)
			switch n := acts.IntN(1000); {
			case n == 0: // lost, and rebuilt a while later
				s.tape.mu.Lock()
				remember()
				s.tape.mu.Unlock()
				s.tape.lose()
				time.Sleep(time.Duration(acts.IntN(2000)) * time.Millisecond)
				s.tape.restart()
			case n == 1: // rebuilt before anybody noticed
				s.tape.mu.Lock()
				remember()
				s.tape.mu.Unlock()
				s.tape.restart()
			case n == 2: // trimmed
				s.tape.change(func() { s.tape.kept = len(s.tape.events) - 1 })
			case n < 5: // faster than any ring
				s.tape.note(make([]labelling.Event, 2*labelling.RingSize)...)
			default:
				s.tape.note(make([]labelling.Event, acts.IntN(5))...)
			}
		}
	})
	got := &received{t: t}
	others, leave := context.WithCancel(viewer.With(t.Context(), viewer.Viewer{UserID: grace}))
	for range 3 { // who comes and goes, too, and receives when it likes
		mine := rand.New(rand.NewPCG(random.Uint64(), 6))
		world.Go(func() {
			for others.Err() == nil {
				ctx, cut := context.WithTimeout(others, time.Duration(mine.IntN(1000))*time.Millisecond)
				c, err := s.hub.Listen(ctx, labelling.Listen{Project: s.p})
				for ; err == nil && ctx.Err() == nil; time.Sleep(time.Duration(mine.IntN(20)) * time.Millisecond) {
					<-c
				}
				<-ctx.Done()
				cut()
			}
		})
	}
	for range 200 {
		ctx, cut := context.WithCancel(t.Context())
		c, err := s.hub.Listen(viewer.With(ctx, viewer.Viewer{UserID: ada}), labelling.Listen{Project: s.p, After: got.after})
		if err != nil {
			require.True(t, fault.Is(err, fault.Unavailable), err)
			cut()
			continue
		}
		time.AfterFunc(time.Duration(random.IntN(200))*time.Millisecond, cut)
		for m := range c {
			heard(got, m)
			if random.IntN(50) == 0 {
				time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond) // it has something else to do
			}
		}
	}
	stop()
	leave()
	world.Wait()
	s.tape.note(labelling.Event{})
	s.tape.mu.Lock()
	remember()
	last := s.tape.events[len(s.tape.events)-1].Cursor
	s.tape.mu.Unlock()
	s.tape.change(func() { s.tape.fails = nil })
	c := s.listen(t.Context(), ada, labelling.Listen{After: got.after})
	for got.after == nil || *got.after != last {
		heard(got, next(t, c))
	}
	got.check(history)
	assert.NotZero(t, got.gaps)
}
