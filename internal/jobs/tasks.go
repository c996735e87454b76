package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/task"
)

// Defaults of [TasksOptions].
const (
	DefaultTasksEvery = 2 * time.Second
	DefaultTasksLimit = 4
)

const (
	backOffMin  = time.Second
	backOffMax  = 5 * time.Minute
	unknownBack = time.Minute     // when a task of a kind that this server does not know is offered again
	settleTime  = 5 * time.Second // for telling the store about a task when the server stops
	mostLooked  = 2048            // due tasks that are listed at a time: behind so many that wait for room, others wait with them
)

// TasksOptions says what a [Tasks] works with.
type TasksOptions struct {
	Store    task.Store
	Handlers map[task.Kind]task.Handler
	Log      *slog.Logger
	Token    func() string    // a new one that nobody can have had before; a UUID
	Now      func() time.Time // the time that servers share, by which tasks are theirs and come due; time.Now by default
	Every    time.Duration    // how often the store is asked, [DefaultTasksEvery] by default; see [Tasks.Wake]
	Limit    int              // of tasks at a time, of all kinds that are in no pool, [DefaultTasksLimit] by default
	Pools    []Pool
}

// Pool is room of their own for kinds whose tasks take long or are many, so that the tasks of other kinds do not wait for them: a few seconds at most,
// unless more than [mostLooked] tasks are due. A kind is in one pool at most.
type Pool struct {
	Kinds []task.Kind
	Limit int // of tasks at a time, of all its kinds; at least 1
}

// Tasks works on tasks, on any number of servers: each task belongs to one of them at a time.
type Tasks struct {
	TasksOptions
	wake   chan struct{}
	freed  chan struct{}               // says that there is room again
	shared chan struct{}               // the room of kinds that are in no pool
	pools  map[task.Kind]chan struct{} // of the others
	look   int                         // how many due tasks are listed, because the last one that was started was so far behind
	far    int                         // how many were listed when it was last looked as far as there may be any that can be started
	farAt  time.Time                   // when that was
	active sync.WaitGroup
	mu     sync.Mutex
	told   map[task.Kind]bool // kinds without a handler that were logged
}

