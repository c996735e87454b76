package labelling

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/taggie/taggie/internal/project"
)

// feed reads the events of one project while anybody listens, and keeps the last of them for all who do.
type feed[T any] struct {
	hub       *Hub[T]
	project   project.ID
	from      *Cursor // where to begin, if that is not long ago
	cancel    context.CancelFunc
	listeners int // guarded by the hub's lock
	looking   lookout

	mu    sync.RWMutex // guards what follows; nothing is waited for under it
	phase phase
	base  Cursor // of the event before the oldest one in the ring
	// The events of numbers first to next-1 are in the ring, each at its number modulo the size of the ring. Numbers only grow.
	ring        []*entry[T]
	first, next uint64
	removed     map[string]uint64 // items, each by the number of the event in the ring that says that it was removed
	changed     chan struct{}     // closed, and replaced by another, whenever any of this changes
}

// entry is an event with what belongs to it; nobody changes it.
type entry[T any] struct {
	event    Event
	hydrated T
}

// phase says whether what is in the ring can be relied on.
type phase int

const (
	starting phase = iota // it is not known yet where the feed begins
	live
	lost  // there is no place to read from; it begins anew as soon as Redis knows the project
	ended // nobody reads any more
)

// errEnded says that a feed has ended.
var errEnded = errors.New("the events are not read any more")

