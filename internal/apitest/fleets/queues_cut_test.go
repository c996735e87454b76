package fleets

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestASubscriberWhoIsCutOffMissesNothing(t *testing.T) {
	cutOff(t, 100, 0)
}

func TestASubscriberWhoIsCutOffIsToldWhenRedisWasEmptied(t *testing.T) {
	cutOff(t, 60, 2)
}

// cutOff cuts a subscriber off again and again while labellers work, at random places, and compares what it saw with what one
// saw who never was. Now and then meanwhile Redis is emptied.
func cutOff(t *testing.T, times, flushes int) {
	t.Helper()
	f := newFleet(t, 3)
	c := newWorkforce(f, f.servers[0].queued(60, 40, 4), 60)
	ctx, cancel := context.WithTimeout(t.Context(), 5*apitest.Patience)
	defer cancel()
	over := c.marker()
	steady, cut := newWatcher(c.Crew, c.Client), newWatcher(c.Crew, c.Labellers[0])
	var watching sync.WaitGroup
	watching.Go(func() { assert.NoError(t, steady.follow(ctx, f.servers[0], over)) })
	require.Eventually(t, func() bool { return c.eventsSeen(steady) > 0 }, apitest.Patience, 10*time.Millisecond)
	stop := c.stroll(ctx)

	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	opened, flushed := 0, 0
	for n := 0; n < times || flushed < flushes; n++ {
		if seen := cut.sights; flushed < min(flushes, n*(flushes+1)/times) && len(seen) > 0 && seen[len(seen)-1].kind == eventSeen {
			require.NoError(t, f.redis.FlushAll(ctx).Err())
			flushed++
		}
		bytes := random.IntN(400 << random.IntN(7)) // of the first events, or of dozens
		if n%4 == 0 {
			bytes = random.IntN(1000) // of the handshake
		}
		s, err := cut.listen(ctx, f.servers[n%len(f.servers)], apitest.After(bytes))
		if err != nil {
			require.NoError(t, ctx.Err())
			continue // it was cut before it was there
		}
		opened++
		_ = cut.read(s, nil) // until it is cut
		require.NoError(t, ctx.Err(), "the connection was not cut: nothing happens")
		s.Close()
	}
	stop()
	c.mark(f.servers[2])
	assert.NoError(t, cut.follow(ctx, f.servers[1], over))
	watching.Wait()
	t.Logf("seed %d: %d streams; %d sights, %d events again, %d gaps", seed, opened, len(cut.sights), cut.repeated, cut.gaps())
	require.Empty(t, c.mistakes)
	assert.Equal(t, flushes, cut.gaps(), "only what was lost is missed")
	f.agree(steady, cut)
	assert.Greater(t, len(cut.sights), times, "something happened meanwhile")
}

// stroll has all labellers do what can be done again and again, until what it returns is called.
func (c *workforce) stroll(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i, u := range c.Labellers {
		w := &worker{workforce: c, user: u, rand: rand.New(rand.NewPCG(uint64(i), 11)), at: i}
		all.Go(func() {
			for ctx.Err() == nil {
				w.round(context.WithoutCancel(ctx))
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// round claims some items, finishes some of them, takes that back, and gives all of them back.
func (w *worker) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*apitest.Patience)
	defer cancel()
	var claimed struct{ ClaimProjectItems struct{ Items []inHand } }
	if !w.sure(ctx, apitest.ClaimItems, apitest.Vars{"in": apitest.Vars{"projectId": w.Crew.ID, "count": 1 + w.rand.IntN(3), "idempotencyKey": uuid.NewString()}}, &claimed) {
		w.wrong("a claim was not answered")
		return
	}
	for _, i := range claimed.ClaimProjectItems.Items {
		if w.rand.IntN(3) == 0 {
			var finished struct {
				FinishProjectItem struct{ Effort *struct{ ID string } }
			}
			w.sure(ctx, `mutation($in: FinishProjectItemInput!) { finishProjectItem(input: $in) { effort { id } } }`,
				apitest.Vars{"in": apitest.Vars{"itemId": i.ID, "token": i.Claim.Token, "categoryId": w.Categories[0], "idempotencyKey": uuid.NewString()}}, &finished)
			var undone struct{ UndoFinish struct{ Item *inHand } }
			if e := finished.FinishProjectItem.Effort; e == nil || !w.sure(ctx, `mutation($in: UndoFinishInput!) { undoFinish(input: $in) { item { id claim { token } } } }`,
				apitest.Vars{"in": apitest.Vars{"effortId": e.ID, "idempotencyKey": uuid.NewString()}}, &undone) || undone.UndoFinish.Item == nil {
				w.wrong("item %s was not finished and taken back", i.ID)
				continue
			}
			i = *undone.UndoFinish.Item
		}
		var released struct {
			ReleaseProjectItem struct{ Item *struct{ ID string } }
		}
		w.sure(ctx, `mutation($in: ReleaseProjectItemInput!) { releaseProjectItem(input: $in) { item { id } } }`,
			apitest.Vars{"in": apitest.Vars{"itemId": i.ID, "token": i.Claim.Token, "idempotencyKey": uuid.NewString()}}, &released)
		if released.ReleaseProjectItem.Item == nil {
			w.wrong("item %s was not given back", i.ID)
		}
	}
}

// marker recognizes the event that [workforce.mark] makes.
func (c *workforce) marker() func(sight) bool {
	return func(s sight) bool { return s.kind == eventSeen && strings.Contains(s.event, `"type":"PAUSED"`) }
}

// mark makes the last event, after the queue has followed everything else.
func (c *workforce) mark(s *server) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return c.unfollowed() == 0 }, apitest.Patience, 50*time.Millisecond, "the queue does not follow: %s", s.tail())
	require.Eventually(c.t, func() bool {
		q, _, err := look(c.Crew, c.t.Context(), s)
		return err == nil && q != nil
	}, apitest.Patience, 50*time.Millisecond)
	a := s.by(c.Client).Mutate("pauseProject", "project { paused }", apitest.Vars{"projectId": c.Crew.ID})
	require.Equal(c.t, true, a.At("result.project.paused"), "%s", a.Body)
}

// eventsSeen is how much a watcher has seen that still watches.
func (c *workforce) eventsSeen(w *watcher) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sights)
}
