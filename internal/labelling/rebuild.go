package labelling

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// Settle is how long indexes may lag behind, and anything that was begun before may go on.
const Settle = 5 * time.Second

// recent is how long before a rebuild a change counts as one that an index may not show yet, the clocks of servers included.
const recent = time.Minute

// Rebuilder makes the queues of projects anew from the truth.
type Rebuilder struct {
	Options
	settle time.Duration
	mu     sync.Mutex
	wanted map[project.ID]bool // those that wait or are rebuilt; whether they are wanted once more since
	wants  chan project.ID

	ctx    context.Context // of rebuilds that nobody waits for; ends with Close
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// NewRebuilder returns one that waits as long for indexes to settle; 0 for [Settle].
func NewRebuilder(o Options, settle time.Duration) *Rebuilder {
	if settle <= 0 {
		settle = Settle
	}
	const waiting = 10_000 // projects; those above are seen again
	r := &Rebuilder{Options: o, settle: settle, wanted: map[project.ID]bool{}, wants: make(chan project.ID, waiting)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close gives up rebuilds that were begun for somebody, and returns when none goes on. Others can begin them at once.
func (r *Rebuilder) Close() {
	r.cancel()
	r.all.Wait()
}

// Want has the queue of a project rebuilt soon, unless it is there by then. It never waits, and does nothing where [Rebuilder.Run] does
// not run: then another server notices.
func (r *Rebuilder) Want(p project.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.wanted[p]; known {
		r.wanted[p] = true
		return
	}
	select {
	case r.wants <- p:
		r.wanted[p] = false
	default:
	}
}

// Run rebuilds what is wanted, several projects at a time, until the context ends.
func (r *Rebuilder) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range 2 * width { // most of the time they wait
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case p := <-r.wants:
					r.serve(ctx, p)
				}
			}
		})
	}
	all.Wait()
	return nil
}

// serve rebuilds a project; once more when that is wanted since it began, which does nothing while the queue is there.
func (r *Rebuilder) serve(ctx context.Context, p project.ID) {
	for again := true; again; {
		r.serveOnce(ctx, p)
		r.mu.Lock()
		if again = r.wanted[p] && ctx.Err() == nil; again {
			r.wanted[p] = false
		} else {
			delete(r.wanted, p)
		}
		r.mu.Unlock()
	}
}

