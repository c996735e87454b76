//go:build long && unix

package fleets

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/campaign"
	"github.com/taggie/taggie/internal/cli"
)

// soakFor is how long things break in a soak, as a duration; an hour without it.
const soakFor = "TAGGIE_TEST_SOAK"

// roundLong is how long things break in a round at most. A round is judged before the next one begins: what a history has then need not be kept,
// and a mistake is told when it is some minutes old.
const roundLong = 10 * time.Minute

// TestSoak is `make soak`: servers and engines that break for a long time while users work, and what the servers use meanwhile.
// docs/reliability.md says what it does.
func TestSoak(t *testing.T) {
	long := time.Hour
	if given := os.Getenv(soakFor); given != "" {
		var err error
		long, err = time.ParseDuration(given)
		require.NoError(t, err, soakFor)
	}
	seed := seedOf(t)
	binary, err := os.Executable()
	require.NoError(t, err)
	w := newSoakWorld(t, 3, binary)
	m := w.measures(long)
	for left, round := long, uint64(1); left > 0; left, round = left-roundLong, round+1 {
		w.round(m, fmt.Sprintf("soak-%d", round), seed+round-1, min(left, roundLong))
	}
	w.judged(m)
}

// round has users work while things break, and judges it.
func (w *soakWorld) round(m *measures, name string, seed uint64, long time.Duration) {
	t, began := w.t, time.Now()
	w.emails = fmt.Sprintf("seed%d.", seed)
	const labellers, pace, perSecond = 6, 400 * time.Millisecond, 10 // items that all together can finish
	items := 500 + int(long.Seconds())*perSecond
	m.items += items
	s := &soak{world: w, expedition: newExpeditionAs(t, name, seed, w.fleet, w.servers[0].queued(items, 200, labellers))}
	s.waits, s.connect, s.bounds.InTime = soakWaits, w.clients.dial, soakDeadline+soakSlack
	s.work.Pace, s.work.Patience, s.work.NewID = pace, 2*soakWaits, func() string { m.keys.Add(1); return uuid.NewString() }
	s.makes()
	s.begins(2, 4)
	s.goesWrong(long, s.mishaps())
	m.adds(s.expedition.judged(name, began))
}

// soakDeadline is that of operations.
const soakDeadline = 10 * time.Second

// soakSlack is how much later than its deadline an answer may come: a machine with two cores has other work as well.
const soakSlack = 10 * time.Second

// judged looks, when all rounds are over, what the servers used, what is left, and whether all rows fit together.
func (w *soakWorld) judged(m *measures) {
	t := w.t
	t.Helper()
	stored := campaign.Stored{Measured: m.ends(), Left: w.left(m)}
	assert.NotEmpty(t, stored.Measured, "no server was there for long enough: a soak has to last for some minutes")
	for _, s := range stored.Measured {
		t.Logf("soak: %s", s)
	}
	grown := m.grown()
	for _, table := range slices.Sorted(maps.Keys(grown)) {
		n := grown[table]
		t.Logf("soak: table %s: %+.0f rows an hour, %.2f for each acknowledged operation", table, float64(n)/time.Since(m.began).Hours(), float64(n)/float64(m.sum.acknowledged))
		stored.Left["rows of table "+table+" more than twice what was asked for"] = n - 2*(m.sum.acknowledged+m.items)
	}
	for _, v := range campaign.Check(campaign.NewHistory(time.Now, nil), stored, campaign.Promised) {
		t.Errorf("%s", v)
	}
	w.fitsTogether()
	for _, s := range w.servers {
		assert.Eventually(t, s.ready, apitest.Patience, 100*time.Millisecond, "server %d is ready without anybody's help", s.number)
	}
	select {
	case err := <-w.engines.Failed():
		assert.NoError(t, err)
	default:
	}
	if t.Failed() {
		m.sum.verdict = "broken"
	}
	t.Logf("soak: %s", m.sum.row())
}

// fitsTogether has the command check all rows and objects. What is half done in the background may lack something for a while.
func (w *soakWorld) fitsTogether() {
	w.t.Helper()
	for end := time.Now().Add(apitest.Patience); ; {
		out, err := apitest.Run(w.t, w.env, cli.CheckCommand{}.Run)
		if err == nil || time.Now().After(end) {
			assert.NoError(w.t, err, "%s", out)
			return
		}
	}
}
