package main

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// floods begins so many subscriptions on each of so many sockets, and counts those that are up. It returns when all have been asked for.
func (l crew) floods(who *client, sockets, each int) (up *atomic.Int64) {
	l.t.Helper()
	up = new(atomic.Int64)
	all := make([]*stream, sockets)
	for i := range all {
		all[i] = who.subscribe(`subscription { onlineCount }`, nil) // which waits for nobody
		_ = all[i].next()
		go func() {
			for range all[i].results {
				up.Add(1)
			}
		}()
	}
	for id := range each {
		for _, s := range all {
			require.NoError(l.t, s.write(l.t.Context(), map[string]any{
				"type": "subscribe", "id": "flood " + strconv.Itoa(id), "payload": map[string]any{"query": projectEvents, "variables": vars{"p": l.id}},
			}))
		}
	}
	return up
}

// TestThousandsOfOneUserHoldNobodyUp has somebody subscribe while very many subscriptions of somebody else wait for their turn.
func TestThousandsOfOneUserHoldNobodyUp(t *testing.T) {
	const sockets, each = 15, 90 // of at most 20 and 100
	s := newServer(t)
	l := s.labelled(20, 0)
	up := l.floods(l.labellers[0], sockets, each)
	l.listens(l.labellers[1], nil).snapshot()
	before := up.Load()
	t.Logf("%d of %d were up before", before, sockets*each)
	assert.Less(t, before, int64(sockets*each/2), "somebody else has waited for all of these")
	require.Eventually(t, func() bool { return up.Load() == sockets*each }, patience, patience/1000, "all of them come up")
}
