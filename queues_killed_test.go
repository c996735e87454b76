package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

// A server is killed after DynamoDB has a change, and before Redis is told of it. It does all background work until then: its leases and turns
// have to end, too. Another server tells right counts and statistics soon.
func TestStatisticsAreRightSoonAfterAServerWasKilled(t *testing.T) {
	t.Parallel()
	way, url := newBridge(t)
	var shared config.Config
	dies := newServer(t, withRedis(url), func(c *config.Config) { shared = *c })
	l := dies.labelled(20, 2)
	rests := dies.works()
	stays := newServer(t, withRedis("redis://"+way.to+"/0"), func(c *config.Config) { c.Data, c.TablePrefix = shared.Data, shared.TablePrefix })
	there := l
	there.client = l.client.at(stays)
	who := l.labellers[0]
	claimed := l.claimed(who, 4)
	there.counts("14 4 2 0")
	stays.works()

	changes := []struct {
		status, mutation, selection string
		in                          vars
	}{
		{"FINISHED", "finishProjectItem", "effort { id }", l.finishing(claimed[0])},
		{"FINISHED", "finishProjectItem", "effort { id }", l.finishing(claimed[1])},
		{"NEW", "releaseProjectItem", "item { id }", claimed[2].input()},
		{"SKIPPED", "skipProjectItem", "item { id }", claimed[3].input(vars{"reason": "FOR_NOBODY"})},
	}
	writes := dies.faults.Hold(faultinject.Always, func(c *faultinject.Call) bool {
		return c.Operation == "TransactWriteItems" && bytes.Contains(c.Body, []byte(`"outbox:`))
	})
	answered := make(chan struct{}, len(changes))
	for _, change := range changes {
		go func() {
			defer func() { answered <- struct{}{} }()
			who.mutate(change.mutation, change.selection, change.in)
		}()
	}
	require.NoError(t, writes.Wait(t.Context(), len(changes)))
	way.cut()
	writes.Open()
	ended := make(chan struct{})
	go func() { rests(); close(ended) }()
	there.becomesSo(there.client, `items(first: 50) { nodes { id status } }`, func(p *answer) bool {
		is := map[string]string{}
		for _, node := range p.list("items.nodes") {
			i := node.(map[string]any)
			is[i["id"].(string)] = i["status"].(string)
		}
		for n, change := range changes {
			if is[claimed[n].id] != change.status {
				return false
			}
		}
		return true
	})
	stored := time.Now()
	there.counts("15 0 4 1")
	there.statistics(l.team, "4 0", map[string]string{who.id: "3 0", l.labellers[1].id: "1 0"})
	took := time.Since(stored)
	t.Logf("right after %v", took)
	assert.Less(t, took, 2*soon, "it is promised within %v, on a machine that has time", soon)
	for range changes {
		<-answered
	}
	<-ended
}
