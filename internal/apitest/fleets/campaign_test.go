package fleets

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// TestASmallCampaign breaks servers and Redis in each way once; `make test-long` does so for minutes, see docs/reliability.md.
func TestASmallCampaign(t *testing.T) {
	began := time.Now()
	node := embeddedtest.NewRedis(t)
	f := newFleetOnItself(t, 2, node.URL())
	e := newExpedition(t, f, f.servers[0].queued(400, 100, 4))
	e.makes()
	e.begins(1, 2)
	e.breaks("a server is killed", e.kills(e.servers[1]))
	e.until(30, "work goes on after a server was killed")
	e.breaks("Redis is mute", func() (none time.Time) {
		node.Sleep(t.Context(), 3*time.Second)
		return none
	})
	e.until(30, "work goes on after Redis was mute")
	e.breaks("Redis is emptied", func() (none time.Time) {
		require.NoError(t, f.redis.FlushAll(t.Context()).Err())
		return none
	})
	e.until(60, "work goes on after Redis was emptied")
	e.judged("small", began)
}

// kills kills a server and starts it again.
func (e *expedition) kills(s *server) func() time.Time {
	return func() (none time.Time) {
		require.Error(e.fleet.t, s.kill())
		ctx, cancel := context.WithTimeout(e.fleet.t.Context(), 300*time.Millisecond)
		defer cancel()
		<-ctx.Done()
		require.NoError(e.fleet.t, s.start())
		return none
	}
}
