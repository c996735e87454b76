package labelling_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/task"
)

// depot is a world into which items are imported.
type depot struct {
	*world
	counting *labelling.Importing
	disturb  func(r *rand.Rand) // happens before some of the items are stored

	mu      sync.Mutex
	random  *rand.Rand
	imports map[project.TransferID]project.Import
	files   map[string]string
	down    map[string]bool // imports whose server was killed
}

func newDepot(w *world, seed uint64) *depot {
	w.truth.pageSize = 200
	d := &depot{world: w, random: rand.New(rand.NewPCG(seed, 3)), imports: map[project.TransferID]project.Import{}, files: map[string]string{}, down: map[string]bool{}}
	d.counting = labelling.NewImporting(w.options, w.populate, w.rebuild)
	return d
}

// put begins an import of items with these numbers.
func (d *depot) put(from, to int) project.Import {
	var file strings.Builder
	for n := from; n < to; n++ {
		fmt.Fprintf(&file, `{"externalId":"x%d","name":"N"}`+"\n", n)
	}
	i := project.Import{
		TransferID: project.TransferID{Project: d.project, ID: uuid.NewString()}, Format: project.JSONLines, Bytes: int64(file.Len()),
		State: project.Queued, CreatedBy: boss, CreatedAt: d.now(), Version: 1,
	}
	d.imports[i.TransferID] = i
	d.files[project.ImportKey(i.TransferID)] = file.String()
	return i
}

var errKilled = errors.New("killed")

func (d *depot) ImportsByID(_ context.Context, ids []project.TransferID) ([]project.Import, []error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down[ids[0].ID] {
		return make([]project.Import, 1), []error{errKilled}
	}
	return byID(ids, func(id project.TransferID) (project.Import, bool) { i, ok := d.imports[id]; return i, ok })
}

func (d *depot) PutImport(_ context.Context, _ project.UserID, before *project.Import, after project.Import, _ []task.Task, _ idempotency.Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.down[after.ID]:
		return errKilled
	case d.imports[after.TransferID].Version != before.Version:
		return &project.TransferConflict{}
	}
	d.imports[after.TransferID] = after
	return nil
}

func (d *depot) ImportItems(_ context.Context, items []project.Item) (int, []project.Item, error) {
	d.mu.Lock()
	seed, down := d.random.Uint64(), d.down[items[0].Import]
	d.mu.Unlock()
	if down {
		return 0, nil, errKilled
	}
	if d.disturb != nil {
		d.disturb(rand.New(rand.NewPCG(seed, 4)))
	}
	d.truth.mu.Lock()
	defer d.truth.mu.Unlock()
	created := 0
	var there []project.Item
	for _, i := range items {
		row, ok := d.truth.items[i.ID]
		switch {
		case !ok:
			d.truth.items[i.ID] = i
			created++
		case row.Import == i.Import && row.Line == i.Line:
			created++
		default:
			there = append(there, i)
		}
	}
	return created, there, nil
}

func (d *depot) Open(_ context.Context, key string, offset int64) (io.ReadCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return io.NopCloser(strings.NewReader(d.files[key][offset:])), nil
}

func (d *depot) Upload(context.Context, string, string, func(io.Writer) error) (int64, error) {
	return 0, errors.New("an import uploads nothing")
}

func (d *depot) Delete(context.Context, string) error { return nil }

// run runs an import once.
func (d *depot) run(i project.Import, tries int) error {
	_, err := project.Importer{Store: d, Files: d, Now: d.now, Count: d.counting}.Run(d.t.Context(),
		task.Task{Kind: project.RunImport, ID: i.ID, Scope: string(i.Project), Tries: tries})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down[i.ID] = false // another server takes over
	return err
}

// toItsEnd runs an import as often as that takes, and returns what became of it.
func (d *depot) toItsEnd(i project.Import) project.Import {
	for tries := 0; ; tries++ {
		err := d.run(i, min(tries, 7)) // so that no fault is one too many
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			assert.True(d.t, fault.Is(err, fault.Unavailable), "%v", err)
		}
		if d.t.Context().Err() != nil {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.imports[i.TransferID]
}

func (d *depot) stored() int {
	d.truth.mu.Lock()
	defer d.truth.mu.Unlock()
	return len(d.truth.items)
}

// calamity is what may happen to queues.
func (d *depot) calamity(r *rand.Rand) {
	ctx := d.t.Context()
	switch r.IntN(40) {
	case 0:
		assert.NoError(d.t, d.client.FlushDB(ctx).Err())
	case 1, 2:
		if _, err := d.rebuild.Rebuild(ctx, d.project, true); err != nil {
			assert.ErrorIs(d.t, err, labelling.ErrRebuilding)
		}
	case 3, 4, 5:
		assert.NoError(d.t, d.populate.Run(ctx))
	}
}

// onBoth runs a test on each Redis.
func onBoth(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, newWorld(t, 0, queue.Options{})) })
	t.Run("redis-server", func(t *testing.T) {
		test(t, newWorldAt(t, embeddedtest.RealRedis(t).URL, 0, queue.Options{}))
	})
}