// NewTasks returns what works on tasks when it is run.
func NewTasks(o TasksOptions) *Tasks {
	if o.Every <= 0 {
		o.Every = DefaultTasksEvery
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limit <= 0 {
		o.Limit = DefaultTasksLimit
	}
	t := &Tasks{TasksOptions: o, wake: make(chan struct{}, 1), freed: make(chan struct{}, 1), shared: make(chan struct{}, o.Limit),
		pools: map[task.Kind]chan struct{}{}, told: map[task.Kind]bool{}}
	for _, pool := range o.Pools {
		room := make(chan struct{}, max(pool.Limit, 1))
		for _, kind := range pool.Kinds {
			t.pools[kind] = room
		}
	}
	return t
}

// Wake has the store asked at once, because this server recorded a task. It never waits.
func (t *Tasks) Wake() {
	select {
	case t.wake <- struct{}{}:
	default: // somebody said so already
	}
}

// Run works on tasks until the context ends and the work under way has returned. Tasks that are not done then come back at
// once, on any server.
func (t *Tasks) Run(ctx context.Context) {
	defer t.active.Wait()
	failing := false
	for {
		found, err := t.round(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing: // once, not every round
			t.Log.ErrorContext(ctx, "looking for tasks failed; it is tried again", "error", err)
		}
		failing = err != nil
		if found.more {
			continue
		}
		var freed chan struct{} // nobody waits for room
		if found.waiting {
			freed = t.freed
		}
		// Jitter keeps servers that were started together from asking at the same moments.
		timer := time.NewTimer(t.Every/2 + rand.N(t.Every))
		select {
		case <-timer.C:
		case <-t.wake:
			timer.Stop()
		case <-freed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// found is what a round found.
type found struct {
	more    bool // there may be more that can be started
	waiting bool // some tasks wait for room
}

// round starts what is due, as far as there is room.
func (t *Tasks) round(ctx context.Context) (found, error) {
	if t.full() {
		return found{waiting: true}, nil
	}
	// Other servers see the same tasks: some of them will be gone. Where all that can be seen waits for room, more is looked at, until nothing can hide
	// behind it or the bound is reached: once in a while only, because each look lists the whole backlog.
	near := 2 * t.Limit
	limit, most, far := max(near, t.look), max(near, mostLooked), time.Since(t.farAt) >= t.Every
	if far {
		limit = max(limit, t.far)
	}
	for ; ; limit = min(2*limit, most) {
		due, err := t.due(ctx, limit)
		if err != nil {
			return found{}, err
		}
		started, behind, waiting, err := t.start(ctx, due)
		switch {
		case behind > near:
			t.look = limit
		case started > 0 || waiting == 0:
			t.look = 0
		}
		if far && limit > near {
			t.far, t.farAt = limit, time.Now()
		}
		whole := len(due) < limit
		if err != nil || whole || started > 0 || waiting == 0 || !far || limit == most || t.full() || ctx.Err() != nil {
			return found{more: !whole && started > 0, waiting: waiting > 0}, err
		}
	}
}

// full reports whether nothing can be started, whatever its kind.
func (t *Tasks) full() bool {
	for _, room := range t.pools {
		if len(room) < cap(room) {
			return false
		}
	}
	return len(t.shared) == cap(t.shared)
}

// start starts those tasks for which there is room and that nobody else has. The last of them is the one of number behind.
func (t *Tasks) start(ctx context.Context, due []task.Task) (started, behind, waiting int, err error) {
	for i, one := range due {
		room, ok := t.pools[one.Kind]
		if !ok {
			room = t.shared
		}
		select {
		case room <- struct{}{}: // nobody but this goroutine takes room
		default:
			waiting++
			continue
		}
		until := t.Now().Add(task.Lease)
		claimed, ok, err := t.claim(ctx, one, until)
		if !ok {
			<-room
			if err != nil {
				return started, behind, waiting, err
			}
			continue
		}
		started, behind = started+1, i+1
		t.active.Go(func() {
			defer func() {
				<-room
				select {
				case t.freed <- struct{}{}:
				default: // somebody said so already
				}
			}()
			t.work(ctx, claimed, until)
		})
	}
	return started, behind, waiting, nil
}

func (t *Tasks) due(ctx context.Context, limit int) (due []task.Task, err error) {
	defer recovered(&err)
	return t.Store.ListDueTasks(ctx, t.Now(), limit)
}

func (t *Tasks) claim(ctx context.Context, one task.Task, until time.Time) (claimed task.Task, ok bool, err error) {
	defer recovered(&err)
	return t.Store.ClaimTask(ctx, one, t.Token(), until)
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// errLeaseLost is why a handler's context ended.
var errLeaseLost = errors.New("the task belongs to another server by now")

// work runs the handler, and tells the store what became of the task. It is ours until the given time.
func (t *Tasks) work(ctx context.Context, claimed task.Task, until time.Time) {
	log := t.Log.With("kind", claimed.Kind, "task", claimed.ID, "scope", claimed.Scope)
	handler := t.Handlers[claimed.Kind]
	if handler == nil {
		t.mu.Lock()
		told := t.told[claimed.Kind]
		t.told[claimed.Kind] = true
		t.mu.Unlock()
		if !told {
			log.WarnContext(ctx, "there is a task of a kind that this server does not know; it is left to others")
		}
		t.finish(ctx, log, claimed, t.Now().Add(unknownBack))
		return
	}
	working, lost := context.WithCancelCause(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { t.heartbeat(working, lost, claimed, until) })
	again, err := handle(working, handler, claimed)
	// Before the heart stops: the cause says whether the task was lost while the handler worked.
	gone := context.Cause(working)
	lost(nil)
	beating.Wait()

	switch {
	case errors.Is(gone, errLeaseLost):
		log.WarnContext(ctx, "a task was lost to another server", "error", err)
		return // it is no longer ours to finish
	case err != nil && ctx.Err() != nil: // the server stops
		again = t.Now()
	case err != nil:
		wait := backOff(claimed.Tries)
		log.ErrorContext(ctx, "a task failed; it comes again", "error", err, "try", claimed.Tries+1, "after", wait)
		again = t.Now().Add(wait)
	}
	t.finish(ctx, log, claimed, again)
}

// backOff doubles with every try. Jitter keeps tasks that failed together from coming back together.
func backOff(tries int) time.Duration {
	wait := backOffMax
	if tries < 16 { // beyond, it is the greatest anyway, and shifting would overflow
		wait = min(backOffMin<<max(tries, 0), backOffMax)
	}
	return wait/2 + rand.N(wait/2+1)
}

func handle(ctx context.Context, h task.Handler, claimed task.Task) (again time.Time, err error) {
	defer recovered(&err)
	return h(ctx, claimed)
}

// heartbeat keeps the lease, and ends the handler's context when the task is no longer ours, or may not be.
func (t *Tasks) heartbeat(ctx context.Context, lost context.CancelCauseFunc, claimed task.Task, ends time.Time) {
	ticker := time.NewTicker(task.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		until := t.Now().Add(task.Lease)
		ours, err := t.extend(ctx, claimed, until, ends)
		switch {
		case err == nil && ours:
			ends = until
		case err == nil, !t.Now().Before(ends):
			lost(errLeaseLost)
			return
		}
	}
}

// extend gives up when the lease ends.
func (t *Tasks) extend(ctx context.Context, claimed task.Task, until, ends time.Time) (ours bool, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	return t.Store.ExtendTask(ctx, claimed, until)
}

// finish tells the store, also when the server stops. When it cannot, the task comes back after its lease.
func (t *Tasks) finish(ctx context.Context, log *slog.Logger, claimed task.Task, again time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	err := func() (err error) {
		defer recovered(&err)
		return t.Store.FinishTask(ctx, claimed, again)
	}()
	if err != nil {
		log.ErrorContext(ctx, "a task could not be finished; it comes again after its lease", "error", err)
	}
}
