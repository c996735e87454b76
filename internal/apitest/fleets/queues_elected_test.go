package fleets

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func TestWorkGoesOnSoonAfterAClusterHasANewMaster(t *testing.T) {
	t.Parallel()
	for how, lose := range loses {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cluster := embeddedtest.NewRedisCluster(t, 3, 1)
			s := apitest.NewServer(t, apitest.WithRedis(cluster.URL()))
			l := s.Labelled(40, 0)
			s.Works()
			worksAfter(l, lose, cluster.Owner(t, "{"+string(l.Key())+"}"), cluster.Nodes)
		})
	}
}

func TestWorkGoesOnSoonAfterSentinelsHaveANewMaster(t *testing.T) {
	t.Parallel()
	for how, lose := range loses {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sentinels := embeddedtest.NewRedisSentinels(t)
			s := apitest.NewServer(t, apitest.WithRedis(sentinels.URL()))
			l := s.Labelled(40, 0)
			s.Works()
			worksAfter(l, lose, sentinels.Nodes[0], sentinels.Nodes)
		})
	}
}

// loses are the ways in which a master is lost: its connections are refused, or nobody answers.
var loses = map[string]func(*embeddedtest.RedisNode){"killed": (*embeddedtest.RedisNode).Kill, "mute": (*embeddedtest.RedisNode).Hang}

// worksAfter loses the master, and asserts that somebody can claim and finish an item, and somebody who listens is told of it, soon
// after one of the others has taken its place.
func worksAfter(l apitest.Crew, lose func(*embeddedtest.RedisNode), master *embeddedtest.RedisNode, all []*embeddedtest.RedisNode) {
	l.T.Helper()
	who := l.Labellers[0]
	watcher := l.Listens(l.Labellers[1], apitest.Vars{"types": []string{"FINISHED"}})
	watcher.Snapshot()
	first := l.Claimed(who, 1)[0]
	l.Finished(who, first)
	require.Equal(l.T, first.ID, watcher.Event("FINISHED").Str("item.id"))

	require.True(l.T, master.Master(l.T.Context()))
	elected := make(chan time.Time, 1)
	others := replicas(l.T.Context(), all)
	go func() { elected <- electedOf(l.T.Context(), others) }()
	lost := time.Now()
	lose(master)
	var claimed []apitest.Held
	require.Eventually(l.T, func() bool { // work is asked for all the time, as by people at their boards
		a := who.Do(apitest.ClaimItems, apitest.Vars{"in": apitest.Vars{"projectId": l.ID, "count": 1}})
		for _, e := range a.Errors {
			require.Equal(l.T, "UNAVAILABLE", e.Extensions.Code, "%s", a.Body)
		}
		if len(a.Errors) > 0 {
			return false
		}
		claimed = apitest.HeldOf(a, "claimProjectItems.items")
		return len(claimed) > 0
	}, apitest.Patience, 20*time.Millisecond, "nothing can be claimed")
	l.Finished(who, claimed[0])
	worked := time.Now()
	at := <-elected
	for finished := false; !finished; {
		switch m := watcher.Message(); m.At("__typename") {
		case "ProjectEvent":
			finished = m.Str("item.id") == claimed[0].ID // the first one may be told once more
		case "ProjectSnapshot": // after a gap: a Redis that is another one than before is not trusted, and rebuilt
			counted, _ := m.At("queue.counts.finished").(float64)
			finished = counted == 2
		}
	}
	told := time.Now()
	l.T.Logf("a new master after %v, work %v later, told %v later", at.Sub(lost), worked.Sub(at), told.Sub(at))
	assert.Less(l.T, worked.Sub(at), apitest.Soon, "claimed and finished")
	assert.Less(l.T, told.Sub(at), apitest.Heard, "told")
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
	dies := apitest.NewServer(t, apitest.WithRedis(node.URL()))
	l := dies.Labelled(40, 2)
	stays := dies.Ahead(0)
	stays.Works()
	there := l
	there.Client = &apitest.Client{Server: stays, Token: l.Token, ID: l.Client.ID}
	there.Counts("38 0 2 0")
	truth, kept := truth.Store{Store: projects.Store{DB: stays.DB}}, stays.App.Labelling.Queue
	require.Eventually(t, func() bool {
		at, _, err := kept.Fits(t.Context(), l.Key(), labelling.Cursor{})
		marks, failed := truth.Marks(t.Context(), []project.ID{l.Key()})
		return err == nil && failed == nil && marks[0].Cursor == at
	}, apitest.Patience, 20*time.Millisecond, "it is not marked where the project is")
	for _, turn := range []string{"mark", "compare"} { // as within the second, or the five minutes, after the last one
		require.NoError(t, dies.App.Stores.Redis.Set(t.Context(), "taggie:turn:"+turn+"%3A"+string(l.Key()), 1, time.Hour).Err())
	}
	node.Save(t)
	l.Claimed(l.Labellers[0], 7)
	there.Counts("31 7 2 0")
	node.Kill() // and nothing is heard of the first server from now on
	node.Restart(t)
	back := time.Now()
	require.Eventually(t, func() bool { // while it is rebuilt it cannot be told
		a := there.Do(`query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished skipped remaining } } } }`, apitest.Vars{"p": l.ID})
		return len(a.Errors) == 0 && apitest.CountsOf(a, "project.queue.counts") == "31 7 2 0"
	}, apitest.Patience, 20*time.Millisecond, "%s", stays.Logs)
	t.Logf("right %v after Redis was back", time.Since(back))
	assert.Contains(t, stays.Logs.String(), "counts differ from what is stored")
}
