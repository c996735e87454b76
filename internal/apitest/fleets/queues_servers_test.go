package fleets

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestAChangeAtOneServerReachesSubscribersAtAll(t *testing.T) {
	f := newFleet(t, 3)
	l := f.servers[0].queued(30, 20, 3)
	watchers, streams := make([]*watcher, 3), make([]*apitest.Stream, 3)
	for i, s := range f.servers {
		var err error
		watchers[i] = newWatcher(l, l.Labellers[i])
		streams[i], err = watchers[i].listen(t.Context(), s, nil)
		require.NoError(t, err)
		t.Cleanup(streams[i].Close)
		require.Equal(t, snapshotSeen, watchers[i].see(streams[i].Next()).kind)
	}

	at := func(server int, who *apitest.Client) *apitest.Client { return f.servers[server].by(who) }
	hands := map[int][]apitest.Held{}
	for i, u := range l.Labellers {
		hands[i] = l.Claimed(at(i, u), 4)
	}
	for i, u := range l.Labellers { // everybody at another server now
		h, next := hands[i], at((i+1)%3, u)
		next.Mutate("extendClaim", "item { id }", h[0].Input())
		effort := l.Finished(next, h[0])
		l.Finished(at((i+2)%3, u), h[1], apitest.Vars{"keywords": []string{"a", "b"}})
		next.Mutate("releaseProjectItem", "item { id }", h[2].Input())
		next.Mutate("skipProjectItem", "item { id }", h[3].Input(apitest.Vars{"reason": "FOR_NOBODY"}))
		at(i, u).Mutate("undoFinish", "item { id }", apitest.Vars{"effortId": effort})
	}
	at(1, l.Client).Mutate("pauseProject", "project { id }", apitest.Vars{"projectId": l.ID})
	at(2, l.Client).Mutate("resumeProject", "project { id }", apitest.Vars{"projectId": l.ID})
	want := map[string]int{"CLAIMED": 12, "EXTENDED": 3, "FINISHED": 6, "RELEASED": 3, "SKIPPED": 3, "UNDONE": 3, "PAUSED": 1, "RESUMED": 1}
	for i, w := range watchers {
		left := 0
		for _, n := range want {
			left += n
		}
		found := map[string]int{}
		for ; left > 0; left-- {
			s := w.see(streams[i].Next())
			require.Equal(t, eventSeen, s.kind)
			_, after, _ := strings.Cut(s.event, `"type":"`)
			typ, _, _ := strings.Cut(after, `"`)
			found[typ]++
		}
		assert.Equal(t, want, found, "seen at server %d", i)
		if i > 0 {
			f.agree(watchers[0], w)
		}
	}
}

func TestClaimsAtThreeServersNeverHandOutAnItemTwice(t *testing.T) {
	const items, labellers, most = 400, 8, 50 // as many as all of them may have
	f := newFleet(t, 3)
	c := newWorkforce(f, f.servers[0].queued(items, 30, labellers), items)
	ctx, cancel := context.WithTimeout(t.Context(), 2*apitest.Patience)
	defer cancel()
	var all sync.WaitGroup
	for i, u := range c.Labellers {
		for j := range 2 { // twice at once, at two servers
			w := &worker{workforce: c, user: u, rand: rand.New(rand.NewPCG(uint64(i), uint64(j))), at: i + j}
			all.Go(func() {
				for ctx.Err() == nil && c.handedOut() < items {
					if len(w.claim(ctx, 1+w.rand.IntN(10))) == 0 {
						time.Sleep(50 * time.Millisecond) // it has all it may have, or others are filling the queue
					}
				}
			})
		}
	}
	all.Wait()
	require.Empty(t, c.mistakes)
	require.Len(t, c.holders, items, "all were handed out")
	for _, s := range f.servers {
		require.Eventually(t, func() bool { return now(c.Crew, s).Counts.Claimed == items }, apitest.Patience, 20*time.Millisecond)
		assert.Zero(t, now(c.Crew, s).Counts.New)
	}
	for _, u := range c.Labellers {
		w := &worker{workforce: c, user: u}
		assert.Len(t, w.holding(ctx), most)
	}
	require.Empty(t, c.mistakes, "everybody has what they were told")
}

// handedOut is how many items somebody has.
func (c *workforce) handedOut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.holders)
}

func TestSubscribersOfAServerThatEndsGoOnAtAnother(t *testing.T) {
	const subscribers = 10
	f := newFleet(t, 3)
	c := newWorkforce(f, f.servers[0].queued(60, 40, 4), 60)
	ctx, cancel := context.WithTimeout(t.Context(), 3*apitest.Patience)
	defer cancel()
	stay := newWatcher(c.Crew, c.Client)
	over := c.marker()
	var watching sync.WaitGroup
	watching.Go(func() { assert.NoError(t, stay.follow(ctx, f.servers[2], over)) })
	stop := c.stroll(ctx)

	movers := make([]*watcher, subscribers)
	listening := make(chan struct{}, subscribers)
	for i := range movers {
		w := newWatcher(c.Crew, c.Labellers[i%len(c.Labellers)])
		movers[i] = w
		s, err := w.listen(ctx, f.servers[0], nil)
		require.NoError(t, err)
		t.Cleanup(s.Close)
		watching.Go(func() {
			n := 0
			enough := func(sight) bool { n++; return n == 5 } // it is in the middle
			if assert.NoError(t, w.read(s, enough)) {
				listening <- struct{}{}
			}
			err := w.read(s, over)
			assert.Equal(t, websocket.StatusServiceRestart, websocket.CloseStatus(err), "it is told to come again: %v", err)
			assert.NoError(t, w.follow(ctx, f.servers[1], over))
		})
	}
	for range movers {
		select {
		case <-listening:
		case <-ctx.Done():
			require.Fail(t, "not everybody listens")
		}
	}
	require.NoError(t, f.servers[0].end(syscall.SIGTERM), "%s", f.servers[0].tail())
	seen := c.eventsSeen(stay)
	require.Eventually(t, func() bool { return c.eventsSeen(stay) > seen+20 }, apitest.Patience, 20*time.Millisecond, "the others go on")
	stop()
	c.mark(f.servers[1])
	watching.Wait()
	require.Empty(t, c.mistakes)
	for _, w := range movers {
		assert.Zero(t, w.gaps())
		f.agree(stay, w)
	}
}
