package labelling

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// Populate keeps the queues of all projects at their sizes: the document's first background job. Any number of servers do it at
// once. Each goes through the NEW items of a project in the order of the import, as near as shards allow: it reads a share of the
// queue from the shard that it is least far in, and remembers how far it came in each. Where it comes to what another one has put
// into the queue, the queue refuses that. So a refill costs what it adds, however many items wait.
//
// What comes back to a full queue makes the last id leave it, which is behind the cursor then. So whenever a share of the queue was
// added, one shard begins again: all have, when the whole queue was. No item waits for more than a few times as many as the queue
// holds, or a few hundred, that were imported later.
type Populate struct {
	Options
	rebuild *Rebuilder
	census  census
	mu      sync.Mutex
	cursors map[project.ID]*cursor
	known   map[project.ID]time.Time // when the project was changed last, as the queue knows it
}

// cursor is how far one server came through the NEW items of a project.
type cursor struct {
	mu      sync.Mutex
	epoch   string // of the queue that was filled: an empty one is filled from the beginning
	found   int    // ids that were added since all shards began
	rewind  int    // the shard that begins again next
	since   int    // ids that were added since the last one did
	shards  [Shards]part
	rest    time.Time     // until then there is nothing more to be found
	resting time.Duration // how long that is
	waiting int           // NEW items that could not be queued then
}

// part is how far that is in one shard.
type part struct {
	after Place
	ended bool // there was no more
}

// next returns the shard in which the cursor is least far, and false when all have ended.
func (c *cursor) next() (shard int, ok bool) {
	for i, p := range c.shards {
		if !p.ended && (!ok || p.after.Seq < c.shards[shard].after.Seq) {
			shard, ok = i, true
		}
	}
	return shard, ok
}

const (
	// leastPage is how many ids are listed at once at least; else it is a shard's share of the queue.
	leastPage = 25
	// mostPages bounds what one refill costs: once round all shards, and as much again where others have been before.
	mostPages = 2*Shards + 2
	// fruitless is how long a project rests in the end whose items are all queued, reserved or kept for their authors. It begins
	// with shortRest, since an index may not show yet what was imported just now.
	shortRest, fruitless = time.Second, 10 * time.Second
	listEvery            = 10 * time.Second
)

// NewPopulate returns the job, which has queues rebuilt that Redis does not know.
func NewPopulate(o Options, rebuild *Rebuilder) *Populate {
	return &Populate{
		Options: o, rebuild: rebuild, census: census{Options: o, every: listEvery}, cursors: map[project.ID]*cursor{}, known: map[project.ID]time.Time{},
	}
}

// Run fills all queues once. What fails for one project does not keep others from being filled.
func (f *Populate) Run(ctx context.Context) error {
	ids, listed, err := f.census.projects(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, len(ids))
	each(len(ids), func(i int) {
		if ctx.Err() == nil {
			_, errs[i] = f.Refill(ctx, ids[i])
		}
	})
	if listed {
		errs = append(errs, f.sync(ctx, ids))
	}
	return joined(errs)
}

// joined returns the errors that are faults of ours or of a store; a queue that is being rebuilt is none.
func joined(errs []error) error {
	var real []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrNotReady) {
			real = append(real, err)
		}
	}
	const most = 5 // one store that does not answer fails all projects
	return errors.Join(real[:min(most, len(real))]...)
}

func (f *Populate) cursor(p project.ID) *cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cursors[p] == nil {
		f.cursors[p] = &cursor{}
	}
	return f.cursors[p]
}

// Refill fills the queue of a project, and returns how many ids it added.
func (f *Populate) Refill(ctx context.Context, p project.ID) (int, error) {
	c := f.cursor(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	state, err := f.Coordinator.State(ctx, p)
	if errors.Is(err, ErrNotReady) {
		f.rebuild.Want(p)
	}
	if err != nil {
		return 0, err
	}
	missing, waiting := state.Size-state.Queued, state.Counts.New-state.Queued
	if missing <= 0 || waiting <= 0 {
		return 0, nil
	}
	if c.epoch != state.Cursor.Epoch {
		c.epoch, c.shards, c.found, c.since, c.rest, c.resting = state.Cursor.Epoch, [Shards]part{}, 0, 0, time.Time{}, 0
	}
	if f.Now().Before(c.rest) && waiting <= c.waiting {
		return 0, nil
	}
	// Those that wait may be reserved, or kept for their authors: then the queue needs none, and nothing is listed.
	if missing, err = f.Coordinator.Need(ctx, p, state.Size); err != nil {
		return 0, err
	}
	share := max(state.Size/Shards, leastPage)
	if c.since >= share {
		c.shards[c.rewind], c.rewind, c.since = part{}, (c.rewind+1)%Shards, 0
	}
	added, whole := 0, false
	for pages := 0; pages < mostPages && missing > 0 && !whole; pages++ {
		shard, ok := c.next()
		if !ok { // what came back, or was not shown yet, is before the place where the cursor is
			whole = c.found == 0
			c.shards, c.found = [Shards]part{}, 0
			continue
		}
		ids, next, err := f.Truth.ListByStatus(ctx, p, project.New, shard, c.shards[shard].after, share)
		if err != nil {
			return added, err
		}
		fits := true
		if len(ids) > 0 {
			n, lacking, err := f.Coordinator.Fill(ctx, p, ids, state.Size)
			if err != nil {
				return added, err
			}
			added, missing, c.found, c.since = added+n, lacking, c.found+n, c.since+n
			// When the queue became full, the last ids may not have been looked at: they come again.
			fits = lacking > 0 || n == len(ids)
		}
		if fits {
			c.shards[shard] = part{after: next, ended: next == Place{}}
		}
	}
	if whole { // all shards, and nothing was found: there is no more
		if waiting > c.waiting || added > 0 {
			c.resting = 0
		}
		c.resting = min(max(2*c.resting, shortRest), fruitless)
		c.rest, c.waiting = f.Now().Add(c.resting), waiting-added
	}
	return added, nil
}

// sync looks after what the queues know of the projects themselves: who changed the truth may not have come to tell.
func (f *Populate) sync(ctx context.Context, ids []project.ID) error {
	var all []error
	for len(ids) > 0 {
		n := min(len(ids), 100)
		projects, errs := f.Truth.ProjectsByID(ctx, "", ids[:n])
		for i, p := range projects {
			if errs != nil && errs[i] != nil {
				if !fault.Is(errs[i], fault.NotFound) {
					all = append(all, errs[i])
				}
				continue
			}
			all = append(all, f.syncOne(ctx, p))
		}
		ids = ids[n:]
	}
	return joined(all)
}

func (f *Populate) syncOne(ctx context.Context, p project.Project) error {
	state, err := f.Coordinator.State(ctx, p.ID)
	if err != nil {
		return err
	}
	size := p.QueueSize
	if size == 0 {
		if size, err = f.Coordinator.Size(ctx); err != nil {
			return err
		}
	}
	f.mu.Lock()
	at, seen := f.known[p.ID]
	f.mu.Unlock()
	if state.Paused == p.Paused && state.Size == size && (!seen || at.Equal(p.UpdatedAt)) {
		f.remember(p)
		return nil
	}
	// It may have been changed since it was read.
	if p, err = domain.First(f.Truth.ProjectsByID(ctx, "", []project.ID{p.ID})); err != nil {
		return err
	}
	if err := f.setPaused(ctx, p, ""); err != nil {
		return err
	}
	if err := f.setUp(ctx, p, ""); err != nil {
		return err
	}
	f.remember(p)
	return nil
}

func (f *Populate) remember(p project.Project) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[p.ID] = p.UpdatedAt
}
