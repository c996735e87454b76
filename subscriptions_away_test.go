package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/faultinject"
)

// bridge is the way to a Redis, which can be cut.
type bridge struct {
	t    *testing.T
	addr string // of this end
	to   string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

// newBridge returns the way to a Redis of the test's own, and the URL of this end.
func newBridge(t *testing.T) (b *bridge, url string) {
	t.Helper()
	options, err := config.Load([]string{"TAGGIE_REDIS_URL=" + embeddedtest.RealRedis(t).URL})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b = &bridge{t: t, addr: listener.Addr().String(), to: options.Redis.Addrs[0], conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = listener.Close()
		b.cut()
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go b.carry(near)
		}
	}()
	return b, "redis://" + b.addr + "/0"
}

// carry carries what is said in both directions.
func (b *bridge) carry(near net.Conn) {
	defer func() { _ = near.Close() }()
	far, err := net.Dial("tcp", b.to)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	b.mu.Lock()
	if b.down {
		b.mu.Unlock()
		return
	}
	b.conns[near], b.conns[far] = true, true
	b.mu.Unlock()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// cut breaks all connections, and each that is made until mend.
func (b *bridge) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = true
	for c := range b.conns {
		_ = c.Close()
	}
	clear(b.conns)
}

func (b *bridge) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = false
}

const onlineCount = `subscription { onlineCount }`

// impatient has subscriptions wait two seconds for Redis.
func impatient(c *config.Config) { c.StreamPatience = 2 * time.Second }

func TestSubscriptionsOutliveARedisThatIsAway(t *testing.T) {
	t.Parallel()
	way, url := newBridge(t)
	s := newServer(t, withRedis(url), impatient)
	s.works()
	l := s.labelled(20, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	short := l.listens(bob, nil)
	short.snapshot()
	way.cut()
	ada.do(claimItems, vars{"in": vars{"projectId": l.id, "count": 1}}).fails("UNAVAILABLE", "")
	way.mend()
	l.finished(ada, l.claimsAgain(ada))
	short.event("CLAIMED") // on the same socket
	last := short.event("FINISHED").str("cursor")

	sockets := map[string]*stream{
		"projectEvents": l.listens(bob, vars{"after": last}), "myQueue": bob.subscribe(myQueue, vars{"p": l.id}), "onlineCount": bob.subscribe(onlineCount, nil),
	}
	sources := map[string]*eventSource{
		"projectEvents": bob.source("", projectEvents, vars{"p": l.id}), "myQueue": bob.source("", myQueue, vars{"p": l.id}), "onlineCount": bob.source("", onlineCount, nil),
	}
	for _, name := range []string{"myQueue", "onlineCount"} {
		sockets[name].next()
	}
	for _, source := range sources {
		require.Equal(t, "next", source.next().name)
	}
	way.cut()
	for name, one := range sockets {
		assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(one.ended()), name)
	}
	for name, source := range sources {
		e, more := source.read()
		assert.False(t, more, "%s: %s %s", name, e.name, e.body)
	}
	// Clients begin again while it is still away.
	for name, again := range map[string]*stream{
		"projectEvents": l.listens(bob, nil), "resumed": l.listens(bob, vars{"after": last}), "myQueue": bob.subscribe(myQueue, vars{"p": l.id}),
		"onlineCount": bob.subscribe(onlineCount, nil),
	} {
		assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(again.ended()), name)
	}
	waits, resumed := l.listens(bob, nil), l.listens(bob, vars{"after": last})
	way.mend()
	waits.snapshot()
	l.finished(ada, l.claimsAgain(ada))
	resumed.event("CLAIMED")
	resumed.event("FINISHED")
}

// claimsAgain has the user claim an item, as soon as that can be done again.
func (l crew) claimsAgain(who *client) (h held) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		a := who.do(claimItems, vars{"in": vars{"projectId": l.id, "count": 1}})
		if len(a.Errors) > 0 {
			a.fails("UNAVAILABLE", "")
			return false
		}
		all := heldOf(a, "claimProjectItems.items")
		if len(all) > 0 {
			h = all[0]
		}
		return len(all) > 0
	}, patience, 20*time.Millisecond)
	return h
}

func TestSubscriptionsAreNotRefusedWhileDynamoDBIsAway(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.works()
	l := s.labelled(3, 0)
	ada := l.labellers[0]
	queue := ada.subscribe(myQueue, vars{"p": l.id})
	queue.next()
	all := map[string]string{
		projectEvents: l.id, myQueue: l.id, `subscription($p: ID!) { importProgress(importId: $p) { state } }`: l.imported,
	}
	away := s.faults.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Always)
	for query, id := range all {
		assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(l.subscribe(query, vars{"p": id}).ended()), query)
		_, more := l.source("", query, vars{"p": id}).read()
		assert.False(t, more, "neither an error nor complete: %s", query)
	}
	away.Stop()
	l.claimed(ada, 1)
	assert.Len(t, queue.message().list("claims"), 1)
}
