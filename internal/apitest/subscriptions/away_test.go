package subscriptions

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/faultinject"
)

const onlineCount = `subscription { onlineCount }`

// impatient has subscriptions wait two seconds for Redis.
func impatient(c *config.Config) { c.StreamPatience = 2 * time.Second }

func TestSubscriptionsOutliveARedisThatIsAway(t *testing.T) {
	t.Parallel()
	way, url := apitest.NewBridge(t)
	s := apitest.NewServer(t, apitest.WithRedis(url), impatient)
	s.Works()
	l := s.Labelled(20, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	short := l.Listens(bob, nil)
	short.Snapshot()
	way.Cut()
	ada.Do(apitest.ClaimItems, apitest.Vars{"in": apitest.Vars{"projectId": l.ID, "count": 1}}).Fails("UNAVAILABLE", "")
	way.Mend()
	l.Finished(ada, claimsAgain(l, ada))
	short.Event("CLAIMED") // on the same socket
	last := short.Event("FINISHED").Str("cursor")

	sockets := map[string]*apitest.Stream{
		"projectEvents": l.Listens(bob, apitest.Vars{"after": last}), "myQueue": bob.Subscribe(myQueue, apitest.Vars{"p": l.ID}), "onlineCount": bob.Subscribe(onlineCount, nil),
	}
	sources := map[string]*eventSource{
		"projectEvents": source(bob, "", apitest.ProjectEvents, apitest.Vars{"p": l.ID}), "myQueue": source(bob, "", myQueue, apitest.Vars{"p": l.ID}), "onlineCount": source(bob, "", onlineCount, nil),
		"projectEvents by POST": posted(bob, apitest.ProjectEvents, apitest.Vars{"p": l.ID}), "myQueue by POST": posted(bob, myQueue, apitest.Vars{"p": l.ID}), "onlineCount by POST": posted(bob, onlineCount, nil),
	}
	works := worked(l)
	for _, name := range []string{"myQueue", "onlineCount"} {
		sockets[name].Next()
	}
	for _, source := range sources {
		require.Equal(t, "next", source.next().name)
	}
	way.Cut()
	for name, one := range sockets {
		assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(one.Ended()), name)
	}
	for name, source := range sources {
		e, more := source.read()
		assert.False(t, more, "%s: %s %s", name, e.name, e.Body)
	}
	// Clients begin again while it is still away.
	for name, again := range map[string]*apitest.Stream{
		"projectEvents": l.Listens(bob, nil), "resumed": l.Listens(bob, apitest.Vars{"after": last}), "myQueue": bob.Subscribe(myQueue, apitest.Vars{"p": l.ID}),
		"onlineCount": bob.Subscribe(onlineCount, nil),
	} {
		assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(again.Ended()), name)
	}
	works.goOn("while Redis is away")
	waits, resumed := l.Listens(bob, nil), l.Listens(bob, apitest.Vars{"after": last})
	way.Mend()
	waits.Snapshot()
	l.Finished(ada, claimsAgain(l, ada))
	resumed.Event("CLAIMED")
	resumed.Event("FINISHED")
}

// claimsAgain has the user claim an item, as soon as that can be done again.
func claimsAgain(l apitest.Crew, who *apitest.Client) (h apitest.Held) {
	l.T.Helper()
	require.Eventually(l.T, func() bool {
		a := who.Do(apitest.ClaimItems, apitest.Vars{"in": apitest.Vars{"projectId": l.ID, "count": 1}})
		if len(a.Errors) > 0 {
			a.Fails("UNAVAILABLE", "")
			return false
		}
		all := apitest.HeldOf(a, "claimProjectItems.items")
		if len(all) > 0 {
			h = all[0]
		}
		return len(all) > 0
	}, apitest.Patience, 20*time.Millisecond)
	return h
}

// work is what goes on in the background of a project and of a scope: an import, an export and the building of an index, none of which any
// server takes up before it is told to. Each is followed in all ways.
type work struct {
	l      apitest.Crew
	files  string // the import that waits for its file
	on     map[string]apitest.Vars
	queued map[string][]*apitest.Stream
	told   map[string][]*eventSource
}

