package follow

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

// silence is after how many events that a follower was not told of it is told where it is, so that it needs not go through them again.
const silence = 500

// rules say what a reader is told, and where it begins.
type rules interface {
	// start begins where things are now, in all streams in which the reader has no position, and tells the position.
	start(ctx context.Context) error
	// pass goes on to an entry, and tells it if the reader may be told. errOver when there is nothing more to tell.
	pass(ctx context.Context, of Stream, e Entry) error
	// idle is called at the time that the rules have set as the reader's idleAt, when nothing came until then. errOver when there is nothing more to tell.
	idle(ctx context.Context) error
}

// errOver says that there is nothing more to follow.
var errOver = errors.New("there is nothing more to follow")

// errUntaken says that nobody has taken an event in time.
var errUntaken = errors.New("nobody takes what is told")

// reader is one who listens: a position in each of some streams, and what there is to tell by its rules.
type reader struct {
	rules
	hub       *Hub
	own       Stream // the user's notes, or the score
	out       chan Told
	positions map[Stream]string // in each stream that is read
	feeds     map[Stream]*feed  // the same
	unheard   int               // events that were passed since something was told
	told      bool              // whether anything was
	idleAt    time.Time         // when the rules want to know that nothing came; zero for never

	mu    sync.Mutex
	dirty map[Stream]bool // which streams have changed
	wake  chan struct{}   // holds one when there are any
}

// newReader returns a reader without rules.
func newReader(h *Hub, own Stream) *reader {
	return &reader{hub: h, own: own, out: make(chan Told), wake: make(chan struct{}, 1), dirty: map[Stream]bool{}, feeds: map[Stream]*feed{}, positions: map[Stream]string{}}
}

// changed is called by a feed, under its lock.
func (r *reader) changed(of Stream) {
	r.mu.Lock()
	r.dirty[of] = true
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take returns which streams have changed, the own first: it says what is shared.
func (r *reader) take() []Stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Stream
	if r.dirty[r.own] {
		all = append(all, r.own)
		delete(r.dirty, r.own)
	}
	for of := range r.dirty {
		all = append(all, of)
	}
	clear(r.dirty)
	return all
}

// join reads a stream from a position on.
func (r *reader) join(of Stream, at string) {
	if r.feeds[of] == nil {
		r.feeds[of] = r.hub.join(of, r)
	}
	r.positions[of] = at
	r.changed(of)
}

func (r *reader) leave(of Stream) {
	if feed := r.feeds[of]; feed != nil {
		r.hub.leave(feed, r)
	}
	delete(r.feeds, of)
	delete(r.positions, of)
}

func (r *reader) leaveAll() {
	for of := range maps.Clone(r.feeds) {
		r.leave(of)
	}
}

// run tells what happens until it cannot go on.
func (r *reader) run(ctx context.Context) error {
	for {
		all := r.take()
		for _, of := range all {
			if err := r.catchUp(ctx, of); err != nil {
				return err
			}
		}
		if r.unheard >= silence {
			if err := r.say(ctx, Told{}, nil); err != nil {
				return err
			}
		}
		if len(all) > 0 {
			continue
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

// wait returns when there may be something to tell.
func (r *reader) wait(ctx context.Context) error {
	var idle <-chan time.Time
	if !r.idleAt.IsZero() {
		timer := time.NewTimer(time.Until(r.idleAt))
		defer timer.Stop()
		idle = timer.C
	}
	select {
	case <-r.wake:
		return nil
	case <-idle:
		return r.idle(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin sets the position in a stream to the end, unless there is a position.
func (r *reader) begin(ctx context.Context, of Stream) error {
	if r.positions[of] != "" {
		return nil
	}
	if r.feeds[of] == nil {
		r.join(of, "")
	}
	return r.fromRedis(ctx, func() error {
		end, err := r.hub.o.Streams.End(ctx, of)
		if err == nil {
			r.positions[of] = end
			r.changed(of)
		}
		return err
	})
}

// fromRedis reads in turn, until it succeeds, or has failed for long.
func (r *reader) fromRedis(ctx context.Context, read func() error) error {
	return r.again(ctx, func(ctx context.Context) error {
		release, err := r.hub.slot(ctx)
		if err != nil {
			return err
		}
		defer release()
		return read()
	})
}

// again tries until it succeeds, or it has failed for long.
func (r *reader) again(ctx context.Context, try func(context.Context) error) error {
	began := time.Now()
	for wait := shortestPause; ; wait = min(2*wait, longestPause) {
		err := try(ctx)
		if err == nil || !fault.Is(err, fault.Unavailable) || time.Since(began) > r.hub.o.Patience {
			return err
		}
		if pause(ctx, wait) != nil {
			return err
		}
	}
}

// catchUp tells what happened after the position in a stream.
func (r *reader) catchUp(ctx context.Context, of Stream) error {
	for {
		feed, at := r.feeds[of], r.positions[of]
		if feed == nil { // of somebody who does not share any more
			return nil
		}
		entries, where, err := feed.after(at)
		switch {
		case err != nil:
			return err
		case where == unknown:
			return nil // it wakes
		case where == elsewhere:
			err := r.fromRedis(ctx, func() (err error) {
				entries, err = r.hub.o.Streams.Read(ctx, of, at, readAtOnce)
				return err
			})
			if errors.Is(err, ErrGap) {
				if err := r.miss(ctx); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			dated(entries)
			if len(entries) == 0 {
				feed.nudge() // it has yet to notice the last one
			}
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			r.unheard++
			if err := r.pass(ctx, of, e); err != nil {
				return err
			}
			if r.feeds[of] == nil {
				return nil
			}
		}
	}
}

// miss tells that events were missed, and goes on where things are, in all streams: what was missed in one, as after a flush, most often was in all,
// and what the gap asks for tells all changes.
func (r *reader) miss(ctx context.Context) error {
	resumed := !r.told // with a cursor that is too old
	if err := r.say(ctx, Told{Gap: true}, nil); err != nil {
		return err
	}
	if !resumed {
		r.hub.o.Missed(r.own.Kind)
	}
	for of := range r.positions {
		r.positions[of] = ""
	}
	return r.start(ctx)
}

// sayBefore tells something that rests upon a look. errUntaken when it is taken too late for that.
func (r *reader) sayBefore(ctx context.Context, t Told) error {
	left := time.Until(t.Looked.Add(looks * 4 / 3))
	if left <= 0 { // a timer that has run out would leave it to chance
		return errUntaken
	}
	late := time.NewTimer(left)
	defer late.Stop()
	return r.say(ctx, t, late.C)
}

// say hands something over. errUntaken when that took until it is late.
func (r *reader) say(ctx context.Context, t Told, late <-chan time.Time) error {
	positions := maps.Clone(r.positions)
	t.Cursor = func() Cursor { return cursorOf(r.own, positions) }
	select {
	case r.out <- t:
		r.unheard, r.told = 0, true
		return nil
	case <-late:
		return errUntaken
	case <-ctx.Done():
		return ctx.Err()
	}
}
