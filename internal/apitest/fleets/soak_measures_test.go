//go:build long && unix

package fleets

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/campaign"
)

// use is something that a server uses, as /metrics tells it.
type use struct {
	metric, of, unit string
	per              float64 // of the metric, for one of the unit
	growth           campaign.Growth
}

// uses are what is followed. The bounds are explained in docs/reliability.md.
var uses = []use{
	{"process_resident_memory_bytes", "memory", "MiB", 1 << 20, campaign.Growth{Breath: 32, PerHour: 8}},
	{"go_goroutines", "goroutines", "", 1, campaign.Growth{Breath: 200, PerHour: 5}},
	{"process_open_fds", "descriptors", "", 1, campaign.Growth{Breath: 150, PerHour: 5}},
}

// measures follow what each process of each server uses.
type measures struct {
	world *soakWorld
	stop  context.CancelFunc
	over  sync.WaitGroup
	rows  map[string]int // of each table, when they began
	began time.Time
	items int          // that were imported
	sum   result       // of all rounds
	keys  atomic.Int64 // that requests had, so that they are carried out once

	mu  sync.Mutex
	all map[life]*[3]campaign.Series // by the process
}

// life is a process of a server.
type life struct{ server, number int }

// measures begins to measure, some hundred times in all.
func (w *soakWorld) measures(long time.Duration) *measures {
	ctx, cancel := context.WithCancel(w.t.Context())
	m := &measures{world: w, stop: cancel, all: map[life]*[3]campaign.Series{}, rows: w.rows(), began: time.Now(), sum: result{name: "soak", verdict: "kept"}}
	every := time.NewTicker(max(time.Second, long/400))
	m.over.Go(func() {
		defer every.Stop()
		for {
			select {
			case <-every.C:
				w.dynamo.Recorder().Reset() // nobody asks
				for _, s := range w.servers {
					m.reads(ctx, s)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return m
}

// adds sums up what came of a round.
func (m *measures) adds(r result) {
	if m.sum.seed == 0 {
		m.sum.seed = r.seed // of the first one
	}
	m.sum.longest += r.longest
	m.sum.faults += r.faults
	m.sum.acknowledged += r.acknowledged
	m.sum.refused += r.refused
	m.sum.unknown += r.unknown
	m.sum.events += r.events
	m.sum.agreed = max(m.sum.agreed, r.agreed)
}

// reads asks a server what it uses, unless it is away.
func (m *measures) reads(ctx context.Context, s *server) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s.mu.Lock()
	of := life{s.number, len(s.logs)}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	s.mu.Unlock()
	if err != nil {
		return
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[of] == nil {
		m.all[of] = &[3]campaign.Series{}
	}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n := slices.IndexFunc(uses, func(u use) bool { return u.metric == name })
		if n < 0 {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			m.all[of][n].Readings = append(m.all[of][n].Readings, campaign.Reading{At: now, Value: v / uses[n].per})
		}
	}
}

// shortLife is how long a process has to be there so that what it uses is judged.
const shortLife = 90 * time.Second

// ends returns what the processes used that lived for long, without their first third, in which caches and pools fill.
func (m *measures) ends() (all []campaign.Series) {
	m.stop()
	m.over.Wait()
	lives := slices.SortedFunc(maps.Keys(m.all), func(a, b life) int { return cmp.Or(a.server-b.server, a.number-b.number) })
	for _, of := range lives {
		for n, s := range m.all[of] {
			if s.Long() < shortLife {
				continue
			}
			warm := s.Readings[0].At.Add(s.Long() / 3)
			s.Readings = slices.DeleteFunc(s.Readings, func(r campaign.Reading) bool { return r.At.Before(warm) })
			s.Of, s.Unit, s.Growth = fmt.Sprintf("%s of server %d, process %d", uses[n].of, of.server, of.number), uses[n].unit, uses[n].growth
			all = append(all, s)
		}
	}
	return all
}

// rows returns how many rows each table has.
func (w *soakWorld) rows() map[string]int {
	all := map[string]int{}
	db := w.tables()
	for _, table := range db.Tables() {
		out, err := db.Client.DescribeTable(w.t.Context(), &dynamodb.DescribeTableInput{TableName: table.TableName})
		require.NoError(w.t, err)
		all[strings.TrimPrefix(*table.TableName, w.prefix)] = int(*out.Table.ItemCount)
	}
	return all
}

// grown returns by how many rows each table has grown.
func (m *measures) grown() map[string]int {
	all := m.world.rows()
	for table := range all {
		all[table] -= m.rows[table]
	}
	return all
}

// left counts the rows that nobody needs any more, when those who work on them had time to.
func (w *soakWorld) left(m *measures) (left map[string]int) {
	t := w.t
	admin, err := w.local.Mint(app.Person("admin@example.com", "Admin", "", true), time.Hour)
	require.NoError(t, err)
	root := w.servers[0].by(&apitest.Client{Token: admin})
	root.Must(`mutation { createUser(input: {name: "Admin", email: "admin@example.com"}) { user { id } } }`, nil)
	for end := time.Now().Add(apitest.Patience); ; time.Sleep(200 * time.Millisecond) {
		left = w.onTheirWay()
		left["dead letters"] = len(root.Must(`{ deadLetters { reason } }`, nil).List("deadLetters"))
		if time.Now().After(end) || !slices.ContainsFunc(slices.Collect(maps.Values(left)), func(n int) bool { return n > 0 }) {
			left["idempotency keys that no request had"] = w.idempotencyKeys() - int(m.keys.Load())
			return left
		}
	}
}

// onTheirWay counts the rows that are removed as soon as somebody has worked on them.
func (w *soakWorld) onTheirWay() map[string]int {
	t, ctx, db := w.t, w.t.Context(), w.tables()
	events, err := outbox.Store{DB: db}.ListOutbox(ctx, time.Now().Add(time.Hour), 100_000)
	require.NoError(t, err)
	tasks, err := dynamo.Tasks{DB: db}.ListDueTasks(ctx, time.Now().Add(-time.Minute), 1000)
	require.NoError(t, err)
	return map[string]int{
		"transitions that no queue has followed": w.unfollowed(), "events that nobody was told": len(events), "tasks that are due for a minute": len(tasks),
	}
}

// idempotencyKeys counts the rows that remember requests. They stay for a day, which no soak lasts.
func (w *soakWorld) idempotencyKeys() (n int) {
	db := w.tables()
	scan := &dynamodb.ScanInput{
		TableName: db.Table(dynamo.NotesTable), Select: types.SelectCount, FilterExpression: aws.String("begins_with(PK, :idempotency)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":idempotency": dynamo.Str(keys.IdempotencyPK(""))},
	}
	for pages := dynamodb.NewScanPaginator(db.Client, scan); pages.HasMorePages(); {
		page, err := pages.NextPage(w.t.Context())
		require.NoError(w.t, err)
		n += int(page.Count)
	}
	return n
}