var progress = map[string]string{
	"import": `subscription($import: ID!) { importProgress(importId: $import) { state } }`,
	"export": `subscription($export: ID!) { exportProgress(exportId: $export) { state } }`,
	"index":  `subscription($scope: ID!) { indexProgress(scopeId: $scope, name: "plants") { ready } }`,
}

// worked begins such work, and to follow it.
func worked(l apitest.Crew) work {
	l.T.Helper()
	w := work{l: l, queued: map[string][]*apitest.Stream{}, told: map[string][]*eventSource{}}
	w.files, _ = l.Awaiting("CSV", 100)
	export := l.Mutate("createProjectExport", "export { id }", apitest.Vars{"projectId": l.ID, "format": "CSV"}).Str("result.export.id")
	r := l.Space("Herbarium")
	r.Mutate("declareEntityIndex", "scope { id }", apitest.Vars{"scopeId": r.Scope, "name": "plants", "type": "plant", "kind": "STRING", "path": []string{"name"}})
	w.on = map[string]apitest.Vars{"import": {"import": w.files}, "export": {"export": export}, "index": {"scope": r.Scope}}
	for name, query := range progress {
		w.queued[name] = []*apitest.Stream{l.Subscribe(query, w.on[name])}
		w.told[name] = []*eventSource{source(l.Client, "", query, w.on[name]), posted(l.Client, query, w.on[name])}
		w.queued[name][0].Next()
		for _, source := range w.told[name] {
			require.Equal(l.T, "next", source.next().name, name)
		}
	}
	return w
}

// goOn has the import cancelled, the export written and the index built, and shows that all who followed are told that, and that nothing more comes.
func (w work) goOn(when string) {
	w.l.T.Helper()
	w.l.Mutate("cancelProjectImport", "import { state }", apitest.Vars{"importId": w.files})
	w.ends("import", "importProgress.state", "CANCELLED", when)
	w.l.Passes(entity.Settle) // before the server runs its tasks: it would take those that are due by now
	w.l.During(func() {
		w.ends("export", "exportProgress.state", "DONE", when)
		w.ends("index", "indexProgress.ready", true, when)
	})
}

// ends shows that all who follow are told of an end.
func (w work) ends(name, at string, last any, when string) {
	w.l.T.Helper()
	for _, one := range w.queued[name] {
		field, member, _ := strings.Cut(at, ".")
		for one.Next().Data[field].(map[string]any)[member] != last { // what is on the way to it
		}
		assert.NoError(w.l.T, one.Ended(), "%s %s: complete", name, when)
	}
	for _, one := range w.told[name] {
		for one.next().At(at) != last { // what is on the way to it
		}
		assert.Equal(w.l.T, "complete", one.next().name, "%s %s", name, when)
	}
}

func TestSubscriptionsAreNotRefusedWhileDynamoDBIsAway(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(3, 0)
	ada := l.Labellers[0]
	queue := ada.Subscribe(myQueue, apitest.Vars{"p": l.ID})
	queue.Next()
	works := worked(l)
	all := map[string]apitest.Vars{apitest.ProjectEvents: {"p": l.ID}, myQueue: {"p": l.ID}}
	for name, query := range progress {
		all[query] = works.on[name]
	}
	away := s.Faults.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.Always)
	sockets, sources := map[string]*apitest.Stream{}, map[string]*eventSource{}
	for query, v := range all {
		sockets[query], sources[query] = l.Subscribe(query, v), source(l.Client, "", query, v)
	}
	interrupted := func() {
		t.Helper()
		for query, source := range sources {
			_, more := source.read()
			assert.False(t, more, "neither an error nor complete: %s", query)
		}
	}
	for query, socket := range sockets {
		assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(socket.Ended()), query)
	}
	interrupted()
	for query, v := range all {
		sources[query] = posted(l.Client, query, v)
	}
	interrupted()
	sources = map[string]*eventSource{onlineCount: source(s.As("newcomer@example.com"), "", onlineCount, nil)}
	interrupted() // not even signed in: an EventSource gives up for ever after any status but 200
	away.Stop()
	l.Claimed(ada, 1)
	assert.Len(t, queue.Message().List("claims"), 1)
	works.goOn("after DynamoDB was away")
}
