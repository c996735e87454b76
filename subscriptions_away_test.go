package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/entity"
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
		"projectEvents by POST": bob.posted(projectEvents, vars{"p": l.id}), "myQueue by POST": bob.posted(myQueue, vars{"p": l.id}), "onlineCount by POST": bob.posted(onlineCount, nil),
	}
	works := l.worked()
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
	works.goOn("while Redis is away")
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

// work is what goes on in the background of a project and of a scope: an import, an export and the building of an index, none of which any
// server takes up before it is told to. Each is followed in all ways.
type work struct {
	l      crew
	files  string // the import that waits for its file
	on     map[string]vars
	queued map[string][]*stream
	told   map[string][]*eventSource
}

var progress = map[string]string{
	"import": `subscription($import: ID!) { importProgress(importId: $import) { state } }`,
	"export": `subscription($export: ID!) { exportProgress(exportId: $export) { state } }`,
	"index":  `subscription($scope: ID!) { indexProgress(scopeId: $scope, name: "plants") { ready } }`,
}

// worked begins such work, and to follow it.
func (l crew) worked() work {
	l.t.Helper()
	w := work{l: l, queued: map[string][]*stream{}, told: map[string][]*eventSource{}}
	w.files, _ = l.awaiting("CSV", 100)
	export := l.mutate("createProjectExport", "export { id }", vars{"projectId": l.id, "format": "CSV"}).str("result.export.id")
	r := l.space("Herbarium")
	r.mutate("declareEntityIndex", "scope { id }", vars{"scopeId": r.scope, "name": "plants", "type": "plant", "kind": "STRING", "path": []string{"name"}})
	w.on = map[string]vars{"import": {"import": w.files}, "export": {"export": export}, "index": {"scope": r.scope}}
	for name, query := range progress {
		w.queued[name] = []*stream{l.subscribe(query, w.on[name])}
		w.told[name] = []*eventSource{l.source("", query, w.on[name]), l.posted(query, w.on[name])}
		w.queued[name][0].next()
		for _, source := range w.told[name] {
			require.Equal(l.t, "next", source.next().name, name)
		}
	}
	return w
}

// goOn has the import cancelled, the export written and the index built, and shows that all who followed are told that, and that nothing more comes.
func (w work) goOn(when string) {
	w.l.t.Helper()
	w.l.mutate("cancelProjectImport", "import { state }", vars{"importId": w.files})
	w.ends("import", "importProgress.state", "CANCELLED", when)
	w.l.passes(entity.Settle) // before the server runs its tasks: it would take those that are due by now
	w.l.during(func() {
		w.ends("export", "exportProgress.state", "DONE", when)
		w.ends("index", "indexProgress.ready", true, when)
	})
}

// ends shows that all who follow are told of an end.
func (w work) ends(name, at string, last any, when string) {
	w.l.t.Helper()
	for _, one := range w.queued[name] {
		field, member, _ := strings.Cut(at, ".")
		for one.next().Data[field].(map[string]any)[member] != last { // what is on the way to it
		}
		assert.NoError(w.l.t, one.ended(), "%s %s: complete", name, when)
	}
	for _, one := range w.told[name] {
		for one.next().at(at) != last { // what is on the way to it
		}
		assert.Equal(w.l.t, "complete", one.next().name, "%s %s", name, when)
	}
}

func TestSubscriptionsAreNotRefusedWhileDynamoDBIsAway(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.works()
	l := s.labelled(3, 0)
	ada := l.labellers[0]
	queue := ada.subscribe(myQueue, vars{"p": l.id})
	queue.next()
	works := l.worked()
	all := map[string]vars{projectEvents: {"p": l.id}, myQueue: {"p": l.id}}
	for name, query := range progress {
		all[query] = works.on[name]
	}
	away := s.faults.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Always)
	sockets, sources := map[string]*stream{}, map[string]*eventSource{}
	for query, v := range all {
		sockets[query], sources[query] = l.subscribe(query, v), l.source("", query, v)
	}
	interrupted := func() {
		t.Helper()
		for query, source := range sources {
			_, more := source.read()
			assert.False(t, more, "neither an error nor complete: %s", query)
		}
	}
	for query, socket := range sockets {
		assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(socket.ended()), query)
	}
	interrupted()
	for query, v := range all {
		sources[query] = l.posted(query, v)
	}
	interrupted()
	sources = map[string]*eventSource{onlineCount: s.as("newcomer@example.com").source("", onlineCount, nil)}
	interrupted() // not even signed in: an EventSource gives up for ever after any status but 200
	away.Stop()
	l.claimed(ada, 1)
	assert.Len(t, queue.message().list("claims"), 1)
	works.goOn("after DynamoDB was away")
}
