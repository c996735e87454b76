package subscriptions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

func TestMyQueueIsToldAfterEachChange(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(5, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	adas, bobs := ada.Subscribe(myQueue, apitest.Vars{"p": l.ID}), bob.Subscribe(myQueue, apitest.Vars{"p": l.ID})
	told := func(of *apitest.Stream, want ...apitest.Held) {
		t.Helper()
		m := of.Message()
		assert.Equal(t, l.ID, m.Str("project.id"))
		assert.Equal(t, append([]apitest.Held{}, want...), append([]apitest.Held{}, apitest.HeldOf(m, "claims")...))
	}
	told(adas)
	told(bobs)
	one := l.Claimed(ada, 1)[0]
	told(adas, one)
	two := l.Claimed(ada, 1)[0]
	told(adas, one, two)
	his := l.Claimed(bob, 1)[0]
	told(bobs, his) // and nothing of what ada did
	l.Finished(ada, one)
	told(adas, two)
	l.Expires(two.ID)
	told(adas)
	bob.Mutate("skipProjectItem", "item { id }", his.Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	told(bobs)
	a := ada.Mutate("undoFinish", "item { id claim { token } }", apitest.Vars{"effortId": effortOf(l, one.ID)})
	told(adas, apitest.Held{ID: one.ID, Token: a.Str("result.item.claim.token")})
}

// effortOf is the effort of an item that has one.
func effortOf(l apitest.Crew, item string) string {
	l.T.Helper()
	return apitest.IDsOf(l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { efforts { nodes { id } } } } }`, apitest.Vars{"i": item}).List("node.efforts.nodes"))[0]
}

func TestOnlineCountIsToldAfterEachChange(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	streams := []*apitest.Stream{ada.Subscribe(`subscription { onlineCount }`, nil), bob.Subscribe(`subscription { online: onlineCount }`, nil)}
	told := func(want int) {
		t.Helper()
		for i, name := range []string{"onlineCount", "online"} {
			assert.InDelta(t, want, streams[i].Next().Data[name], 0)
		}
	}
	told(0)
	ada.Mutate("heartbeat", "onlineCount", apitest.Vars{})
	told(1)
	ada.Mutate("heartbeat", "onlineCount", apitest.Vars{}) // changes nothing
	bob.Mutate("heartbeat", "onlineCount", apitest.Vars{})
	told(2)
	require.NoError(t, s.App.Stores.Redis.ZRem(t.Context(), "taggie:online:users", apitest.GlobalKey(t, ada.ID)[1]).Err()) // as if a minute had passed
	told(1)
}

// All servers read the teams of a project in one partition, so an event does not cost that unless somebody asks for the team.
func TestTeamsAreReadForThoseWhoAskForThem(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(20, 0)
	ended := make(chan error, 1)
	go func() { ended <- s.App.Labelling.Consumer.Run(t.Context()) }() // and nothing else in the background
	t.Cleanup(func() { require.NoError(t, <-ended) })
	ada, bob := l.Labellers[0], l.Labellers[1]
	teams := func(c *faultinject.Call) bool { return strings.Contains(string(c.Body), "TeamList") }
	first := bob.Subscribe(`subscription($p: ID!) { projectEvents(projectId: $p) { __typename ... on ProjectSnapshot { cursor } ... on ProjectEvent { cursor type at user { name } } } }`, apitest.Vars{"p": l.ID})
	first.Snapshot()
	ada.Must("{ __typename }", nil) // so that the token's user is known
	s.Faults.Recorder().Reset()
	l.Claimed(ada, 1)
	first.Event("CLAIMED")
	alone := s.Faults.Recorder().Count(teams)
	second := l.Listens(bob, nil)
	second.Snapshot()
	s.Faults.Recorder().Reset()
	l.Claimed(ada, 1)
	first.Event("CLAIMED")
	second.Event("CLAIMED")
	assert.Equal(t, alone+1, s.Faults.Recorder().Count(teams))
}

// However many listen, an event is read and what belongs to it is read once.
func TestEventsCostTheSameForAllSubscribers(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(20, 0)
	ended := make(chan error, 1)
	go func() { ended <- s.App.Labelling.Consumer.Run(t.Context()) }() // and nothing else in the background
	t.Cleanup(func() { require.NoError(t, <-ended) })
	reads := func(c *faultinject.Call) bool {
		return c.Operation == "GetItem" || c.Operation == "BatchGetItem" || c.Operation == "Query"
	}
	ada, listeners := l.Labellers[0], l.Labellers[1:]
	var streams []*apitest.Stream
	cost := map[int]string{}
	for _, n := range []int{1, 2, 60} {
		for len(streams) < n {
			one := l.Listens(listeners[len(streams)%len(listeners)], nil)
			one.Snapshot()
			streams = append(streams, one)
		}
		for _, c := range append(listeners, ada) {
			c.Must("{ __typename }", nil) // so that the token's user is known
		}
		var all []int
		hears := func(typ string) {
			t.Helper()
			for _, one := range streams {
				m := one.Event(typ)
				require.Equal(t, "Somebody Labellers", m.Str("user.name")+" "+m.Str("team.name"))
			}
			all = append(all, s.Faults.Recorder().Count(reads))
			s.Faults.Recorder().Reset()
		}
		s.Faults.Recorder().Reset()
		h := l.Claimed(ada, 1)[0]
		hears("CLAIMED")
		l.Finished(ada, h)
		hears("FINISHED")
		cost[n] = fmt.Sprint(all)
	}
	assert.Equal(t, cost[1], cost[60])
	assert.Equal(t, cost[2], cost[60])
	t.Logf("reads after a claim and a finish, those of the mutations and of the consumer included: %s", cost[60])
}
