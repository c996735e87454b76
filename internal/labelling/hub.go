package labelling

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

const (
	// ringSize is how many events of a project a process keeps for those who listen to it. Who is further behind has missed some.
	ringSize = 1024
	// eventBatch is how many events are read and hydrated at once, at most.
	eventBatch = 100
	// eventWait is how long one read of a project's events waits for one.
	eventWait = time.Minute
	// hubWidth bounds how many subscribers read from a store at a time: after a flush all of them do.
	hubWidth = 2 * width
	// MaxHeard is how many projects a user may listen to on one server: each takes reading, and a connection to Redis if there is one left.
	MaxHeard = 500
	// Patience is how long a store may fail before those who wait for it are sent away, unless the hub is told otherwise.
	Patience = 30 * time.Second
)

// Hub tells subscribers what happens in projects. However many listen to a project, one goroutine of the process reads its events,
// and each event is hydrated once for all of them. A subscriber is a place in what was read lately, and a goroutine that waits: it
// costs the same however slow it is, and who is too slow is told that events were missed, and how things are now.
//
// T is what is read for an event, such as its item and people.
type Hub[T any] struct {
	o      HubOptions[T]
	ctx    context.Context // ends with the hub
	cancel context.CancelFunc
	slots  chan struct{} // taken while a subscriber reads from a store, never while it waits for anything else
	limits hubLimits

	mu     sync.Mutex // guards what follows; no other lock is taken under it
	feeds  map[project.ID]*feed[T]
	heard  map[UserID]map[project.ID]int // how many times each user listens to each project
	online *onlineFeed
	closed bool
	all    sync.WaitGroup // feeds and streams; it grows under mu, and not once closed
}

// hubLimits are those that tests shorten.
type hubLimits struct {
	patience time.Duration
	asks     time.Duration // between two questions how many are online
	looks    time.Duration // how old a look at a membership gets
	heard    int           // projects that a user may listen to
}

// HubOptions are what a hub works with.
type HubOptions[T any] struct {
	Events  Events
	Service *Service
	// Hydrate returns what belongs to each event, in their order. It must not fail: what cannot be read is left out. What it returns
	// is shared by all subscribers. Nobody is the viewer in its context.
	Hydrate func(ctx context.Context, p project.ID, events []Event) []T
	// WithoutItem returns what belongs to an event as it is after the item was removed, in place of what Hydrate returned before. It must not
	// change that. nil where nothing of items is read.
	WithoutItem func(T) T
	// Patience is how long a store may fail before those who wait for it are sent away; [Patience] by default.
	Patience time.Duration
	Log      *slog.Logger // of what goes on in the background; nothing by default
}

// Listen says what a subscriber wants to hear.
type Listen struct {
	Project project.ID
	After   *Cursor // where to go on; nil: with a snapshot
	Types   []Cause // of events; none for all
	Mine    bool    // only what the viewer did, or what was about the viewer's work
	// Statistics has snapshots show those of all teams, which costs a read of the teams.
	Statistics bool
	// Left is called before the channel is closed when the viewer is no longer a member: there is nothing more to follow then. Without it
	// nobody is told.
	Left func()
}

// hears reports whether an event is one that was asked for.
func (l *Listen) hears(e *Event, viewer UserID) bool {
	if l.Mine && e.User != viewer && e.Author != viewer {
		return false
	}
	for _, t := range l.Types {
		if t == e.Cause {
			return true
		}
	}
	return len(l.Types) == 0
}

// Told is what a subscriber gets: one of Snapshot, Event and Gap.
type Told[T any] struct {
	Project  project.Project // as the viewer is in it: the proof for what is shown
	Snapshot *Snapshot
	Event    *Event    // shared by all subscribers, as Hydrated is: for reading only
	Hydrated T         // of the event
	Gap      bool      // events were missed; a Snapshot follows, as soon as there is one
	Looked   time.Time // when reading began that the viewer is a member
}

