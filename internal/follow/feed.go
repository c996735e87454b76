package follow

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// ringSize is how many events of a stream a process keeps for those who follow them. Who is further behind reads them alone.
	ringSize = 128
	// readAtOnce is how many events are read at once, at most.
	readAtOnce = 100
	// lookEvery is about how often is looked whether there are events of which no news came.
	lookEvery = 30 * time.Second
)

// feed reads one stream while anybody follows it, once for all who do. It reads when there are news.
type feed struct {
	hub       *Hub
	of        Stream
	cancel    context.CancelFunc
	listeners int           // guarded by the hub's lock
	news      chan struct{} // holds one when there may be events

	mu        sync.Mutex
	begun     bool
	failed    error            // why nobody reads any more
	base      string           // the position before those in the ring
	ring      []Entry          // the last events
	followers map[*reader]bool // who are told when any of this changes
}

// nudge has the feed look for events.
func (f *feed) nudge() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// run reads events until the context ends, or Redis has failed for long.
func (f *feed) run(ctx context.Context) {
	var failing time.Time // since when
	for wait := time.Duration(0); ; {
		err := f.read(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failing, wait = time.Time{}, lookEvery/2+rand.N(lookEvery)
		case failing.IsZero():
			failing, wait = time.Now(), shortestPause
		case time.Since(failing) > f.hub.o.Patience:
			f.hub.o.Log.ErrorContext(ctx, "events cannot be read; who follows them is sent away", "error", err, "of", f.of.String())
			return
		default:
			wait = min(2*wait, longestPause)
		}
		again := time.NewTimer(wait)
		if err == nil {
			select {
			case <-f.news:
			case <-again.C:
			case <-ctx.Done():
			}
		} else {
			select {
			case <-again.C:
			case <-ctx.Done():
			}
		}
		again.Stop()
	}
}

// end has nobody wait for more, and lets the next one who listens begin a new feed.
func (f *feed) end() {
	f.hub.drop(f)
	f.change(func() { f.failed = errEnded })
}

// errEnded says that a feed has ended.
var errEnded = errors.New("the events are not read any more")

const shortestPause, longestPause = 50 * time.Millisecond, time.Second

// read reads what there is after the last event, or finds the place to begin at.
func (f *feed) read(ctx context.Context) error {
	release, err := f.hub.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	for {
		last, begun := f.last()
		if !begun {
			end, err := f.hub.o.Streams.End(ctx, f.of)
			if err == nil {
				f.change(func() { f.begun, f.base, f.ring = true, end, nil })
			}
			return err
		}
		entries, err := f.hub.o.Streams.Read(ctx, f.of, last, readAtOnce)
		if errors.Is(err, ErrGap) { // those who follow find that their positions are gone, too
			f.change(func() { f.begun = false })
			continue
		}
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			dated(entries)
			f.change(func() { f.add(entries) })
		}
		if len(entries) < readAtOnce {
			return nil
		}
	}
}

// dated says of entries that they are there by now.
func dated(entries []Entry) {
	now := time.Now()
	for i := range entries {
		entries[i].read = now
	}
}

// last returns the position of the last event.
func (f *feed) last() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ring) == 0 {
		return f.base, f.begun
	}
	return f.ring[len(f.ring)-1].ID, f.begun
}

// add puts entries into the ring, in the place of the oldest.
func (f *feed) add(entries []Entry) {
	f.ring = append(f.ring, entries...)
	if more := len(f.ring) - ringSize; more > 0 {
		f.base = f.ring[more-1].ID
		f.ring = slices.Clone(f.ring[more:])
	}
}

// change changes the feed, and wakes all who follow it.
func (f *feed) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
	for one := range f.followers {
		one.changed(f.of)
	}
}

// after returns the events after a position, if that is in the ring; unknown while it is not known where the ring is.
func (f *feed) after(at string) (entries []Entry, found whereabouts, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failed != nil:
		return nil, 0, f.failed
	case !f.begun:
		return nil, unknown, nil
	case at == f.base:
		return f.ring, inRing, nil
	}
	for i := len(f.ring) - 1; i >= 0; i-- { // most are at one of the last
		if f.ring[i].ID == at {
			return f.ring[i+1:], inRing, nil
		}
	}
	return nil, elsewhere, nil
}

// whereabouts say where a position is, seen from the ring.
type whereabouts int

const (
	unknown whereabouts = iota // the feed has not begun
	inRing
	elsewhere
)
