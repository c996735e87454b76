package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// A member who replays events is not shown an item that was removed since, although the server has kept what it told of it.
func TestAReplayDoesNotShowARemovedItem(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(3, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	steady := l.Listens(bob, nil)
	start := steady.Snapshot().Str("cursor")
	have := l.Claimed(ada, 2)
	items := map[string]any{} // ids of items by cursors of their events
	hears := func(typ string) {
		t.Helper()
		e := steady.Event(typ)
		assert.NotEmpty(t, e.At("item.name"))
		items[e.Str("cursor")] = e.At("item.id")
	}
	for _, h := range have {
		hears("CLAIMED")
		l.Finished(ada, h)
	}
	for range have {
		hears("FINISHED")
	}
	id := l.Mutate("removeProjectItems", "removal { id }", apitest.Vars{"projectId": l.ID, "itemIds": []string{have[0].ID}}).Str("result.removal.id")
	removal := func(mutation string, typ string, shown bool) {
		t.Helper()
		if mutation != "" {
			l.Mutate(mutation, "removal { id }", apitest.Vars{"removalId": id})
		}
		assert.Equal(t, shown, steady.Event(typ).At("item") != nil)
		for _, who := range l.Labellers { // what is written for one is kept for the others
			again := l.Listens(who, apitest.Vars{"after": start})
			for range 2 * len(have) {
				e := again.Message()
				assert.Equal(t, "ProjectEvent", e.At("__typename"))
				if e.At("item") == nil {
					assert.False(t, shown, "%s", e.Body)
				} else {
					assert.True(t, shown || e.At("item.name") != "" && items[e.Str("cursor")] == have[1].ID, "%s", e.Body)
				}
			}
		}
	}
	s.During(func() { removal("", "REMOVED", false) })
	require.Eventually(t, func() bool {
		return l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectRemoval { state } } }`, apitest.Vars{"i": id}).Str("node.state") == "REMOVED"
	}, 30*time.Second, 20*time.Millisecond)
	s.During(func() { removal("undoProjectRemoval", "RESTORED", true) })
}
