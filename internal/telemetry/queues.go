package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// queueMetrics tell of the queues of projects, and of who listens to what happens in them.
type queueMetrics struct {
	queued  prometheus.Counter
	built   prometheus.Counter
	read    prometheus.Counter
	gaps    prometheus.Counter
	untold  *measured
	missed  *prometheus.CounterVec
	moves   *prometheus.CounterVec
	backlog *measured
	sockets atomic.Pointer[func() int]
}

func newQueueMetrics(r *prometheus.Registry) *queueMetrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	moves := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "taggie_item_transitions_total", Help: "Changes of the status of items that this server made, by their cause: EXPIRED when a lease ended without a finish.",
	}, []string{"cause"})
	r.MustRegister(moves)
	missed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "taggie_follower_gaps_total", Help: "Times that a subscriber to notes or to a score missed events, because they are no longer kept or Redis lost them. Clients that resume after a cursor that is too old are not counted.",
	}, []string{"of"})
	r.MustRegister(missed)
	for _, kind := range []string{"note", "score"} {
		missed.WithLabelValues(kind)
	}
	m := &queueMetrics{
		queued: counter("taggie_queue_items_added_total", "Items that this server put into the queues of projects."),
		built:  counter("taggie_queue_builds_total", "Queues that this server built: new ones, and those that it rebuilt."),
		read:   counter("taggie_project_events_read_total", "Events of projects that this server read for its subscribers. An event counts once for all subscribers together, and again for one who resumes after a long time."),
		gaps:   counter("taggie_project_event_gaps_total", "Times that events of a project were missed, because they are no longer kept or the queue was lost."),
		missed: missed,
		untold: newMeasured(
			prometheus.NewDesc("taggie_event_oldest_untold_age_seconds", "For how long the oldest change of a note, a share or a score has been waiting to be told to subscribers, of all servers; 0 when none waits.", nil, nil),
		),
		moves: moves,
		backlog: newMeasured(
			prometheus.NewDesc("taggie_queue_messages_waiting", "Messages that wait for a consumer or are being handled, of all servers.", nil, nil),
			prometheus.NewDesc("taggie_queue_dead_letters", "Messages that nobody could handle.", nil, nil),
			prometheus.NewDesc("taggie_queue_oldest_message_age_seconds", "For how long the oldest message has been waiting or being handled, of all servers; 0 when there is none.", nil, nil),
		),
	}
	r.MustRegister(m.backlog, m.untold, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "taggie_sockets_open", Help: "Open WebSockets and event streams."}, func() float64 {
		if open := m.sockets.Load(); open != nil {
			return float64((*open)())
		}
		return 0
	}))
	return m
}

// Sockets has the number of open sockets and event streams asked for at each scrape; open must not wait.
func (m *Metrics) Sockets(open func() int) { m.queues.sockets.Store(&open) }

// Queued counts items that were put into a queue.
func (m *Metrics) Queued(items int) { m.queues.queued.Add(float64(items)) }

// QueueBuilt counts a queue that was made.
func (m *Metrics) QueueBuilt() { m.queues.built.Inc() }

// EventsRead counts events of a project; gap says that some were missed.
func (m *Metrics) EventsRead(events int, gap bool) {
	m.queues.read.Add(float64(events))
	if gap {
		m.queues.gaps.Inc()
	}
}

// EventsMissed counts a subscriber that missed events: of notes or of a score, as the kind of its events says.
func (m *Metrics) EventsMissed(of string) { m.queues.missed.WithLabelValues(of).Inc() }

// EventsLate sets for how long the oldest event of a note or a score has been waiting to be told.
func (m *Metrics) EventsLate(oldest time.Duration) { m.queues.untold.set(oldest.Seconds()) }

// NoEventsLate says that this is not known now.
func (m *Metrics) NoEventsLate() { m.queues.untold.set() }

// Transition counts a change of an item's status that was made; cause is one of few words of our own.
func (m *Metrics) Transition(cause string) { m.queues.moves.WithLabelValues(cause).Inc() }

// Backlog sets how many messages wait, how many are dead, and for how long the oldest has been waiting.
func (m *Metrics) Backlog(waiting, dead int, oldest time.Duration) {
	m.queues.backlog.set(float64(waiting), float64(dead), oldest.Seconds())
}

// NoBacklog says that this is not known now: better no number than an old one.
func (m *Metrics) NoBacklog() { m.queues.backlog.set() }

// measured tells numbers as long as they are known.
type measured struct {
	descs []*prometheus.Desc

	mu      sync.Mutex
	numbers []float64 // in the same order; none while they are not known
}

func newMeasured(descs ...*prometheus.Desc) *measured { return &measured{descs: descs} }

func (m *measured) set(numbers ...float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.numbers = numbers
}

// Describe sends what can be told.
func (m *measured) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range m.descs {
		ch <- d
	}
}

// Collect sends the numbers.
func (m *measured) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, n := range m.numbers {
		ch <- prometheus.MustNewConstMetric(m.descs[i], prometheus.GaugeValue, n)
	}
}