// NewHub returns a hub. It does nothing until somebody listens; it has to be closed.
func NewHub[T any](o HubOptions[T]) *Hub[T] {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Patience <= 0 {
		o.Patience = Patience
	}
	if o.WithoutItem == nil {
		o.WithoutItem = func(of T) T { return of }
	}
	h := &Hub[T]{
		o: o, slots: make(chan struct{}, hubWidth), feeds: map[project.ID]*feed[T]{}, heard: map[UserID]map[project.ID]int{},
		limits: hubLimits{patience: o.Patience, asks: time.Second, looks: lookAgain, heard: MaxHeard},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close ends all streams, and returns when nothing of the hub runs any more: within about a second, see [Events].
func (h *Hub[T]) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.all.Wait()
}

// Listen tells the viewer, who has to be a member, what happens in a project. Without After the first message is a Snapshot, and
// events after it follow. With After the events after it do, as long as they are known. Otherwise, and whenever events were missed
// later, Gap is told and then a Snapshot: also when the queue of the project was lost or rebuilt, or the receiver was too slow. While the
// queue is being rebuilt, or Redis is away, the Snapshot is waited for. Filters hide events, but never these two, nor the event that says
// that the viewer has left. Who moves in the project goes on as what they are then.
//
// The channel is closed when ctx ends; when the viewer has left the project, after Left was called; when the hub is closed; and when a store
// has failed for long. In the last two cases listening again, behind the last cursor, goes on. The faults are those of [Service], but neither
// ErrNotReady nor that Redis is away is one of them, and Exhausted for who listens to [MaxHeard] other projects.
func (h *Hub[T]) Listen(ctx context.Context, l Listen) (<-chan Told[T], error) {
	out := make(chan Told[T])
	if err := h.listen(ctx, l, sender[T](out)); err != nil {
		return nil, err
	}
	return out, nil
}

// sender hands over everything.
type sender[T any] chan Told[T]

func (s sender[T]) Tell(ctx context.Context, t Told[T], until time.Time) error {
	return sendBy(ctx, s, t, until)
}
func (s sender[T]) Rest(context.Context, Told[T], time.Time) error { return nil }
func (s sender[T]) Close()                                         { close(s) }

// errUntaken says that nobody has taken a value in time.
var errUntaken = errors.New("nobody takes what is told")

// sendBy is send until a moment. errUntaken.
func sendBy[V any](ctx context.Context, out chan<- V, v V, until time.Time) error {
	select {
	case out <- v: // mostly somebody waits for it
		return nil
	default:
	}
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case out <- v:
		return nil
	case <-late.C:
		return errUntaken
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send waits until somebody takes the value, or the context ends.
func send[V any](ctx context.Context, out chan<- V, v V) error {
	select {
	case out <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen has an ear told what is asked for, until it ends. When it returns an error, the ear was not and will not be used.
func (h *Hub[T]) listen(ctx context.Context, l Listen, e ear[T]) error {
	began := time.Now()
	p, err := h.o.Service.project(ctx, l.Project, project.Taggie)
	if err != nil {
		return err
	}
	f, err := h.attach(p.ID, p.Member.User, l.After)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.ctx, cancel)
	end := func() {
		stop()
		cancel()
		h.detach(f, p.Member.User)
	}
	s := &stream[T]{hub: h, feed: f, ear: e, listen: l}
	s.proven(p, began)
	first, err := s.first(ctx)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrNotReady) && !fault.Is(err, fault.Unavailable)) {
		end()
		return err
	}
	go func() {
		defer end()
		defer e.Close()
		h.guard(ctx, "telling somebody of a project", func() { s.run(ctx, first) })
	}()
	return nil
}

var errStopping = fault.New(fault.Unavailable, "the server is about to stop; try again in a moment")

// attach returns the feed of a project, and begins it when it is the first to listen: then from the cursor on, so that those who come
// back after a restart of the server find what they missed read already. Exhausted when the user listens to too many projects.
func (h *Hub[T]) attach(p project.ID, u UserID, from *Cursor) (*feed[T], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errStopping
	}
	mine := h.heard[u]
	if mine[p] == 0 && len(mine) >= h.limits.heard {
		return nil, fault.New(fault.Exhausted, "you listen to %d projects already: end a subscription first", len(mine))
	}
	if mine == nil {
		mine = map[project.ID]int{}
		h.heard[u] = mine
	}
	mine[p]++
	f := h.feeds[p]
	if f == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		f = &feed[T]{hub: h, project: p, from: from, cancel: cancel, ring: make([]*entry[T], ringSize), removed: map[string]uint64{}, changed: make(chan struct{})}
		h.feeds[p] = f
		h.all.Go(func() { h.guard(ctx, "reading the events of a project", func() { f.run(ctx) }) })
	}
	f.listeners++
	h.all.Add(1)
	return f, nil
}

func (h *Hub[T]) detach(f *feed[T], u UserID) {
	defer h.all.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	mine := h.heard[u]
	if mine[f.project]--; mine[f.project] == 0 {
		delete(mine, f.project)
	}
	if len(mine) == 0 {
		delete(h.heard, u)
	}
	if f.listeners--; f.listeners == 0 {
		f.cancel()
		h.drop(f)
	}
}

// drop lets the next one who listens begin a new feed. The caller has the lock.
func (h *Hub[T]) drop(f *feed[T]) {
	if h.feeds[f.project] == f {
		delete(h.feeds, f.project)
	}
}

// slot waits until a subscriber may read from a store, and has it be brief; the returned function gives the slot back.
func (h *Hub[T]) slot(ctx context.Context) (context.Context, func(), error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, prompt)
	return ctx, func() {
		cancel()
		<-h.slots
	}, nil
}

// hydrate returns events with what belongs to them. Whatever goes wrong, they are told.
func (h *Hub[T]) hydrate(ctx context.Context, p project.ID, events []Event) (entries []*entry[T]) {
	entries = make([]*entry[T], len(events))
	for i := range events {
		entries[i] = &entry[T]{event: events[i]}
	}
	if len(events) == 0 {
		return entries
	}
	ctx, cancel := context.WithTimeout(ctx, prompt)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			h.o.Log.ErrorContext(ctx, "reading what belongs to events panicked", "project", p, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	all := h.o.Hydrate(ctx, p, events)
	if len(all) != len(events) {
		panic(fmt.Sprintf("%d results for %d events", len(all), len(events)))
	}
	for i := range all {
		entries[i].hydrated = all[i]
	}
	return entries
}

// guard keeps a panic to what it happened in, which ends: who listens is sent away, and can listen again.
func (h *Hub[T]) guard(ctx context.Context, what string, do func()) {
	defer func() {
		if v := recover(); v != nil {
			h.o.Log.ErrorContext(ctx, what+" panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	do()
}

// trials are attempts at something that fails.
type trials struct {
	next  time.Duration
	since time.Time // the first one failed
}

// again waits before the next attempt, longer each time. When they have failed for longer than the limit, what they took included, or the context
// ended, it returns the error. A project that is not ready is waited for however long that takes: there is an end to it.
func (t *trials) again(ctx context.Context, limit time.Duration, err error) error {
	const shortest, longest = 50 * time.Millisecond, time.Second
	switch {
	case errors.Is(err, ErrNotReady):
		t.since = time.Time{}
	case t.since.IsZero():
		t.since = time.Now()
	case time.Since(t.since) >= limit:
		return err
	}
	t.next = min(max(2*t.next, shortest), longest)
	if pause(ctx, t.next) != nil {
		return err
	}
	return nil
}

// pause waits as long, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
