package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

func TestMyQueueIsToldAfterEachChange(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(5, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	adas, bobs := ada.subscribe(myQueue, vars{"p": l.id}), bob.subscribe(myQueue, vars{"p": l.id})
	told := func(of *stream, want ...held) {
		t.Helper()
		m := of.message()
		assert.Equal(t, l.id, m.str("project.id"))
		assert.Equal(t, append([]held{}, want...), append([]held{}, heldOf(m, "claims")...))
	}
	told(adas)
	told(bobs)
	one := l.claimed(ada, 1)[0]
	told(adas, one)
	two := l.claimed(ada, 1)[0]
	told(adas, one, two)
	his := l.claimed(bob, 1)[0]
	told(bobs, his) // and nothing of what ada did
	l.finished(ada, one)
	told(adas, two)
	l.expires(two.id)
	told(adas)
	bob.mutate("skipProjectItem", "item { id }", his.input(vars{"reason": "FOR_NOBODY"}))
	told(bobs)
	a := ada.mutate("undoFinish", "item { id claim { token } }", vars{"effortId": l.effortOf(one.id)})
	told(adas, held{one.id, a.str("result.item.claim.token")})
}

// effortOf is the effort of an item that has one.
func (l crew) effortOf(item string) string {
	l.t.Helper()
	return idsOf(l.must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { efforts { nodes { id } } } } }`, vars{"i": item}).list("node.efforts.nodes"))[0]
}

func TestOnlineCountIsToldAfterEachChange(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	streams := []*stream{ada.subscribe(`subscription { onlineCount }`, nil), bob.subscribe(`subscription { online: onlineCount }`, nil)}
	told := func(want int) {
		t.Helper()
		for i, name := range []string{"onlineCount", "online"} {
			assert.InDelta(t, want, streams[i].next().Data[name], 0)
		}
	}
	told(0)
	ada.mutate("heartbeat", "onlineCount", vars{})
	told(1)
	ada.mutate("heartbeat", "onlineCount", vars{}) // changes nothing
	bob.mutate("heartbeat", "onlineCount", vars{})
	told(2)
	require.NoError(t, s.app.stores.redis.ZRem(t.Context(), "taggie:online:users", globalKey(t, ada.id)[1]).Err()) // as if a minute had passed
	told(1)
}

// However many listen, an event is read and what belongs to it is read once.
func TestEventsCostTheSameForAllSubscribers(t *testing.T) {
	s := newServer(t)
	l := s.labelled(20, 0)
	ended := make(chan error, 1)
	go func() { ended <- s.app.queues.consumer.Run(t.Context()) }() // and nothing else in the background
	t.Cleanup(func() { require.NoError(t, <-ended) })
	reads := func(c *faultinject.Call) bool {
		return c.Operation == "GetItem" || c.Operation == "BatchGetItem" || c.Operation == "Query"
	}
	ada, listeners := l.labellers[0], l.labellers[1:]
	var streams []*stream
	cost := map[int]string{}
	for _, n := range []int{1, 2, 60} {
		for len(streams) < n {
			one := l.listens(listeners[len(streams)%len(listeners)], nil)
			one.snapshot()
			streams = append(streams, one)
		}
		for _, c := range append(listeners, ada) {
			c.must("{ __typename }", nil) // so that the token's user is known
		}
		var all []int
		hears := func(typ string) {
			t.Helper()
			for _, one := range streams {
				m := one.event(typ)
				require.Equal(t, "Somebody Labellers", m.str("user.name")+" "+m.str("team.name"))
			}
			all = append(all, s.faults.Recorder().Count(reads))
			s.faults.Recorder().Reset()
		}
		s.faults.Recorder().Reset()
		h := l.claimed(ada, 1)[0]
		hears("CLAIMED")
		l.finished(ada, h)
		hears("FINISHED")
		cost[n] = fmt.Sprint(all)
	}
	assert.Equal(t, cost[1], cost[60])
	assert.Equal(t, cost[2], cost[60])
	t.Logf("reads after a claim and a finish, those of the mutations and of the consumer included: %s", cost[60])
}
