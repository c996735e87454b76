package subscriptions

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// floods begins so many subscriptions on each of so many sockets, and counts those that are up. It returns when all have been asked for.
func floods(l apitest.Crew, who *apitest.Client, sockets, each int) (up *atomic.Int64) {
	l.T.Helper()
	up = new(atomic.Int64)
	all := make([]*apitest.Stream, sockets)
	for i := range all {
		all[i] = who.Subscribe(`subscription { onlineCount }`, nil) // which waits for nobody
		_ = all[i].Next()
		go func() {
			for range all[i].Results {
				up.Add(1)
			}
		}()
	}
	for id := range each {
		for _, s := range all {
			require.NoError(l.T, s.Write(l.T.Context(), map[string]any{
				"type": "subscribe", "id": "flood " + strconv.Itoa(id), "payload": map[string]any{"query": apitest.ProjectEvents, "variables": apitest.Vars{"p": l.ID}},
			}))
		}
	}
	return up
}

// TestThousandsOfOneUserHoldNobodyUp has somebody subscribe while very many subscriptions of somebody else wait for their turn.
func TestThousandsOfOneUserHoldNobodyUp(t *testing.T) {
	const sockets, each = 15, 90 // of at most 20 and 100
	s := apitest.NewServer(t)
	l := s.Labelled(20, 0)
	up := floods(l, l.Labellers[0], sockets, each)
	l.Listens(l.Labellers[1], nil).Snapshot()
	before := up.Load()
	t.Logf("%d of %d were up before", before, sockets*each)
	assert.Less(t, before, int64(sockets*each/2), "somebody else has waited for all of these")
	require.Eventually(t, func() bool { return up.Load() == sockets*each }, apitest.Patience, apitest.Patience/1000, "all of them come up")
}
