package follow

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

const (
	// looks is how old a look at what is shared with a follower gets before something of somebody else is told. Ends of shares are events; this is for one
	// that is late, as when a server died before it could tell.
	looks = 30 * time.Second
	// silence is after how many events that a follower was not told of it is told where it is, so that it needs not go through them again.
	silence = 500
)

// follower is one who listens.
type follower struct {
	hub       *Hub
	me        UserID
	after     *Cursor // where to go on; nil: where things are
	out       chan Told
	positions map[UserID]string // among the events of each user who is followed
	feeds     map[UserID]*feed  // the same
	counted   *listener
	seen      *look     // what others share
	due       time.Time // when to look again, before anything of somebody else is told
	unheard   int       // events that were passed since something was told
	told      bool      // whether anything was

	mu    sync.Mutex
	dirty map[UserID]bool // whose events have changed
	wake  chan struct{}   // holds one when there are any
}

// changed is called by a feed, under its lock.
func (f *follower) changed(of UserID) {
	f.mu.Lock()
	f.dirty[of] = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take returns whose events have changed, the own first: they say what is shared.
func (f *follower) take() []UserID {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []UserID
	if f.dirty[f.me] {
		all = append(all, f.me)
		delete(f.dirty, f.me)
	}
	for of := range f.dirty {
		all = append(all, of)
	}
	clear(f.dirty)
	return all
}

// join follows the events of a user from a position on.
func (f *follower) join(of UserID, at string) {
	if f.feeds[of] == nil {
		f.feeds[of] = f.hub.join(of, f)
	}
	f.positions[of] = at
	f.changed(of)
}

func (f *follower) leave(of UserID) {
	if feed := f.feeds[of]; feed != nil {
		f.hub.leave(feed, f)
	}
	delete(f.feeds, of)
	delete(f.positions, of)
}

func (f *follower) leaveAll() {
	for of := range maps.Clone(f.feeds) {
		f.leave(of)
	}
}

// look sees what is shared, as it was read since an instant, and leaves those who share nothing any more.
func (f *follower) look(ctx context.Context, since time.Time) error {
	seen, err := f.hub.lookAt(ctx, f.me, f.counted, since)
	if err != nil {
		return err
	}
	f.seen, f.due = seen, seen.began.Add(looks/2+rand.N(looks/2))
	for of := range maps.Clone(f.feeds) {
		if of != f.me && !seen.owners[of] {
			f.leave(of)
		}
	}
	return nil
}

// lookSince looks until it succeeds, or has failed for long.
func (f *follower) lookSince(ctx context.Context, since time.Time) error {
	return f.again(ctx, func(ctx context.Context) error { return f.look(ctx, since) })
}

// run tells what happens until it cannot go on.
func (f *follower) run(ctx context.Context) error {
	if f.after == nil {
		if err := f.start(ctx); err != nil {
			return err
		}
	} else {
		// Owners that the cursor does not know are told of by the own events that follow it.
		f.join(f.me, f.after.Own)
		for owner := range f.seen.owners {
			if at := f.after.at(owner); at != "" {
				f.join(owner, at)
			}
		}
	}
	for {
		all := f.take()
		for _, of := range all {
			if err := f.catchUp(ctx, of); err != nil {
				return err
			}
		}
		if f.unheard >= silence {
			if err := f.say(ctx, Told{}, nil); err != nil {
				return err
			}
		}
		if len(all) > 0 {
			continue
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start begins where things are now, of everybody of whom it has no position, and tells the position.
func (f *follower) start(ctx context.Context) error {
	if err := f.begin(ctx, f.me); err != nil {
		return err
	}
	// What is shared is read after the own position: who shares something later is among the own events then.
	if err := f.lookSince(ctx, time.Now()); err != nil {
		return err
	}
	owners := f.seen.owners
	for owner := range owners { // all at once
		if f.feeds[owner] == nil {
			f.join(owner, "")
		}
	}
	for owner := range owners {
		if err := f.begin(ctx, owner); err != nil {
			return err
		}
	}
	return f.say(ctx, Told{}, nil)
}

// begin sets the position among the events of a user to the last one, unless there is a position.
func (f *follower) begin(ctx context.Context, of UserID) error {
	if f.positions[of] != "" {
		return nil
	}
	if f.feeds[of] == nil {
		f.join(of, "")
	}
	return f.again(ctx, func(ctx context.Context) error {
		release, err := f.hub.slot(ctx)
		if err != nil {
			return err
		}
		defer release()
		end, err := f.hub.o.Streams.End(ctx, of)
		if err == nil {
			f.positions[of] = end
			f.changed(of)
		}
		return err
	})
}

// again tries until it succeeds, or it has failed for long.
func (f *follower) again(ctx context.Context, try func(context.Context) error) error {
	began := time.Now()
	for wait := shortestPause; ; wait = min(2*wait, longestPause) {
		err := try(ctx)
		if err == nil || !fault.Is(err, fault.Unavailable) || time.Since(began) > f.hub.o.Patience {
			return err
		}
		if pause(ctx, wait) != nil {
			return err
		}
	}
}

// catchUp tells what happened after the position among the events of a user.
func (f *follower) catchUp(ctx context.Context, of UserID) error {
	for {
		feed, at := f.feeds[of], f.positions[of]
		if feed == nil { // who does not share any more
			return nil
		}
		entries, where, err := feed.after(at)
		switch {
		case err != nil:
			return err
		case where == unknown:
			return nil // it wakes
		case where == elsewhere:
			err := f.again(ctx, func(ctx context.Context) (err error) {
				release, err := f.hub.slot(ctx)
				if err != nil {
					return err
				}
				defer release()
				entries, err = f.hub.o.Streams.Read(ctx, of, at, readAtOnce)
				return err
			})
			if errors.Is(err, ErrGap) {
				if err := f.miss(ctx); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			if len(entries) == 0 {
				feed.nudge() // it has yet to notice the last one
			}
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			if err := f.pass(ctx, of, e); err != nil {
				return err
			}
			if f.feeds[of] == nil {
				return nil
			}
		}
	}
}

// miss tells that events were missed, and goes on where things are, of everybody: what was missed of one user, as after a flush, most often was of all,
// and what the gap asks for tells all changes.
func (f *follower) miss(ctx context.Context) error {
	resumed := !f.told // with a cursor that is too old
	if err := f.say(ctx, Told{Gap: true}, nil); err != nil {
		return err
	}
	if !resumed {
		f.hub.o.Missed()
	}
	for of := range f.positions {
		f.positions[of] = ""
	}
	return f.start(ctx)
}

// pass tells an event, if it is one of the follower's.
func (f *follower) pass(ctx context.Context, of UserID, e Entry) error {
	f.unheard++
	about := e.With == f.me && e.Owner != f.me // a share that the follower was given, or had
	if about {
		// What is shared is read, since events of several servers may come in another order than they happened.
		if err := f.lookSince(ctx, time.Now()); err != nil {
			return err
		}
	}
	if of == f.me {
		if about && f.feeds[e.Owner] == nil && e.From != "" && f.seen.owners[e.Owner] {
			f.join(e.Owner, e.From)
		}
		f.positions[of] = e.ID
		if e.Note == "" {
			return nil
		}
		return f.say(ctx, Told{Event: &e.Event}, nil)
	}
	if f.feeds[of] == nil {
		return nil
	}
	f.positions[of] = e.ID
	for {
		if about || !f.reads(of, e) {
			return nil // who is told by the own events, or not at all
		}
		if time.Now().Before(f.due) {
			late := time.NewTimer(time.Until(f.seen.began.Add(looks * 4 / 3)))
			err := f.say(ctx, Told{Event: &e.Event, Looked: f.seen.began}, late.C)
			late.Stop()
			if !errors.Is(err, errUntaken) {
				return err
			}
		}
		// One of all who follow for the user looks, and the others take what it has seen.
		if err := f.lookSince(ctx, f.seen.began.Add(looks/2)); err != nil {
			return err
		}
	}
}

// reads reports whether the follower may read the note of an owner's event.
func (f *follower) reads(of UserID, e Entry) bool { return e.Note != "" && f.seen.shared[e.Note] == of }

// errUntaken says that nobody has taken an event in time.
var errUntaken = errors.New("nobody takes what is told")

// say hands something over. errUntaken when that took until it is late.
func (f *follower) say(ctx context.Context, t Told, late <-chan time.Time) error {
	positions := maps.Clone(f.positions)
	t.Cursor = func() Cursor { return cursorOf(f.me, positions) }
	select {
	case f.out <- t:
		f.unheard, f.told = 0, true
		return nil
	case <-late:
		return errUntaken
	case <-ctx.Done():
		return ctx.Err()
	}
}