// run reads events until the context ends, or Redis has failed for long.
func (f *feed[T]) run(ctx context.Context) {
	h := f.hub
	defer f.end()
	var cursor Cursor // zero while the feed has no place to go on from
	var failing trials
	for ctx.Err() == nil {
		var events []Event
		var err error
		if cursor == (Cursor{}) {
			cursor, events, err = f.begin(ctx)
		} else if events, err = h.o.Events.Read(ctx, f.project, cursor, eventBatch, eventWait); err == nil {
			failing = trials{} // only now: a place to begin at is worth nothing when there is no reading from it
		}
		for some := range slices.Chunk(events, eventBatch) {
			f.add(h.hydrate(ctx, f.project, some))
			cursor = some[len(some)-1].Cursor
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if missed(err) || cursor == (Cursor{}) {
			cursor = Cursor{}
			f.lose()
		}
		_ = h.o.Service.ready(f.project, err) // which has it rebuilt
		if err = failing.again(ctx, h.limits.patience, err); err != nil && ctx.Err() == nil {
			h.o.Log.ErrorContext(ctx, "the events of a project cannot be read; who listens to it is sent away", "project", f.project, "error", err)
			return
		}
	}
}

// missed reports whether an error says that events were, or will be, missed.
func missed(err error) bool { return errors.Is(err, ErrGap) || errors.Is(err, ErrNotReady) }

// begin finds the place to read from, and returns what is to be read first from there.
func (f *feed[T]) begin(ctx context.Context) (Cursor, []Event, error) {
	from := f.from
	f.from = nil
	short, cancel := context.WithTimeout(ctx, prompt)
	defer cancel()
	state, err := f.hub.o.Service.Coordinator.State(short, f.project)
	if err != nil {
		return Cursor{}, nil, err
	}
	base := state.Cursor
	var events []Event
	if from != nil && from.Epoch == base.Epoch {
		// Who is further behind reads for itself: the others need not wait for it.
		some, err := f.hub.o.Events.Read(short, f.project, *from, ringSize, 0)
		if err == nil && len(some) < ringSize {
			base, events = *from, some
		}
	}
	f.change(func() { f.phase, f.base = live, base })
	return base, events, nil
}

// change changes the feed, and wakes all who wait for that.
func (f *feed[T]) change(how func()) {
	f.mu.Lock()
	how()
	before := f.changed
	f.changed = make(chan struct{})
	f.mu.Unlock()
	close(before) // thousands may wait for it, and want the lock
}

// add appends entries to the ring, in the place of the oldest. What was read of an item before it was removed, or came back, is not told again.
func (f *feed[T]) add(entries []*entry[T]) {
	f.change(func() {
		turned := map[string]uint64{}
		for _, e := range entries {
			at := &f.ring[f.next%ringSize]
			if f.next-f.first == ringSize {
				old := (*at).event
				f.base = old.Cursor
				if n, there := f.removed[old.Item]; there && n == f.first {
					delete(f.removed, old.Item)
				}
				f.first++
			}
			*at = e
			switch e.event.Cause {
			case Removed:
				f.removed[e.event.Item], turned[e.event.Item] = f.next, f.next
			case Restored:
				turned[e.event.Item] = f.next
			}
			f.next++
		}
		for n := f.first; n < f.next && len(turned) > 0; n++ {
			at := &f.ring[n%ringSize]
			if last, there := turned[(*at).event.Item]; there && n < last {
				*at = f.hub.withoutItem(*at)
			}
		}
	})
}

// shown returns an entry that was read outside the ring as it may be told now: without an item that was removed meanwhile.
func (f *feed[T]) shown(e *entry[T]) *entry[T] {
	f.mu.RLock()
	_, removed := f.removed[e.event.Item]
	f.mu.RUnlock()
	if removed {
		return f.hub.withoutItem(e)
	}
	return e
}

// withoutItem returns an entry without what was read of its item, which others read again.
func (h *Hub[T]) withoutItem(e *entry[T]) *entry[T] {
	return &entry[T]{event: e.event, hydrated: h.o.WithoutItem(e.hydrated)}
}

// lose forgets everything: who was anywhere in the ring, or at its end, is there no more.
func (f *feed[T]) lose() {
	f.change(func() {
		if f.phase == lost {
			return
		}
		f.phase, f.base = lost, Cursor{}
		clear(f.ring)
		clear(f.removed)
		f.next++
		f.first = f.next
	})
}

func (f *feed[T]) end() {
	f.hub.mu.Lock()
	f.hub.drop(f)
	f.hub.mu.Unlock()
	f.change(func() { f.phase = ended })
}

// at returns the entry of a number, or nil when there is none yet and what is closed when that may have changed. ErrGap when it is in
// the ring no more, and errEnded.
func (f *feed[T]) at(n uint64) (*entry[T], <-chan struct{}, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch {
	case n < f.first:
		return nil, nil, ErrGap
	case n < f.next:
		return f.ring[n%ringSize], nil, nil
	case f.phase == ended:
		return nil, nil, errEnded
	}
	return nil, f.changed, nil
}

// whereabouts says where a cursor is, seen from the ring.
type whereabouts int

const (
	unknown   whereabouts = iota // the feed has not begun
	elsewhere                    // before the ring, in another epoch, or nowhere
	inRing
	ahead // after the ring, if it is a cursor of this project at all
)

// find returns the number of the entry after a cursor, if it is in the ring, and what is closed when any of that may have changed.
// errEnded.
func (f *feed[T]) find(c Cursor) (uint64, whereabouts, <-chan struct{}, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch {
	case f.phase == ended:
		return 0, 0, nil, errEnded
	case f.phase == starting:
		return 0, unknown, f.changed, nil
	case f.phase == lost || c.Epoch != f.base.Epoch:
		return 0, elsewhere, f.changed, nil
	}
	last := f.base
	for n := f.next; n > f.first; n-- { // most look for one of the last
		at := f.ring[(n-1)%ringSize].event.Cursor
		if at == c {
			return n, inRing, f.changed, nil
		}
		if n == f.next {
			last = at
		}
	}
	switch {
	case c == f.base:
		return f.first, inRing, f.changed, nil
	case EntryAfter(c.ID, last.ID):
		return 0, ahead, f.changed, nil
	}
	return 0, elsewhere, f.changed, nil
}

// leaves waits until the feed is in none of the given phases. errEnded.
func (f *feed[T]) leaves(ctx context.Context, phases ...phase) error {
	for {
		f.mu.RLock()
		now, changed := f.phase, f.changed
		f.mu.RUnlock()
		switch {
		case now == ended:
			return errEnded
		case !slices.Contains(phases, now):
			return nil
		}
		if err := wait(ctx, changed); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
