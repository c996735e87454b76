package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// soon is how long after Redis has a new master work goes on at the latest; everybody is told within heard, also of what was on its way
// through the master that is gone.
const soon, heard = 5 * time.Second, 10 * time.Second

func TestWorkGoesOnSoonAfterAClusterHasANewMaster(t *testing.T) {
	t.Parallel()
	for how, lose := range loses {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cluster := embeddedtest.NewRedisCluster(t, 3, 1)
			s := newServer(t, withRedis(cluster.URL()))
			l := s.labelled(40, 0)
			s.works()
			l.worksAfter(lose, cluster.Owner(t, "{"+string(l.key())+"}"), cluster.Nodes)
		})
	}
}

func TestWorkGoesOnSoonAfterSentinelsHaveANewMaster(t *testing.T) {
	t.Parallel()
	for how, lose := range loses {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sentinels := embeddedtest.NewRedisSentinels(t)
			s := newServer(t, withRedis(sentinels.URL()))
			l := s.labelled(40, 0)
			s.works()
			l.worksAfter(lose, sentinels.Nodes[0], sentinels.Nodes)
		})
	}
}

// loses are the ways in which a master is lost: its connections are refused, or nobody answers.
var loses = map[string]func(*embeddedtest.RedisNode){"killed": (*embeddedtest.RedisNode).Kill, "mute": (*embeddedtest.RedisNode).Hang}

// worksAfter loses the master, and asserts that somebody can claim and finish an item, and somebody who listens is told of it, soon
// after one of the others has taken its place.
func (l crew) worksAfter(lose func(*embeddedtest.RedisNode), master *embeddedtest.RedisNode, all []*embeddedtest.RedisNode) {
	l.t.Helper()
	who := l.labellers[0]
	watcher := l.listens(l.labellers[1], vars{"types": []string{"FINISHED"}})
	watcher.snapshot()
	first := l.claimed(who, 1)[0]
	l.finished(who, first)
	require.Equal(l.t, first.id, watcher.event("FINISHED").str("item.id"))

	require.True(l.t, master.Master(l.t.Context()))
	elected := make(chan time.Time, 1)
	others := replicas(l.t.Context(), all)
	go func() { elected <- electedOf(l.t.Context(), others) }()
	lost := time.Now()
	lose(master)
	var claimed []held
	require.Eventually(l.t, func() bool { // work is asked for all the time, as by people at their boards
		a := who.do(claimItems, vars{"in": vars{"projectId": l.id, "count": 1}})
		for _, e := range a.Errors {
			require.Equal(l.t, "UNAVAILABLE", e.Extensions.Code, "%s", a.body)
		}
		if len(a.Errors) > 0 {
			return false
		}
		claimed = heldOf(a, "claimProjectItems.items")
		return len(claimed) > 0
	}, patience, 20*time.Millisecond, "nothing can be claimed")
	l.finished(who, claimed[0])
	worked := time.Now()
	at := <-elected
	for finished := false; !finished; {
		switch m := watcher.message(); m.at("__typename") {
		case "ProjectEvent":
			finished = m.str("item.id") == claimed[0].id // the first one may be told once more
		case "ProjectSnapshot": // after a gap: a Redis that is another one than before is not trusted, and rebuilt
			counted, _ := m.at("queue.counts.finished").(float64)
			finished = counted == 2
		}
	}
	told := time.Now()
	l.t.Logf("a new master after %v, work %v later, told %v later", at.Sub(lost), worked.Sub(at), told.Sub(at))
	assert.Less(l.t, worked.Sub(at), soon, "claimed and finished")
	assert.Less(l.t, told.Sub(at), heard, "told")
}

// replicas are the nodes that are no masters now.
func replicas(ctx context.Context, all []*embeddedtest.RedisNode) []*embeddedtest.RedisNode {
	return slices.DeleteFunc(slices.Clone(all), func(n *embeddedtest.RedisNode) bool { return n.Master(ctx) })
}

// electedOf waits until one of the nodes is a master, and returns when that was; zero when the context ends first.
func electedOf(ctx context.Context, replicas []*embeddedtest.RedisNode) time.Time {
	for ctx.Err() == nil {
		for _, n := range replicas {
			if n.Master(ctx) {
				return time.Now()
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Time{}
}

// A server dies together with Redis, which comes back without what only this server was told of, and with a mark that fits.
func TestAnotherServerNoticesWhatADeadOneAndRedisLost(t *testing.T) {
	t.Parallel()
	node := embeddedtest.NewRedis(t)
	dies := newServer(t, withRedis(node.URL()))
	l := dies.labelled(40, 2)
	stays := dies.ahead(0)
	stays.works()
	there := l
	there.client = &client{testServer: stays, token: l.token, id: l.client.id}
	there.counts("38 0 2 0")
	truth, kept := dynamo.Labelling{Projects: dynamo.Projects{DB: stays.db}}, stays.app.queues.queue
	require.Eventually(t, func() bool {
		at, _, err := kept.Fits(t.Context(), l.key(), labelling.Cursor{})
		marks, failed := truth.Marks(t.Context(), []project.ID{l.key()})
		return err == nil && failed == nil && marks[0].Cursor == at
	}, patience, 20*time.Millisecond, "it is not marked where the project is")
	for _, turn := range []string{"mark", "compare"} { // as within the second, or the five minutes, after the last one
		require.NoError(t, dies.app.stores.redis.Set(t.Context(), "taggie:turn:"+turn+"%3A"+string(l.key()), 1, time.Hour).Err())
	}
	node.Save(t)
	l.claimed(l.labellers[0], 7)
	there.counts("31 7 2 0")
	node.Kill() // and nothing is heard of the first server from now on
	node.Restart(t)
	back := time.Now()
	require.Eventually(t, func() bool { // while it is rebuilt it cannot be told
		a := there.do(`query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished skipped remaining } } } }`, vars{"p": l.id})
		return len(a.Errors) == 0 && countsOf(a, "project.queue.counts") == "31 7 2 0"
	}, patience, 20*time.Millisecond, "%s", stays.logs)
	t.Logf("right %v after Redis was back", time.Since(back))
	assert.Contains(t, stays.logs.String(), "counts differ from what is stored")
}