func (r *Rebuilder) serveOnce(ctx context.Context, p project.ID) {
	defer func() {
		if v := recover(); v != nil {
			r.Log.ErrorContext(ctx, "rebuilding a queue panicked", "project", p, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	// Many servers may want it while one does it: Redis tells that, so DynamoDB is not asked.
	if _, err := r.Coordinator.State(ctx, p); err == nil {
		return
	}
	if _, is, err := r.Coordinator.Rebuilding(ctx, p); err == nil && is {
		return
	}
	began := r.Now()
	done, err := r.Rebuild(ctx, p, false)
	switch {
	case fault.Is(err, fault.NotFound): // what is told late of a project that was erased
	case errors.Is(err, ErrRebuilding) || ctx.Err() != nil:
	case err != nil:
		r.Log.ErrorContext(ctx, "a queue was not rebuilt; it is tried again", "project", p, "error", err)
	case done:
		r.Log.InfoContext(ctx, "a queue was rebuilt", "project", p, "took", r.Now().Sub(began))
	}
}

// lasting returns a project of which a queue may be made. NotFound when it is gone or being erased: nothing would remove what is
// made after [Forgetter.Forget].
//
// Cost: 1 consistent read of one key.
func (o Options) lasting(ctx context.Context, id project.ID) (project.Project, error) {
	p, err := domain.First(o.Truth.ProjectsByID(ctx, "", []project.ID{id}))
	if err == nil && p.Deletion.State == project.Erasing {
		err = fault.New(fault.NotFound, "the project is being erased")
	}
	return p, err
}

// begin makes the queue of a project that has no items.
func (r *Rebuilder) begin(ctx context.Context, p project.Project) error {
	token := r.NewID()
	if began, err := r.Coordinator.Begin(ctx, p.ID, token, false); err != nil || !began {
		return err
	}
	s, err := r.settings(ctx, p)
	var teams []project.Team
	if err == nil {
		teams, err = domain.First(r.Truth.ListTeams(ctx, []project.ID{p.ID}))
	}
	for n, part := range newTally(p.ID, r.Now()).parts(teams) {
		if part.Number = n + 1; err == nil {
			err = r.Coordinator.Load(ctx, p.ID, token, part)
		}
	}
	if err == nil {
		err = r.Coordinator.Commit(ctx, p.ID, token, s)
	}
	if err != nil {
		r.abort(ctx, p.ID, token)
	}
	return err
}

func (r *Rebuilder) abort(ctx context.Context, p project.ID, token string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), brief)
	defer cancel()
	if err := r.Coordinator.Abort(ctx, p, token); err != nil {
		r.Log.WarnContext(ctx, "a rebuild was not given up; another can begin in a moment", "project", p, "error", err)
	}
}

// Rebuild makes the queue of a project anew, also when it is there if always is set, and reports whether it did. [ErrRebuilding]; NotFound
// when the project is gone or being erased.
//
// The result is exact: it is what the queue would be had it followed every transition once. For that, each item and each of its
// efforts has to be added in a state that the truth had at one moment, and the transitions after this moment, and no others, have
// to be followed later. Labellers go on meanwhile, and what is scanned is not of one moment. So:
//
//   - From Begin on the queue follows nothing, and no transition leaves the outbox but those it had followed before. What changes
//     without a transition, claims and extensions, needs the queue first and is done within [prompt], which is over when the scans
//     begin; hence each item that changes during the scans, and each effort, which never changes without its item, has a transition
//     in the outbox when they end.
//   - The scans add what they see for the first time, and write down what they added. What changed shortly before the rebuild is not
//     added: an index that lags may show an item with it and its effort without. Its item is noted.
//   - Then the outbox is listed. Its items are noted too: those that changed during the scans, were seen twice, or were missed
//     as they moved in the index. Whatever else was scanned had settled before, and has not changed since.
//   - Each noted item is taken out again, together with those of its efforts that were added, and read anew with all its efforts at
//     one moment. That is added in their place.
//   - At last the outbox is listed a second time. A transition whose version is not above that of its item as it was added is in the
//     result, and is marked as applied; all others happened later, and are for the consumer to follow.
//
// An effort that was undone counts for nothing.
func (r *Rebuilder) Rebuild(ctx context.Context, p project.ID, always bool) (bool, error) {
	if _, err := r.lasting(ctx, p); err != nil {
		return false, err
	}
	token, since := r.NewID(), r.Now().Add(-recent)
	if began, err := r.Coordinator.Begin(ctx, p, token, always); err != nil || !began {
		return false, err
	}
	w := &rebuilding{Options: r.Options, project: p, token: token, since: since, tally: newTally(p, r.Now())}
	defer w.beats(ctx)()
	err := w.run(ctx, r.settle)
	if err != nil {
		r.abort(ctx, p, token)
		return false, fmt.Errorf("rebuild the queue of a project: %w", err)
	}
	return true, nil
}

// now rebuilds the queue of a project although it is there, and logs what goes wrong: maybe nobody waits for it any more.
func (r *Rebuilder) now(p project.ID) (err error) {
	ctx := r.ctx
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("rebuild a queue: panic: %v\n%s", v, debug.Stack())
		}
		if domain.IgnoreMissing(err) != nil && !errors.Is(err, ErrRebuilding) {
			r.Log.ErrorContext(ctx, "a queue was not rebuilt", "project", p, "error", err)
		}
	}()
	_, err = r.Rebuild(ctx, p, true)
	return err
}

// rebuilding is one rebuild.
type rebuilding struct {
	Options
	project project.ID
	token   string
	since   time.Time // changes from then on are recent

	read   atomic.Int64 // items
	listed int          // transitions, those of other projects included

	mu    sync.Mutex // guards what follows
	tally *tally
	noted map[string]bool
	parts int
}

// beat is how often a rebuild gives a sign of life. Others wait for several before they take over.
const beat = time.Second

// beats tells how far the rebuild is, which keeps it from being taken over however long its reads take, until the returned function is
// called. It does not tell that somebody took over: the next part does.
func (w *rebuilding) beats(ctx context.Context) (rest func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	var total atomic.Int64
	beating.Go(func() { // beside the beats: DynamoDB may take longer than others wait
		n, err := w.Truth.CountItems(ctx, w.project)
		if err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "it is not known how many items are to be read", "project", w.project, "error", err)
		}
		total.Store(int64(n))
	})
	beating.Go(func() {
		for {
			if err := w.Coordinator.Progress(ctx, w.project, w.token, int(w.read.Load()), int(total.Load())); errors.Is(err, ErrRebuilding) || pause(ctx, beat) != nil {
				return
			}
		}
	})
	return func() {
		cancel()
		beating.Wait()
	}
}

