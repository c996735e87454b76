package fleets

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/capacity"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// capacityWorld is a fleet of which all is counted that it consumes.
type capacityWorld struct {
	*fleet
	apitest.Crew
	size      capacity.Size
	recorder  *capacity.Recorder
	slots     *capacity.Slots
	board     map[string]string // the documents of the board, by name
	resting   capacity.Expense
	costs     []capacity.Cost
	skips     []int // of items, in each shift
	reviewers []*apitest.Client
	small     apitest.Crew // a project for what is measured one by one

	told atomic.Int64 // events, of those who follow

	hearing sync.Mutex
	last    int64 // id of the last command of Redis that was seen
	unseen  int   // commands of Redis before that which were not
}

// moment is what was consumed until then.
type moment struct {
	usage capacity.Usage
	redis *capacity.Slots
	cpu   time.Duration // of the servers
	slow  time.Duration // CPU of Redis
}

// newCapacityWorld starts servers without the race detector, with a project that has items and labellers.
func newCapacityWorld(t *testing.T, size capacity.Size) *capacityWorld {
	t.Helper()
	prefix := "r" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"
	w := &capacityWorld{size: size, recorder: capacity.NewRecorder(prefix), slots: &capacity.Slots{}, board: boardDocuments(t), last: -1}
	embeddedtest.DropTables(t, prefix)
	tables := embeddedtest.DynamoDB(t)
	direct := tables
	tables.URL, tables.Socket, tables.Credential = lane(t, direct.URL, w.recorder.Wrap(transportTo(direct))), "", ""
	w.fleet = newFleetWith(t, size.Servers, fastBinary(t), embeddedtest.RealRedis(t).URL, append(
		apitest.RemoteAt(t, prefix, tables, embeddedtest.S3(t), embedded.Endpoint{}),
		"TAGGIE_COST_BUDGET=1000000000", "TAGGIE_COST_RATE=1000000", "TAGGIE_OPERATION_TIMEOUT="+apitest.OperationTimeout.String()))
	w.fleet.engine = &direct
	// A list of all commands would take Redis more time than many of them; those in scripts are shorter than this, most others longer.
	for name, value := range map[string]string{"slowlog-log-slower-than": "10", "slowlog-max-len": "100000"} { // µs
		require.NoError(t, w.redis.ConfigSet(t.Context(), name, value).Err())
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); w.listens(ctx) }()
	t.Cleanup(func() { stop(); <-over })
	return w
}

// script is the address of who sends the commands of scripts, whose time is in that of the script.
const script = "?:0"

// listens reads again and again which commands Redis has carried out.
func (w *capacityWorld) listens(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
			w.hears(ctx)
		}
	}
}

// hears reads which commands Redis has carried out since the last time, and has it forget them.
func (w *capacityWorld) hears(ctx context.Context) {
	w.hearing.Lock()
	defer w.hearing.Unlock()
	var done *redis.SlowLogCmd
	_, err := w.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		done = p.SlowLogGet(ctx, -1)
		return p.Do(ctx, "SLOWLOG", "RESET").Err()
	})
	if err != nil {
		return // the test is over
	}
	least, most := int64(0), w.last
	for n, one := range done.Val() {
		if one.ClientAddr != script {
			w.slots.Add(one.Args, one.Duration)
		}
		if most = max(most, one.ID); n == 0 || one.ID < least {
			least = one.ID
		}
	}
	if w.last >= 0 && most > w.last {
		w.unseen += max(0, int(least-w.last-3)) // up to two are of the last reading itself, and were forgotten with what it read
	}
	w.last = most
}

// missed is how many commands of Redis were not seen so far.
func (w *capacityWorld) missed() int {
	w.hearing.Lock()
	defer w.hearing.Unlock()
	return w.unseen
}

// soFar returns what was consumed until now.
func (w *capacityWorld) soFar() moment {
	w.t.Helper()
	w.hears(w.t.Context())
	m := moment{usage: w.recorder.Usage(), redis: w.slots.Copy()}
	for _, server := range w.servers {
		m.cpu += cpuOf(server.command.Process.Pid)
	}
	info, err := w.redis.InfoMap(w.t.Context(), "cpu").Result()
	require.NoError(w.t, err)
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		require.NoError(w.t, err)
		m.slow += time.Duration(seconds * float64(time.Second))
	}
	return m
}

// untold is how many events of notes and scores the servers have not told yet.
func (w *capacityWorld) untold() int {
	w.t.Helper()
	events, err := outbox.Store{DB: w.tables()}.ListOutbox(w.t.Context(), time.Now().Add(time.Hour), 100_000)
	require.NoError(w.t, err)
	return len(events)
}

// consumed returns what something consumes, with what follows of it.
func (w *capacityWorld) consumed(something func()) capacity.Expense {
	w.t.Helper()
	settled := func() {
		require.Eventually(w.t, func() bool { return w.unfollowed()+w.untold() == 0 }, 10*apitest.Patience, 50*time.Millisecond)
	}
	settled()
	before, began := w.soFar(), time.Now()
	something()
	settled()
	after := w.soFar()
	return capacity.Expense{
		Usage: after.usage.Minus(before.usage), Redis: after.redis.Minus(before.redis).Scaled(after.slow - before.slow), CPU: after.cpu - before.cpu, Took: time.Since(began),
	}
}

// rests measures the servers while nobody asks them for anything.
func (w *capacityWorld) rests(long time.Duration) {
	w.t.Helper()
	w.resting = w.consumed(func() { <-time.After(long) })
}

// measures measures something that is done so many times.
func (w *capacityWorld) measures(what string, times int, each func(n int)) {
	w.t.Helper()
	spent := w.consumed(func() {
		for n := range times {
			each(n)
		}
	})
	w.costs = append(w.costs, capacity.CostOf(what, times, spent, w.resting))
}

// tick is what Linux counts CPU time in.
const tick = 10 * time.Millisecond

// cpuOf returns the CPU time of a process and of its children that have ended; 0 on systems that do not tell it as Linux does.
func cpuOf(pid int) (used time.Duration) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may hold blanks
	fields := strings.Fields(rest)
	for _, at := range []int{11, 12, 13, 14} { // of the process and of its children, in user mode and in the kernel
		if at < len(fields) {
			ticks, _ := strconv.Atoi(fields[at])
			used += time.Duration(ticks) * tick
		}
	}
	return used
}
