package queues

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

// A server is killed after DynamoDB has a change, and before Redis is told of it. It does all background work until then: its leases and turns
// have to end, too. Another server tells right counts and statistics soon.
func TestStatisticsAreRightSoonAfterAServerWasKilled(t *testing.T) {
	t.Parallel()
	way, url := apitest.NewBridge(t)
	var shared config.Config
	dies := apitest.NewServer(t, apitest.WithRedis(url), func(c *config.Config) { shared = *c })
	l := dies.Labelled(20, 2)
	rests := dies.Works()
	stays := apitest.NewServer(t, apitest.WithRedis("redis://"+way.To+"/0"), func(c *config.Config) { c.Data, c.TablePrefix = shared.Data, shared.TablePrefix })
	there := l
	there.Client = l.Client.At(stays)
	who := l.Labellers[0]
	claimed := l.Claimed(who, 4)
	there.Counts("14 4 2 0")
	stays.Works()

	changes := []struct {
		status, mutation, selection string
		in                          apitest.Vars
	}{
		{"FINISHED", "finishProjectItem", "effort { id }", l.Finishing(claimed[0])},
		{"FINISHED", "finishProjectItem", "effort { id }", l.Finishing(claimed[1])},
		{"NEW", "releaseProjectItem", "item { id }", claimed[2].Input()},
		{"SKIPPED", "skipProjectItem", "item { id }", claimed[3].Input(apitest.Vars{"reason": "FOR_NOBODY"})},
	}
	writes := dies.Faults.Hold(faultinject.Always, func(c *faultinject.Call) bool {
		return c.Operation == "TransactWriteItems" && bytes.Contains(c.Body, []byte(`"outbox:`))
	})
	answered := make(chan struct{}, len(changes))
	for _, change := range changes {
		go func() {
			defer func() { answered <- struct{}{} }()
			who.Mutate(change.mutation, change.selection, change.in)
		}()
	}
	require.NoError(t, writes.Wait(t.Context(), len(changes)))
	way.Cut()
	writes.Open()
	ended := make(chan struct{})
	go func() { rests(); close(ended) }()
	there.BecomesSo(there.Client, `items(first: 50) { nodes { id status } }`, func(p *apitest.Answer) bool {
		is := map[string]string{}
		for _, node := range p.List("items.nodes") {
			i := node.(map[string]any)
			is[i["id"].(string)] = i["status"].(string)
		}
		for n, change := range changes {
			if is[claimed[n].ID] != change.status {
				return false
			}
		}
		return true
	})
	stored := time.Now()
	there.Counts("15 0 4 1")
	statistics(there, l.Team, "4 0", map[string]string{who.ID: "3 0", l.Labellers[1].ID: "1 0"})
	took := time.Since(stored)
	t.Logf("right after %v", took)
	assert.Less(t, took, 2*apitest.Soon, "it is promised within %v, on a machine that has time", apitest.Soon)
	for range changes {
		<-answered
	}
	<-ended
}
