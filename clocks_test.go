package main

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/clock"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/telemetry"
)

// ahead starts another server on the same stores, whose clock is ahead of the true time.
func (s *testServer) ahead(d time.Duration) *testServer {
	s.t.Helper()
	other := &testServer{t: s.t, faults: s.faults, prefix: s.prefix, logs: &lockedBuffer{}}
	log := slog.New(slog.NewTextHandler(other.logs, nil))
	stores := *s.app.stores
	stores.clock = clock.New(func() time.Time { return time.Now().Add(d) }, log)
	engine := embeddedClient(embeddedtest.DynamoDB(s.t))
	engine.Wrap, engine.Time = s.faults.Wrap, stores.clock
	client, err := awsclient.DynamoDB(s.t.Context(), engine)
	require.NoError(s.t, err)
	stores.db = dynamo.New(dynamo.Options{Client: client, TablePrefix: s.prefix, Now: stores.clock.Now})
	other.db = stores.db
	a, err := assemble(s.app.cfg, httpapi.Trusted{}, &stores, telemetry.NewMetrics(), log)
	require.NoError(s.t, err)
	other.local, other.app = a.local, a
	web := httptest.NewServer(a.handler)
	s.t.Cleanup(func() {
		assert.NoError(s.t, a.sockets.Shutdown(context.WithoutCancel(s.t.Context())))
		a.queues.hub.Close()
		web.Close()
	})
	other.url = web.URL
	return other
}

func TestServersWhoseClocksDifferAgreeOnLeasesAndUndo(t *testing.T) {
	t.Parallel()
	right := newServer(t)
	l, cases := right.labelled(16, 0), 0
	for name, ahead := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		for source, hears := range map[string]func(*testServer){
			"Redis":    func(s *testServer) { require.NoError(t, s.app.queues.askTime(t.Context())) },
			"DynamoDB": func(s *testServer) { require.NoError(t, s.db.Ready(t.Context())) },
		} {
			t.Run(name+", by "+source, func(t *testing.T) {
				wrong := right.ahead(ahead)
				hears(wrong)
				who := l.labellers[cases]
				cases++
				hands := l.claimed(who, 4)
				for i, at := range []*testServer{right, wrong, right, wrong} {
					effort := l.finished(who.at(at), hands[i])
					undone := who.at([]*testServer{wrong, right}[i%2]).mutate("undoFinish", "item { claim { until } } problem { __typename }", vars{"effortId": effort})
					require.Nil(t, undone.at("result.problem"), "%s", undone.body)
					until, err := time.Parse(time.RFC3339, undone.str("result.item.claim.until"))
					require.NoError(t, err)
					assert.WithinDuration(t, time.Now().Add(15*time.Minute), until, 30*time.Second)
				}
			})
		}
	}
}

func TestAServerWhoseClockIsOffSaysSo(t *testing.T) {
	t.Parallel()
	s := newServer(t).ahead(-10 * time.Minute)
	s.ready()
	assert.Contains(t, s.logs.String(), "the clock of this server is off")
	status, checks := s.ready()
	assert.Equal(t, 200, status)
	assert.Contains(t, checks["clock"], "degraded: ")
	assert.Contains(t, checks["clock"], " behind")
	assert.Regexp(t, `(?m)^taggie_clock_ahead_seconds -(599|600)`, s.metrics())
}