func (w *rebuilding) run(ctx context.Context, settle time.Duration) error {
	w.noted = map[string]bool{}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	if err := w.scan(ctx); err != nil {
		return err
	}
	if err := w.again(ctx); err != nil {
		return err
	}
	return w.commit(ctx)
}

// scan adds what settled before since, efforts first.
func (w *rebuilding) scan(ctx context.Context) error {
	if err := w.shards(func(shard int) error {
		return w.Truth.ScanEfforts(ctx, w.project, shard, func(page []project.Effort) error { w.efforts(page); return nil })
	}); err != nil {
		return err
	}
	return w.shards(func(shard int) error {
		return w.Truth.ScanItems(ctx, w.project, shard, func(page []project.Item) error { w.items(page); return nil })
	})
}

func (w *rebuilding) shards(scan func(shard int) error) error {
	errs := make([]error, Shards)
	each(Shards, func(i int) { errs[i] = scan(i) })
	return errors.Join(errs...)
}

func (w *rebuilding) efforts(page []project.Effort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range page {
		if e.UpdatedAt.Before(w.since) {
			w.tally.addEffort(e)
		} else {
			w.noted[e.Item] = true
		}
	}
}

func (w *rebuilding) items(page []project.Item) {
	w.read.Add(int64(len(page)))
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range page {
		// What nobody has touched since it was imported has no efforts that could be of another moment.
		if i.UpdatedAt.Before(w.since) || i.Version == 1 {
			w.tally.addItem(i)
		} else {
			w.noted[i.ID] = true
		}
	}
}

func (w *rebuilding) load(ctx context.Context, part Part) error {
	w.parts++
	part.Number = w.parts
	return w.Coordinator.Load(ctx, w.project, w.token, part)
}

// again reads what was noted at one moment each, and finds out which transitions that contains.
func (w *rebuilding) again(ctx context.Context) error {
	pending, err := w.outbox(ctx)
	if err != nil {
		return err
	}
	for _, t := range pending {
		w.noted[t.Item] = true
	}
	if err := w.replace(ctx, w.noted); err != nil {
		return err
	}
	if pending, err = w.outbox(ctx); err != nil {
		return err
	}
	w.tally.applied(pending)
	return nil
}

// replace reads items with all their efforts, each at one moment, and puts that in the place of what was added of them.
func (w *rebuilding) replace(ctx context.Context, names map[string]bool) error {
	ids := make([]project.ItemID, 0, len(names))
	for id := range names {
		ids = append(ids, project.ItemID{Project: w.project, ID: id})
	}
	const atOnce = 100
	chunks := slices.Collect(slices.Chunk(ids, atOnce))
	errs := make([]error, len(chunks))
	each(len(chunks), func(n int) {
		items, efforts, failed := w.Truth.ItemsWithEfforts(ctx, chunks[n])
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, id := range chunks[n] {
			if err := domain.IgnoreMissing(failed[i]); err != nil {
				errs[n] = err
				return
			}
			w.tally.replace(id.ID, items[i], efforts[i])
		}
	})
	return errors.Join(errs...)
}

const (
	// wholeOutbox is more than the outbox of all projects holds.
	wholeOutbox = 1_000_000
	// farAhead is later than anything in the outbox, whatever the clocks of servers say.
	farAhead = 24 * time.Hour
)

// outbox returns the transitions of the project that the queue has not followed.
func (w *rebuilding) outbox(ctx context.Context) ([]Transition, error) {
	all, err := w.Truth.ListOutbox(ctx, w.Now().Add(farAhead), wholeOutbox)
	w.listed += len(all)
	var ours []Transition
	for _, t := range all {
		if t.Project == w.project {
			ours = append(ours, t)
		}
	}
	return ours, err
}

func (w *rebuilding) commit(ctx context.Context) error {
	teams, err := domain.First(w.Truth.ListTeams(ctx, []project.ID{w.project}))
	if err != nil {
		return err
	}
	for _, part := range w.tally.parts(teams) {
		if err := w.load(ctx, part); err != nil {
			return err
		}
	}
	// An erasure waits twice as long before it removes the mark, and longer before it removes what is in Redis.
	ctx, cancel := context.WithTimeout(ctx, Settle)
	defer cancel()
	p, err := w.lasting(ctx, w.project)
	if err != nil {
		return err
	}
	settings, err := w.settings(ctx, p)
	if err != nil {
		return err
	}
	if err := w.mark(ctx, w.project, w.token); err != nil {
		return err
	}
	return w.Coordinator.Commit(ctx, w.project, w.token, settings)
}
