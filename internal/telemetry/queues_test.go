package telemetry

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQueueMetrics(t *testing.T) {
	m := NewMetrics()
	m.Sockets(func() int { return 3 })
	m.Queued(5)
	m.Queued(2)
	m.QueueBuilt()
	m.EventsRead(4, false)
	m.EventsRead(0, true)
	m.Transition("EXPIRED")
	problems, err := testutil.GatherAndLint(m.registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.InDelta(t, 7, testutil.ToFloat64(m.queues.queued), 0)
	assert.InDelta(t, 1, testutil.ToFloat64(m.queues.built), 0)
	assert.InDelta(t, 4, testutil.ToFloat64(m.queues.read), 0)
	assert.InDelta(t, 1, testutil.ToFloat64(m.queues.gaps), 0)
	assert.InDelta(t, 1, testutil.ToFloat64(m.queues.moves.WithLabelValues("EXPIRED")), 0)
	assert.NoError(t, testutil.GatherAndCompare(m.registry, strings.NewReader("# HELP taggie_sockets_open Open WebSockets and event streams.\n# TYPE taggie_sockets_open gauge\ntaggie_sockets_open 3\n"), "taggie_sockets_open"))
	told := func() string {
		t.Helper()
		var all []string
		families, err := m.registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if slices.Contains([]string{"taggie_queue_messages_waiting", "taggie_queue_dead_letters", "taggie_queue_oldest_message_age_seconds"}, f.GetName()) {
				all = append(all, f.GetName()+" "+f.GetMetric()[0].GetGauge().String())
			}
		}
		return strings.Join(all, " ")
	}
	assert.Empty(t, told(), "nobody has counted yet")
	m.Backlog(9, 2, 1500*time.Millisecond)
	assert.Equal(t, `taggie_queue_dead_letters value:2 taggie_queue_messages_waiting value:9 taggie_queue_oldest_message_age_seconds value:1.5`, told())
	m.NoBacklog()
	assert.Empty(t, told(), "an old number is worse than none")
}