// watched has the queue looked at all the time, while rebuilds that are wanted are made and users work, until the function returned
// is called: in every sample the counts add up, and none is below zero.
func (d *depot) watched() (stop func()) {
	ctx, cancel := context.WithCancel(d.t.Context())
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(d.t, d.rebuild.Run(ctx)) })
	var samples atomic.Int64
	all.Go(func() {
		for ctx.Err() == nil {
			s, err := d.queue.State(ctx, d.project)
			if err != nil {
				continue
			}
			c := s.Counts
			samples.Add(1)
			if !assert.Equal(d.t, c.Total, c.New+c.Claimed+c.Finished+c.Skipped, "in every sample") || !assert.GreaterOrEqual(d.t, min(c.New, c.Claimed, c.Finished, c.Skipped), 0, "%+v", c) {
				return
			}
		}
	})
	all.Go(func() {
		for ctx.Err() == nil {
			items, err := d.service.Claim(d.as(ada), labelling.ClaimItems{Project: d.project, Count: 10})
			if err == nil && len(items) == 0 {
				_ = d.populate.Run(ctx)
			}
			for _, i := range items {
				_, _ = d.service.Finish(d.as(ada), d.finishing(i))
			}
			d.queue.mu.Lock()
			mail := d.queue.mail
			d.queue.mail = nil
			d.queue.mu.Unlock()
			for _, m := range mail {
				_ = d.consumer.Handle(ctx, m) // the relay sends again what fails
			}
		}
	})
	return func() {
		d.t.Helper()
		assert.Eventually(d.t, func() bool { return samples.Load() > 0 }, 10*time.Second, time.Millisecond)
		cancel()
		all.Wait()
	}
}

// total checks that the queue counts all items, without another rebuild.
func (d *depot) total() {
	d.t.Helper()
	assert.Equal(d.t, d.stored(), d.state().Counts.Total)
}

// settled checks the queue when everything is done that was under way.
func (d *depot) settled() {
	d.t.Helper()
	d.total()
	d.relayed()
	require.NoError(d.t, labelling.NewReaper(d.options, d.rebuild).Reap(d.t.Context(), d.project, d.now().Add(time.Minute)))
	d.relayed()
	d.exact()
}

func TestCountsAreExactWhileItemsAreImported(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		d := newDepot(w, 1)
		d.disturb = d.calamity
		imports := []project.Import{d.put(0, 1_500), d.put(1_000, 2_500), d.put(0, 100)}
		stop := d.watched()
		var all sync.WaitGroup
		for _, i := range imports {
			all.Go(func() { assert.Equal(t, project.Done, d.toItsEnd(i).State) })
		}
		all.Wait()
		stop()
		require.Equal(t, 2_500, d.stored())
		d.settled()
	})
}

func TestCountsAreExactWheneverAnImportEnds(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, w *world) {
				d := newDepot(w, seed)
				i := d.put(0, 6_000)
				var calls atomic.Int64
				d.disturb = func(r *rand.Rand) {
					switch calls.Add(1) {
					case 10 + int64(seed): // the server is killed, and others go on
						if seed%3 != 0 {
							d.mu.Lock()
							d.down[i.ID] = true
							d.mu.Unlock()
						}
					case 20 + int64(seed):
						d.mu.Lock()
						after, ok := d.imports[i.TransferID].Cancel(d.now())
						assert.True(t, ok)
						d.imports[i.TransferID] = after
						d.mu.Unlock()
					default:
						if seed%2 == 0 {
							d.calamity(r)
						}
					}
				}
				stop := d.watched()
				assert.Equal(t, project.Cancelled, d.toItsEnd(i).State)
				stop()
				assert.Less(t, d.stored(), 6_000)
				assert.GreaterOrEqual(t, d.stored(), 20)
				d.settled()
			})
		})
	}
}

func TestAnImportWaitsForItsQueue(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		d := newDepot(w, 1)
		i := d.put(0, 500)
		w.flush()
		for tries := range 30 { // nobody rebuilds it
			err := d.run(i, tries)
			require.ErrorIs(t, err, labelling.ErrNotReady)
			require.True(t, fault.Is(err, fault.Unavailable))
			require.Equal(t, project.Running, d.imports[i.TransferID].State)
			require.Equal(t, 500, d.imports[i.TransferID].Imported)
		}
		_, err := w.queue.State(t.Context(), w.project)
		require.ErrorIs(t, err, labelling.ErrNotReady)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, w.rebuild.Run(ctx)) }) // it was wanted
		require.Eventually(t, func() bool { _, err := w.queue.State(t.Context(), w.project); return err == nil }, 10*time.Second, time.Millisecond)
		cancel()
		running.Wait()
		require.NoError(t, d.run(i, 30))
		assert.Equal(t, project.Done, d.imports[i.TransferID].State)
		d.total()
		w.exact()
	})
}

func TestAQueueFillsWhenItemsAreImported(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		d := newDepot(w, 1)
		start := w.state().Cursor
		require.NoError(t, d.run(d.put(0, 1_500), 0))
		s := w.state()
		assert.Equal(t, []int{1_500, labelling.QueueSize}, []int{s.Counts.New, s.Queued}, "without the job")
		events, err := w.queue.Read(t.Context(), w.project, start, 1_000, 0)
		require.NoError(t, err)
		require.NotEmpty(t, events)
		for _, e := range events {
			assert.Equal(t, []any{labelling.Imported, boss}, []any{e.Cause, e.User})
		}
		assert.Equal(t, 1_500, events[len(events)-1].Counts.Total)
	})
}

func TestATeamThatIsCreatedIsKnown(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		w.truth.teams = append(w.truth.teams, project.Team{TeamID: project.TeamID{Project: w.project, ID: "t3"}, Type: project.Reviewer})
		w.service.Changed(t.Context(), w.shown(boss))
		statistics, err := w.queue.StatisticsOf(t.Context(), w.project, []string{"t3"})
		require.NoError(t, err)
		assert.Equal(t, []labelling.Statistics{{Team: "t3", Type: project.Reviewer}}, statistics)
	})
}
